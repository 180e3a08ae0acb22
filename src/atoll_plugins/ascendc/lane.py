"""The lane of Ascend C: `.asc` and `.cce` units compiled by bisheng of a CANN toolkit.

CANN is in no package registry, so that it comes from the host, and the plan is held by tests alone. Lines:
``bisheng -x asc --npu-arch=dav-2201`` (CANN 8.5, "Ascend C"), ``-x cce --cce-aicore-arch=dav-c220`` before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from atoll.accel import BackendRules, DeviceFacts, Entry, Relation
from atoll.diagnostics import Diagnostic
from atoll.errors import LaneError
from atoll.graph import Action, Role
from atoll.plugin import (
    LanePlan,
    LaneRequest,
    LaneStatus,
    ObjectProduct,
    RuntimeFolder,
    ToolChoice,
    Unit,
    UnitKind,
)
from atoll.plugin.options import check_options, list_option, text_option
from atoll.plugin.tools import argument, ask, find_program, fingerprint, output_path, version_numbers
from atoll.store import Payload
from atoll_plugins.formats.host_compilers import tool_path
from atoll_plugins.formats.lane_refusals import check_host, foreign, named_compiler, no_compiler

OPTIONS = ("compiler", "cann", "flags")
PREFIX = "/usr/local/Ascend/ascend-toolkit/latest"
MEMORY = 1 << 30
# How the newer option spells what the older one and people call an architecture.
NPU_ARCHS = {"dav-c220": "dav-2201", "dav-c310": "dav-3101"}
_ARCH = re.compile(r"dav-[a-z]?[0-9]{3,4}")
_VERSION = re.compile(r"^version=V?(\d+(?:\.\d+)+)", re.MULTILINE)
_BISHENG = re.compile(r"(?:bisheng|clang) version (\d+(?:\.\d+)*)")


class AscendRules:
    """The rules of the backend `ascend`: an architecture serves itself alone; no code is portable."""

    floor_word: str | None = None

    def check(self, entry: Entry) -> tuple[str, str] | None:
        """Refuse a floor, and what is no architecture."""
        if entry.floor is not None:
            return (
                "ascend has no portable code, and so no floor",
                "name architectures: `ascend8.5+{dav-c220}`",
            )
        wrong = next((arch for arch in entry.archs if not _ARCH.fullmatch(arch)), "")
        return (f"`{wrong}` is no architecture of ascend", "write `dav-c220`") if wrong else None

    def links(self, have: Entry, asked: Entry) -> Relation | None:
        """Leave it to the engine: equal majors, equal names."""
        return None

    def runs(self, have: Entry, device: DeviceFacts) -> Relation | None:
        """Leave it to the engine."""
        return None

    def provides(self, target: Entry, arch: str) -> bool:
        """Tell whether the target is the architecture that a source feature needs."""
        return arch in target.archs


class AscendCLane:
    """Compiles `.asc` and `.cce` with bisheng."""

    name = "ascendc"
    extensions: Mapping[str, UnitKind] = {".asc": UnitKind.UNIT, ".cce": UnitKind.UNIT}
    backends: Mapping[str, BackendRules] = {"ascend": AscendRules()}

    def payloads(self, request: LaneRequest) -> tuple[Payload, ...]:
        """Return nothing: no registry has the toolkit.

        Raises:
            LaneError: For entries and hosts that are refused whatever is installed.
        """
        check_options(self.name, request, OPTIONS)
        if request.units:
            _check_entries(request)
        return ()

    def plan(self, request: LaneRequest) -> LanePlan:
        """Return one object for each unit.

        Raises:
            LaneError: For what :meth:`payloads` refuses, and a toolkit that is not there or too old.
        """
        check_options(self.name, request, OPTIONS)
        if not request.units:
            return LanePlan()
        _check_entries(request)
        cann = Path(text_option(self.name, request, "cann") or PREFIX)
        bisheng, why = _compiler(request, cann)
        version = _cann_version(cann)
        _check_version(request, version, cann)
        key = fingerprint((bisheng.resolve(),))
        built = [_compile(request, unit, bisheng, cann, key) for unit in request.units]
        return LanePlan(
            actions=tuple(action for action, _ in built),
            objects=tuple(product for _, product in built),
            link_args=(f"-L{cann}/lib64", "-lascendcl", "-lruntime"),
            runtime=(RuntimeFolder(path=f"{cann}/lib64"),),
            tools=(ToolChoice(name="bisheng", path=str(bisheng), version=version, why=why),),
            planner_inputs=(str(bisheng.resolve()),),
        )

    def status(self, environment: Mapping[str, str], stored: frozenset[str]) -> LaneStatus:
        """Say whether a CANN toolkit is installed."""
        request = LaneRequest(root=Path(), build="", package="", environment=environment)
        try:
            bisheng, _ = _compiler(request, Path(PREFIX))
        except LaneError as error:
            first = error.diagnostics[0]
            return LaneStatus(lane=self.name, can_build=False, reason=first.message, fix=first.hint or "")
        return LaneStatus(lane=self.name, found=f"bisheng at {bisheng}", can_build=True)


def _check_entries(request: LaneRequest) -> None:
    fact = "Huawei publishes the CANN toolkit for Linux alone"
    check_host("ascendc", request, ("linux",), fact, "build on Linux, or leave `ascend` out of the set")
    faults: dict[Diagnostic, None] = {}
    for unit in request.units:
        entry = unit.entry
        if entry is None or entry.backend != "ascend":
            faults[foreign("ascendc", unit, ("ascend",))] = None
            continue
        refused = AscendRules().check(entry)
        if refused is not None:
            reason, hint = refused
            note = f"the entry: {entry}"
            faults[Diagnostic(code="ATL0508", message=reason, notes=(note,), hint=hint)] = None
        elif len(archs_of(unit)) != 1:
            faults[_undecided(unit, entry)] = None
    if faults:
        raise LaneError(*faults)


def archs_of(unit: Unit) -> tuple[str, ...]:
    """Return the architectures a unit gets code for."""
    assert unit.entry is not None
    return unit.archs if unit.archs is not None else unit.entry.archs


def _undecided(unit: Unit, entry: Entry) -> Diagnostic:
    count = len(archs_of(unit))
    return Diagnostic(
        code="ATL0503",
        message="an object of ascend has one architecture"
        if count
        else "the entry `ascend` names no architecture",
        notes=(
            f"the build's entry: {entry}",
            "bisheng compiles ahead of time, for one architecture an object",
        ),
        hint="write `ascend8.5+{dav-c220}`",
    )


def _compiler(request: LaneRequest, cann: Path) -> tuple[Path, str]:
    named = text_option("ascendc", request, "compiler")
    usual = (f"{cann}/bin/bisheng", f"{cann}/compiler/ccec_compiler/bin/bisheng", "bisheng")
    for name in (named,) if named else usual:
        path = find_program(name, request.environment)
        answer = ask((str(path), "--version"), request.environment, lasting=True) if path else None
        if path is not None and answer is not None and _BISHENG.search(answer.out):
            return path, f"the project names `{named}`" if named else f"the first bisheng of {cann} and PATH"
    if named:
        raise LaneError(named_compiler("ascendc", named, "bisheng", request))
    looked = (f"bisheng of {cann}", "bisheng")
    hint = "install CANN, or name its folder with `[lane.ascendc] cann`"
    raise LaneError(no_compiler("ascendc", "bisheng", looked, request, hint))


def _cann_version(cann: Path) -> str:
    name = "ascend_toolkit_install.info"
    for path in (cann / name, *sorted(cann.glob(f"*-linux/{name}"))):
        try:
            match = _VERSION.search(path.read_text("utf-8", "replace")[: 1 << 16])
        except OSError:
            continue
        if match:
            return match[1]
    return ""


def _check_version(request: LaneRequest, version: str, cann: Path) -> None:
    """Refuse a toolkit below what is asked for; one that states no version concludes nothing."""
    entry = request.accel.get("ascend")
    if entry is None or entry.version is None or not version:
        return
    asked, have = entry.version.parts, version_numbers(version)
    if have[:1] == asked[:1] and (*have, 0, 0)[: len(asked)] >= asked:
        return
    raise LaneError(
        Diagnostic(
            code="ATL0504",
            message="the CANN toolkit at hand does not meet the version asked for",
            notes=(
                f"the build asks for: ascend{entry.version} (major {asked[0]}, at least {entry.version})",
                f"at hand: {version}, {cann}",
            ),
            hint="ask for a version it meets, or name another one's folder with `[lane.ascendc] cann`",
        )
    )


def code_flags(unit: Unit) -> tuple[str, ...]:
    """Return the language and the architecture, as each spelling has them."""
    (arch,) = archs_of(unit)
    if PurePosixPath(unit.path).suffix == ".cce":
        return ("-x", "cce", f"--cce-aicore-arch={arch}")
    return ("-x", "asc", f"--npu-arch={NPU_ARCHS.get(arch, arch)}")


def _compile(
    request: LaneRequest, unit: Unit, bisheng: Path, cann: Path, key: str
) -> tuple[Action, ObjectProduct]:
    plain = output_path(request.build, "ascendc", unit.target, unit.path)
    out, depfile = f"{plain}.o", f"{plain}.d"
    argv = (
        *(str(bisheng), *code_flags(unit), f"-std={request.cxx_standard}", f"-O{request.optimise}"),
        *(("-g",) if request.debug else ("-DNDEBUG",)),
        *(("-fPIC",) if unit.position_independent else ()),
        *(("-fvisibility=hidden",) if unit.hidden else ()),
        f"-I{cann}/include",
        *(f"-I{folder}" for folder in unit.includes),
        *(f"-D{define}" for define in unit.defines),
        *(part for header in unit.force_include for part in ("-include", header)),
        *list_option("ascendc", request, "flags"),
        *unit.flags,
        *("-MD", "-MF", depfile, "-c", argument(unit.path), "-o", out),
    )
    action = Action(
        name=f"ascendc {unit.target} {unit.path}",
        argv=argv,
        inputs=(unit.path, *unit.force_include, str(bisheng.resolve())),
        outputs=(out,),
        role=Role.OBJECT,
        depfile=depfile,
        env=(("ASCEND_TOOLKIT_HOME", str(cann)), ("LC_ALL", "C"), ("PATH", tool_path(request.environment))),
        key=key,
        memory=MEMORY,
        description=f"compile {unit.path} for {unit.entry}",
    )
    return action, ObjectProduct(path=out, unit=unit)
