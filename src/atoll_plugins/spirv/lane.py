"""The lane of shaders: GLSL and HLSL by stage → one SPIR-V module each, embedded as data.

The compiler is :mod:`atoll_plugins.spirv.compilers`; what a version of the API means is
:mod:`atoll_plugins.formats.vulkan_rules`.
"""

from __future__ import annotations

from collections.abc import Mapping

from atoll.accel import BackendRules
from atoll.diagnostics import Diagnostic
from atoll.errors import LaneError
from atoll.graph import Action, Role
from atoll.plugin import DataProduct, LanePlan, LaneRequest, LaneStatus, ToolChoice, Unit, UnitKind
from atoll.plugin.options import check_options, list_option, text_option
from atoll.plugin.tools import argument, find_program, fingerprint, output_path
from atoll.plugin.values import dataclass, replace
from atoll.store import Payload
from atoll_plugins.formats.vulkan_rules import VulkanRules
from atoll_plugins.spirv.compilers import (
    PAYLOAD,
    PAYLOAD_VERSION,
    GlslCompiler,
    on_host,
    read_compiler,
    read_payload,
)
from atoll_plugins.spirv.extensions import check_extensions
from atoll_plugins.spirv.hlsl import check_hlsl, hlsl_words
from atoll_plugins.spirv.stages import HLSL, STAGES, is_hlsl, stage_of
from atoll_plugins.spirv.tame import folder_of, tamed

OPTIONS = ("compiler", "version", "flags")
# The environment taken where the entry states no version.
PINNED = "1.2"
# glslc takes `#include` as it is; glslang wants an extension, which newer ones let the command line state.
_INCLUDES = {True: ("-P#extension GL_GOOGLE_include_directive : enable",), False: ()}


class SpirvLane:
    """Compiles shaders with glslangValidator or glslc."""

    name = "spirv"
    extensions: Mapping[str, UnitKind] = {
        **{f".{stage}": UnitKind.UNIT for stage in STAGES},
        ".glsl": UnitKind.REFUSED,
        HLSL: UnitKind.UNIT,
        ".hlsli": UnitKind.HEADER,
    }
    backends: Mapping[str, BackendRules] = {"vulkan": VulkanRules()}

    def payloads(self, request: LaneRequest) -> tuple[Payload, ...]:
        """Return the compiler's wheels where the set needs one and the host has none."""
        check_options(self.name, request, OPTIONS)
        if not request.units or request.accel.get("vulkan") is None:
            return ()
        _refuse_stageless(request)
        named = text_option(self.name, request, "compiler")
        if named == "payload" or _pinned(request):
            return (PAYLOAD,)
        return () if named is not None or on_host(request.environment) is not None else (PAYLOAD,)

    def plan(self, request: LaneRequest) -> LanePlan:
        """Return one module for each shader.

        Raises:
            LaneError: For a name without a stage, a compiler that is not there, and an environment or an
                extension that it does not have.
        """
        check_options(self.name, request, OPTIONS)
        if not request.units:
            return LanePlan()
        _refuse_stageless(request)
        compiler, why = _compiler(request)
        _check_versions(request, compiler)
        check_hlsl(request, compiler, {unit.path: environment_of(unit) for unit in request.units})
        readers = check_extensions(request, compiler)
        key = f"{fingerprint(compiler.programs, request.environment)} {compiler.digest}"
        programs = tuple(str(path) for path in compiler.programs)
        flags = list_option("spirv", request, "flags")
        built = [_compile(request, unit, compiler, _How(key, programs, flags)) for unit in request.units]
        copies = [
            action for _, action in (tamed(request, unit) for unit in request.units) if action is not None
        ]
        return LanePlan(
            actions=(*copies, *(action for action, _ in built)),
            data=tuple(product for _, product in built),
            tools=(
                ToolChoice(
                    name="shader compiler", path=str(compiler.path), version=compiler.version, why=why
                ),
            ),
            planner_inputs=(*programs, *readers),
        )

    def status(self, environment: Mapping[str, str], stored: frozenset[str]) -> LaneStatus:
        """Say whether the host has a compiler, or the store."""
        path = on_host(environment)
        found = read_compiler(path, environment) if path else None
        have = PAYLOAD.name in stored
        payload = f"{PAYLOAD.name} ({'in the store' if have else 'not in the store'})"
        if found is not None:
            text = f"{found.path.name} {found.version} at {found.path}"
            return LaneStatus(lane=self.name, found=text, payload=payload, can_build=True)
        if have:
            text = f"glslangValidator {PAYLOAD_VERSION} in the store"
            return LaneStatus(lane=self.name, found=text, payload=payload, can_build=True)
        return LaneStatus(
            lane=self.name,
            payload=payload,
            reason="no glslangValidator and no glslc on PATH; the payload is not fetched yet",
            fix="build, or `atoll toolchain add` in the project: it is fetched; or install glslang-tools",
        )


def _refuse_stageless(request: LaneRequest) -> None:
    wrong = [unit for unit in request.units if not stage_of(unit.path)]
    if wrong:
        raise LaneError(
            *(
                Diagnostic(
                    code="ATL0502",
                    message=f"the name of `{unit.path}` states no shader stage",
                    notes=(f"stages are stated by extension: {' '.join('.' + stage for stage in STAGES)}",),
                    hint="name HLSL as in `blur.comp.hlsl`; a file that is only included is `.hlsli`"
                    if is_hlsl(unit.path)
                    else "rename it to its stage; a file that is only included needs no source entry",
                )
                for unit in wrong
            )
        )


