"""The lane of OpenCL C: checked offline by clang where there is one, embedded as one text.

The device's own compiler makes the code at run time, so the backend is *declared*, never measured.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from atoll.accel import BackendRules
from atoll.diagnostics import Diagnostic, Severity
from atoll.errors import LaneError
from atoll.graph import Action, Role
from atoll.plugin import DataProduct, LanePlan, LaneRequest, LaneStatus, ToolChoice, Unit, UnitKind
from atoll.plugin.options import check_options, list_option, text_option
from atoll.plugin.tools import (
    argument,
    ask,
    find_program,
    fingerprint,
    output_path,
    programs_like,
    python_program,
    version_numbers,
)
from atoll.store import Payload
from atoll_plugins.formats.host_compilers import tool_path
from atoll_plugins.opencl.rules import OpenClRules

OPTIONS = ("compiler", "flags")
# The language version taken where the entry states none.
PINNED = "1.2"
# What clang's `-cl-std` knows of the versions that an entry may ask for.
_STANDARDS = {"1.0": "CL1.0", "1.1": "CL1.1", "1.2": "CL1.2", "2.0": "CL2.0", "3.0": "CL3.0"}
_INLINE = str(Path(__file__).resolve().with_name("inline.py"))
#: Where `<atoll/target.h>` lies.
HEADERS = str(Path(__file__).resolve().with_name("include"))


class OpenClLane:
    """Embeds `.cl` files and checks them with clang."""

    name = "opencl"
    extensions: Mapping[str, UnitKind] = {".cl": UnitKind.UNIT, ".clh": UnitKind.HEADER}
    backends: Mapping[str, BackendRules] = {"opencl": OpenClRules()}

    def payloads(self, request: LaneRequest) -> tuple[Payload, ...]:
        """Return nothing: the device brings the compiler."""
        return ()

    def plan(self, request: LaneRequest) -> LanePlan:
        """Return one text for each unit, and one check where clang is there.

        Raises:
            LaneError: For a version of the language nobody knows, or a compiler that is not there.
        """
        check_options(self.name, request, OPTIONS)
        if not request.units:
            return LanePlan()
        for unit in request.units:
            standard_of(unit)
        clang = _clang(request)
        texts = [_text(request, unit) for unit in request.units]
        checks: tuple[Action, ...] = ()
        tools = [
            ToolChoice(name="OpenCL C compiler", path="", version="", why="the device's own, at run time")
        ]
        notes: tuple[Diagnostic, ...] = ()
        if clang is None:
            notes = (_unchecked(request),)
        else:
            key = fingerprint((clang.resolve(),), request.environment)
            checks = tuple(_check(request, unit, clang, key) for unit in request.units)
            version = clang_version(clang) or ""
            why = "checks the sources offline"
            tools.append(ToolChoice(name="OpenCL C checker", path=str(clang), version=version, why=why))
        return LanePlan(
            actions=(*(action for action, _ in texts), *checks),
            data=tuple(product for _, product in texts),
            tools=tuple(tools),
            diagnostics=notes,
            planner_inputs=(str(clang.resolve()),) if clang else (),
        )

    def status(self, environment: Mapping[str, str], stored: frozenset[str]) -> LaneStatus:
        """Say whether sources can be checked; they can always be embedded."""
        clang = find_clang(environment)
        found = f"clang {clang_version(clang)} at {clang}, for the offline check" if clang else ""
        return LaneStatus(
            lane=self.name,
            found=found or "embeds sources; no clang to check them with",
            can_build=True,
        )


def _clang(request: LaneRequest) -> Path | None:
    named = text_option("opencl", request, "compiler")
    if named is None:
        return find_clang(request.environment)
    path = find_program(named, request.environment)
    if path is None or clang_version(path) is None:
        raise LaneError(
            Diagnostic(
                code="ATL0509",
                message=f"the OpenCL C checker `{named}` is not there or is no clang",
                notes=(
                    f"`[lane.opencl] compiler` names: {named}",
                    f"PATH is: {request.environment.get('PATH') or '(empty)'}",
                ),
                hint="name a clang, or remove the key",
            )
        )
    return path


def find_clang(environment: Mapping[str, str]) -> Path | None:
    """Return ``clang``, or the newest ``clang-N``, on the PATH of `environment`."""
    plain = find_program("clang", environment)
    numbered = programs_like(r"clang-\d+", environment)
    ordered = sorted(numbered, key=lambda path: version_numbers(path.name[6:]), reverse=True)
    candidates: list[Path] = [plain, *ordered] if plain else ordered
    for path in candidates:
        if clang_version(path) is not None:
            return path
    return None


def clang_version(path: Path) -> str | None:
    """Return the version a clang states, or None where it is none."""
    try:
        return _clang_version(path, path.stat().st_mtime_ns)
    except OSError:
        return None


@lru_cache(maxsize=32)
def _clang_version(path: Path, _stamp: int) -> str | None:
    answer = ask((str(path), "--version"), {"PATH": "/usr/bin:/bin"})
    match = re.search(r"clang version (\d+(?:\.\d+)*)", answer.out) if answer else None
    return match[1] if match else None


def standard_of(unit: Unit) -> str:
    """Return clang's name of the language version of a unit.

    Raises:
        LaneError: Where the entry asks for a version that is none.
    """
    version = str(unit.entry.version) if unit.entry and unit.entry.version else PINNED
    if version not in _STANDARDS:
        raise LaneError(
            Diagnostic(
                code="ATL0504",
                message=f"there is no OpenCL C of version {version}",
                notes=(f"the build asks for: opencl{version}", f"there is: {', '.join(_STANDARDS)}"),
                hint="ask for one of them",
            )
        )
    return _STANDARDS[version]


def _unchecked(request: LaneRequest) -> Diagnostic:
    return Diagnostic(
        code="ATL0515",
        severity=Severity.NOTE,
        message="OpenCL C sources are embedded without an offline check",
        notes=("looked for: clang, clang-N", f"PATH is: {request.environment.get('PATH') or '(empty)'}"),
        hint="install clang to see their errors at build time",
    )


def _text(request: LaneRequest, unit: Unit) -> tuple[Action, DataProduct]:
    out = output_path(request.build, "opencl", unit.target, unit.path)
    action = Action(
        name=f"opencl {unit.target} {unit.path}",
        argv=(
            *(python_program(), "-I", "-S", _INLINE, argument(unit.path), out, f"{out}.d"),
            *(f"-I{folder}" for folder in (*unit.includes, HEADERS)),
            *(f"-D{define}" for define in unit.defines),
        ),
        inputs=(unit.path, _INLINE),
        outputs=(out,),
        role=Role.ARTIFACT,
        depfile=f"{out}.d",
        description=f"embed {unit.path}",
    )
    product = DataProduct(
        path=out,
        unit=unit,
        backend="opencl",
        entry_point="",
        form="text",
        declared=True,
        clang_argv=("clang", *_language(request, unit), "-c", argument(unit.path)),
    )
    return action, product


def _language(request: LaneRequest, unit: Unit) -> tuple[str, ...]:
    """Return how clang is told what a unit is."""
    return (
        *("-x", "cl", f"-cl-std={standard_of(unit)}"),
        *("-Xclang", "-finclude-default-header", "-target", "spir64-unknown-unknown", "-O0"),
        *(f"-I{folder}" for folder in (*unit.includes, HEADERS)),
        *(f"-D{define}" for define in unit.defines),
        *list_option("opencl", request, "flags"),
        *unit.flags,
    )


def _check(request: LaneRequest, unit: Unit, clang: Path, key: str) -> Action:
    out = output_path(request.build, "opencl", unit.target, unit.path) + ".checked.bc"
    return Action(
        name=f"opencl check {unit.target} {unit.path}",
        argv=(
            str(clang),
            *_language(request, unit),
            *("-MD", "-MF", f"{out}.d", "-emit-llvm", "-c", argument(unit.path), "-o", out),
        ),
        inputs=(unit.path, str(clang.resolve())),
        outputs=(out,),
        role=Role.CHECK,
        depfile=f"{out}.d",
        env=(("LC_ALL", "C"), ("PATH", tool_path(request.environment))),
        key=key,
        description=f"check {unit.path}",
    )
