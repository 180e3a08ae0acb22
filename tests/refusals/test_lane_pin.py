"""`[lane.cuda] version` pins a payload: one the lane does not have, or below its floor, is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.accel import Entry
from atoll.errors import LaneError
from atoll.plugin import LaneRequest, Unit
from atoll_plugins.cuda.lane import CudaLane
from unit.plugins.lane_project import request


def wanted(root: Path, pin: object) -> LaneRequest:
    entry = Entry(backend="cuda", archs=("sm_90",))
    unit = Unit(path="a.cu", target="demo", entry=entry)
    return request(root, (unit,), entry, options={"version": pin})


def test_below_the_floor_names_both(tmp_path: Path) -> None:
    with pytest.raises(LaneError) as caught:
        CudaLane().payloads(wanted(tmp_path, "12.9"))
    (found,) = caught.value.diagnostics
    assert found.code == "ATL0505"
    assert found.notes == ("the pin: 12.9", "the lane's floor is 13.0 (older wheels hold no nvcc)")


def test_one_that_the_lane_does_not_have_lists_those_it_has(tmp_path: Path) -> None:
    with pytest.raises(LaneError) as caught:
        CudaLane().payloads(wanted(tmp_path, "13.9"))
    assert caught.value.diagnostics[0].notes == ("the pin: 13.9", "payloads of the lane: 13.0")


def test_the_pin_of_a_payload_it_has_is_taken(tmp_path: Path) -> None:
    assert CudaLane().payloads(wanted(tmp_path, "13.0"))[0].name == "cuda-13.0"


def test_a_pin_that_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LaneError, match="ATL0512"):
        CudaLane().payloads(wanted(tmp_path, 13.0))
