"""What emitters and lanes make measures to what was asked of them; a planted fault is found and named.

Objects of the CUDA lane are in tests/unit/plugins/test_cuda_lane.py, wheels in tests/e2e/test_thread.py.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import atoll
from atoll import f32, kernel, view
from atoll.accel import AccelSet
from atoll.diagnostics import Diagnostic
from atoll.errors import ArtifactMismatchError
from atoll.packaging import Metadata, measure, pack_tree
from unit.packaging.binaries import UNREAD, elf, entry, fatbin, put, spirv

ABOUT = Metadata(name="demo", version="1.0", license="MIT")


@kernel(block=64)
def halve(x: view[f32], out: view[f32]):  # type: ignore[no-untyped-def]
    i = atoll.global_id(0)
    if i < out.size:
        out[i] = x[i] / 2


@pytest.mark.parametrize(
    ("target", "stage", "suffix", "measured", "floor"),
    [
        ("cuda:sm_80", "ptx", ".ptx", "cuda ptx>=80", "ptx.isa >= 7.0"),
        ("cuda:sm_90", "ptx", ".ptx", "cuda ptx>=90", "ptx.isa >= 7.8"),
        ("vulkan:spirv1.3", "spirv", ".spv", "vulkan1.1", "spirv >= 1.3"),
        ("vulkan:spirv1.5", "spirv", ".spv", "vulkan1.2", "spirv >= 1.5"),
        ("hip:gfx942", "object", ".hsaco", "hip+{gfx942}", ""),
        ("hip:gfx90a", "object", ".hsaco", "hip+{gfx90a}", ""),
    ],
)
def test_what_an_emitter_is_asked_for_is_what_is_measured(
    target: str, stage: str, suffix: str, measured: str, floor: str, tmp_path: Path
) -> None:
    if stage == "object":
        pytest.importorskip("llvmlite", reason="llvmlite is not installed")
    made = halve.show(target, stage=stage)
    path = put(tmp_path / f"k{suffix}", made if isinstance(made, bytes) else made.encode())
    found = measure(path)
    assert str(found.accel) == measured
    assert found.unread == ()
    assert not floor or floor in [str(fact) for fact in found.requires]


@pytest.mark.parametrize("processor", ["gfx90a", "gfx1030"])
def test_a_bundle_of_clangs_objects_measures_to_the_processors_asked_for(
    processor: str, tmp_path: Path
) -> None:
    clang, packager = Path("/usr/bin/clang-19"), Path("/usr/bin/clang-offload-packager-19")
    if not clang.exists() or not packager.exists():
        pytest.skip("clang-19 and its offload packager are not installed")
    (tmp_path / "k.cl").write_text("kernel void k(global float *x) { x[0] = 1; }\n")
    target = ["--target=amdgcn-amd-amdhsa", f"-mcpu={processor}", "-nogpulib"]
    subprocess.run([clang, *target, "-c", "k.cl", "-o", "k.o"], cwd=tmp_path, check=True)
    image = f"--image=file=k.o,triple=amdgcn-amd-amdhsa,arch={processor},kind=hip"
    subprocess.run([packager, "-o", "k.bin", image], cwd=tmp_path, check=True)
    assert str(measure(tmp_path / "k.bin").accel) == f"hip+{{{processor}}}"


def planted(tmp_path: Path, files: dict[str, bytes], declared: str) -> list[Diagnostic]:
    """Pack a tree that must be refused, and return every fault that is named."""
    for name, data in files.items():
        put(tmp_path / "tree/demo" / name, data)
    accel = AccelSet.parse(declared, floor_words={"cuda": "ptx"})
    with pytest.raises(ArtifactMismatchError) as caught:
        pack_tree(tmp_path / "tree", ABOUT, tmp_path / "dist", declared=accel)
    assert not (tmp_path / "dist").exists()
    return list(caught.value.diagnostics)


GOOD = elf({".nv_fatbin": fatbin(entry(2, 80), entry(2, 90))})


def test_one_arch_left_out_is_found_in_the_member_that_lacks_it(tmp_path: Path) -> None:
    files = {"a.so": GOOD, "b.so": elf({".nv_fatbin": fatbin(entry(2, 80))})}
    (fault,) = planted(tmp_path, files, "cuda13.0+{sm_80,sm_90}")
    assert (fault.code, fault.message) == ("ATL0461", "`demo/b.so` does not carry what the build declares")
    assert fault.notes[0] == "accel: declared sm_90, measured sm_80"


def test_one_member_that_nobody_reads_is_found(tmp_path: Path) -> None:
    files = {"a.so": GOOD, "b.so": elf({".llvm.offloading": UNREAD})}
    (fault,) = planted(tmp_path, files, "cuda13.0+{sm_80,sm_90}")
    assert (fault.code, fault.message) == (
        "ATL0460",
        "`demo/b.so!.llvm.offloading` holds device code that is unknown",
    )


def test_one_member_of_intermediate_code_alone_is_found(tmp_path: Path) -> None:
    """LTO IR runs nowhere by itself: a member that holds nothing else is unknown, not free of device code."""
    files = {"a.so": GOOD, "b.so": elf({".nv_fatbin": fatbin(entry(8, 90))})}
    (fault,) = planted(tmp_path, files, "cuda13.0+{sm_80,sm_90}")
    assert fault.code == "ATL0460"
    assert "demo/b.so!.nv_fatbin" in fault.message


def test_an_entry_that_names_a_model_and_nothing_carries_is_found(tmp_path: Path) -> None:
    (fault,) = planted(tmp_path, {"a.spv": spirv()}, "vulkan1.2, sycl")
    assert fault.code == "ATL0461"
    assert fault.notes[0] == "accel: declared sycl, measured vulkan"
