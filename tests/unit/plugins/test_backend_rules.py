"""The lane of a backend's name decides its rules; the words of floors come from the lanes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from atoll._util.installed import Point
from atoll.accel import BackendRules
from atoll.accel.atleast import AtLeastRules
from atoll.plugin import Lane, Registry
from atoll.plugin.registry import Door
from atoll.plugin.rules import backend_rules, floor_words, rules_beside


def rules(word: str) -> AtLeastRules:
    return AtLeastRules(format="f", floor_word=word)


@dataclass
class FakeLane:
    """As much of a lane as its rules."""

    backends: Mapping[str, BackendRules] = field(default_factory=dict)


def registry(**lanes: FakeLane) -> Registry:
    door: Door[Lane] = Door(
        "lanes", "atoll.plugin.lane:Lane", {name: Point(name, "x:y", "lanes") for name in lanes}
    )
    door.made.update(lanes)  # type: ignore[arg-type]
    empty: Door[Any] = Door("none", "builtins:object", {})
    return Registry(lanes=door, emitters=empty, drivers=empty, probes=empty, readers=empty)


def test_the_lane_of_a_backends_name_decides() -> None:
    first, own = rules("a"), rules("b")
    found = backend_rules(registry(alpha=FakeLane({"zed": first, "y": first}), zed=FakeLane({"zed": own})))
    assert found == {"zed": own, "y": first}


def test_without_one_the_first_lane_by_name_decides() -> None:
    first, second = rules("a"), rules("b")
    found = backend_rules(registry(alpha=FakeLane({"zed": first}), beta=FakeLane({"zed": second})))
    assert found["zed"] is first


def test_beside_a_lane_only_the_others_count_and_a_broken_one_brings_nothing() -> None:
    mine, other = rules("a"), rules("b")
    installed = registry(many=FakeLane({"zed": mine}), other=FakeLane({"zed": other}))
    installed.lanes.made.pop("other")
    assert rules_beside("many", installed) == {}
    installed.lanes.made["other"] = FakeLane({"zed": other})  # type: ignore[assignment]
    assert rules_beside("many", installed) == {"zed": other}


def test_words_are_those_that_lanes_register() -> None:
    silent = AtLeastRules(format="f")
    found = floor_words(registry(one=FakeLane({"one": rules("w"), "two": silent})))
    assert found == {"one": "w"}
