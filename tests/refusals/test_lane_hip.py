"""What the lane of HIP refuses, word for word (`texts/`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.accel import AccelSet
from atoll_plugins.hip.lane import HipLane
from refusals.exact import check
from unit.plugins.lane_project import program
from unit.plugins.test_hip_lane import fake_clang, fake_rocm, nvidia, options, project, stored

EMPTY = {"PATH": "/nowhere"}


def rocm(root: Path, **changes: object) -> dict[str, object]:
    return {"rocm": str(fake_rocm(root / "rocm", **changes)), "compiler": fake_clang(root / "llvm")}  # type: ignore[arg-type]


def lacking(root: Path, name: str, data: bytes | None = None) -> object:
    """Plan with a ROCm one of whose device libraries is gone, or holds other bytes."""
    made = rocm(root)
    file = root / "rocm/amdgcn/bitcode" / name
    file.unlink() if data is None else file.write_bytes(data)
    return HipLane().plan(project(root, "gfx942", options=made))


def without_runtime(root: Path) -> object:
    made = rocm(root)
    (root / "rocm/lib/libamdhip64.so").unlink()
    return HipLane().plan(project(root, "gfx942", options=made))


def without_stage(root: Path, name: str) -> object:
    made = rocm(root)
    (root / "llvm/bin" / name).unlink()
    return HipLane().plan(project(root, "gfx942", options=made))


CASES: dict[str, Callable[[Path], object]] = {
    "ATL0503_hip": lambda root: HipLane().payloads(project(root)),
    "ATL0504_hip": lambda root: HipLane().plan(
        project(
            root, "gfx942", options=rocm(root, version=(5, 2, 3)), accel=AccelSet.parse("hip6.4+{gfx942}")
        )
    ),
    "ATL0504_hip_over_cuda": lambda root: HipLane().payloads(
        nvidia(root, accel=AccelSet.parse("hip, cuda13.0+{sm_90}"))
    ),
    "ATL0506_hip_clang": lambda root: HipLane().plan(
        nvidia(root, "sm_90", options=options(root, 19), tools=stored(root))
    ),
    "ATL0507_hip_headers": lambda root: HipLane().plan(
        project(root, "gfx942", options={"rocm": f"{root}/nothing"})
    ),
    "ATL0507_hip_library": lambda root: lacking(root, "ockl.bc"),
    "ATL0507_hip_no_bitcode": lambda root: lacking(root, "ocml.bc", b"version https://git-lfs"),
    "ATL0507_hip_runtime": without_runtime,
    "ATL0507_hip_linker": lambda root: without_stage(root, "lld"),
    "ATL0507_hip_bundler": lambda root: without_stage(root, "clang-offload-bundler"),
    "ATL0507_hip_clang": lambda root: HipLane().plan(
        project(root, "gfx942", options={"rocm": str(fake_rocm(root / "rocm"))}, environment=EMPTY)
    ),
    "ATL0508_hip": lambda root: HipLane().payloads(project(root, "sm_90")),
    "ATL0508_hip_switch": lambda root: HipLane().payloads(project(root, "gfx1030:xnack+")),
    "ATL0508_hip_order": lambda root: HipLane().payloads(project(root, "gfx90a:xnack+:sramecc-")),
    "ATL0508_hip_open_switch": lambda root: HipLane().payloads(project(root, "gfx90a", "gfx90a:xnack+")),
    "ATL0508_hip_generic": lambda root: HipLane().plan(project(root, "gfx11-generic", options=rocm(root))),
    "ATL0508_hip_on_nvidia": lambda root: HipLane().payloads(nvidia(root, "sm_90", "sm_100")),
    "ATL0509_hip": lambda root: HipLane().plan(
        project(
            root,
            "gfx942",
            options={
                "rocm": str(fake_rocm(root / "rocm")),
                "compiler": str(program(root / "bin", "clang++", "exit 1")),
            },
        )
    ),
    "ATL0512_hip": lambda root: HipLane().payloads(project(root, "gfx942", options={"rcom": "/opt/rocm"})),
    "ATL0512_hip_device_link": lambda root: HipLane().payloads(
        project(root, "gfx942", options={"device-link": "yes"})
    ),
    "ATL0530_hip_device_link": lambda root: HipLane().payloads(
        nvidia(root, "sm_90", options={"device-link": True})
    ),
    "ATL0535_hip": lambda root: HipLane().payloads(project(root, "gfx942", options={"flags": ["-fgpu-rdc"]})),
    "ATL0513_hip": lambda root: HipLane().payloads(project(root, "gfx942", host="windows")),
}


@pytest.mark.parametrize("name", CASES)
def test_the_lane_of_hip(tmp_path: Path, name: str) -> None:
    check(name, tmp_path, CASES[name])
