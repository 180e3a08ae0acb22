"""How is HIP compiled for NVIDIA: by clang ``-x cuda`` through HIP's layer of headers over CUDA?

The layer of the HIP that distributions ship names functions that CUDA 12 removed (texture references), so it
is compiled against the CUDA 11.8 wheels, with the fat-binary writer of 13.0, whose spelling newer clang uses.
Neither set of wheels is laid out as a toolkit; clang is told each folder.
"""

from __future__ import annotations

from pathlib import Path

from atoll.diagnostics import Diagnostic
from atoll.errors import LaneError
from atoll.graph import Action, Role
from atoll.plugin import LanePlan, LaneRequest, ObjectProduct, RuntimeFolder, ToolChoice, Unit
from atoll.plugin.tools import argument, fingerprint, output_path, version_numbers
from atoll.store import Payload, PayloadRoot
from atoll_plugins.formats.device_link import wanted
from atoll_plugins.formats.host_compilers import tool_path
from atoll_plugins.hip.amd import MEMORY, common_flags
from atoll_plugins.hip.clangs import Clang, choose
from atoll_plugins.hip.sdk import Sdk, locate

STUB = Path(__file__).resolve().with_name("stub")
CUDA = "11.8"
# PTX ISA 7.8 came with CUDA 11.8 (PTX ISA, "Release Notes"); clang cannot read the version of these wheels.
PTX_FEATURE = "+ptx78"
# The first clang that writes `--image3=`, the one spelling that the fat-binary writer of CUDA 13 takes.
LEAST_CLANG = 20
NEWEST_ARCH = 90
PAYLOAD = Payload(
    name=f"hip-cuda-{CUDA}",
    requirements=(
        "nvidia-cuda-nvcc-cu11==11.8.89",
        "nvidia-cuda-runtime-cu11==11.8.89",
        "nvidia-cuda-profiler-api-cu11==11.8.86",
        "nvidia-cuda-nvcc==13.0.88",
    ),
    hashes=(
        (
            "nvidia_cuda_nvcc-13.0.88-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
            "56fe502eb77625a12f25172caa3cdddb4e4c8ba2c8c17dba44b164761b380f03",
        ),
        (
            "nvidia_cuda_nvcc_cu11-11.8.89-py3-none-manylinux2014_x86_64.whl",
            "f8e1e995166c884f2f5bf94975d7abb89175363b8712f7f81cd38d0df1b2cd85",
        ),
        (
            "nvidia_cuda_profiler_api_cu11-11.8.86-py3-none-manylinux2014_x86_64.whl",
            "db82fc48aef5f88df82cae279bcf2db9fe599faea1d7647777a72eee139c8133",
        ),
        (
            "nvidia_cuda_runtime_cu11-11.8.89-py3-none-manylinux2014_x86_64.whl",
            "92d04069a987e1fbc9213f8376d265df0f7bb42617d44f5eda1f496acea7f2d1",
        ),
    ),
    programs=("nvidia/cuda_nvcc/bin/ptxas", "nvidia/cu13/bin/fatbinary"),
    libraries=("nvidia/cuda_runtime/lib/libcudart.so.11.0",),
)
_RUNTIME = "libcudart.so.11.0"


def check_cuda(request: LaneRequest) -> None:
    """Refuse an entry `cuda` beside `hip` that CUDA 11.8 cannot serve.

    Raises:
        LaneError: With both versions, or the architectures that are too new.
    """
    if wanted("hip", request):
        raise LaneError(
            Diagnostic(
                code="ATL0530",
                message="HIP on NVIDIA links no device code",
                notes=("`[lane.hip] device-link` is: true", "the wheels of CUDA 11.8 hold no device linker"),
                hint="keep what kernels call in the unit of the kernel, or compile the source as CUDA",
            )
        )
    entry = request.accel.get("cuda")
    assert entry is not None
    asked = entry.version.parts if entry.version else ()
    have = version_numbers(CUDA)
    if asked and (asked[0] != have[0] or (*have, 0)[: len(asked)] < asked):
        raise LaneError(
            Diagnostic(
                code="ATL0504",
                message="HIP's layer of headers does not compile against the CUDA asked for",
                notes=(
                    f"the build asks for: cuda{entry.version}",
                    f"the layer compiles against: {CUDA}; CUDA 12 removed functions that it names",
                ),
                hint=f"write `hip, cuda{CUDA}+{{sm_90}}`, or compile the source as CUDA",
            )
        )
    levels = [arch for arch in entry.archs if not arch.startswith("sm_") or _level(arch) > NEWEST_ARCH]
    if levels:
        raise LaneError(
            Diagnostic(
                code="ATL0508",
                message="HIP on NVIDIA does not compile for an architecture that the set names",
                notes=(f"asked: {', '.join(levels)}", f"CUDA {CUDA} compiles up to: sm_{NEWEST_ARCH}"),
                hint="ask for PTX beside it, which drivers compile: `cuda11.8+{sm_90} ptx>=90`",
            )
        )


