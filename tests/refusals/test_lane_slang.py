"""What the lane of Slang refuses, word for word (`texts/`)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.accel import AccelSet, Entry, Version
from atoll.plugin import LaneRequest, Unit
from atoll_plugins.slang.lane import SlangLane
from refusals.exact import check
from unit.plugins.lane_project import program
from unit.plugins.test_slang_lane import project


def with_entry(root: Path, entry: Entry) -> LaneRequest:
    made = project(root)
    return dataclasses.replace(
        made, units=(Unit(path="s/k.slang", target="demo", entry=entry),), accel=AccelSet.parse("vulkan")
    )


CASES: dict[str, Callable[[Path], object]] = {
    "ATL0505_slang": lambda root: SlangLane().payloads(project(root, options={"version": "2025.1"})),
    "ATL0505_slang_and_compiler": lambda root: SlangLane().payloads(
        project(root, options={"version": "2026.14", "compiler": "slangc"})
    ),
    "ATL0509_slang": lambda root: SlangLane().plan(
        project(root, options={"compiler": str(program(root / "bin", "slangc", "echo no version"))})
    ),
    "ATL0511_slang": lambda root: SlangLane().payloads(
        with_entry(root, Entry(backend="vulkan", version=Version((1, 9))))
    ),
    "ATL0512_slang": lambda root: SlangLane().payloads(project(root, options={"compilr": "slangc"})),
    "ATL0513_slang": lambda root: SlangLane().payloads(project(root, host="macos")),
    "ATL0514_slang": lambda root: SlangLane().payloads(with_entry(root, Entry(backend="cuda"))),
}


@pytest.mark.parametrize("name", CASES)
def test_the_lane_of_slang(tmp_path: Path, name: str) -> None:
    check(name, tmp_path, CASES[name])
