"""A shader whose name states no stage: every stage is listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.accel import Entry
from atoll.errors import LaneError
from atoll.plugin import Unit
from atoll_plugins.spirv.lane import SpirvLane
from unit.plugins.lane_project import request

ENTRY = Entry(backend="vulkan")


@pytest.mark.parametrize("name", ["a.glsl", "a.hlsl"])
def test_it_is_refused_before_anything_is_fetched(tmp_path: Path, name: str) -> None:
    wanted = request(tmp_path, (Unit(path=name, target="demo", entry=ENTRY),), ENTRY)
    for ask in (SpirvLane().payloads, SpirvLane().plan):
        with pytest.raises(LaneError) as caught:
            ask(wanted)
        (found,) = caught.value.diagnostics
        assert found.code == "ATL0502"
        assert name in found.message
        assert ".comp .vert .frag .geom .tesc .tese .mesh .task" in found.notes[0]
