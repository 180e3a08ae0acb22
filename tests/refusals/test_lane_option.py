"""A key of `[lane.NAME]` that the lane does not know: the nearest known one is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.errors import LaneError
from atoll.plugin import Lane, Unit
from atoll_plugins.cuda.lane import CudaLane
from atoll_plugins.host.lane import HostLane
from atoll_plugins.opencl.lane import OpenClLane
from atoll_plugins.spirv.lane import SpirvLane
from unit.plugins.lane_project import request


@pytest.mark.parametrize("lane", [HostLane(), CudaLane(), SpirvLane(), OpenClLane()])
def test_a_misspelled_key_is_refused_with_the_nearest(tmp_path: Path, lane: Lane) -> None:
    with pytest.raises(LaneError) as caught:
        lane.plan(request(tmp_path, (Unit(path="a", target="demo"),), options={"compilor": "x"}))
    (found,) = caught.value.diagnostics
    assert found.code == "ATL0512"
    assert found.message == f"the lane `{lane.name}` has no option `compilor`"
    assert found.hint == "write `compiler`"


@pytest.mark.parametrize("value", [1, "", [], ["g++", 1]])
def test_a_value_of_the_wrong_kind_is_refused(tmp_path: Path, value: object) -> None:
    with pytest.raises(LaneError, match="ATL0512"):
        HostLane().plan(request(tmp_path, (Unit(path="a.cpp", target="demo"),), options={"compiler": value}))
