"""Which device a name means, and what a refusal lists."""

from __future__ import annotations

from dataclasses import replace

import pytest

from atoll.errors import DeviceError
from atoll.runtime import DriverStatus
from atoll.runtime.choosing import Chooser
from unit.runtime.fakes import info, status

WITH_GPU = (
    status("fast", 10, info("fast", 0, "Turbo 9"), info("fast", 1, "Turbo 5")),
    status("soft", 20, info("soft", 0, "pipe (Turbo emulated)", software=True)),
    status("mixed", 30, info("mixed", 0, "Slow", software=True), info("mixed", 1, "Card")),
    status("cpu", 1000, info("cpu", 0, "A Processor", software=True)),
)
WITHOUT = (
    status("fast", 10, reason="libfast.so.1 could not be opened"),
    status("soft", 20, info("soft", 0, "pipe", software=True)),
    status("cpu", 1000, info("cpu", 0, "A Processor", software=True)),
)


def choose(
    statuses: tuple[DriverStatus, ...],
    name: str | None = None,
    asked: list[str] | None = None,
    **variables: str,
) -> str:
    found = {one.name: one for one in statuses}

    def ask(driver: str) -> DriverStatus:
        if asked is not None:
            asked.append(driver)
        return found[driver]

    return str(Chooser({one.name: one.rank for one in statuses}, ask, variables).choose(name))


@pytest.mark.parametrize(
    ("name", "device"),
    [
        ("fast", "fast:0"),
        ("fast:1", "fast:1"),
        ("mixed", "mixed:1"),  # hardware before software
        ("mixed:0", "mixed:0"),
        ("soft", "soft:0"),  # software because it is named
        ("cpu", "cpu:0"),
        ("cpu:0", "cpu:0"),
        ("Turbo 5", "fast:1"),
        ("turbo", "fast:0"),  # the first that is not software, by rank
        ("emulated", "soft:0"),
        (None, "fast:0"),
    ],
)
def test_a_name_means_one_device(name: str | None, device: str) -> None:
    assert choose(WITH_GPU, name) == device


def test_without_a_name_software_is_passed_over_for_the_processor() -> None:
    assert choose(WITHOUT) == "cpu:0"


def test_the_variable_names_the_default_and_an_argument_beats_it() -> None:
    assert choose(WITHOUT, ATOLL_DEVICE="soft") == "soft:0"
    assert choose(WITHOUT, "cpu", ATOLL_DEVICE="soft") == "cpu:0"
    assert choose(WITHOUT, ATOLL_DEVICE="") == "cpu:0"


def test_no_more_drivers_are_asked_than_the_name_needs() -> None:
    asked: list[str] = []
    choose(WITH_GPU, "soft", asked)
    assert set(asked) == {"soft"}
    asked.clear()
    choose(WITH_GPU, None, asked)
    assert set(asked) == {"fast"}


def test_a_required_device_may_be_named_software() -> None:
    assert choose(WITHOUT, ATOLL_DEVICE="soft", ATOLL_REQUIRE_DEVICE="1") == "soft:0"
    assert choose(WITHOUT, ATOLL_REQUIRE_DEVICE="0") == "cpu:0"


@pytest.mark.parametrize("name", ["fast:2", "fast:", "fast:-1", "fast:x", "none", "", "fast:99999999999999"])
def test_a_name_that_means_nothing_is_refused_with_what_exists(name: str) -> None:
    with pytest.raises(DeviceError) as caught:
        choose(WITH_GPU, name)
    (found,) = caught.value.diagnostics
    assert found.code == "ATL0801"
    assert "present: fast:1 (Turbo 5)" in found.notes


def test_a_device_is_named_by_its_identity_with_or_without_dashes() -> None:
    first, second = info("fast", 0, "Turbo 9"), info("fast", 1, "Turbo 9")
    uuid = "8d2a3f10-0000-4000-8000-00000000abcd"
    facts = replace(second.facts, facts={"uuid": uuid.replace("-", "")})
    two = (status("fast", 10, first, replace(second, facts=facts)),)
    assert choose(two, uuid) == choose(two, uuid.replace("-", "").upper()) == "fast:1"
    with pytest.raises(DeviceError):
        choose(two, uuid[:-1])
