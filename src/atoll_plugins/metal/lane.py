"""The lane of Metal: `.metal` units → one library each, embedded as data. Xcode compiles, on macOS.

Two steps, as Apple documents them ("Building a shader library by precompiling source files"): ``metal -c`` to
AIR, ``metallib`` to a library. Which GPU runs it is in no field that a reader knows: the backend is declared.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from atoll.accel import BackendRules
from atoll.accel.atleast import AtLeastRules
from atoll.diagnostics import Diagnostic
from atoll.errors import LaneError
from atoll.graph import Action, Role
from atoll.plugin import DataProduct, LanePlan, LaneRequest, LaneStatus, ToolChoice, Unit, UnitKind
from atoll.plugin.options import check_options, list_option, text_option
from atoll.plugin.tools import argument, ask, find_program, fingerprint, output_path
from atoll.store import Payload
from atoll_plugins.formats.host_compilers import tool_path
from atoll_plugins.formats.hosts import MACOS
from atoll_plugins.formats.lane_refusals import check_host, foreign, named_compiler, no_compiler

OPTIONS = ("compiler", "sdk", "flags")
PINNED = "3.1"
#: Versions of the language that Xcode names ``metalN.M`` (Metal Shading Language Specification 3.2, 1.6.8).
VERSIONS = ("3.0", "3.1", "3.2")


class MetalRules(AtLeastRules):
    """The rules of the backend `metal`: each version serves every earlier one."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(format="metallib")


class MetalLane:
    """Compiles `.metal` with Xcode's tools."""

    name = "metal"
    extensions: Mapping[str, UnitKind] = {".metal": UnitKind.UNIT, ".metalh": UnitKind.HEADER}
    backends: Mapping[str, BackendRules] = {"metal": MetalRules()}

    def payloads(self, request: LaneRequest) -> tuple[Payload, ...]:
        """Return nothing: Xcode comes with the host.

        Raises:
            LaneError: For entries and hosts that are refused whatever is installed.
        """
        check_options(self.name, request, OPTIONS)
        if request.units:
            _check_units(request)
        return ()

    def plan(self, request: LaneRequest) -> LanePlan:
        """Return one library for each unit.

        Raises:
            LaneError: For what :meth:`payloads` refuses, and tools that are not there.
        """
        check_options(self.name, request, OPTIONS)
        if not request.units:
            return LanePlan()
        _check_units(request)
        xcrun, why = _tools(request)
        key = fingerprint((xcrun.resolve(),))
        built = [_compile(request, unit, xcrun, key) for unit in request.units]
        return LanePlan(
            actions=tuple(action for actions, _ in built for action in actions),
            data=tuple(product for _, product in built),
            tools=(
                ToolChoice(name="Metal compiler", path=str(xcrun), version=_version(xcrun, request), why=why),
            ),
            planner_inputs=(str(xcrun.resolve()),),
        )

    def status(self, environment: Mapping[str, str], stored: frozenset[str]) -> LaneStatus:
        """Say whether Xcode is there."""
        try:
            xcrun, _ = _tools(LaneRequest(root=Path(), build="", package="", environment=environment))
        except LaneError as error:
            first = error.diagnostics[0]
            return LaneStatus(lane=self.name, can_build=False, reason=first.message, fix=first.hint or "")
        return LaneStatus(lane=self.name, found=f"xcrun at {xcrun}", can_build=True)


def _check_units(request: LaneRequest) -> None:
    fact = "Apple ships the Metal compiler with Xcode, which runs on macOS alone"
    check_host("metal", request, (MACOS,), fact, "build on macOS, or leave `metal` out of the set")
    faults: dict[Diagnostic, None] = {}
    for unit in request.units:
        if unit.entry is None or unit.entry.backend != "metal":
            faults[foreign("metal", unit, ("metal",))] = None
        elif version_of(unit) not in VERSIONS:
            faults[_unknown(unit)] = None
    if faults:
        raise LaneError(*faults)


def version_of(unit: Unit) -> str:
    """Return the version of the language that a unit is compiled for."""
    return str(unit.entry.version) if unit.entry and unit.entry.version else PINNED


def _unknown(unit: Unit) -> Diagnostic:
    return Diagnostic(
        code="ATL0504",
        message=f"the lane `metal` knows no language of version {version_of(unit)}",
        notes=(f"the build asks for: metal{version_of(unit)}", f"there is: {', '.join(VERSIONS)}"),
        hint="ask for one of them",
    )


def _tools(request: LaneRequest) -> tuple[Path, str]:
    named = text_option("metal", request, "compiler")
    path = find_program(named or "xcrun", request.environment)
    if path is not None:
        return path, f"the project names `{named}`" if named else "the xcrun on PATH"
    if named:
        raise LaneError(named_compiler("metal", named, "xcrun", request))
    raise LaneError(
        no_compiler("metal", "xcrun", ("xcrun",), request, "install Xcode with its Metal toolchain")
    )


def _version(xcrun: Path, request: LaneRequest) -> str:
    answer = ask((str(xcrun), "-sdk", _sdk(request), "metal", "--version"), request.environment, lasting=True)
    return (
        answer.out.strip().splitlines()[0][:200]
        if answer and answer.status == 0 and answer.out.strip()
        else ""
    )


def _sdk(request: LaneRequest) -> str:
    return text_option("metal", request, "sdk") or "macosx"


def _compile(
    request: LaneRequest, unit: Unit, xcrun: Path, key: str
) -> tuple[tuple[Action, Action], DataProduct]:
    plain = output_path(request.build, "metal", unit.target, unit.path)
    air, out = f"{plain}.air", f"{plain}.metallib"
    start = (str(xcrun), "-sdk", _sdk(request))
    env = (("LC_ALL", "C"), ("PATH", tool_path(request.environment)))
    programs = (str(xcrun.resolve()),)
    compiled = Action(
        name=f"metal {unit.target} {unit.path}",
        argv=(
            *(*start, "metal", f"-std=metal{version_of(unit)}", f"-O{request.optimise}"),
            *(("-gline-tables-only", "-frecord-sources") if request.debug else ()),
            *(f"-I{folder}" for folder in unit.includes),
            *(f"-D{define}" for define in unit.defines),
            *list_option("metal", request, "flags"),
            *unit.flags,
            *("-MD", "-MF", f"{air}.d", "-c", argument(unit.path), "-o", air),
        ),
        inputs=(unit.path, *programs),
        outputs=(air,),
        role=Role.SOURCE,
        depfile=f"{air}.d",
        env=env,
        key=key,
        description=f"compile {unit.path} for metal{version_of(unit)}",
    )
    packed = Action(
        name=f"metal library {unit.target} {unit.path}",
        argv=(*start, "metallib", air, "-o", out),
        inputs=(air, *programs),
        outputs=(out,),
        role=Role.ARTIFACT,
        env=env,
        key=key,
        description=f"pack {unit.path}",
    )
    product = DataProduct(
        path=out, unit=unit, backend="metal", entry_point="", form="metallib", declared=True
    )
    return (compiled, packed), product
