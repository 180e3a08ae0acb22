"""Atoll's public suites: a lane or reader that passes them works wherever Atoll does."""

from pathlib import Path

import pytest
from atoll.accel import AccelSet
from atoll.plugin import Blob, LaneRequest, Unit
from atoll.testing.lanes import LANE_CHECKS, LaneCheck
from atoll.testing.readers import READER_CHECKS, ReaderCheck

from PACKAGE.compile import compiled
from PACKAGE.lane import PolyLane
from PACKAGE.reader import PolyReader


@pytest.mark.parametrize("check", LANE_CHECKS, ids=lambda check: check.__name__)
def test_the_lane(check: LaneCheck, tmp_path: Path) -> None:
    (tmp_path / "a.poly").write_text("1\n2\n")
    accel = AccelSet.parse("poly1.0")
    unit = Unit(path="a.poly", target="t", entry=accel.get("poly"))
    check(PolyLane(), LaneRequest(root=tmp_path, build="out", package="p", units=(unit,), accel=accel))


@pytest.mark.parametrize("check", READER_CHECKS, ids=lambda check: check.__name__)
def test_the_reader(check: ReaderCheck) -> None:
    check(PolyReader(), [Blob(name="a.bin", data=memoryview(compiled("1\n2.5\n")))])
