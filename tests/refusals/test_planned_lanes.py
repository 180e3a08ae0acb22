"""What the lanes of Ascend C and Metal refuse, word for word (`texts/`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from atoll_plugins.ascendc.lane import AscendCLane
from atoll_plugins.metal.lane import MetalLane
from refusals.exact import check
from unit.plugins.test_planned_lanes import ascend, metal, of

EMPTY = {"PATH": "/nowhere"}
CASES: dict[str, Callable[[Path], object]] = {
    "ATL0503_ascend": lambda root: AscendCLane().payloads(ascend(root, accel="ascend8.5")),
    "ATL0503_ascend_two": lambda root: AscendCLane().payloads(
        ascend(root, accel="ascend8.5+{dav-c220, dav-c310}")
    ),
    "ATL0504_ascend": lambda root: AscendCLane().plan(ascend(root, accel="ascend9.0+{dav-c220}")),
    "ATL0504_metal": lambda root: MetalLane().payloads(metal(root, accel="metal9.0")),
    "ATL0507_ascend": lambda root: AscendCLane().plan(
        of(root, "k.asc", "ascend8.5+{dav-c220}", environment=EMPTY, options={"cann": "/nowhere"})
    ),
    "ATL0507_metal": lambda root: MetalLane().plan(metal(root, environment=EMPTY)),
    "ATL0508_ascend": lambda root: AscendCLane().payloads(ascend(root, accel="ascend+{910b}")),
    "ATL0509_ascend": lambda root: AscendCLane().plan(ascend(root, options={"compiler": "/nowhere/bisheng"})),
    "ATL0509_metal": lambda root: MetalLane().plan(metal(root, options={"compiler": "/nowhere/xcrun"})),
    "ATL0512_ascend": lambda root: AscendCLane().payloads(ascend(root, options={"can": "/opt"})),
    "ATL0512_metal": lambda root: MetalLane().payloads(metal(root, options={"skd": "macosx"})),
    "ATL0513_ascend": lambda root: AscendCLane().payloads(ascend(root, host="windows")),
    "ATL0513_metal": lambda root: MetalLane().payloads(metal(root, host="linux")),
    "ATL0514_ascend": lambda root: AscendCLane().payloads(ascend(root, accel="cuda+{sm_90}")),
    "ATL0514_metal": lambda root: MetalLane().payloads(metal(root, accel="vulkan1.2")),
}


@pytest.mark.parametrize("name", CASES)
def test_a_planned_lane(tmp_path: Path, name: str) -> None:
    check(name, tmp_path, CASES[name])
