"""Asking drivers takes bounded time and never raises."""

from __future__ import annotations

import os
import threading
from dataclasses import replace

import pytest

from atoll.plugin import DeviceInfo
from atoll.runtime import status
from atoll.runtime.status import ask, ask_all, is_left_behind
from unit.runtime.fakes import MemoryDriver


class Hangs(MemoryDriver):
    """A driver whose library waits for ever, or until the test ends."""

    def __init__(self) -> None:
        super().__init__()
        self.over = threading.Event()

    def devices(self) -> tuple[DeviceInfo, ...]:
        self.over.wait()
        return ()


class Raises(MemoryDriver):
    def devices(self) -> tuple[DeviceInfo, ...]:
        raise RuntimeError("no luck")


class Silent(MemoryDriver):
    rank = 1

    def devices(self) -> tuple[DeviceInfo, ...]:
        return ()


def test_a_driver_that_hangs_is_said_to() -> None:
    driver = Hangs()
    found = ask(driver, "slow", seconds=0.05)
    driver.over.set()
    assert found.devices == ()
    assert found.reason == "it did not answer in 0.05 seconds"


def test_a_driver_that_raises_is_said_to() -> None:
    found = ask(Raises(), "broken")
    assert found.reason == "RuntimeError: no luck"
    assert found.fix


def test_a_driver_that_says_nothing_is_said_to() -> None:
    assert ask(Silent(), "silent").reason == "it lists no device and gives no reason"


def test_the_lowest_rank_comes_first() -> None:
    found = ask_all([("b", MemoryDriver()), ("a", MemoryDriver()), ("c", Silent())])
    assert [one.name for one in found] == ["c", "a", "b"]
    assert [len(one.devices) for one in found] == [0, 2, 2]


def test_a_driver_that_reached_devices_before_a_fork_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    here = ask(MemoryDriver(), "forks")
    assert not is_left_behind("forks")
    monkeypatch.setattr(
        status, "_told", {"forks": (os.getpid() + 1, here), "none": (1, replace(here, devices=()))}
    )
    assert is_left_behind("forks")
    assert ask(Raises(), "forks") == here
    assert not is_left_behind("none")
    assert not is_left_behind("never asked")
