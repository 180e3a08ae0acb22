"""How is HIP compiled for AMD: by clang ``-x hip``, with device libraries that were looked at first?"""

from __future__ import annotations

from pathlib import Path

from atoll.diagnostics import Diagnostic
from atoll.errors import LaneError
from atoll.graph import Action, Role
from atoll.plugin import LanePlan, LaneRequest, ObjectProduct, RuntimeFolder, ToolChoice, Unit
from atoll.plugin.options import list_option
from atoll.plugin.tools import argument, fingerprint, output_path, python_program
from atoll_plugins.formats.device_link import groups, wanted
from atoll_plugins.formats.host_compilers import tool_path
from atoll_plugins.hip.clangs import Clang, choose
from atoll_plugins.hip.rules import processor_of
from atoll_plugins.hip.sdk import (
    Sdk,
    abi_versions,
    check_bitcode,
    check_runtime,
    isa_file,
    isa_number,
    locate,
)
from atoll_plugins.hip.units import archs_of

HERE = Path(__file__).resolve().parent
ISA_SOURCE = HERE / "isa.cl"
GATHER = HERE / "gather.py"
HEADER = HERE / "stub/atoll_hip_wavefront.h"
STAGES = ("lld", "clang-offload-bundler")
#: Where `<atoll/target.h>` lies.
HEADERS = HERE / "include"
MEMORY = 1 << 30
# Clang 20 writes version 6 where nothing is said; before, it writes 5 and knows 6 as an experiment.
_NEWEST_ABI = {True: 6, False: 5}


def plan_amd(request: LaneRequest) -> LanePlan:
    """Return one object for each unit, and the device libraries that have to be made.

    Raises:
        LaneError: For a HIP that is not whole, and a clang that is not there.
    """
    sdk = locate(request)
    runtime = check_runtime(sdk)
    check_bitcode(sdk)
    clang = choose(request, STAGES)
    bitcode = [sdk.bitcode / name for name in sorted(sdk.files) if sdk.bitcode]
    key = fingerprint((*clang.programs, *bitcode), request.environment)
    folder, made = _libraries(request, clang, sdk, key)
    built = [_compile(request, unit, clang, sdk, folder, made, key) for unit in request.units]
    links = _device_links(request, built, clang, sdk, folder, key) if wanted("hip", request) else []
    return LanePlan(
        actions=(*made, *(action for action, _ in built), *(action for action, _ in links)),
        # What is linked for devices holds the host halves too.
        objects=tuple(product for _, product in links or built),
        link_args=(*(() if sdk.system else (f"-L{runtime}",)), "-lamdhip64"),
        runtime=() if sdk.system else (RuntimeFolder(path=str(runtime)),),
        tools=(
            ToolChoice(
                name="clang as a HIP compiler",
                path=str(clang.compiler.cxx),
                version=clang.compiler.version,
                why=clang.why,
            ),
            ToolChoice(name="HIP", path=str(sdk.prefix), version=sdk.version, why=sdk.why),
            ToolChoice(
                name="device libraries", path=str(sdk.bitcode), version="", why=_said(folder, request, sdk)
            ),
        ),
        planner_inputs=(
            *(str(path) for path in clang.programs),
            str(sdk.prefix / "include/hip/hip_version.h"),
        ),
    )


def _said(folder: str, request: LaneRequest, sdk: Sdk) -> str:
    lacking = ", ".join(_lacking(request, sdk))
    return f"made here for {lacking}, which they lack: {folder}" if lacking else "each file was looked at"


def _processors(request: LaneRequest) -> list[str]:
    return sorted({processor_of(arch) for unit in request.units for arch in archs_of(unit)})


def _lacking(request: LaneRequest, sdk: Sdk) -> list[str]:
    return [each for each in _processors(request) if isa_file(each) not in sdk.files]


def _libraries(request: LaneRequest, clang: Clang, sdk: Sdk, key: str) -> tuple[str, tuple[Action, ...]]:
    """Return the folder of device libraries, and what makes it where the installed one is too old.

    Raises:
        LaneError: For a generic processor that the installed ones do not state.
    """
    assert sdk.bitcode is not None
    lacking = _lacking(request, sdk)
    if not lacking:
        return str(sdk.bitcode), ()
    folder = output_path(request.build, "hip", "bitcode")
    made = [_statement(processor, folder, clang, sdk, key, request) for processor in lacking]
    copied = tuple(f"{folder}/{name}" for name in sorted(sdk.files))
    gathered = Action(
        name="hip device libraries",
        argv=(python_program(), "-I", "-S", str(GATHER), str(sdk.bitcode), folder, *sorted(sdk.files)),
        inputs=(str(GATHER), *(str(sdk.bitcode / name) for name in sorted(sdk.files))),
        outputs=copied,
        role=Role.SOURCE,
        description="gather device libraries",
    )
    return folder, (gathered, *made)


