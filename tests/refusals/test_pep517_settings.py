"""A config setting that nobody reads, or that cannot be read, is refused before anything is built."""

from __future__ import annotations

import pytest

from atoll.errors import UsageError
from atoll.pep517.settings import read_settings

KNOWN = "known: accel, features, jobs, offline, profile"


def test_an_unknown_setting_is_refused_with_the_nearest_known_one() -> None:
    with pytest.raises(UsageError) as caught:
        read_settings({"acel": "vulkan1.2"})
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == ("ATL0480", "there is no config setting `acel`")
    assert found.notes == ("given: acel", KNOWN)
    assert found.hint == "did you mean `accel`?"


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("jobs", "many", "a positive number"),
        ("jobs", "0", "a positive number"),
        ("offline", "maybe", "`0` or `1`"),
    ],
)
def test_a_value_that_cannot_be_read_is_refused(name: str, value: str, wanted: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_settings({name: value})
    (found,) = caught.value.diagnostics
    assert found.message == f"the config setting `{name}` cannot be read"
    assert found.notes == (f"given: {value}", f"it is: {wanted}")


def test_every_fault_is_told_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        read_settings({"x": "1", "jobs": "-1", "y": "2"})
    assert len(caught.value.diagnostics) == 3
