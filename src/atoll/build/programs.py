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
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from atoll._util.files import write_atomic
from atoll._util.spelling import this_python
from atoll.accel import AccelSet
from atoll.artifact import Fact
from atoll.build.contributions import Declared, Owner, ProgramSource
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


def declared(
    request: BuildRequest, owner: Owner, tools: HostTools | None, units: Mapping[str, Iterable[Unit]]
) -> Declared:
    """Return what one build program declares.

    Args:
        request: The build.
        owner: The package that the program belongs to.
        tools: The host's compilers, where the host lane names them.
        units: The package's device units by lane.

    Raises:
        BuildError: Where the program is missing, fails, runs too long or refuses.
    """
    place = owner.files / owner.program
    if not place.is_file():
        raise BuildError(_missing(place, owner.program))
    asked = _request(request, owner, tools, units)
    kept = request.root / owner.below(request.plan_folder) / f"{_key(place, asked)}.answer"
    said = _recall(kept, request, owner)
    if said is None:
        said = _run(request, owner, asked)
        _keep(kept, said, request, owner)
    return _declared(owner, said)


def _request(
    request: BuildRequest, owner: Owner, tools: HostTools | None, units: Mapping[str, Iterable[Unit]]
) -> dict[str, Any]:
    """Return all that a program may read, as JSON."""
    compilers = {}
    if tools is not None:
        rows = {"cc": tools.cc, "c++": tools.cxx}
        compilers = {
            name: {"path": path, "family": tools.family, "version": tools.version}
            for name, path in rows.items()
        }
    return {
        "package": owner.package,
        "version": owner.version,
        "root": str(owner.files),
        "base": owner.base,
        "out": owner.below(request.folder),
        "generated": owner.below(request.plan_folder),
        "features": sorted(owner.features),
        "accel": _entries(request.accel),
        "units": _units(units, owner.prefix),
        "targets": dict(owner.targets),
        "host": request.host,
        "machine": os.uname().machine,
        "profile": request.profile_name,
        "optimise": request.profile.opt,
        "debug": request.profile.debug,
        "compilers": compilers,
        "cxx_library": tools.cxx_library if tools else "",
        "include": f"{request.plan_folder}/include",
        "environment": dict(request.environment),
        "probes": str(request.root / request.plan_folder / "probes"),
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


def _units(units: Mapping[str, Iterable[Unit]], prefix: str) -> list[dict[str, Any]]:
    found: dict[tuple[str, str, str], list[str]] = {}
    for lane, listed in units.items():
        for unit in listed:
            names = found.setdefault((unit.path, unit.target.removeprefix(prefix), lane), [])
            names += [unit.entry.backend] if unit.entry else []
    return [
        {"path": path, "target": target, "lane": lane, "backends": sorted(set(backends))}
        for (path, target, lane), backends in sorted(found.items())
    ]


def _key(place: Path, asked: Mapping[str, Any]) -> str:
    # Of the environment only what the program asked for counts; that stands in the answer.
    known = {name: value for name, value in asked.items() if name != "environment"}
    known["path"] = asked["environment"].get("PATH", "")
    from atoll.build import program

    text = json.dumps([program.API, engine_stamp(), known], sort_keys=True).encode()
    return hashlib.sha256(text + place.read_bytes()).hexdigest()[:32]


# one run


def _run(request: BuildRequest, owner: Owner, asked: Mapping[str, Any]) -> dict[str, Any]:
    import tempfile

    from atoll._util.child import run

    path = owner.program

    with tempfile.TemporaryDirectory(prefix="atoll-program-") as folder:
        question, answer = Path(folder) / "request.json", Path(folder) / "answer.json"
        question.write_text(json.dumps(asked), encoding="utf-8")
        argv = (this_python(), "-P", "-m", _CHILD, path, str(question), str(answer))
        env = {name: request.environment[name] for name in _KEPT if name in request.environment}
        try:
            ended = run(argv, env=env, timeout=SECONDS, cwd=owner.files)
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


def _missing(place: Path, path: str) -> Diagnostic:
    return Diagnostic(
        code="ATL0590",
        message=f"the build program `{path}` is not there",
        notes=(f"looked for: {place}", "named by: `[build] program`"),
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


def _keep(kept: Path, said: Mapping[str, Any], request: BuildRequest, owner: Owner) -> None:
    from atoll.build import program

    value: dict[str, Any] = {
        "said": said,
        "inputs": {path: _digest(owner.files / path) for path in said.get("inputs", ())},
    }
    probes = said.get("probes", ())
    value["probes"] = [program.probe_name(row, request.environment, owner.files) for row in probes]
    for old in kept.parent.glob("*.answer"):
        with contextlib.suppress(OSError):
            old.unlink()
    write_atomic(kept, json.dumps(value) + "\n")


def _recall(kept: Path, request: BuildRequest, owner: Owner) -> dict[str, Any] | None:
    """Return a kept answer where everything it was made from is as it was."""
    from atoll.build import program

    try:
        value = json.loads(kept.read_text(encoding="utf-8"))
        said: dict[str, Any] = value["said"]
        good = (
            all(_digest(owner.files / path) == was for path, was in value["inputs"].items())
            and all(program.matching(owner.files, row[0]) == row[1] for row in said.get("globs", ()))
            and all(request.environment.get(row[0]) == row[1] for row in said.get("variables", ()))
            and [program.probe_name(row, request.environment, owner.files) for row in said.get("probes", ())]
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


def _declared(owner: Owner, said: Mapping[str, Any]) -> Declared:
    path = owner.program
    try:
        return Declared(
            actions=tuple(_action(row) for row in said.get("actions", ())),
            sources=tuple(_source(owner, row) for row in said.get("sources", ())),
            generated={str(place): str(text) for place, text in said.get("generated", ())},
            defines=_by_target(owner, said.get("defines", ())),
            headers=_by_target(owner, ((target, path) for target, path, _ in said.get("headers", ()))),
            folders=_by_target(owner, ((target, folder) for target, _, folder in said.get("headers", ()))),
            facts=tuple(Fact(name=n, relation=r, value=v) for n, r, v in said.get("facts", ())),
            floors=tuple(Fact(name=n, relation=r, value=v) for n, r, v in said.get("floors", ())),
            warnings=tuple(_warning(path, row) for row in said.get("warnings", ())),
            inputs=tuple(_inputs(owner, said)),
            probes=tuple(" ".join(row) for row in said.get("probes", ())),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise BuildError(
            Diagnostic(
                code="ATL0591",
                message=f"the build program `{path}` declares what cannot be read",
                notes=(f"reason: {type(error).__name__}: {error}",),
            )
        ) from error


def _by_target(owner: Owner, rows: Iterable[Any]) -> dict[str, tuple[str, ...]]:
    """Return texts by target; what is said of all targets is said of each of the package's own."""
    found: dict[str, tuple[str, ...]] = {}
    for target, text in rows:
        for name in owner.targets if target is None else (target,):
            key = f"{owner.prefix}{name}"
            found[key] = (*found.get(key, ()), str(text))
    return found


def _action(row: Mapping[str, Any]) -> Action:
    tuples = {name: tuple(map(str, row[name])) for name in ("argv", "inputs", "outputs")}
    env = tuple((str(name), str(text)) for name, text in row["env"])
    return Action(**{**row, **tuples, "role": Role(row["role"]), "env": env})


def _source(owner: Owner, row: Mapping[str, Any]) -> ProgramSource:
    texts = {name: tuple(map(str, row[name])) for name in ("defines", "flags")}
    return ProgramSource(
        path=str(row["path"]),
        target=f"{owner.prefix}{row['target']}",
        includes=tuple(map(str, row["include"])),
        **texts,
    )


def _warning(path: str, row: Mapping[str, Any]) -> Diagnostic:
    return Diagnostic(
        code="ATL0597",
        severity=Severity.WARNING,
        message=str(row["message"]),
        notes=(*map(str, row["notes"]), f"said by: {path}"),
        hint=row["hint"],
    )


def _inputs(owner: Owner, said: Mapping[str, Any]) -> Iterator[str]:
    base = owner.files
    yield str(base / owner.program)
    yield from (str(base / name) for name in said.get("inputs", ()))
    for pattern, _ in said.get("globs", ()):
        plain = pattern.split("/")
        fixed = next((index for index, part in enumerate(plain) if re.search(r"[*?[]", part)), len(plain) - 1)
        folder = base.joinpath(*plain[:fixed])
        yield str(folder)
        for here, names, _ in os.walk(folder):
            names[:] = sorted(name for name in names if not name.startswith("."))
            yield from (os.path.join(here, name) for name in names)  # noqa: PTH118