def _level(arch: str) -> int:
    digits = arch.removeprefix("sm_").rstrip("af")
    return int(digits) if digits.isdigit() else NEWEST_ARCH + 1


def plan_nvidia(request: LaneRequest) -> LanePlan:
    """Return one object for each unit.

    Raises:
        LaneError: For what :func:`check_cuda` refuses, no HIP, and a clang that is too old or not there.
    """
    check_cuda(request)
    sdk = locate(request)
    clang = choose(request, (), LEAST_CLANG)
    root = request.tools[PAYLOAD.name]
    key = f"{fingerprint(clang.programs, request.environment)} {root.digest}"
    built = [_compile(request, unit, clang, sdk, root, key) for unit in request.units]
    runtime = root.root / "nvidia/cuda_runtime/lib"
    return LanePlan(
        actions=tuple(action for action, _ in built),
        objects=tuple(product for _, product in built),
        link_args=(f"-L{runtime}", f"-l:{_RUNTIME}"),
        runtime=(
            RuntimeFolder(
                path=str(runtime),
                requirement="nvidia-cuda-runtime-cu11>=11.8,<12",
                inside="nvidia/cuda_runtime/lib",
            ),
        ),
        tools=(
            ToolChoice(
                name="clang as a compiler of HIP for NVIDIA",
                path=str(clang.compiler.cxx),
                version=clang.compiler.version,
                why=clang.why,
            ),
            ToolChoice(name="HIP", path=str(sdk.prefix), version=sdk.version, why=sdk.why),
            ToolChoice(name="CUDA below HIP", path=str(root.root), version=CUDA, why=root.why),
        ),
        planner_inputs=(
            *(str(path) for path in clang.programs),
            str(sdk.prefix / "include/hip/hip_version.h"),
        ),
    )


def code_flags(request: LaneRequest) -> tuple[str, ...]:
    """Return one flag an architecture, and PTX for the floor alone."""
    entry = request.accel.get("cuda")
    assert entry is not None
    floor = entry.floor
    archs = sorted({*entry.archs, *((f"sm_{floor.value}",) if floor else ())})
    return (
        *(f"--cuda-gpu-arch={arch}" for arch in archs),
        "--no-cuda-include-ptx=all",
        *((f"--cuda-include-ptx=sm_{floor.value}",) if floor else ()),
        f"--cuda-feature={PTX_FEATURE}",
    )


def _compile(
    request: LaneRequest, unit: Unit, clang: Clang, sdk: Sdk, root: PayloadRoot, key: str
) -> tuple[Action, ObjectProduct]:
    plain = output_path(request.build, "hip", unit.target, unit.path)
    out, depfile = f"{plain}.o", f"{plain}.d"
    wheels = root.root / "nvidia"
    folders = (wheels / "cuda_runtime", wheels / "cuda_nvcc", wheels / "cuda_profiler_api")
    argv = (
        *(str(clang.compiler.cxx), "-x", "cuda", f"--cuda-path={wheels}/cuda_nvcc", *code_flags(request)),
        *(part for folder in folders for part in ("-isystem", f"{folder}/include")),
        *(() if sdk.system else ("-isystem", f"{sdk.prefix}/include")),
        *("-idirafter", str(STUB), "-Wno-unknown-cuda-version", "-D__HIP_PLATFORM_NVIDIA__"),
        *common_flags(request, unit),
        *("-MD", "-MF", depfile, "-c", argument(unit.path), "-o", out),
    )
    action = Action(
        name=f"hip {unit.target} {unit.path}",
        argv=argv,
        inputs=(
            *(unit.path, *unit.force_include, str(STUB / "curand_mtgp32_kernel.h")),
            *(str(path) for path in clang.programs),
        ),
        outputs=(out,),
        role=Role.OBJECT,
        depfile=depfile,
        env=(("LC_ALL", "C"), ("PATH", f"{wheels}/cu13/bin:{tool_path(request.environment)}")),
        key=key,
        memory=MEMORY,
        description=f"compile {unit.path} for {unit.entry} over {request.accel.get('cuda')}",
    )
    return action, ObjectProduct(path=out, unit=unit)
