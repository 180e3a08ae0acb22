"""A memory budget is given where a device is opened; it holds on every driver and says both sides."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import pytest

from atoll.errors import DeviceError, OutOfMemoryError
from atoll.plugin import DriverDevice
from atoll.runtime import Device, device
from refusals.exact import same
from unit.runtime.fakes import MemoryDevice, MemoryDriver
from unit.runtime.test_device import Doors

KIB = 1 << 10


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryDriver]:
    made = MemoryDriver()
    monkeypatch.setattr(device, "registry", lambda: Doors(made))
    monkeypatch.setattr(device, "_open", WeakValueDictionary())
    device._chosen.cache_clear()
    yield made
    device._chosen.cache_clear()


class Pooled(MemoryDriver):
    """A driver that holds a budget itself."""

    def open_within(self, index: int, budget: int) -> DriverDevice:
        self.asked = index, budget
        return self.open(index)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "1 MiB", True])
def test_a_budget_is_a_number_of_bytes(driver: MemoryDriver, wrong: Any, tmp_path: Path) -> None:
    with pytest.raises(DeviceError) as caught:
        device.open("mem:0", budget=wrong)
    assert driver.opened == []
    if wrong == "1 MiB":
        same("ATL0813_number", str(caught.value), tmp_path)


def test_what_is_over_it_is_refused_and_what_was_there_stays(driver: MemoryDriver, tmp_path: Path) -> None:
    opened = device.open("mem:0", budget=100 * KIB)
    assert opened.budget == 100 * KIB
    one, two = opened.allocate(40 * KIB), opened.allocate(60 * KIB)
    with pytest.raises(OutOfMemoryError) as caught:
        opened.allocate(16)
    same("ATL0810_budget", str(caught.value), tmp_path)
    opened.release(one)
    opened.release(two)
    opened.allocate(100 * KIB)


def test_a_driver_that_cannot_allocate_counts_nothing() -> None:
    class Full(MemoryDevice):
        def allocate(self, nbytes: int) -> int:
            raise MemoryError

    opened = Device(Full(), 64)
    for _ in range(2):
        with pytest.raises(MemoryError):
            opened.allocate(64)


@pytest.mark.usefixtures("driver")
def test_a_driver_that_holds_it_itself_is_asked_to(monkeypatch: pytest.MonkeyPatch) -> None:
    pooled = Pooled()
    monkeypatch.setattr(device, "registry", lambda: Doors(pooled))
    opened = device.open("mem:1", budget=64)
    assert pooled.asked == (1, 64)
    opened.allocate(128)  # its own matter


def test_one_device_has_one_budget(driver: MemoryDriver, tmp_path: Path) -> None:
    first = device.open("mem:0", budget=64)
    assert device.open("mem:0", budget=64) is device.open("mem:0") is first
    with pytest.raises(DeviceError) as caught:
        device.open("mem:0", budget=128)
    same("ATL0813_open", str(caught.value), tmp_path)
    other = device.open("mem:1")
    with pytest.raises(DeviceError, match="it is open with: no budget"):
        device.open("mem:1", budget=64)
    other.close()
    assert device.open("mem:1", budget=64).budget == 64


WHOLE = """
import numpy as np, sys, atoll
from atoll import f32, kernel, view

with atoll.open({name!r}, budget=8 << 20) as opened:
    kept = [atoll.array(np.ones(1 << 18, np.float32), device=opened) for _ in range(3)]
    try:
        more = [atoll.array(np.ones(1 << 20, np.float32), device=opened) for _ in range(2)]
        print("no error")
    except atoll.AtollError as error:
        print(error.diagnostics[0].code, error.diagnostics[0].message.replace(opened.name, "DEVICE"))
        print([note for note in error.diagnostics[0].notes if "8388608" in note] != [])
    more = None
    kept.clear()
    print(int(atoll.array(np.ones(1 << 20, np.float32), device=opened).numpy().sum()))
"""


@pytest.mark.parametrize("name", ["cpu", "vulkan", "opencl"])
def test_it_holds_on_real_devices(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WHOLE.format(name=name)], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == [
        f"ATL0810 DEVICE has no room for {4 << 20} bytes",
        "True",
        str(1 << 20),
    ], done.stderr
