"""What may a build program ask and declare? The module that ``[build] program = "build_atoll.py"`` imports.

```python
from atoll.build.program import project

build = project(api=1)
build.action("make tables", [build.compilers["c++"].path, …], inputs=[…], outputs=[f"{build.out}/tables.cpp"])
build.source(f"{build.out}/tables.cpp", target="app")
```

It imports the standard library alone. A program runs in a process of its own, in the project root, when
something it read has changed; what it declares is kept and replayed until then. Paths are relative to the
project root. Words: a *declaration* is what the engine carries out later; a *probe* is a command that
states a fact while planning.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from atoll._util.values import dataclass, field

API = 1
"""The version of this interface. A later one adds calls and changes none."""

ROLES = ("source", "object", "artifact", "check", "link")
PROBE_SECONDS = 60.0
PROBE_BYTES = 4 << 20


class Refused(Exception):  # noqa: N818 - ends a program as the engine expects it
    """Ends a build program with a finding; raised by :meth:`Project.refuse` and by wrong calls."""

    def __init__(self, finding: Mapping[str, Any]) -> None:
        super().__init__(str(finding["message"]))
        self.finding = dict(finding)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of the build's accel set.

    Attributes:
        backend: Its name.
        version: The version asked for, or empty.
        archs: The archs asked for.
        floor: The floor of a portable form, or empty.
    """

    backend: str
    version: str = ""
    archs: tuple[str, ...] = ()
    floor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceUnit:
    """One device source of the build.

    Attributes:
        path: The file.
        target: The target that owns it.
        lane: The lane that compiles it.
        backends: What it is compiled for.
    """

    path: str
    target: str
    lane: str
    backends: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiler:
    """A host compiler of the build: ``cc`` or ``c++``."""

    path: str
    family: str
    version: str


@dataclass(frozen=True, slots=True)
class Probed:
    """What a probe said: exit status (None where it did not start or end), and both streams."""

    status: int | None
    out: str
    err: str


