"""What does the project's build program declare? Run in its own process, kept, and replayed.

The interface that the program sees is :mod:`atoll.build.program`. An answer is kept beside the plan and
holds while the program, the request, and everything the program read are as they were; a refusal is kept
nowhere. What it declares enters the plan in :mod:`atoll.build.planner`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atoll._util.child import run
from atoll._util.files import write_atomic
from atoll._util.spelling import this_python
from atoll.accel import AccelSet
from atoll.artifact import Fact
from atoll.build import program
from atoll.build.fresh import engine_stamp
from atoll.build.request import BuildRequest
from atoll.diagnostics import Diagnostic, Severity
from atoll.errors import BuildError
from atoll.graph import Action, Role
from atoll.plugin import HostTools, Unit

SECONDS = 120.0
_CHILD = "atoll.build.program_child"
_CODE = re.compile(r"[A-Z]{2,16}[0-9]{3,4}")
_KEPT = ("PATH", "HOME", "TMPDIR", "LANG")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramSource:
    """One file that a build program has compiled into a target."""

    path: str
    target: str
    defines: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What a build program declared.

    Attributes:
        actions: What it has run.
        sources: What it has compiled.
        generated: Text of files it writes, by path.
        defines: For each target what its sources are compiled with; under None for all.
        headers: For each target the made files that its sources may include; under None for all.
        folders: The include folders that those are found from.
        facts / floors: What it states.
        warnings: What it warns of.
        inputs: Files and folders that its answer was made from.
        probes: The commands that it asked, for `resolution.json`.
        replayed: Whether the answer was a kept one.
    """

    actions: tuple[Action, ...] = ()
    sources: tuple[ProgramSource, ...] = ()
    generated: Mapping[str, str] = field(default_factory=dict)
    defines: Mapping[str | None, tuple[str, ...]] = field(default_factory=dict)
    headers: Mapping[str | None, tuple[str, ...]] = field(default_factory=dict)
    folders: Mapping[str | None, tuple[str, ...]] = field(default_factory=dict)
    facts: tuple[Fact, ...] = ()
    floors: tuple[Fact, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
    inputs: tuple[str, ...] = ()
    probes: tuple[str, ...] = ()
    replayed: bool = False

    def defined(self, target: str) -> tuple[str, ...]:
        """Return what it adds to the defines of a target's sources."""
        return (*self.defines.get(None, ()), *self.defines.get(target, ()))

    def included(self, target: str) -> tuple[str, ...]:
        """Return the made files that the sources of a target may include."""
        return (*self.headers.get(None, ()), *self.headers.get(target, ()))

    def include_folders(self, target: str) -> tuple[str, ...]:
        """Return the folders that those files are found from."""
        return tuple(dict.fromkeys((*self.folders.get(None, ()), *self.folders.get(target, ()))))


def declared(request: BuildRequest, tools: HostTools | None, units: Mapping[str, Iterable[Unit]]) -> Declared:
    """Return what the project's build program declares; nothing where it has none.

    Args:
        request: The build.
        tools: The host's compilers, where the host lane names them.
        units: The device units by lane.

    Raises:
        BuildError: Where the program is missing, fails, runs too long or refuses.
    """
    path = request.manifest.build.program
    if path is None:
        return Declared()
    place = request.files / path
    if not place.is_file():
        raise BuildError(_missing(request, path))
    asked = _request(request, tools, units)
    key = _key(place, asked)
    kept = request.root / request.plan_folder / "program" / f"{key}.json"
    said = _recall(kept, request)
    replayed = said is not None
    if said is None:
        said = _run(request, path, asked)
        _keep(kept, said, request)
    return _declared(request, path, said, replayed)


def _request(
    request: BuildRequest, tools: HostTools | None, units: Mapping[str, Iterable[Unit]]
) -> dict[str, Any]:
    """Return all that a program may read, as JSON."""
    manifest = request.manifest
    compilers = {}
    if tools is not None:
        rows = {"cc": tools.cc, "c++": tools.cxx}
        compilers = {
            name: {"path": path, "family": tools.family, "version": tools.version}
            for name, path in rows.items()
        }
    return {
        "package": manifest.package.name,
        "version": manifest.package.version,
        "root": str(request.files),
        "base": request.base,
        "out": f"{request.folder}/program",
        "generated": f"{request.plan_folder}/program",
        "features": sorted(manifest.features),
        "accel": _entries(request.accel),
        "units": _units(units),
        "targets": {name: str(target.kind) for name, target in manifest.targets.items()},
        "host": request.host,
        "machine": os.uname().machine,
        "profile": request.profile_name,
        "optimise": request.profile.opt,
        "debug": request.profile.debug,
        "compilers": compilers,
        "cxx_library": tools.cxx_library if tools else "",
        "include": f"{request.plan_folder}/include",
        "environment": dict(request.environment),
        "probes": f"{request.plan_folder}/probes",
    }


def _entries(accel: AccelSet) -> list[dict[str, Any]]:
    return [
        {
            "backend": entry.backend,
            "version": str(entry.version or ""),
            "archs": [str(arch) for arch in entry.archs],
            "floor": str(entry.floor or ""),
        }
        for entry in accel
    ]


def _units(units: Mapping[str, Iterable[Unit]]) -> list[dict[str, Any]]:
    found: dict[tuple[str, str, str], list[str]] = {}
    for lane, listed in units.items():
        for unit in listed:
            names = found.setdefault((unit.path, unit.target, lane), [])
            names += [unit.entry.backend] if unit.entry else []
    return [
        {"path": path, "target": target, "lane": lane, "backends": sorted(set(backends))}
        for (path, target, lane), backends in sorted(found.items())
    ]


def _key(place: Path, asked: Mapping[str, Any]) -> str:
    # Of the environment only what the program asked for counts; that stands in the answer.
    known = {name: value for name, value in asked.items() if name != "environment"}
    known["path"] = asked["environment"].get("PATH", "")
    text = json.dumps([program.API, engine_stamp(), known], sort_keys=True).encode()
    return hashlib.sha256(text + place.read_bytes()).hexdigest()[:32]


# one run


def _run(request: BuildRequest, path: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="atoll-program-") as folder:
        question, answer = Path(folder) / "request.json", Path(folder) / "answer.json"
        question.write_text(json.dumps(asked), encoding="utf-8")
        argv = (this_python(), "-P", "-m", _CHILD, path, str(question), str(answer))
        env = {name: request.environment[name] for name in _KEPT if name in request.environment}
        try:
            ended = run(argv, env=env, timeout=SECONDS, cwd=request.files)
        except OSError as error:
            raise BuildError(_failed(path, f"it could not be started: {error}", "", asked)) from error
        if ended.code is None:
            raise BuildError(_slow(path, ended.output, asked))
        if ended.code != 0 or not answer.is_file():
            raise BuildError(_failed(path, _ending(ended.code), ended.output, asked))
        found = json.loads(answer.read_text(encoding="utf-8"))
    if "refused" in found:
        raise BuildError(_refused(path, found["refused"], asked))
    if "failed" in found:
        raise BuildError(_failed(path, str(found["failed"]), ended.output, asked))
    said: dict[str, Any] = found["said"]
    return said


def _ending(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"it was ended by signal {-code}"


def _about_units(asked: Mapping[str, Any]) -> tuple[str, ...]:
    """Say which device units the build has: a program that fails hides none of them."""
    paths = sorted({row["path"] for row in asked["units"]})
    more = f" and {len(paths) - 8} more" if len(paths) > 8 else ""
    return (f"device units of this build: {', '.join(paths[:8]) or 'none'}{more}",)


def _missing(request: BuildRequest, path: str) -> Diagnostic:
    return Diagnostic(
        code="ATL0590",
        message=f"the build program `{path}` is not there",
        notes=(f"looked for: {request.files / path}", "named by: `[build] program`"),
        hint="mend the path, or remove the key",
    )


def _failed(path: str, reason: str, output: str, asked: Mapping[str, Any]) -> Diagnostic:
    printed = tuple(f"it printed: {line}" for line in output.strip().splitlines()[-8:])
    return Diagnostic(
        code="ATL0594",
        message=f"the build program `{path}` failed",
        notes=(f"reason: {reason}", *printed, *_about_units(asked)),
    )


def _slow(path: str, output: str, asked: Mapping[str, Any]) -> Diagnostic:
    printed = tuple(f"it printed: {line}" for line in output.strip().splitlines()[-8:])
    return Diagnostic(
        code="ATL0595",
        message=f"the build program `{path}` took too long",
        notes=(f"limit: {SECONDS:g} s", *printed, *_about_units(asked)),
        hint="declare an action for work that takes long",
    )


def _refused(path: str, finding: Mapping[str, Any], asked: Mapping[str, Any]) -> Diagnostic:
    code = str(finding["code"])
    notes = (*map(str, finding["notes"]), f"said by: {path}", *_about_units(asked))
    if finding.get("own") and (not _CODE.fullmatch(code) or code.startswith("ATL")):
        return Diagnostic(
            code="ATL0596",
            message=f"the build program `{path}` refuses under a code that it cannot have",
            notes=(f"code: {code[:40]}", f"what it says: {finding['message']}", *notes),
            hint="write capital letters and three or four digits, not beginning with ATL",
        )
    return Diagnostic(code=code, message=str(finding["message"]), notes=notes, hint=finding.get("hint"))


# what is kept


def _keep(kept: Path, said: Mapping[str, Any], request: BuildRequest) -> None:
    value: dict[str, Any] = {
        "said": said,
        "inputs": {path: _digest(request.files / path) for path in said.get("inputs", ())},
    }
    probes = said.get("probes", ())
    value["probes"] = [program.probe_name(row, request.environment, request.files) for row in probes]
    for old in kept.parent.glob("*.json"):
        with contextlib.suppress(OSError):
            old.unlink()
    write_atomic(kept, json.dumps(value) + "\n")


def _recall(kept: Path, request: BuildRequest) -> dict[str, Any] | None:
    """Return a kept answer where everything it was made from is as it was."""
    try:
        value = json.loads(kept.read_text(encoding="utf-8"))
        said: dict[str, Any] = value["said"]
        good = (
            all(_digest(request.files / path) == was for path, was in value["inputs"].items())
            and all(program.matching(request.files, row[0]) == row[1] for row in said.get("globs", ()))
            and all(request.environment.get(row[0]) == row[1] for row in said.get("variables", ()))
            and [
                program.probe_name(row, request.environment, request.files) for row in said.get("probes", ())
            ]
            == value["probes"]
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        return None
    return said if good else None


def _digest(path: Path) -> str:
    try:
        if path.is_dir():
            return hashlib.sha256(
                "\n".join(sorted(entry.name for entry in path.iterdir())).encode()
            ).hexdigest()
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""


# from JSON to values


def _declared(request: BuildRequest, path: str, said: Mapping[str, Any], replayed: bool) -> Declared:
    try:
        return Declared(
            actions=tuple(_action(row) for row in said.get("actions", ())),
            sources=tuple(_source(row) for row in said.get("sources", ())),
            generated={str(place): str(text) for place, text in said.get("generated", ())},
            defines=_by_target(said.get("defines", ())),
            headers=_by_target((target, path) for target, path, _ in said.get("headers", ())),
            folders=_by_target((target, folder) for target, _, folder in said.get("headers", ())),
            facts=tuple(Fact(name=n, relation=r, value=v) for n, r, v in said.get("facts", ())),
            floors=tuple(Fact(name=n, relation=r, value=v) for n, r, v in said.get("floors", ())),
            warnings=tuple(_warning(path, row) for row in said.get("warnings", ())),
            inputs=tuple(_inputs(request, path, said)),
            probes=tuple(" ".join(row) for row in said.get("probes", ())),
            replayed=replayed,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise BuildError(
            Diagnostic(
                code="ATL0591",
                message=f"the build program `{path}` declares what cannot be read",
                notes=(f"reason: {type(error).__name__}: {error}",),
            )
        ) from error


def _by_target(rows: Iterable[Any]) -> dict[str | None, tuple[str, ...]]:
    found: dict[str | None, tuple[str, ...]] = {}
    for target, text in rows:
        found[target] = (*found.get(target, ()), str(text))
    return found


def _action(row: Mapping[str, Any]) -> Action:
    tuples = {name: tuple(map(str, row[name])) for name in ("argv", "inputs", "outputs")}
    env = tuple((str(name), str(text)) for name, text in row["env"])
    return Action(**{**row, **tuples, "role": Role(row["role"]), "env": env})


def _source(row: Mapping[str, Any]) -> ProgramSource:
    texts = {name: tuple(map(str, row[name])) for name in ("defines", "flags")}
    return ProgramSource(
        path=str(row["path"]), target=str(row["target"]), includes=tuple(map(str, row["include"])), **texts
    )


def _warning(path: str, row: Mapping[str, Any]) -> Diagnostic:
    return Diagnostic(
        code="ATL0597",
        severity=Severity.WARNING,
        message=str(row["message"]),
        notes=(*map(str, row["notes"]), f"said by: {path}"),
        hint=row["hint"],
    )


def _inputs(request: BuildRequest, path: str, said: Mapping[str, Any]) -> Iterator[str]:
    base = request.files
    yield str(base / path)
    yield from (str(base / name) for name in said.get("inputs", ()))
    for pattern, _ in said.get("globs", ()):
        plain = pattern.split("/")
        fixed = next((index for index, part in enumerate(plain) if re.search(r"[*?[]", part)), len(plain) - 1)
        folder = base.joinpath(*plain[:fixed])
        yield str(folder)
        for here, names, _ in os.walk(folder):
            names[:] = sorted(name for name in names if not name.startswith("."))
            yield from (os.path.join(here, name) for name in names)  # noqa: PTH118
