"""The benchmark of calls checks each side's answer, and says ratios of one run."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tools.bench.calls import main, measured, ratios


def test_a_ratio_is_the_median_of_the_rounds() -> None:
    found = {"atoll": [1.0, 2.0, 1.0], "other": [2.0, 4.0, 9.0]}
    assert ratios(found) == {"other": 2.0}


def test_sides_take_turns_and_the_first_round_is_left_out() -> None:
    order: list[str] = []
    sides = {name: (lambda *_, name=name: order.append(name)) for name in ("atoll", "other")}
    found = measured(sides, rounds=2, calls=1)
    assert order == ["other", "atoll", "atoll", "other", "other", "atoll"]
    assert {name: len(rows) for name, rows in found.items()} == {"atoll": 2, "other": 2}


def test_a_generated_module_is_called_beside_what_is_written_by_hand(
    whole: bool, capsys: pytest.CaptureFixture[str], tell: Callable[[str], None]
) -> None:
    more = () if whole else ("--without-nanobind",)
    assert main(["--rounds", "3", "--calls", "2000", *more]) == 0
    spent, found = json.loads(capsys.readouterr().out).values()
    tell(f"a call by hand, of a generated module's: {found} (nanobind with --all)")
    assert set(found) == ({"ctypes", "nanobind"} if whole else {"ctypes"})
    assert found["ctypes"] > 1
    assert set(spent) == {*found, "atoll"}
    assert 0 < spent["atoll"] < spent["ctypes"]