@dataclass(kw_only=True)
class Project:
    """One project in one build: facts to read, calls that declare.

    Attributes:
        package: The package's name.
        version: Its version.
        root: The package's folder, absolute; what is read is relative to it.
        base: That folder as actions name it; empty for the project itself, where they run.
        out: The folder for what its actions write.
        features: The features that are on.
        accel: The build's set; empty for none.
        units: The device units.
        targets: The targets by name, with their kinds.
        host: ``linux``, ``macos`` or ``windows``.
        machine: The processor's architecture.
        profile: The profile's name.
        optimise: ``0`` to ``3``.
        debug: Whether debug information is made.
        compilers: The host compilers: ``cc`` and ``c++``.
        cxx_library: The C++ library in use, as ``libstdc++ 12``; empty where it could not be told.
        include: The folder of generated headers.
    """

    package: str
    version: str
    root: Path
    base: str
    out: str
    generated: str
    features: tuple[str, ...]
    accel: tuple[Entry, ...]
    units: tuple[DeviceUnit, ...]
    targets: Mapping[str, str]
    host: str
    machine: str
    profile: str
    optimise: str
    debug: bool
    compilers: Mapping[str, Compiler]
    cxx_library: str
    include: str
    environment: Mapping[str, str] = field(repr=False)
    probes: str = field(repr=False)
    api: int = API
    said: dict[str, list[Any]] = field(default_factory=dict, repr=False)

    # what it reads

    def read(self, path: str) -> str:
        """Return the text of a file; the program runs again when it changes."""
        self.input(path)
        return (self.root / path).read_text(encoding="utf-8")

    def place(self, path: str) -> str:
        """Return the path of an authored file as actions name it; the same for the project itself."""
        return os.path.normpath(f"{self.base}/{path}") if self.base else os.fspath(path)

    def input(self, path: str) -> str:
        """Say that a file was looked at; return its path."""
        self._say("inputs", os.fspath(path))
        return os.fspath(path)

    def glob(self, pattern: str) -> list[str]:
        """Return the files that match, sorted; the program runs again when the list changes."""
        found = matching(self.root, pattern)
        self._say("globs", [pattern, found])
        return found

    def variable(self, name: str) -> str | None:
        """Return a variable of the environment; the program runs again when it changes."""
        value = self.environment.get(name)
        self._say("variables", [name, value])
        return value

    def probe(self, argv: Sequence[str], *, timeout: float = PROBE_SECONDS) -> Probed:
        """Run a command that states a fact, once for every reader of one build folder.

        Args:
            argv: The command; a program without a slash is looked up in the build's PATH.
            timeout: Seconds after which it counts as unanswered.
        """
        command = [os.fspath(word) for word in argv]
        path = Path(self.probes) / f"{_probe_key(command, self.environment, self.root)}.json"
        self._say("probes", command)
        known = _kept(path)
        if known is None:
            known = _asked(command, self.environment, self.root, timeout)
            _keep(path, known)
        return known

    # what it declares

    def action(
        self,
        name: str,
        argv: Sequence[str],
        *,
        inputs: Iterable[str] = (),
        outputs: Iterable[str],
        role: str = "source",
        depfile: str | None = None,
        raw_depfile: bool = False,
        env: Mapping[str, str] | None = None,
        memory: int = 256 << 20,
        time_limit: float | None = None,
        description: str = "",
    ) -> tuple[str, ...]:
        """Declare one command that the build runs, without a shell; return its outputs.

        Args:
            name: What a person calls it; unique.
            argv: The program and its arguments.
            inputs: Every file it reads that is known beforehand, its own program where that is built.
            outputs: Every file it writes, below :attr:`out`.
            role: One of `ROLES`; what is compiled later is a ``source``.
            depfile: A make-style file it writes with the inputs it found.
            raw_depfile: Whether that file escapes nothing.
            env: Variables set for it; nothing of the caller's reaches it.
            memory: Bytes it may need.
            time_limit: Seconds after which it is stopped.
            description: A line for the progress bar.
        """
        if role not in ROLES:
            self._wrong("action", f"role `{role}`", f"one of {', '.join(ROLES)}")
        made = tuple(os.fspath(path) for path in outputs)
        for path in (*made, *((depfile,) if depfile else ())):
            if not path.startswith(f"{self.out}/"):
                self._wrong("action", f"an output `{path}`", f"a path below `{self.out}`")
        self._say(
            "actions",
            {
                "name": name,
                "argv": [os.fspath(word) for word in argv],
                "inputs": [os.fspath(path) for path in inputs],
                "outputs": list(made),
                "role": role,
                "depfile": depfile,
                "depfile_style": "raw" if raw_depfile else "make",
                "env": sorted((env or {}).items()),
                "memory": memory,
                "time_limit": time_limit,
                "description": description,
            },
        )
        return made

    def generate(self, path: str, text: str) -> str:
        """Write a file while planning; return where it lies. Its name is below :attr:`generated`."""
        if Path(path).is_absolute() or ".." in Path(path).parts or not path:
            self._wrong("generate", f"the path `{path}`", "a relative path without `..`")
        place = f"{self.generated}/{Path(path).as_posix()}"
        self._say("generated", [place, text])
        return place

    def source(
        self,
        path: str,
        *,
        target: str,
        defines: Iterable[str] = (),
        flags: Iterable[str] = (),
        include: Iterable[str] = (),
    ) -> None:
        """Compile a file, authored or made by an action, into a target; its extension says by which lane."""
        if target not in self.targets:
            self._wrong("source", f"the target `{target}`", f"one of {', '.join(sorted(self.targets))}")
        made = os.fspath(path).startswith((f"{self.out}/", f"{self.generated}/"))
        place = os.fspath(path) if made else self.place(path)
        row = {"path": place, "target": target, "defines": list(defines)}
        self._say("sources", {**row, "flags": list(flags), "include": list(include)})

    def header(self, path: str, *, target: str | None = None, folder: str | None = None) -> None:
        """Let sources of a target, or of all, include a file that an action or :meth:`generate` makes.

        Args:
            path: The file.
            target: The target; all of them where left out.
            folder: The include folder it is found from; its own where left out.
        """
        place = os.fspath(path)
        self._say("headers", [target, place, folder if folder is not None else os.path.dirname(place)])  # noqa: PTH120

    def define(self, text: str, *, target: str | None = None) -> None:
        """Add ``NAME`` or ``NAME=VALUE`` to what every source of a target, or of all, is compiled with."""
        self._say("defines", [target, text])

    def fact(self, name: str, value: str) -> None:
        """State a fact about what is built, for `resolution.json`."""
        self._say("facts", [name, "=", value])

    def floor(self, name: str, value: str) -> None:
        """State the least version that the machine must have where the result runs."""
        self._say("floors", [name, ">=", value])

    def warn(self, message: str, *notes: str, hint: str | None = None) -> None:
        """Print a warning, now and on every later build that this answer serves."""
        self._say("warnings", {"message": message, "notes": list(notes), "hint": hint})

    def refuse(
        self, code: str, message: str, asked: str, carried: str, *, hint: str | None = None
    ) -> NoReturn:
        """End the build with a finding that says both sides.

        Args:
            code: A stable code of the program's own, such as ``DEMO001``; never one of Atoll's.
            message: One sentence in lower case.
            asked: What the build asks for.
            carried: What there is.
            hint: One piece of advice.
        """
        notes = [f"asked: {asked}", f"carried: {carried}"]
        raise Refused({"code": code, "message": message, "notes": notes, "hint": hint, "own": True})

    # inside

    def _say(self, kind: str, value: Any) -> None:
        rows = self.said.setdefault(kind, [])
        if value not in rows[-64:]:
            rows.append(value)

    def _wrong(self, call: str, found: str, wanted: str) -> NoReturn:
        raise Refused(
            {
                "code": "ATL0591",
                "message": f"the build program calls `{call}` with what it does not take",
                "notes": [f"found: {found}", f"wanted: {wanted}"],
                "hint": None,
            }
        )

    def __getattr__(self, name: str) -> Any:
        """Refuse a call that this interface does not have."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise Refused(unknown_call(name, self.__dict__.get("api", API)))


def matching(root: Path, pattern: str) -> list[str]:
    """Return the files below a folder that a pattern matches, sorted, with forward slashes."""
    return sorted(path.relative_to(root).as_posix() for path in root.glob(pattern) if path.is_file())


def unknown_call(name: str, asked: int) -> dict[str, Any]:
    """Return the finding on a call that is not there."""
    return {
        "code": "ATL0592",
        "message": f"the build program uses `{name}`, which this interface does not have",
        "notes": [f"the program was written for: version {asked}", f"this Atoll has: version {API}"],
        "hint": "use a call of docs/reference/build-program.md, or install an Atoll that has it",
    }


_handed: dict[str, Any] = {}


def project(*, api: int = API) -> Project:
    """Return the project that this build program belongs to.

    Args:
        api: The version of this interface that the program was written for.
    """
    if api > API:
        raise Refused(
            {
                "code": "ATL0593",
                "message": "the build program was written for a newer interface than this one",
                "notes": [f"the program asks for: version {api}", f"this Atoll has: version {API}"],
                "hint": "install an Atoll that has it",
            }
        )
    if not _handed:
        raise RuntimeError("a build program is run by `atoll build`")
    made: Project = _handed.setdefault("project", _made(_handed["request"]))
    made.api = api
    return made


def hand_over(request: Mapping[str, Any]) -> Project:
    """Make `project()` answer from this request; the engine's child calls it."""
    _handed.clear()
    _handed["request"] = request
    return project()


