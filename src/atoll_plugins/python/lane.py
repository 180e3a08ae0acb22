"""The lane of kernels written in Python: one C source a kernel and backend, and the boundary's entry.

A file is imported in a child with a time limit to learn which kernels it has; the answer is kept until
the file, a project module that it imports, or Atoll's own compiler changes. Compiling is an action.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from atoll.accel import PROCESSOR, BackendRules, DeviceFacts, Entry, Relation
from atoll.errors import LaneError
from atoll.graph import Action, Role
from atoll.plugin import (
    LanePlan,
    LaneRequest,
    LaneStatus,
    SourceProduct,
    ToolChoice,
    Unit,
    UnitKind,
    registry,
)
from atoll.plugin.options import check_options
from atoll.plugin.rules import rules_beside
from atoll.plugin.tools import argument, fingerprint, output_path, python_program
from atoll.runtime import include_folder
from atoll.store import Payload

if TYPE_CHECKING:
    from atoll_plugins.python.values import Described

OPTIONS = ("timeout",)


class OpenRules:
    """What is known of a backend that an emitter serves and no other lane: nothing."""

    floor_word: str | None = None

    def check(self, entry: Entry) -> tuple[str, str] | None:
        """Refuse nothing."""
        return None

    def links(self, have: Entry, asked: Entry) -> Relation | None:
        """Leave it to the engine."""
        return None

    def runs(self, have: Entry, device: DeviceFacts) -> Relation | None:
        """Leave it to the engine."""
        return None

    def provides(self, target: Entry, arch: str) -> bool | None:
        """Leave it to the engine."""
        return None


class PythonLane:
    """Compiles kernels written in Python for every backend that an installed emitter serves."""

    name = "python"
    extensions: Mapping[str, UnitKind] = {".py": UnitKind.UNIT}
    #: Its units are also compiled for the processor, in every build.
    processor = True

    @cached_property
    def backends(self) -> Mapping[str, BackendRules]:
        """The backends of the installed emitters, with the rules of the lane that knows each."""
        rules = rules_beside(self.name)
        return {name: rules.get(name, OpenRules()) for name in registry().emitters if name != PROCESSOR}

    def payloads(self, request: LaneRequest) -> tuple[Payload, ...]:
        """Return nothing: the emitters need no tool."""
        return ()

    def plan(self, request: LaneRequest) -> LanePlan:
        """Return one action a file and backend.

        Raises:
            LaneError: For a file that has no kernel, cannot be imported, or holds a kernel that cannot be
                compiled or shipped; and for two kernels of one name.
        """
        check_options(self.name, request, OPTIONS)
        if not request.units:
            return LanePlan()
        # A project without kernels imports nothing of the compiler.
        from atoll_plugins.python.child import described, timeout_of

        limit, key = timeout_of(request), compiler_key()
        files: dict[str, tuple[tuple[Described, ...], tuple[str, ...]]] = {}
        for unit in request.units:
            if unit.path not in files:
                files[unit.path] = described(request, unit.path, limit, key)
        _refuse_twice(request.units, files)
        actions, sources = [], []
        for unit in request.units:
            action, products = _compile(request, unit, *files[unit.path], key)
            actions.append(action)
            sources += products
        return LanePlan(
            actions=tuple(actions),
            sources=tuple(sources),
            tools=(
                ToolChoice(
                    name="python", path=python_program(), version=_version(), why="the Python that runs Atoll"
                ),
            ),
            planner_inputs=tuple(sorted({name for _, inputs in files.values() for name in inputs})),
        )

    def status(self, environment: Mapping[str, str], stored: frozenset[str]) -> LaneStatus:
        """Say that the lane is there: it needs nothing but Atoll."""
        names = ", ".join(sorted(registry().emitters))
        return LaneStatus(lane=self.name, found=f"Python {_version()}, emitters: {names}", can_build=True)


def _version() -> str:
    return ".".join(map(str, sys.version_info[:3]))


@cache
def compiler_key() -> str:
    """Return one SHA-256 over Atoll's own compiler: front end, KIR, emitters and this lane."""
    import atoll
    import atoll_plugins

    engine, plugins = Path(atoll.__file__).parent, Path(atoll_plugins.__file__).parent
    folders = [engine / "ir", engine / "kernels", plugins]
    for name in registry().emitters:
        module = sys.modules[type(registry().emitters[name]).__module__]
        if module.__file__:
            folders.append(Path(module.__file__).parent)
    paths = {path for folder in folders for path in folder.rglob("*.py")}
    return fingerprint(sorted(paths))


def _refuse_twice(
    units: tuple[Unit, ...], files: Mapping[str, tuple[tuple[Described, ...], tuple[str, ...]]]
) -> None:
    from atoll.kernels.files import twice

    seen: dict[tuple[str, str], Described] = {}
    faults = []
    for target, path in sorted({(unit.target, unit.path) for unit in units}):
        for kernel in files[path][0]:
            known = seen.setdefault((target, kernel.name), kernel)
            if known is not kernel:
                faults.append(twice(kernel.name, (known.file, known.line), (kernel.file, kernel.line)))
    if faults:
        raise LaneError(*faults)


def _compile(
    request: LaneRequest, unit: Unit, kernels: tuple[Described, ...], inputs: tuple[str, ...], key: str
) -> tuple[Action, list[SourceProduct]]:
    from atoll_plugins.python.child import TIMEOUT
    from atoll_plugins.python.compile import entry_text
    from atoll_plugins.python.values import boundary_entry

    backend = unit.entry.backend if unit.entry else PROCESSOR
    out = output_path(request.build, PythonLane.name, backend, unit.target, unit.path)
    paths = [f"{out}/{kernel.name}.c" for kernel in kernels]
    depfile = f"{out}/depends.d"
    action = Action(
        name=f"python {unit.path} for {backend}" + (f" in {unit.target}" if unit.target else ""),
        argv=(
            *(python_program(), "-I", "-B", "-m", "atoll_plugins.python.compile", argument(unit.path)),
            *("--root", str(request.root), "--backend", backend),
            *("--entry", entry_text(unit.entry, unit.archs), "--out", out, "--depfile", depfile),
            *(("--lines",) if request.debug else ()),
        ),
        inputs=tuple(dict.fromkeys((unit.path, *inputs))),
        outputs=tuple(paths),
        role=Role.SOURCE,
        depfile=depfile,
        key=key,
        time_limit=TIMEOUT * 4,
    )
    products = [
        SourceProduct(
            path=path,
            unit=unit,
            root=backend,
            entries=(boundary_entry(kernel, backend),),
            includes=(str(include_folder()),),
            declared=bool(getattr(registry().emitters[backend], "declared", False)),
        )
        for kernel, path in zip(kernels, paths, strict=True)
    ]
    return action, products
