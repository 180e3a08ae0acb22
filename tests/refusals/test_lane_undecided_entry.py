"""`cuda` alone: for which devices is the author's decision; the device that is here stands in the hint."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from atoll.accel import Entry, Floor, Version
from atoll.errors import LaneError
from atoll.plugin import LaneRequest, Unit
from atoll_plugins.cuda.lane import CudaLane
from unit.plugins.lane_project import program, request


def wanted(root: Path, entry: Entry) -> LaneRequest:
    return request(root, (Unit(path="a.cu", target="demo", entry=entry),), entry)


def test_neither_arch_nor_floor_is_refused_before_anything_is_fetched(tmp_path: Path) -> None:
    with pytest.raises(LaneError) as caught:
        CudaLane().payloads(wanted(tmp_path, Entry(backend="cuda", version=Version((13, 0)))))
    (found,) = caught.value.diagnostics
    assert found.code == "ATL0503"
    assert found.message == "the entry `cuda` names neither an architecture nor a floor"
    assert found.notes[0] == "the build's entry: cuda13.0"


def test_the_hint_names_the_device_that_is_here(tmp_path: Path) -> None:
    program(tmp_path / "bin", "nvidia-smi", "echo 'NVIDIA H200, 9.0'; echo 'NVIDIA A10, 8.6'")
    entry = Entry(backend="cuda")
    here = replace(wanted(tmp_path, entry), environment={"PATH": str(tmp_path / "bin")})
    with pytest.raises(LaneError) as caught:
        CudaLane().payloads(here)
    hint = caught.value.diagnostics[0].hint or ""
    assert hint.endswith("here is NVIDIA H200 (sm_90), NVIDIA A10 (sm_86)")
    assert "`cuda+{sm_90}`" in hint


def test_a_floor_alone_decides(tmp_path: Path) -> None:
    entry = Entry(backend="cuda", floor=Floor(Version((90,)), "ptx"))
    assert CudaLane().payloads(wanted(tmp_path, entry))
