"""The lane of Slang: `.slang` units → one SPIR-V module each, embedded as data. Which slangc: `compiler.py`.

slangc is only ever run with a time limit: of one target it is known that it never ends
(notes/lanes.md, 4: ``-target host-cpp``).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from atoll.accel import BackendRules
from atoll.diagnostics import Diagnostic
from atoll.errors import LaneError
from atoll.graph import Action, Role
from atoll.plugin import DataProduct, LanePlan, LaneRequest, LaneStatus, ToolChoice, Unit, UnitKind
from atoll.plugin.options import check_options, list_option
from atoll.plugin.tools import argument, fingerprint, output_path
from atoll.store import Payload
from atoll_plugins.formats.lane_refusals import foreign
from atoll_plugins.formats.vulkan_rules import SPIRV_OF_VULKAN, VulkanRules
from atoll_plugins.slang.compiler import PAYLOAD, Slangc, locate, wants_payload

OPTIONS = ("compiler", "version", "flags")
PINNED = "1.2"
#: Seconds that one compilation may take; the largest shaders in public repositories take some ten.
TIME_LIMIT = 300.0
# How a name says another stage than compute (`blur.frag.slang`), in slangc's words.
STAGES = {
    "comp": "compute", "vert": "vertex", "frag": "fragment", "geom": "geometry", "tesc": "hull",
    "tese": "domain", "mesh": "mesh", "task": "amplification", "rgen": "raygeneration",
    "rint": "intersection", "rahit": "anyhit", "rchit": "closesthit", "rmiss": "miss", "rcall": "callable",
}  # fmt: skip


class SlangLane:
    """Compiles `.slang` with slangc."""

    name = "slang"
    extensions: Mapping[str, UnitKind] = {".slang": UnitKind.UNIT, ".slangh": UnitKind.HEADER}
    backends: Mapping[str, BackendRules] = {"vulkan": VulkanRules()}

    def payloads(self, request: LaneRequest) -> tuple[Payload, ...]:
        """Return the wheel, unless the project names a compiler.

        Raises:
            LaneError: For entries, pins and hosts that are refused whatever is installed.
        """
        check_options(self.name, request, OPTIONS)
        if not request.units or request.accel.get("vulkan") is None:
            return ()
        _check_units(request)
        return (PAYLOAD,) if wants_payload(request) else ()

    def plan(self, request: LaneRequest) -> LanePlan:
        """Return one module for each unit.

        Raises:
            LaneError: For what :meth:`payloads` refuses, and a compiler that is not there.
        """
        check_options(self.name, request, OPTIONS)
        if not request.units:
            return LanePlan()
        _check_units(request)
        slangc = locate(request)
        key = f"{fingerprint(slangc.programs, request.environment)} {slangc.digest}"
        built = [_compile(request, unit, slangc, key) for unit in request.units]
        return LanePlan(
            actions=tuple(action for action, _ in built),
            data=tuple(product for _, product in built),
            tools=(ToolChoice(name="slangc", path=str(slangc.path), version=slangc.version, why=slangc.why),),
            planner_inputs=tuple(str(path) for path in slangc.programs),
        )

    def status(self, environment: Mapping[str, str], stored: frozenset[str]) -> LaneStatus:
        """Say whether the wheel is in the store."""
        have = PAYLOAD.name in stored
        return LaneStatus(
            lane=self.name,
            found=f"slangc {PAYLOAD.name.removeprefix('slang-')} in the store" if have else "",
            payload=f"{PAYLOAD.name} ({'in the store' if have else 'not in the store'})",
            can_build=True if have else None,
            reason="" if have else "slangc is fetched by the first build that needs it",
            fix="" if have else "build, or `atoll toolchain add` in the project: it is fetched",
        )


def _check_units(request: LaneRequest) -> None:
    faults: dict[Diagnostic, None] = {}
    for unit in request.units:
        if unit.entry is None or unit.entry.backend != "vulkan":
            faults[foreign("slang", unit, ("vulkan",))] = None
        elif version_of(unit) not in SPIRV_OF_VULKAN:
            faults[_unknown(unit)] = None
    if faults:
        raise LaneError(*faults)


def version_of(unit: Unit) -> str:
    """Return the version of Vulkan that a unit is compiled for."""
    return str(unit.entry.version) if unit.entry and unit.entry.version else PINNED


def stage_of(path: str) -> str:
    """Return the stage in slangc's words: what stands before the extension, else compute."""
    return STAGES.get(PurePosixPath(PurePosixPath(path).stem).suffix.lstrip("."), "compute")


def _unknown(unit: Unit) -> Diagnostic:
    return Diagnostic(
        code="ATL0511",
        message=f"the shader compiler does not know the environment `vulkan{version_of(unit)}`",
        notes=(
            f"the build asks for: vulkan{version_of(unit)}",
            f"slangc is asked for: {', '.join(SPIRV_OF_VULKAN)}",
        ),
        hint="ask for one of them",
    )


def _compile(request: LaneRequest, unit: Unit, slangc: Slangc, key: str) -> tuple[Action, DataProduct]:
    out = output_path(request.build, "slang", unit.target, unit.path) + ".spv"
    profile = SPIRV_OF_VULKAN[version_of(unit)].replace(".", "_")
    action = Action(
        name=f"slang {unit.target} {unit.path}",
        argv=(
            *(str(slangc.path), argument(unit.path), "-target", "spirv", "-profile", f"spirv_{profile}"),
            # The wheel has no `spirv-opt`; drivers optimise what they are given.
            *("-O0", "-entry", "main", "-stage", stage_of(unit.path)),
            *(("-g",) if request.debug else ()),
            *(part for folder in unit.includes for part in ("-I", folder)),
            *(f"-D{define}" for define in unit.defines),
            *list_option("slang", request, "flags"),
            *unit.flags,
            *("-depfile", f"{out}.d", "-o", out),
        ),
        inputs=(unit.path, *(str(path) for path in slangc.programs)),
        outputs=(out,),
        role=Role.ARTIFACT,
        depfile=f"{out}.d",
        env=(("LC_ALL", "C"),),
        key=key,
        time_limit=TIME_LIMIT,
        description=f"compile {unit.path} for vulkan{version_of(unit)}",
    )
    return action, DataProduct(path=out, unit=unit, backend="vulkan", form="spirv")
