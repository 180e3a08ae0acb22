"""Do the vendors' tools take what the whole language becomes? Each feature once, on every target."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.kernels.checked import CheckedKernel
from atoll.kernels.definition import KernelFunction
from emitter_kit import accepted, tool
from kernel_text import kernel_from

KERNELS = {
    "sub-groups of which some come": """
@kernel(block=64)
def k(x: view[f32], out: view[i64], far: view[f64]):
    i = atoll.global_id(0)
    if atoll.subgroup_id() == 0:
        x[i] = atoll.subgroup_add(x[i]) + atoll.subgroup_inclusive_add(x[i])
        out[i] = atoll.subgroup_exclusive_add(out[i]) + atoll.subgroup_max(out[i])
        far[i] = atoll.subgroup_min(far[i])
    if atoll.subgroup_all(x[i] > 0.0):
        out[i] = atoll.shuffle_down(out[i], 1) + atoll.subgroup_broadcast(out[i], 1)
        far[i] = atoll.shuffle(far[i], 2) + f64(atoll.subgroup_xor(u32(i)))
    atoll.fence()
    atoll.fence(scope="work_group")
""",
    "vectors and pointers": """
@device
def total(p: ptr[f32], n: i32) -> f32:
    found = f32(0.0)
    for k in range(n):
        found += p[k]
        p = p + 1
    return found

@kernel(block=32)
def k(v: view[vec[f32, 4]], by: vec[f32, 4], p: ptr[f32], n: i32):
    i = atoll.global_id(0)
    tile = atoll.shared(vec[f32, 2], 32)
    tile[i % 32] = vec[f32, 2](v[i].x, v[i][-1])
    atoll.barrier()
    v[i] = v[i] * by - 1.0
    v[i].z += total(p + i, n) + tile[31 - i % 32].y
""",
    "checks": """
@kernel(debug=True, block=32)
def k(x: view[i32], f: view[f32], n: i64):
    i = atoll.global_id(0)
    assert x[i] > 0, "positive"
    print("item", i, f[i], n, f[i] > 1.0)
    x[i] = x[i - 1] * 3 // (i + 1) << 2
    f[i] = f[-1]
""",
    "constants": """
from typing import TypeVar
T = TypeVar("T")

@kernel(block=32)
def k(x: view[T], size: atoll.const[int], flag: atoll.const[bool]):
    tile = atoll.shared(T, size)
    me = atoll.local_id(0)
    tile[me % size] = x[me]
    atoll.barrier()
    for at in range(size):
        if flag:
            x[me] += tile[at]
""",
}


def instances(name: str) -> Iterator[KernelFunction]:
    """Give the kernels of a text: itself, or of a generic one two instances."""
    found = kernel_from(KERNELS[name])
    if name != "constants":
        yield found
        return
    from atoll import f32, u16

    yield found.instance(T=f32, size=8, flag=True)
    yield found.instance(T=u16, size=3, flag=False)


def written(name: str, target: str, stage: str, folder: Path) -> list[Path]:
    """Write the code of a text for a target; return the files."""
    found = []
    for number, kernel in enumerate(instances(name)):
        code = kernel.show(target, stage=stage)
        found.append(folder / f"{number}.{stage.rpartition('-')[2]}")
        found[-1].write_bytes(code if isinstance(code, bytes) else code.encode())
    return found


@pytest.mark.parametrize("name", KERNELS)
def test_the_validator_takes_it(name: str, tmp_path: Path) -> None:
    for path in written(name, "vulkan", "spirv", tmp_path):
        accepted([tool("spirv-val"), "--target-env", "vulkan1.2", str(path)])


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("name", KERNELS)
def test_the_assembler_takes_it(name: str, arch: str, tmp_path: Path) -> None:
    for path in written(name, f"cuda:{arch}", "ptx", tmp_path):
        accepted([tool("ptxas"), "-arch", arch, "-O1", "-o", str(tmp_path / "o.cubin"), str(path)])


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("name", KERNELS)
def test_clang_takes_it_as_hip(name: str, arch: str, tmp_path: Path) -> None:
    flags = ["-x", "hip", "--offload-device-only", f"--offload-arch={arch}", "-nogpuinc", "-nogpulib", "-S"]
    for path in written(name, f"hip:{arch}", "hip-cpp", tmp_path):
        accepted([tool("clang++-19"), *flags, "-O1", "-o", str(tmp_path / "o.s"), str(path)])


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("name", KERNELS)
def test_llvm_makes_an_object_of_it(name: str, arch: str, tmp_path: Path) -> None:
    pytest.importorskip("llvmlite", reason="no llvmlite")
    for path in written(name, f"hip:{arch}", "object", tmp_path):
        assert path.read_bytes().startswith(b"\x7fELF")


@pytest.mark.parametrize("name", KERNELS)
def test_opencl_c_and_c_are_taken(name: str, tmp_path: Path) -> None:
    for path in written(name, "opencl", "opencl-c", tmp_path):
        flags = ["-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header", "-fsyntax-only"]
        accepted([tool("clang-19"), *flags, "-target", "spir64", str(path)])
    for path in written(name, "cpu", "c", tmp_path):
        accepted(
            [
                tool("gcc"),
                "-std=c11",
                "-Wall",
                "-Werror",
                "-Wno-unused-but-set-variable",
                "-fsyntax-only",
                str(path),
            ]
        )


def test_the_checked_kernel_is_the_one_that_is_shown() -> None:
    assert isinstance(kernel_from(KERNELS["checks"]), CheckedKernel)
    assert "b_report" in str(kernel_from(KERNELS["checks"]).show("cuda:sm_90"))