def _made(request: Mapping[str, Any]) -> Project:
    values = dict(request)
    values["root"] = Path(values["root"])
    values["features"] = tuple(values["features"])
    values["accel"] = tuple(Entry(**{**row, "archs": tuple(row["archs"])}) for row in values["accel"])
    values["units"] = tuple(
        DeviceUnit(**{**row, "backends": tuple(row["backends"])}) for row in values["units"]
    )
    values["compilers"] = {name: Compiler(**row) for name, row in values["compilers"].items()}
    return Project(**values)


def __getattr__(name: str) -> Any:
    """Refuse a name that this interface does not have."""
    if name.startswith("__"):
        raise AttributeError(name)
    raise Refused(unknown_call(name, API))


# probes


def _probe_key(command: list[str], environment: Mapping[str, str], root: Path) -> str:
    import shutil

    whole = hashlib.sha256(json.dumps([command, environment.get("PATH", "")]).encode())
    program = shutil.which(command[0], path=environment.get("PATH", "")) if command else None
    for word in dict.fromkeys([program or "", *command]):
        # A file that the command names is part of the question.
        try:
            found = (root / word).stat() if word else None
        except (OSError, ValueError):
            found = None
        if found is not None:
            whole.update(f"{word} {found.st_size} {found.st_mtime_ns}\n".encode())
    return whole.hexdigest()[:32]


def probe_name(command: list[str], environment: Mapping[str, str], root: Path) -> str:
    """Return the name under which an answer is kept: the command and the files it names, as they are."""
    return _probe_key(command, environment, root)


def _kept(path: Path) -> Probed | None:
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
        return Probed(row["status"], str(row["out"]), str(row["err"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _keep(path: Path, found: Probed) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(f".{os.getpid()}")
    row = {"status": found.status, "out": found.out, "err": found.err}
    new.write_text(json.dumps(row) + "\n", encoding="utf-8")
    new.replace(path)


def _asked(command: list[str], environment: Mapping[str, str], root: Path, timeout: float) -> Probed:
    env = {name: environment[name] for name in ("PATH", "HOME", "TMPDIR") if name in environment}
    try:
        done = subprocess.run(
            command,
            cwd=root,
            env={**env, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except (OSError, ValueError, IndexError, subprocess.TimeoutExpired) as error:
        return Probed(None, "", str(error))
    out, err = (data[:PROBE_BYTES].decode("utf-8", "replace") for data in (done.stdout, done.stderr))
    return Probed(done.returncode, out, err)
