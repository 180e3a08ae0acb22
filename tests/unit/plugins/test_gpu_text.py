"""CUDA C++, HIP and SYCL text: compilers take it, and on the processor it computes what KIR means."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.ir.ops import Binary
from atoll.plugin import Emitter, Target, registry
from atoll.store import PayloadRoot
from atoll.testing.emitters import EMITTER_CHECKS, EmitterCheck, answers_are_right, emitted
from atoll.testing.program import Program
from atoll.testing.programs import programs
from atoll.testing.random_kernels import random_program
from atoll_plugins.formats import ctext
from atoll_plugins.sycl import printer as sycl_printer
from emitter_kit import accepted, tool
from gpu_on_host import HostDevice, compiled

STAGES = ("cuda-cpp", "hip-cpp", "sycl-cpp")
#: What runs by default; the rest with --all.
SAMPLE = (
    "saxpy", "block_sum", "rotate", "early", "control", "batched", "narrow", "half", "atomics", "subgroups",
    "shared_atomics",
    "ops_i32", "casts_f32", "ops_bf16", "maths_f32",
)  # fmt: skip
WHOLE_RANDOM, SAMPLE_RANDOM = 60, 4


def emitter(stage: str) -> Emitter:
    """Return the emitter of a stage."""
    backend = stage.partition("-")[0]
    return registry().emitters_of(backend)[stage]


def chosen(whole: bool) -> list[Program]:
    """Return the programs of this run."""
    found = [program for program in programs() if whole or program.name in SAMPLE]
    return [*found, *map(random_program, range(WHOLE_RANDOM if whole else SAMPLE_RANDOM))]


def written(stage: str, listed: list[Program], folder: Path) -> list[Path]:
    """Write the text of every program; return the files."""
    found = []
    for program in listed:
        code = emitter(stage).emit(program.module, program.name, emitter(stage).target(None), program.group)
        found.append(folder / f"{program.name}{code.suffix}")
        found[-1].write_bytes(code.code)
    return found


@pytest.mark.parametrize("check", EMITTER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("stage", STAGES)
def test_an_emitter_keeps_its_doors_promises(stage: str, check: EmitterCheck) -> None:
    check(emitter(stage))


@pytest.mark.parametrize("stage", STAGES)
def test_the_text_computes_what_kir_means(
    stage: str, whole: bool, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    target, listed = emitter(stage).target(None), chosen(whole)
    codes = [emitter(stage).emit(one.module, one.name, target, one.group) for one in listed]
    device = HostDevice(target, compiled(codes, tmp_path))
    for program in listed:
        ulp = 2 if program.name.startswith(("maths_", "pow_")) else 0
        assert answers_are_right(emitter(stage), device, program, ulp=ulp) is not None
    tell(f"{len(listed)} programs of {stage} right on threads, of {len(programs()) + WHOLE_RANDOM}")


def test_a_swapped_operation_is_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(ctext._OPERATORS, Binary.FADD, "-")
    monkeypatch.setitem(sycl_printer._METHODS, next(iter(sycl_printer._METHODS)), "get_local_id")
    for stage in ("hip-cpp", "sycl-cpp"):
        saxpy = programs()[0]
        code = emitter(stage).emit(saxpy.module, saxpy.name, emitter(stage).target(None), saxpy.group)
        device = HostDevice(emitter(stage).target(None), compiled([code], tmp_path))
        with pytest.raises(AssertionError, match="elements differ"):
            answers_are_right(emitter(stage), device, saxpy)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_nvcc_takes_cuda_cpp(
    arch: str, cuda_payload: PayloadRoot, whole: bool, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    few = ("saxpy", "block_sum", "half", "atomics", "maths_f32")
    listed = [
        one for one in chosen(whole) if whole or (arch == "sm_90" and one.name in few) or one.name == "half"
    ]
    nvcc = cuda_payload.root / "nvidia" / "cu13" / "bin" / "nvcc"
    for path in written("cuda-cpp", listed, tmp_path):
        command = [
            str(nvcc),
            f"-arch={arch}",
            "--fmad=false",
            "-cubin",
            "-o",
            str(tmp_path / "o.cubin"),
            str(path),
        ]
        accepted(command)
    tell(f"nvcc took {len(listed)} CUDA C++ texts for {arch}")


@pytest.mark.parametrize(
    ("compiler", "arch"), [("clang++-19", "gfx942"), ("clang++-19", "gfx1100"), ("clang++-22", "gfx942")]
)
def test_clang_takes_hip(
    compiler: str, arch: str, whole: bool, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    flags = ["-x", "hip", "--offload-device-only", f"--offload-arch={arch}", "-nogpuinc", "-nogpulib"]
    paths = written("hip-cpp", chosen(whole), tmp_path)
    for path in paths:
        accepted([tool(compiler), *flags, "-O2", "-S", "-o", str(tmp_path / "o.s"), str(path)])
    tell(f"{compiler} took {len(paths)} HIP texts for {arch}")


def test_contraction_stays_off_in_cuda_cpp_without_an_option(
    cuda_payload: PayloadRoot, tmp_path: Path
) -> None:
    saxpy = [program for program in programs() if program.name == "saxpy"]
    (path,) = written("cuda-cpp", saxpy, tmp_path)
    nvcc = cuda_payload.root / "nvidia" / "cu13" / "bin" / "nvcc"
    accepted([str(nvcc), "-arch=sm_90", "-ptx", "-o", str(tmp_path / "o.ptx"), str(path)])
    text = (tmp_path / "o.ptx").read_text()
    assert "mul.rn.f32" in text
    assert "fma" not in text


def test_contraction_stays_off_in_hip_without_an_option(tmp_path: Path) -> None:
    saxpy = [program for program in programs() if program.name == "saxpy"]
    (path,) = written("hip-cpp", saxpy, tmp_path)
    flags = ["-x", "hip", "--offload-device-only", "--offload-arch=gfx942", "-nogpuinc", "-nogpulib"]
    accepted([tool("clang++-19"), *flags, "-O2", "-S", "-o", str(tmp_path / "o.s"), str(path)])
    text = (tmp_path / "o.s").read_text()
    assert "v_mul_f32" in text
    assert "v_fma" not in text
    assert "v_mac" not in text


def test_the_text_asks_for_what_a_device_may_lack() -> None:
    stated = {
        program.name: {fact.value for fact in code.requires}
        for program, code in emitted(emitter("sycl-cpp"), Target(backend="sycl"))
    }
    assert stated["saxpy"] == set()
    assert stated["ops_f64"] == {"fp64"}


def test_a_backend_lists_its_stages_with_its_own_first() -> None:
    assert next(iter(registry().emitters_of("cuda"))) == "ptx"
    assert "cuda-cpp" in registry().emitters_of("cuda")
    assert registry().emitters_of("nothing") == {}
