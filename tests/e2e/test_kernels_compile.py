"""The twenty kernels through each target's own compiler, at every architecture, and the emitters' suite."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from atoll.errors import StoreError
from atoll.kernels.shapes import block_for
from atoll.plugin import Emitter, registry
from atoll.runtime import include_folder
from atoll.store import Payload, PayloadRoot, Store
from atoll.testing.emitters import emitter_suite
from atoll_plugins.python.compile import codes as entry_codes
from atoll_plugins.python.csource import source
from atoll_plugins.python.values import Described
from e2e.test_kernels import KERNELS
from emitter_kit import accepted, device, tool
from gpu_on_host import HEADERS

#: Its wheel holds the headers of DPC++, and no compiler.
SYCL = Payload(name="sycl-headers", requirements=("intel-sycl-rt==2026.2.0",))
#: The chip in an object's ELF flags (LLVM's guide to AMDGPU, "ELF header").
AMD_CHIPS = {"gfx942": 0x4C, "gfx1100": 0x41}
ARCHS = ("sm_80", "sm_90", "sm_100")
STAGES = [(backend, stage) for backend in registry().emitters for stage in registry().emitters_of(backend)]
#: Where the emitter of a stage has a device here.
DEVICES = {("cpu", "c"): "cpu", ("opencl", "opencl-c"): "opencl", ("vulkan", "spirv"): "vulkan"}
_CLANG_HIP = ("-x", "hip", "--offload-device-only", "-nogpuinc", "-nogpulib", "-O2", "-S")
_CLANG_CL = ("-x", "cl", "--target=spir64", "-Xclang", "-finclude-default-header", "-fsyntax-only", "-Werror")


def emitter(backend: str, stage: str) -> Emitter:
    """Return the emitter of a stage."""
    return registry().emitters_of(backend)[stage]


def codes(backend: str, stage: str, arch: str = "") -> Iterator[tuple[str, Any]]:
    """Emit every kernel for a target."""
    target = emitter(backend, stage).target(None, arch)
    for name, kernel in KERNELS.items():
        compiled = kernel.compiled()
        yield name, emitter(backend, stage).emit(compiled.module, name, target, block_for(compiled.kernel))


def together(backend: str, stage: str, arch: str, path: Path, head: str = "") -> Path:
    """Write the text of every kernel into one file, each in a namespace of its own."""
    parts = [head]
    for name, code in codes(backend, stage, arch):
        parts.append(f"namespace of_{name} {{\n{code.code.decode()}\n}}")
    path.write_text("\n".join(parts))
    return path


def nvidia(payload: PayloadRoot, name: str) -> str:
    """Return a tool of the toolkit's packages."""
    return str(payload.root / "nvidia" / "cu13" / "bin" / name)


@pytest.mark.parametrize("arch", ARCHS)
def test_ptxas_takes_every_kernel(arch: str, cuda_payload: PayloadRoot, tmp_path: Path) -> None:
    """One text an architecture: the heads are equal, so the bodies stand behind one."""
    texts = [code.code.decode() for _, code in codes("cuda", "ptx", arch)]
    heads = {text.partition(".visible")[0] for text in texts}
    bodies = [text.removeprefix(head) for text in texts for head in heads if text.startswith(head)]
    path = tmp_path / "all.ptx"
    path.write_text(max(heads, key=len) + "\n".join(bodies))
    said = accepted(
        [nvidia(cuda_payload, "ptxas"), "-v", f"-arch={arch}", "-o", str(tmp_path / "o"), str(path)]
    )
    assert said.count("Compiling entry function") == len(KERNELS), said


def test_ptxas_refuses_an_operation_of_a_newer_level(cuda_payload: PayloadRoot, tmp_path: Path) -> None:
    """Plant a fault: text for one level, given to another."""
    _, code = next(codes("cuda", "ptx", "sm_90"))
    path = tmp_path / "k.ptx"
    path.write_bytes(code.code)
    with pytest.raises(AssertionError, match="higher than"):
        accepted([nvidia(cuda_payload, "ptxas"), "-arch=sm_80", "-o", str(tmp_path / "o"), str(path)])


