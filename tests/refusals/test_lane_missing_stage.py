"""A toolkit that lacks a stage of its compiler: the stage, where it was looked for, and what brings it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from atoll.accel import Entry
from atoll.errors import LaneError
from atoll.plugin import LanePlan, LinkRequest, Unit
from atoll.store import PayloadRoot
from atoll_plugins.cuda.lane import CudaLane
from atoll_plugins.host.lane import HostLane
from unit.plugins.lane_project import program, request, write

PROGRAMS = ("bin", "nvvm/bin")
ENTRY = Entry(backend="cuda", archs=("sm_90",))
BRINGS = {
    "nvvm/bin/cicc": "nvidia-nvvm",
    "bin/ptxas": "nvidia-cuda-nvcc",
    "bin/fatbinary": "nvidia-cuda-nvcc",
    "bin/cudafe++": "nvidia-cuda-nvcc",
    "include/cuda_runtime.h": "nvidia-cuda-runtime",
    "lib/libcudart_static.a": "nvidia-cuda-runtime",
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory, cuda_payload: PayloadRoot) -> Path:
    """Return a copy of the payload's programs.

    A hard link to a file of the store changes that file's time of change, and every build that reads it
    runs again: those of other tests at the same time.
    """
    copy = tmp_path_factory.mktemp("programs")
    for name in PROGRAMS:
        shutil.copytree(cuda_payload.root / "nvidia/cu13" / name, copy / name)
    return copy


def farm(folder: Path, payload: PayloadRoot, programs: Path, left_out: str) -> PayloadRoot:
    """Return the payload without one file, by links."""
    source = payload.root / "nvidia/cu13"
    for path in source.rglob("*"):
        inside = path.relative_to(source).as_posix()
        here = folder / "nvidia/cu13" / inside
        if path.is_dir() or inside == left_out or (inside.startswith("include/") and inside.count("/") > 2):
            continue
        here.parent.mkdir(parents=True, exist_ok=True)
        # nvcc finds the rest of its toolkit from where it really lies.
        if inside.startswith(tuple(f"{name}/" for name in PROGRAMS)):
            here.hardlink_to(programs / inside)
        else:
            here.symlink_to(path)
    return replace(payload, root=folder, digest="farm")


def planned(root: Path, payload: PayloadRoot) -> LanePlan:
    write(root, {"a.cu": "__global__ void f() {}\n"})
    made = request(root, (Unit(path="a.cu", target="demo", entry=ENTRY),), ENTRY)
    return CudaLane().plan(replace(made, tools={payload.payload.name: payload}))


def test_the_farm_itself_is_whole(tmp_path: Path, cuda_payload: PayloadRoot, programs: Path) -> None:
    before = (cuda_payload.root / "nvidia/cu13/bin/ptxas").stat().st_ctime_ns
    assert planned(tmp_path, farm(tmp_path / "farm", cuda_payload, programs, "")).objects
    assert (cuda_payload.root / "nvidia/cu13/bin/ptxas").stat().st_ctime_ns == before, "the store was touched"


@pytest.mark.parametrize("stage", list(BRINGS))
def test_each_file_that_is_missing_is_named(
    tmp_path: Path, cuda_payload: PayloadRoot, programs: Path, stage: str
) -> None:
    name = Path(stage).name
    with pytest.raises(LaneError) as raised:
        planned(tmp_path, farm(tmp_path / "farm", cuda_payload, programs, stage))
    (found,) = raised.value.diagnostics
    assert found.code == "ATL0507"
    assert found.message == f"the CUDA toolkit lacks `{name}`, which its compiler needs"
    assert found.notes[0].startswith("looked for: ")
    assert name in found.notes[0]
    assert found.notes[1:] == (
        f"toolkit: {tmp_path}/farm/nvidia/cu13",
        f"the payload that brings it: {BRINGS[stage]}",
    )
    assert found.hint == (
        "`atoll toolchain prune` and build again to fetch the payload anew, or name a whole toolkit"
    )


def test_an_archive_without_an_archiver(tmp_path: Path) -> None:
    program(tmp_path / "bin", "g++", 'exec /usr/bin/g++ "$@"')
    made = replace(request(tmp_path, ()), environment={"PATH": str(tmp_path / "bin")})
    with pytest.raises(LaneError) as raised:
        HostLane().link(LinkRequest(request=made, kind="static", output="liba.a", inputs=("a.o",)))
    (found,) = raised.value.diagnostics
    assert (found.code, found.message) == ("ATL0507", "the archiver `ar` is not there")
    assert found.notes == (f"PATH is: {tmp_path}/bin",)
    assert found.hint == "install binutils"
