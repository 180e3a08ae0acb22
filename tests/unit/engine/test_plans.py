"""An operation that has a plan gives and refuses what it did the first time."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import atoll
from atoll import engine
from atoll.errors import DeviceError, LaunchError
from atoll.runtime.array import Array, array
from atoll.runtime.device import Device
from conformance.driver_kernels import driver, needs_device


@pytest.fixture(params=("cpu", "vulkan", "opencl"))
def device(request: pytest.FixtureRequest) -> Device:
    needs_device(driver(request.param))
    return atoll.open(request.param)


def ramp(device: Device, size: int = 300, first: int = 0) -> Array:
    return array(np.arange(first, first + size, dtype=np.float32), device=device)


def planned(device: Device, name: object) -> int:
    return sum(key[0] == name for key in device.plans)


def test_an_operation_is_planned_once_for_what_lies_alike(device: Device) -> None:
    device.plans.clear()
    x, y = ramp(device), ramp(device, first=7)
    for _ in range(4):
        z = engine.binary("add", x, y)
        assert z.numpy().tolist() == [2.0 * at + 7 for at in range(300)]
        z = engine.binary("sub", z, y)
        assert z.numpy().tolist() == list(range(300))
        assert engine.unary("neg", z).numpy().tolist() == [-float(at) for at in range(300)]
        assert engine.cast(z, "i32").numpy().tolist() == list(range(300))
    assert [planned(device, name) for name in (("add", 2), ("sub", 2), ("neg", 1), ("cast", "i32"))] == [
        1
    ] * 4


def test_shapes_steps_offsets_and_types_are_told_apart(device: Device) -> None:
    x, y = ramp(device, 60), ramp(device, 60, 100)
    a, b = x.numpy(), y.numpy()
    for _ in range(2):
        for left, right in (
            ((x, a), (y, b)),
            ((x[1:31], a[1:31]), (y[2:32], b[2:32])),
            ((x[3:33], a[3:33]), (y[2:32], b[2:32])),
            ((x[::2], a[::2]), (y[30:], b[30:])),
            ((x.reshape(6, 10), a.reshape(6, 10)), (y.reshape(6, 10), b.reshape(6, 10))),
            ((x.reshape(6, 10).T, a.reshape(6, 10).T), (y.reshape(10, 6), b.reshape(10, 6))),
            ((x.reshape(6, 10), a.reshape(6, 10)), (y[:10], b[:10])),
        ):
            found = engine.binary("mul", left[0], right[0])
            assert found.shape == (left[1] * right[1]).shape
            assert found.numpy().tolist() == (left[1] * right[1]).tolist()
    for element in ("f16", "i32"):
        narrow = engine.cast(x, element)
        for _ in range(2):
            assert engine.binary("add", narrow, narrow).numpy().tolist() == (a + a).tolist()


def test_a_fused_function_has_its_numbers_packed_anew(device: Device) -> None:
    f = atoll.fuse(lambda x, k, y: x * k + y)
    x, y = ramp(device), ramp(device, first=1)
    for k in (1.0, 2.0, 3.0, 4):
        assert f(x, k, y).numpy().tolist() == [at * k + at + 1 for at in range(300)]
    with pytest.raises(LaunchError):
        f(x, True, y)
    with pytest.raises(LaunchError):
        f(x, 1e39, y)


def test_a_result_is_written_where_it_is_wanted(device: Device) -> None:
    f = atoll.fuse(lambda x, y: x + y)
    x, y, out = ramp(device), ramp(device), ramp(device)
    for turn in range(1, 4):
        before = y.buffer.epoch
        assert f(x, y, out=y) is y
        assert y.buffer.epoch != before
        assert y.numpy().tolist() == [float(at * (turn + 1)) for at in range(300)]
        assert f(x, x, out=out).numpy().tolist() == [2.0 * at for at in range(300)]
    for _ in range(2):
        with pytest.raises(LaunchError, match="has another result"):
            f(x, y, out=out[:10])
    other: Any = Device(driver(device.info.driver).open(0))
    with pytest.raises(LaunchError):
        f(x, y, out=ramp(other))
    with pytest.raises(LaunchError, match="another device"):
        f(x, ramp(other))
    other.free()


def test_a_graph_records_what_has_a_plan(device: Device) -> None:
    f = atoll.fuse(lambda x, y: x + y)
    x, y = ramp(device), ramp(device)
    for _ in range(3):
        f(x, y, out=y)
        z = engine.binary("add", x, y)
    before = y.numpy()
    with atoll.capture(device) as graph:
        f(x, y, out=y)
        z = engine.binary("add", x, y)
    assert len(graph) == 2
    assert y.numpy().tolist() == before.tolist()
    graph.replay()
    assert y.numpy().tolist() == (before + x.numpy()).tolist()
    assert z.numpy().tolist() == (before + 2 * x.numpy()).tolist()
    graph.close()


def test_a_plan_keeps_no_array_and_no_function_alive(device: Device) -> None:
    x, y = ramp(device), ramp(device)
    f = atoll.fuse(lambda x, y: x - y)
    for _ in range(3):
        f(x, y)
        engine.binary("max", x, y)
    gone = [weakref.ref(item) for item in (x, y, x.buffer, f)]
    del x, y, f
    gc.collect()
    assert [item() for item in gone] == [None] * 4


@pytest.mark.parametrize("name", ["cpu", "vulkan", "opencl"])
def test_a_closed_device_refuses(name: str) -> None:
    found = driver(name)
    needs_device(found)
    device = Device(found.open(0))
    x = ramp(device)
    for _ in range(3):
        engine.binary("add", x, x)
    device.free()
    with pytest.raises(DeviceError, match="can no longer be used"):
        engine.binary("add", x, x)
