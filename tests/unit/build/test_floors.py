"""Facts against floors: what is missed, what concludes nothing, and the words."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.artifact import Fact
from atoll.build.floors import diagnostics, gather, meets, missed
from atoll.diagnostics import Severity
from atoll.plugin import Registry

FLOOR = Fact(name="toy.driver", relation=">=", value="580")


def fact(value: str) -> Fact:
    return Fact(name="toy.driver", relation="=", value=value)


def test_a_newer_driver_meets_the_floor() -> None:
    assert missed([FLOOR], [fact("580.159.03")]) == ()


def test_an_older_driver_misses_it() -> None:
    assert missed([FLOOR], [fact("99.1")]) == ((FLOOR, fact("99.1")),)


def test_an_absent_fact_concludes_nothing() -> None:
    assert missed([FLOOR], [Fact(name="other.driver", relation="=", value="1")]) == ()


def test_a_floor_stated_twice_is_missed_once() -> None:
    assert len(missed([FLOOR, FLOOR], [fact("1")])) == 1


def test_the_words_are_equal_and_only_the_severity_differs() -> None:
    (here,) = diagnostics(missed([FLOOR], [fact("570.1")]), elsewhere=False)
    (there,) = diagnostics(missed([FLOOR], [fact("570.1")]), elsewhere=True)
    assert (here.severity, there.severity) == (Severity.ERROR, Severity.WARNING)
    assert (here.message, here.notes, here.hint) == (there.message, there.notes, there.hint)
    assert here.notes == ("the build needs: toy.driver >= 580", "this machine has: 570.1")


@pytest.mark.parametrize(
    ("value", "relation", "bound", "answer"),
    [
        ("2.10", ">=", "2.9", True),
        ("2.9", ">=", "2.10", False),
        ("2.0", "=", "2", True),
        ("2", ">", "2.0", False),
        ("1.9", "<", "2", True),
        ("2.0", "<=", "2", True),
    ],
)
def test_numbers_compare_by_number(value: str, relation: str, bound: str, answer: bool) -> None:
    assert meets(value, Fact(name="x", relation=relation, value=bound)) is answer


numbers = st.lists(st.integers(0, 999), min_size=1, max_size=4)


@given(numbers, numbers)
def test_at_least_is_the_order_of_padded_tuples(have: list[int], least: list[int]) -> None:
    length = max(len(have), len(least))
    model = have + [0] * (length - len(have)) >= least + [0] * (length - len(least))
    floor = Fact(name="x", relation=">=", value=".".join(map(str, least)))
    assert meets(".".join(map(str, have)), floor) is model


class Probes(Mapping[str, object]):
    """Probes that remember which of them were loaded."""

    def __init__(self) -> None:
        self.loaded: list[str] = []

    def __getitem__(self, name: str) -> object:
        self.loaded.append(name)

        class Probe:
            def facts(self, environment: Mapping[str, str]) -> tuple[Fact, ...]:
                return (fact("570.1"),)

        return Probe()

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(["toy", "other"])

    def __len__(self) -> int:
        return 2


def registry(probes: Probes) -> Registry:
    empty: dict[str, object] = {}
    return Registry(empty, empty, empty, probes, empty)  # type: ignore[arg-type]


def test_only_the_probes_of_the_floors_are_asked() -> None:
    probes = Probes()
    assert gather([FLOOR], registry(probes), {}) == (fact("570.1"),)
    assert probes.loaded == ["toy"]
    assert gather([], registry(probes), {}) == ()
    assert probes.loaded == ["toy"]
