"""A launch on the arrays of the one before does and refuses what the first did, and keeps no array alive."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import atoll
from atoll.errors import DeviceError, LaunchError
from atoll.runtime.array import Array, array
from atoll.runtime.device import Device
from conformance.driver_kernels import driver, needs_device
from kernel_text import kernel_from

INDEX = "    i = atoll.global_id(0)\n"
AXPY = f"@kernel\ndef k(a: f32, x: view[f32], y: view[f32]):\n{INDEX}    y[i] = a * x[i] + y[i]\n"
ADD = f"@kernel\ndef k(x: view[f32], y: view[f32]):\n{INDEX}    y[i] = x[i] + y[i]\n"


@pytest.fixture(params=("cpu", "vulkan", "opencl"))
def device(request: pytest.FixtureRequest) -> Device:
    needs_device(driver(request.param))
    return atoll.open(request.param)


def ones(device: Device, size: int = 64) -> Array:
    return array(np.ones(size, np.float32), device=device)


def kept(launch: Any) -> int:
    return len(launch._prepared._kept)


def test_the_same_arrays_are_launched_on_again(device: Device) -> None:
    x, y, launch = ones(device), ones(device), kernel_from(ADD).over(64)
    for _ in range(5):
        launch(x, y)
    assert kept(launch) == 1
    launch(y, y)
    assert y.numpy().tolist() == [12.0] * 64


def test_numbers_are_packed_and_asked_each_time(device: Device) -> None:
    x, y, launch = ones(device), ones(device), kernel_from(AXPY).over(64)
    for a in (1.0, 2.0, 3.0, 4.0):
        launch(a, x, y)
    assert kept(launch) == 1
    assert y.numpy().tolist() == [11.0] * 64
    for wrong in ("x", 1e39, None):
        with pytest.raises(LaunchError) as prepared:
            launch(wrong, x, y)
        with pytest.raises(LaunchError) as first:
            kernel_from(AXPY).over(64)(wrong, x, y)
        assert str(prepared.value) == str(first.value)
    launch(np.float32(1.0), x, y)
    launch(1, x, y)
    assert y.numpy().tolist() == [13.0] * 64
    with pytest.raises(LaunchError, match="takes 3 arguments"):
        launch(1.0, x)


def test_other_arrays_take_turns(device: Device) -> None:
    pairs = [(ones(device), ones(device)) for _ in range(4)]
    launch = kernel_from(ADD).over(64)
    for _ in range(4):
        for x, y in pairs:
            launch(x, y)
    assert kept(launch) == 4
    for x, y in pairs:
        assert y.numpy().tolist() == [5.0] * 64
        assert x.numpy().tolist() == [1.0] * 64


def test_no_array_is_kept_alive_and_none_is_taken_for_another(device: Device) -> None:
    launch = kernel_from(ADD).over(64)
    for turn in range(8):
        x, y = ones(device), array(np.full(64, turn, np.float32), device=device)
        for _ in range(3):
            launch(x, y)
        assert y.numpy().tolist() == [turn + 3.0] * 64
        gone = [weakref.ref(item) for item in (x, y, x.buffer, y.buffer)]
        del x, y
        gc.collect()
        assert [item() for item in gone] == [None] * 4
        assert kept(launch) == 0


def test_parts_of_one_buffer_are_told_apart(device: Device) -> None:
    whole, launch = ones(device, 256), kernel_from(ADD).over(64)
    parts = [whole[at : at + 64] for at in range(0, 256, 64)]
    for _ in range(3):
        for part in parts[1:]:
            launch(parts[0], part)
    found = whole.numpy()
    assert found[:64].tolist() == [1.0] * 64
    assert found[64:].tolist() == [4.0] * 192


def test_a_graph_has_what_was_kept_and_owns_it(device: Device) -> None:
    x, y, launch = ones(device), ones(device), kernel_from(AXPY).over(64, device=device)
    for _ in range(3):
        launch(1.0, x, y)
    with atoll.capture(device) as graph:
        for a in (1.0, 2.0, 4.0):
            launch(a, x, y)
        launch(8.0, x, x)
    assert len(graph) == 4
    assert y.numpy().tolist() == [4.0] * 64
    before = x.buffer.epoch, y.buffer.epoch
    del x
    gc.collect()
    graph.replay()
    graph.replay()
    assert y.buffer.epoch != before[1]
    assert y.numpy().tolist() == [4.0 + 7 + 7 * 9] * 64
    graph.close()


def test_what_writes_gives_a_new_epoch_each_time(device: Device) -> None:
    x, y, launch = ones(device), ones(device), kernel_from(ADD).over(64)
    seen = []
    for _ in range(4):
        launch(x, y)
        seen.append((x.buffer.epoch, y.buffer.epoch))
    assert len({first for first, _ in seen}) == 1
    assert len({second for _, second in seen}) == 4


@pytest.mark.parametrize("name", ["cpu", "vulkan", "opencl"])
def test_a_closed_device_refuses(name: str) -> None:
    found = driver(name)
    needs_device(found)
    device = Device(found.open(0))
    x, y, launch = ones(device), ones(device), kernel_from(ADD).over(64)
    for _ in range(3):
        launch(x, y)
    device.free()
    with pytest.raises(DeviceError, match="can no longer be used"):
        launch(x, y)


def test_an_operand_of_another_device_is_refused(device: Device) -> None:
    other = Device(driver(device.info.driver).open(0))
    x, y, launch = ones(device), ones(device), kernel_from(ADD).over(64)
    for _ in range(3):
        launch(x, y)
    with pytest.raises(LaunchError, match="another device"):
        launch(x, ones(other))
    other.free()
