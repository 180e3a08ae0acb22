"""A device that nobody refers to any more is closed, and never inside another's lock."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import pytest

from atoll.runtime import device
from unit.runtime.fakes import MemoryDriver
from unit.runtime.test_device import Doors

RING = """
import gc, sys
from pathlib import Path
import cffi.cparser
from atoll.runtime import Device
from atoll.runtime.native import declarations

class Held:
    def close(self):
        cffi.FFI().new("unsigned long *")

class Ring:
    def __init__(self, held):
        self.held, self.ring = held, self

gc.disable()
Ring(Device(Held()))
parser = cffi.cparser._get_parser  # is asked for inside the lock
cffi.cparser._get_parser = lambda: (gc.collect(), parser())[1]
declarations(Path(sys.argv[1]))
print("read")
"""


def test_declarations_are_read_while_a_device_goes(tmp_path: Path) -> None:
    """It never ended: the collector closed the device inside cffi's parser, which has one lock for all.

    This is what looked like PoCL not answering once many Vulkan devices had been opened.
    """
    text = tmp_path / "abi.h"
    text.write_text("int function(unsigned long a);\n")
    command = [sys.executable, "-c", RING, str(text)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=25, check=False)
    assert done.stdout == "read\n", done.stderr


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryDriver]:
    made = MemoryDriver()
    monkeypatch.setattr(device, "registry", lambda: Doors(made))
    monkeypatch.setattr(device, "_open", WeakValueDictionary())
    device._chosen.cache_clear()
    yield made
    device._chosen.cache_clear()


class Ring:
    def __init__(self, held: Any) -> None:
        self.held, self.ring = held, self


def test_one_that_the_collector_found_is_closed_by_the_next_that_is_opened(driver: MemoryDriver) -> None:
    Ring(device.open("mem:0"))
    gc.collect()
    assert not driver.opened[0].closed
    device.open("mem:1")
    assert driver.opened[0].closed


def test_one_that_is_let_go_is_closed_at_once(driver: MemoryDriver) -> None:
    opened = device.open("mem:0")
    del opened
    assert driver.opened[0].closed


def test_the_end_of_the_process_closes_what_the_collector_found(driver: MemoryDriver) -> None:
    Ring(device.open("mem:0"))
    gc.collect()
    device._close_all()
    assert driver.opened[0].closed