def _statement(processor: str, folder: str, clang: Clang, sdk: Sdk, key: str, request: LaneRequest) -> Action:
    number = isa_number(processor)
    if number is None:
        raise LaneError(
            Diagnostic(
                code="ATL0508",
                message=f"the device libraries at hand do not serve `{processor}`",
                notes=(f"asked: {processor}", f"device libraries of HIP {sdk.version}: {sdk.bitcode}"),
                hint="name processors, or a newer ROCm with `[lane.hip] rocm`",
            )
        )
    out = f"{folder}/{isa_file(processor)}"
    return Action(
        name=f"hip device library {processor}",
        argv=(
            *(str(clang.compiler.cc), "-x", "cl", "-cl-std=CL2.0", "-Xclang", "-finclude-default-header"),
            # As the installed ones are: a library of one version of code objects would not link with another.
            *("-Xclang", "-mcode-object-version=none"),
            *("-target", "amdgcn-amd-amdhsa", "-nogpulib", f"-DISA={number}", "-O2"),
            *("-emit-llvm", "-c", str(ISA_SOURCE), "-o", out),
        ),
        inputs=(str(ISA_SOURCE), *(str(path) for path in clang.programs)),
        outputs=(out,),
        role=Role.SOURCE,
        env=(("LC_ALL", "C"), ("PATH", tool_path(request.environment))),
        key=key,
        description=f"state {processor} for device libraries",
    )


def code_flags(unit: Unit) -> tuple[str, ...]:
    """Return one flag a target."""
    return tuple(f"--offload-arch={arch}" for arch in sorted(archs_of(unit)))


def abi_flag(clang: Clang, sdk: Sdk) -> str:
    """Return the version of code objects: the newest that both clang writes and the libraries serve."""
    most = _NEWEST_ABI[clang.compiler.major >= 20]
    known = abi_versions(sdk)
    return f"-mcode-object-version={max((each for each in known if each <= most), default=known[0])}"


def _compile(
    request: LaneRequest,
    unit: Unit,
    clang: Clang,
    sdk: Sdk,
    folder: str,
    made: tuple[Action, ...],
    key: str,
) -> tuple[Action, ObjectProduct]:
    plain = output_path(request.build, "hip", unit.target, unit.path)
    out, depfile = f"{plain}.o", f"{plain}.d"
    argv = (
        *(str(clang.compiler.cxx), "-x", "hip", *code_flags(unit), f"--rocm-device-lib-path={folder}"),
        *(abi_flag(clang, sdk), "-include", str(HEADER), "-D__HIP_PLATFORM_AMD__"),
        *(("-fgpu-rdc",) if wanted("hip", request) else ()),
        *(() if sdk.system else ("-isystem", f"{sdk.prefix}/include")),
        *(*common_flags(request, unit), f"-I{HEADERS}"),
        *("-MD", "-MF", depfile, "-c", argument(unit.path), "-o", out),
    )
    libraries = tuple(output for action in made for output in action.outputs)
    action = Action(
        name=f"hip {unit.target} {unit.path}",
        argv=argv,
        inputs=(
            unit.path,
            *unit.force_include,
            str(HEADER),
            *libraries,
            *(str(path) for path in clang.programs),
        ),
        outputs=(out,),
        role=Role.OBJECT,
        depfile=depfile,
        env=(("LC_ALL", "C"), ("PATH", tool_path(request.environment))),
        key=key,
        memory=MEMORY,
        description=f"compile {unit.path} for {unit.entry}",
    )
    return action, ObjectProduct(path=out, unit=unit)


def _device_links(
    request: LaneRequest,
    built: list[tuple[Action, ObjectProduct]],
    clang: Clang,
    sdk: Sdk,
    folder: str,
    key: str,
) -> list[tuple[Action, ObjectProduct]]:
    """Return one object for each image: its units joined, device code linked, host code as it was."""
    found = []
    for group in groups(request, every_archive=True):
        objects = tuple(product.path for _, product in built if product.unit in group.units)
        name = f"device-link{f'-{group.owner.root}' if group.owner.root else ''}.o"
        out = output_path(request.build, "hip", group.target, name)
        archs = dict.fromkeys(flag for unit in group.units for flag in code_flags(unit))
        action = Action(
            name=f"hip device link {group.target} {group.owner.root}".rstrip(),
            argv=(
                *(str(clang.compiler.cxx), "--hip-link", "-fgpu-rdc", *archs),
                *(f"--rocm-device-lib-path={folder}", abi_flag(clang, sdk), "-r", *objects, "-o", out),
            ),
            inputs=(*objects, *(str(path) for path in clang.programs)),
            outputs=(out,),
            role=Role.OBJECT,
            env=(("LC_ALL", "C"), ("PATH", tool_path(request.environment))),
            key=key,
            memory=MEMORY,
            description=f"link the device code of {group.target}",
        )
        found.append((action, ObjectProduct(path=out, unit=group.owner)))
    return found


def common_flags(request: LaneRequest, unit: Unit) -> tuple[str, ...]:
    """Return what a unit is compiled with on either platform."""
    return (
        *(f"-std={request.cxx_standard}", f"-O{request.optimise}"),
        *(("-g",) if request.debug else ("-DNDEBUG",)),
        *(("-fPIC",) if unit.position_independent else ()),
        *(("-fvisibility=hidden",) if unit.hidden else ()),
        *(f"-I{name}" for name in unit.includes),
        *(f"-D{define}" for define in unit.defines),
        *(part for header in unit.force_include for part in ("-include", header)),
        *list_option("hip", request, "flags"),
        *unit.flags,
    )