def _pinned(request: LaneRequest) -> bool:
    """Tell whether the project pins the payload.

    Raises:
        LaneError: Where there is none of that version, or another compiler is named beside the pin.
    """
    pin, named = (text_option("spirv", request, key) for key in ("version", "compiler"))
    if pin is None:
        return False
    other = named if named not in (None, "payload") else None
    if pin == PAYLOAD_VERSION and other is None:
        return True
    raise LaneError(
        Diagnostic(
            code="ATL0505",
            message=f'`[lane.spirv] version = "{pin}"` is a pin that the lane cannot serve',
            notes=(
                f"the pin: {pin}",
                f"payloads of the lane: {PAYLOAD_VERSION}",
                *((f"`compiler` names: {other}",) if other else ()),
            ),
            hint="remove one of the two keys" if other else "pin one of them, or name a compiler",
        )
    )


def _compiler(request: LaneRequest) -> tuple[GlslCompiler, str]:
    named = text_option("spirv", request, "compiler")
    stored = request.tools.get(PAYLOAD.name)
    if stored is not None and (named is None or named == "payload"):
        found, why = read_payload(stored.root, stored.digest), stored.why
        where = str(stored.root)
    else:
        path = find_program(named, request.environment) if named else on_host(request.environment)
        found = read_compiler(path, request.environment) if path else None
        why = f"the project names `{named}`" if named else "the GLSL compiler on PATH"
        where = f"PATH is: {request.environment.get('PATH') or '(empty)'}"
    if found is None:
        raise LaneError(
            Diagnostic(
                code="ATL0509",
                message="the shader compiler is not there or is none that the lane drives",
                notes=(f"asked for: {named or 'glslangValidator, glslc, or the payload'}", where),
                hint='name glslangValidator or glslc, or write `[lane.spirv] compiler = "payload"`',
            )
        )
    return found, why


def environment_of(unit: Unit) -> str:
    """Return the target environment of a unit: its entry's version, else the lane's pinned one."""
    version = unit.entry.version if unit.entry else None
    return f"vulkan{version or PINNED}"


def _check_versions(request: LaneRequest, compiler: GlslCompiler) -> None:
    asked = sorted({environment_of(unit) for unit in request.units})
    unknown = [name for name in asked if compiler.environments and name not in compiler.environments]
    known = ", ".join(sorted(compiler.environments))
    if unknown:
        raise LaneError(
            *(
                Diagnostic(
                    code="ATL0511",
                    message=f"the shader compiler does not know the environment `{name}`",
                    notes=(
                        f"the build asks for: {name}",
                        f"{compiler.path.name} {compiler.version} knows: {known}",
                    ),
                    hint="ask for one of them, or name a newer compiler with `[lane.spirv] compiler`",
                )
                for name in unknown
            )
        )


@dataclass(frozen=True, slots=True)
class _How:
    """What all compilations of a build have: the compiler's identity, its files, further flags."""

    key: str
    programs: tuple[str, ...]
    flags: tuple[str, ...]


def _compile(
    request: LaneRequest, unit: Unit, compiler: GlslCompiler, how: _How
) -> tuple[Action, DataProduct]:
    out = output_path(request.build, "spirv", unit.target, unit.path) + ".spv"
    source, copied = tamed(request, unit)
    if copied is not None:
        unit = replace(unit, includes=(folder_of(unit), *unit.includes))
    hlsl = is_hlsl(unit.path)
    spell = _glslang if compiler.family == "glslang" else _shaderc
    action = Action(
        name=f"spirv {unit.target} {unit.path}",
        argv=(
            str(compiler.path),
            *(hlsl_words(compiler, unit.path) if hlsl else _INCLUDES[compiler.preamble]),
            *spell(request, unit, out),
            *how.flags,
            *unit.flags,
            "-o",
            out,
            argument(source),
        ),
        inputs=(*dict.fromkeys((unit.path, source)), *how.programs),
        outputs=(out,),
        role=Role.ARTIFACT,
        depfile=f"{out}.d",
        # shaderc writes names as they are (google/shaderc#1220).
        depfile_style="make" if compiler.family == "glslang" else "raw",
        env=(("LC_ALL", "C"), *compiler.env),
        key=how.key,
        description=f"compile {unit.path} for {environment_of(unit)}",
    )
    return action, DataProduct(path=out, unit=unit, backend="vulkan", form="spirv")


def _glslang(request: LaneRequest, unit: Unit, out: str) -> tuple[str, ...]:
    return (
        *("-V", "--quiet", "--target-env", environment_of(unit), "--depfile", f"{out}.d"),
        *(("-g",) if request.debug else ()),
        *(f"-I{folder}" for folder in unit.includes),
        *(f"-D{define}" for define in unit.defines),
    )


def _shaderc(request: LaneRequest, unit: Unit, out: str) -> tuple[str, ...]:
    return (
        *(f"--target-env={environment_of(unit)}", "-MD", "-MF", f"{out}.d"),
        *(("-g",) if request.debug else ()),
        *(part for folder in unit.includes for part in ("-I", folder)),
        *(f"-D{define}" for define in unit.defines),
    )
