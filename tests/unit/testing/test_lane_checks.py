"""Each check of the lane suite fails on a lane that breaks its promise, and passes on one that keeps it."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from atoll.accel import BackendRules, Entry
from atoll.graph import Action, Role
from atoll.plugin import DataProduct, LanePlan, LaneRequest, LaneStatus, ToolChoice, Unit, UnitKind
from atoll.plugin.options import check_options
from atoll.store import Payload
from atoll.testing.lanes import LANE_CHECKS, lane_suite
from unit.plugins.lane_project import request, write

COPY = "import shutil, sys; shutil.copy(sys.argv[1], sys.argv[2])"
STAMP = "import sys, time; open(sys.argv[2], 'w').write(str(time.perf_counter_ns()))"
CHECKS = {check.__name__: check for check in LANE_CHECKS}


class FakeLane:
    """Copies its units; breaks the promise that it is told to break."""

    name = "fake"
    backends: Mapping[str, BackendRules] = {}

    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        self.count = itertools.count()

    @property
    def extensions(self) -> Mapping[str, UnitKind]:
        return {"fake" if self.fault == "extension" else ".fake": UnitKind.UNIT}

    def payloads(self, asked: LaneRequest) -> tuple[Payload, ...]:
        wants = self.fault == "payload" or (self.fault == "eager" and asked.accel)
        return (Payload(name="p", requirements=("p==1",)),) if wants else ()

    def plan(self, asked: LaneRequest) -> LanePlan:
        if self.fault == "reads":
            asked.environment.get("HOME")
        if not asked.units:
            return LanePlan()
        if self.fault != "option":
            check_options("fake", asked, ())
        if self.fault == "writes":
            (asked.root / f"left{next(self.count)}").touch()
        actions = tuple(self._action(asked, unit) for unit in asked.units)
        products = tuple(
            DataProduct(path=action.outputs[0], unit=unit, backend="fake")
            for action, unit in zip(actions, asked.units, strict=True)
        )
        if self.fault == "drops":
            products = products[:-1]
        why = "" if self.fault == "silent" else "it is the only one"
        return LanePlan(
            actions=actions, data=products, tools=(ToolChoice(name="t", path="", version="", why=why),)
        )

    def _action(self, asked: LaneRequest, unit: Unit) -> Action:
        folder = f"{asked.build}/{'other' if self.fault == 'folder' else 'fake'}"
        name = "same" if self.fault == "names" else f"fake {unit.path}"
        name += str(next(self.count)) if self.fault == "impure" else ""
        return Action(
            name=name,
            argv=(
                sys.executable,
                "-c",
                STAMP if self.fault == "bytes" else COPY,
                unit.path,
                f"{folder}/{unit.path}",
            ),
            inputs=() if self.fault == "unread" else (unit.path,),
            outputs=(f"{folder}/{unit.path}",),
            role=Role.ARTIFACT,
        )

    def status(self, environment: Mapping[str, str], stored: frozenset[str]) -> LaneStatus:
        if self.fault == "row":
            return LaneStatus(lane="fake", can_build=False, reason="it cannot")
        return LaneStatus(lane="fake", found="this Python", can_build=True)


FAULTS = {
    "extension": "extensions_are_spelled_with_a_dot",
    "payload": "without_units_it_asks_for_nothing",
    "eager": "without_units_it_asks_for_nothing",
    "reads": "without_units_it_asks_for_nothing",
    "impure": "planning_twice_gives_equal_plans",
    "writes": "planning_writes_nothing",
    "folder": "actions_are_whole",
    "names": "actions_are_whole",
    "unread": "every_unit_is_read_and_makes_a_product",
    "drops": "every_unit_is_read_and_makes_a_product",
    "silent": "tools_are_named_with_a_reason",
    "option": "an_unknown_option_is_refused",
    "row": "its_row_of_doctor_is_whole",
    "bytes": "two_clean_runs_give_equal_bytes",
}


@pytest.fixture
def asked(tmp_path: Path) -> LaneRequest:
    write(tmp_path, {"a.fake": "a\n", "b.fake": "b\n"})
    entry = Entry(backend="fake")
    units = tuple(Unit(path=path, target="demo", entry=entry) for path in ("a.fake", "b.fake"))
    return request(tmp_path, units, entry)


@pytest.mark.parametrize("name", CHECKS)
def test_a_lane_that_keeps_every_promise_passes(asked: LaneRequest, name: str) -> None:
    CHECKS[name](FakeLane(), asked)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_promise_is_seen(asked: LaneRequest, fault: str) -> None:
    with pytest.raises(AssertionError):
        CHECKS[FAULTS[fault]](FakeLane(fault), asked)


def test_the_suite_says_of_each_check_what_it_found(asked: LaneRequest) -> None:
    assert set(lane_suite(FakeLane(), asked).values()) == {"ok"}
    said = lane_suite(FakeLane("silent"), asked)
    assert said.pop("tools_are_named_with_a_reason") == "t has no reason"
    assert set(said.values()) == {"ok"}


def test_every_check_has_been_seen_to_fail() -> None:
    # A payload asked for without a set is a payload asked for without units: one fault, two checks.
    assert set(CHECKS) - set(FAULTS.values()) == {"without_a_set_it_fetches_nothing"}


def test_a_payload_without_a_set_is_seen(asked: LaneRequest) -> None:
    with pytest.raises(AssertionError):
        CHECKS["without_a_set_it_fetches_nothing"](FakeLane("payload"), replace(asked, units=asked.units))
