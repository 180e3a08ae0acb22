"""No host compiler: the PATH that was searched is named, and the way to one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from atoll.errors import LaneError
from atoll.plugin import Unit
from atoll_plugins.host.lane import HostLane
from unit.plugins.lane_project import request


def test_an_empty_path_has_no_compiler(tmp_path: Path) -> None:
    wanted = replace(
        request(tmp_path, (Unit(path="a.cpp", target="demo"),)), environment={"PATH": str(tmp_path)}
    )
    with pytest.raises(LaneError) as caught:
        HostLane().plan(wanted)
    (found,) = caught.value.diagnostics
    assert found.code == "ATL0500"
    assert found.notes == ("looked for: g++, g++-N, clang++, clang++-N", f"PATH is: {tmp_path}")
    assert found.hint is not None
    assert "install g++" in found.hint


def test_a_compiler_that_is_named_and_missing_is_refused_by_name(tmp_path: Path) -> None:
    wanted = request(tmp_path, (Unit(path="a.cpp", target="demo"),), options={"compiler": "g++-99"})
    with pytest.raises(LaneError) as caught:
        HostLane().plan(wanted)
    (found,) = caught.value.diagnostics
    assert found.code == "ATL0509"
    assert "`[lane.host] compiler` names: g++-99" in found.notes
