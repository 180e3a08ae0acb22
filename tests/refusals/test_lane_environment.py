"""A version of the API that the shader compiler does not know: both sides, what it knows listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.accel import Entry, Version
from atoll.errors import LaneError
from atoll.plugin import Unit
from atoll_plugins.spirv.lane import SpirvLane
from unit.plugins.lane_project import request


@pytest.mark.parametrize("compiler", ["glslangValidator", "glslc"])
def test_it_is_refused_with_what_the_compiler_lists(tmp_path: Path, compiler: str) -> None:
    entry = Entry(backend="vulkan", version=Version((1, 9)))
    unit = Unit(path="a.comp", target="demo", entry=entry)
    with pytest.raises(LaneError) as caught:
        SpirvLane().plan(request(tmp_path, (unit,), entry, options={"compiler": compiler}))
    (found,) = caught.value.diagnostics
    assert found.code == "ATL0511"
    assert found.notes[0] == "the build asks for: vulkan1.9"
    assert "vulkan1.0, vulkan1.1, vulkan1.2" in found.notes[1]
