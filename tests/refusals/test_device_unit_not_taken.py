"""A device unit that no action reads is refused by name: its code would be missing from the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.errors import BuildError
from atoll.plugin import LanePlan, LaneRequest
from atoll_plugins.spirv.lane import SpirvLane
from unit.build.build_project import PACKAGE, SHADER, session


class Forgetful(SpirvLane):
    """A lane that plans every unit but the last."""

    def plan(self, request: LaneRequest) -> LanePlan:
        answer = super().plan(request)
        return LanePlan(actions=answer.actions[:-1], data=answer.data[:-1], tools=answer.tools)


def test_a_unit_that_its_lane_forgets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = '[build]\naccel = "vulkan1.2"\nlanes = ["spirv"]\n[targets.demo]\nkind = "executable"\n'
    manifest = f'{PACKAGE}{text}sources = ["main.cpp", {{ glob = "*.comp", accel = "vulkan" }}]\n'
    files = {"atoll.toml": manifest, "main.cpp": "int main() {}\n", "a.comp": SHADER, "b.comp": SHADER}
    made = session(tmp_path, files)
    monkeypatch.setitem(made.registry.lanes.made, "spirv", Forgetful())
    with pytest.raises(BuildError) as raised:
        made.build()
    (found,) = raised.value.diagnostics
    assert (found.code, found.message) == ("ATL0598", "no action takes the device unit `b.comp`")
    assert found.notes == ("lane: spirv", "target: demo")