@pytest.mark.parametrize("arch", ARCHS)
def test_nvcc_takes_the_cpp_of_every_kernel(
    arch: str, cuda_payload: PayloadRoot, whole: bool, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    if not whole and arch != "sm_90":
        tell(f"nvcc for {arch}: with --all")
        return
    path = together("cuda", "cuda-cpp", arch, tmp_path / "all.cu")
    command = [nvidia(cuda_payload, "nvcc"), f"-arch={arch}", "--fmad=false", "-cubin"]
    accepted([*command, "-o", str(tmp_path / "o.cubin"), str(path)])
    tell(f"nvcc took {len(KERNELS)} kernels for {arch}")


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
def test_clang_takes_the_hip_of_every_kernel(arch: str, tmp_path: Path) -> None:
    path = together("hip", "hip-cpp", arch, tmp_path / "all.hip")
    flags = [*_CLANG_HIP, f"--offload-arch={arch}", "-ffp-contract=off"]
    accepted([tool("clang++-19"), *flags, "-o", str(tmp_path / "o"), str(path)])


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
def test_every_kernel_becomes_an_amd_object(arch: str) -> None:
    made = list(codes("hip", "object", arch))
    for name, code in made:
        assert code.code.startswith(b"\x7fELF"), name
        assert int.from_bytes(code.code[48:49], "little") == AMD_CHIPS[arch], name
    assert len(made) == len(KERNELS)


@pytest.mark.parametrize("standard", ["CL1.2", "CL2.0", "CL3.0"])
def test_clang_takes_the_opencl_c_of_every_kernel(
    standard: str, whole: bool, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    if not whole and standard != "CL1.2":
        tell(f"OpenCL C as {standard}: with --all")
        return
    texts = []
    for name, code in codes("opencl", "opencl-c"):
        path = tmp_path / f"{name}.cl"
        path.write_bytes(code.code)
        texts.append(str(path))
    accepted([tool("clang-19"), *_CLANG_CL, f"-cl-std={standard}", *texts])


def parsed(compiler: str, headers: Path, path: Path) -> None:
    """Check the syntax and the types of SYCL text: no compiler of SYCL is packaged for this machine."""
    flags = ["-std=c++20", "-fsyntax-only", "-w", "-I", str(headers)]
    accepted([tool(compiler), *flags, str(path)])


def test_the_sycl_of_every_kernel_is_well_formed_against_a_stand_in(tmp_path: Path) -> None:
    """The header is the one with which `test_gpu_text.py` runs SYCL text on threads."""
    path = together("sycl", "sycl-cpp", "", tmp_path / "all.cpp", "#include <sycl/sycl.hpp>")
    parsed("clang++-19", HEADERS, path)


@pytest.mark.parametrize("compiler", ["clang++-19", "g++"])
def test_the_sycl_of_every_kernel_is_well_formed_against_the_headers_of_dpcpp(
    compiler: str, whole: bool, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    if not whole:
        tell(f"{compiler} and the headers of {SYCL.requirements[0]}: with --all")
        return
    try:
        root = Store.default().ensure(SYCL).root
    except StoreError as error:
        pytest.skip(f"{SYCL.requirements[0]} cannot be had: {error.diagnostics[0].message}")
    headers = next(root.rglob("sycl/sycl.hpp")).parents[1]
    path = together("sycl", "sycl-cpp", "", tmp_path / "all.cpp", "#include <sycl/sycl.hpp>")
    parsed(compiler, headers, path)
    path.write_text(path.read_text().replace("memory_order", "memory_ordre").replace("nd_item<", "nd_itme<"))
    with pytest.raises(AssertionError, match="error"):
        parsed(compiler, headers, path)
    tell(f"{compiler} parsed {len(KERNELS)} kernels against {SYCL.requirements[0]}")


@pytest.mark.parametrize("backend", ["cpu", "cuda", "opencl", "vulkan"])
def test_every_kernel_becomes_c_that_ships(backend: str, tmp_path: Path, tell: Callable[[str], None]) -> None:
    """Ahead of time: the C of each kernel for each driver that has a launcher, without a warning."""
    found, left = [], []
    for name, kernel in KERNELS.items():
        described = Described.of(kernel, "kernels.py")
        if described.waits and not any(described.group):
            left.append(name)
            continue
        path = tmp_path / f"{name}.c"
        path.write_text(source(described, entry_codes(kernel, registry().emitters[backend], None), backend))
        found.append(str(path))
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-fsyntax-only"]
    accepted([tool("gcc"), *flags, "-I", str(include_folder()), *found])
    assert not left
    tell(f"{len(found)} kernels in C for {backend}")


@pytest.mark.parametrize(("backend", "stage"), STAGES, ids=[stage for _, stage in STAGES])
def test_show_prints_every_stage_of_every_target(backend: str, stage: str) -> None:
    target = {"cuda": "cuda:sm_90", "hip": "hip:gfx942"}.get(backend, backend)
    for name in ("saxpy", "block_sum", "nbody"):
        said = KERNELS[name].show(target, stage)
        assert (name in said) if isinstance(said, str) else name.encode() in said


def test_a_wrong_word_is_seen_by_each_compiler(tmp_path: Path) -> None:
    """Plant a fault in a text that was taken."""
    path = together("hip", "hip-cpp", "gfx942", tmp_path / "all.hip")
    path.write_text(path.read_text().replace("return;", "return 0;", 1).replace("float", "flaot", 1))
    with pytest.raises(AssertionError, match="error"):
        accepted([tool("clang++-19"), *_CLANG_HIP, "--offload-arch=gfx942", "-o", "/dev/null", str(path)])


@pytest.mark.parametrize(("backend", "stage"), STAGES, ids=[stage for _, stage in STAGES])
def test_every_emitter_passes_its_suite(
    backend: str, stage: str, whole: bool, tell: Callable[[str], None]
) -> None:
    """The public suite at once, on the device that is here; one by one its checks run elsewhere."""
    found = emitter(backend, stage)
    if not whole:
        tell(f"{stage}: with --all")
        return
    if (backend, stage) in DEVICES:
        with device(DEVICES[backend, stage]) as opened:
            said = emitter_suite(found, opened)
    else:
        said = emitter_suite(found)
    wrong = {name: text for name, text in said.items() if text not in ("ok", "refused")}
    tell(f"{backend} {stage}: {len(said)} checks, {sum(text == 'refused' for text in said.values())} refused")
    assert not wrong
