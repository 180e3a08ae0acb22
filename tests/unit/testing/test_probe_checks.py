"""Each check of the probe suite fails on a probe that breaks its promise; installed probes keep them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest

from atoll.artifact import Fact
from atoll.plugin import registry
from atoll.testing import probes
from atoll.testing.probes import PROBE_CHECKS, ProbeCheck

CHECKS = {check.__name__: check for check in PROBE_CHECKS}
FAULTS = {
    "foreign": "facts_start_with_its_name",
    "bound": "facts_are_equalities",
    "empty": "facts_are_equalities",
    "twice": "facts_are_equalities",
    "raises": "it_never_raises",
    "list": "it_never_raises",
    "slow": "it_is_quick",
    "restless": "asking_twice_gives_equal_facts",
}


class FakeProbe:
    """States one fact; breaks the promise that it is told to break."""

    name = "fake"

    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        self.count = itertools.count()

    def facts(self, environment: Mapping[str, str]) -> tuple[Fact, ...]:
        name = "other.level" if self.fault == "foreign" else "fake.level"
        relation = ">=" if self.fault == "bound" else "="
        value = {"empty": "", "restless": str(next(self.count))}.get(self.fault, "1")
        if self.fault == "raises":
            environment["NO_SUCH_VARIABLE"]
        fact = Fact(name=name, relation=relation, value=value)
        found = (fact, fact) if self.fault == "twice" else (fact,)
        return list(found) if self.fault == "list" else found  # type: ignore[return-value]


@pytest.mark.parametrize("name", sorted(registry().probes))
@pytest.mark.parametrize("check", PROBE_CHECKS, ids=lambda check: check.__name__)
def test_every_installed_probe_keeps_its_promises(check: ProbeCheck, name: str) -> None:
    check(registry().probes[name])


@pytest.mark.parametrize("check", PROBE_CHECKS, ids=lambda check: check.__name__)
def test_a_probe_that_keeps_its_promises_passes(check: ProbeCheck) -> None:
    check(FakeProbe())


def test_every_check_has_a_fault_that_it_sees() -> None:
    assert set(FAULTS.values()) == CHECKS.keys()


@pytest.mark.parametrize(("fault", "check"), FAULTS.items())
def test_a_broken_promise_is_seen(fault: str, check: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if fault == "slow":
        monkeypatch.setattr(probes, "MOST_SECONDS", 0.0)
    with pytest.raises(AssertionError):
        CHECKS[check](FakeProbe(fault))
