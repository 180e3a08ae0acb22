"""A C++ module interface: refused by name until modules are built."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.errors import LaneError
from atoll.plugin import Unit
from atoll_plugins.host.lane import HostLane
from unit.plugins.lane_project import request


def test_it_is_refused_with_what_the_lane_builds(tmp_path: Path) -> None:
    units = (Unit(path="a.cpp", target="demo"), Unit(path="m.cppm", target="demo"))
    with pytest.raises(LaneError) as caught:
        HostLane().plan(request(tmp_path, units))
    (found,) = caught.value.diagnostics
    assert found.code == "ATL0502"
    assert "m.cppm" in found.message
    assert found.notes == ("the lane `host` builds: .c .cc .cpp .cxx", "target: demo")
