"""One device is opened once in a process, and a launch copies, packs and frees as it says."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from atoll.artifact import Fact
from atoll.errors import AtollError, DeviceError
from atoll.plugin import LaunchLayout, ParamField
from atoll.runtime import Device, device, faults, status
from atoll.runtime.status import ask
from unit.runtime.fakes import CODE, MemoryDevice, MemoryDriver


class Doors:
    """A registry with one driver."""

    def __init__(self, driver: MemoryDriver) -> None:
        self.drivers = {"mem": driver}


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryDriver]:
    made = MemoryDriver()
    doors = Doors(made)
    monkeypatch.setattr(device, "registry", lambda: doors)
    monkeypatch.delenv("ATOLL_DEVICE", raising=False)
    monkeypatch.delenv("ATOLL_REQUIRE_DEVICE", raising=False)
    device._chosen.cache_clear()
    yield made
    device._chosen.cache_clear()


def test_a_device_that_the_parent_process_knew_is_refused(
    driver: MemoryDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = ask(driver, "mem")
    monkeypatch.setattr(status, "_told", {"mem": (os.getpid() + 1, known)})
    for name in ("mem", None):
        with pytest.raises(DeviceError) as caught:
            device.open(name)
        assert caught.value.diagnostics[0].code == "ATL0807"
        assert "forked" in str(caught.value)


def test_everyone_who_opens_a_device_has_the_same_one(driver: MemoryDriver) -> None:
    first, second = device.open(), device.open("mem:0")
    other = device.open("other memory")
    assert first is second
    assert other is not first
    assert len(driver.opened) == 2


def test_the_last_who_closes_frees_it(driver: MemoryDriver) -> None:
    first, second = device.open(), device.open()
    first.close()
    assert not driver.opened[0].closed
    second.close()
    assert driver.opened[0].closed
    assert device.open() is not first


def test_nobody_refers_to_it_so_it_is_freed(driver: MemoryDriver) -> None:
    opened = device.open()
    del opened
    gc.collect()
    assert driver.opened[0].closed


def test_the_end_of_the_process_frees_what_is_open(driver: MemoryDriver) -> None:
    opened = device.open()
    device._close_all()
    assert driver.opened[0].closed
    del opened


def test_a_with_block_lets_go(driver: MemoryDriver) -> None:
    with device.open() as opened:
        assert opened.name == "Memory"
        assert repr(opened) == "<atoll device mem:0 Memory>"
    assert driver.opened[0].closed


def test_devices_are_listed_in_order(driver: MemoryDriver) -> None:
    assert [str(info) for info in device.devices()] == ["mem:0", "mem:1"]


def test_a_launch_copies_in_runs_waits_copies_out_and_frees() -> None:
    inner = MemoryDevice()
    x, out = np.array([1, 2, 3, 4], np.float32), np.zeros(4, np.float32)
    done = Device(inner).run(CODE, (1,), (64,), {"x": x, "y": 10 * x, "out": out, "a": 2, "n": 4})
    assert list(out) == [12, 24, 36, 48]
    assert (done.device, str(done.info)) == ("Memory", "mem:0")
    moves = ["allocate 16", "upload 16"] * 3
    assert inner.calls == ["load", *moves, "launch", "wait", "download 16", *["release"] * 3]


def test_code_is_loaded_once_and_the_oldest_makes_room() -> None:
    inner = MemoryDevice()
    opened = Device(inner)
    first = opened.load(CODE)
    assert opened.load(CODE) is first
    for number in range(64):
        opened.load(replace(CODE, code=f"saxpy {number}".encode()))
    assert inner.calls.count("load") == 65
    opened.load(CODE)
    assert inner.calls.count("load") == 66


def test_one_array_given_twice_is_one_buffer() -> None:
    inner = MemoryDevice()
    x = np.array([1, 2, 3, 4], np.float32)
    Device(inner).run(CODE, (1,), (64,), {"x": x, "y": x, "out": x, "a": 2.0, "n": 4})
    assert list(x) == [3, 6, 9, 12]
    assert inner.calls.count("allocate 16") == 1


def test_arrays_that_overlap_in_part_are_one_buffer_where_code_takes_offsets() -> None:
    inner = MemoryDevice()
    whole = np.arange(6, dtype=np.float32)
    names = [f"{name}.offset" for name in ("x", "y", "out")]
    sizes = [f"{name}.{what}.0" for name in ("x", "y", "out") for what in ("size", "stride")]
    fields = tuple(
        ParamField(path=path, type="i64", offset=8 * at)
        for at, path in enumerate(sorted([*names, *sizes], key=lambda path: path.split(".")[0]))
    )
    layout = replace(CODE.layout, fields=fields, block_bytes=8 * len(fields))
    given = {"x": whole[:4], "y": whole[1:3], "out": whole[2:]}
    Device(inner).run(replace(CODE, layout=layout), (1,), (64,), given)
    assert inner.calls.count("allocate 24") == 1
    offsets = {item.path: item.offset for item in fields if item.path.endswith("offset")}
    block = np.frombuffer(inner.blocks[0], np.int64)
    assert [block[offsets[name] // 8] for name in names] == [0, 1, 2]


def test_empty_arrays_are_launched() -> None:
    inner = MemoryDevice()
    empty = np.zeros(0, np.float32)
    Device(inner).run(CODE, (1,), (64,), {"x": empty, "y": empty, "out": empty, "a": 2.0, "n": 0})
    assert inner.calls == ["load", *["allocate 0"] * 3, "launch", "wait", *["release"] * 3]


class Failing(MemoryDevice):
    """A device that fails in one of its calls."""

    fails = "launch"

    def launch(self, *arguments: Any) -> None:
        raise faults.closed("it")


def test_a_failed_launch_frees_its_buffers() -> None:
    inner = Failing()
    x = np.array([1], np.float32)
    with pytest.raises(AtollError):
        Device(inner).run(CODE, (1,), (64,), {"x": x, "y": x.copy(), "out": x.copy(), "a": 2.0, "n": 1})
    assert not inner.buffers


STRIDED = LaunchLayout(
    buffers=("m",),
    access=("read",),
    fields=(
        *(ParamField(path=f"domain.{axis}", type="u32", offset=4 * axis) for axis in range(3)),
        ParamField(path="m.offset", type="i64", offset=16),
        *(ParamField(path=f"m.size.{axis}", type="i64", offset=24 + 8 * axis) for axis in range(2)),
        *(ParamField(path=f"m.stride.{axis}", type="i64", offset=40 + 8 * axis) for axis in range(2)),
    ),
    block_bytes=56,
)


def fields(array: np.ndarray[Any, Any]) -> list[int]:
    inner = MemoryDevice()
    code = replace(CODE, layout=STRIDED)
    Device(inner).run(code, (1,), (64,), {"m": array}, domain=(7, 5))
    raw = inner.blocks[0]
    assert [int.from_bytes(raw[at : at + 4], "little") for at in (0, 4, 8)] == [7, 5, 1]
    return [int.from_bytes(raw[at : at + 8], "little", signed=True) for at in range(16, 56, 8)]


def test_a_view_passes_offset_sizes_and_strides_in_elements() -> None:
    base = np.arange(24, dtype=np.float64).reshape(4, 6)
    assert fields(base) == [0, 4, 6, 6, 1]
    assert fields(base.T) == [0, 6, 4, 1, 6]
    assert fields(base[1:3, ::2]) == [0, 2, 3, 6, 2]
    assert fields(base[::-1]) == [18, 4, 6, -6, 1]


def test_another_rank_is_refused() -> None:
    with pytest.raises(AtollError, match="another rank"):
        fields(np.arange(4, dtype=np.float64))


def test_strides_between_elements_are_refused() -> None:
    rows = np.zeros((4, 2), np.dtype([("a", "<f4"), ("b", "<f8")]))
    with pytest.raises(AtollError, match="no whole elements"):
        fields(rows["b"])


def test_code_that_the_device_lacks_something_for_is_unavailable_and_no_error() -> None:
    plain = MemoryDevice()
    facts = replace(plain.info.facts, facts={"spirv.capability": "Shader !Float16 …"})
    device = Device(MemoryDevice(replace(plain.info, facts=facts)))
    wants = [
        replace(CODE, requires=(Fact(name="spirv.capability", relation="=", value=name),))
        for name in ("Shader", "Float16", "Int8")
    ]
    assert [device.has(code) for code in wants] == [True, False, True]
    with pytest.raises(DeviceError, match=r"it requires spirv\.capability = Float16"):
        device.load(wants[1])
