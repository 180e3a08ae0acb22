"""Launches that are not waited for: errors at the wait, several in flight, the order of what they write."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from atoll.errors import DeviceError, LaunchError
from atoll.runtime import Device
from atoll_plugins.cpu.driver import CpuDriver
from emitter_kit import device
from kernel_text import kernel_from
from unit.kernels.test_launch import SAXPY, FakeDevice, arrays

ADD = "@kernel\ndef k(x: view[f32], out: view[f32]):\n    i = atoll.global_id(0)\n    out[i] = x[i] + 1.0\n"


def add(fake: FakeDevice, handles: list[int]) -> None:
    """Do what the kernel does, on the fake's memory."""
    x = np.frombuffer(fake.buffers[handles[0]], np.float32)
    out = np.frombuffer(fake.buffers[handles[1]], np.float32)
    out[:] = x + 1


def test_a_failing_launch_says_so_when_it_is_waited_for() -> None:
    fake = FakeDevice(fails="launch")
    done = kernel_from(SAXPY).over(4, device=fake, wait=False)(1.0, *arrays())
    with pytest.raises(DeviceError, match="launch fails"):
        done.wait()
    assert not fake.buffers
    assert done.wait() is done


def test_an_argument_that_does_not_fit_is_refused_at_the_launch() -> None:
    with pytest.raises(LaunchError):
        kernel_from(SAXPY).over(4, device=FakeDevice(), wait=False)("one", *arrays())


def test_arguments_live_as_long_as_their_launch() -> None:
    fake = FakeDevice(run=add)
    done = kernel_from(ADD).over(4, device=fake, wait=False)(
        np.ones(4, np.float32), out := np.zeros(4, np.float32)
    )
    gc.collect()
    done.wait()
    assert out.tolist() == [2, 2, 2, 2]


def test_several_are_in_flight_and_a_later_one_reads_what_an_earlier_wrote() -> None:
    fake, kernel = FakeDevice(run=add), kernel_from(ADD)
    a, b, c, d = (np.full(4, number, np.float32) for number in (1, 0, 0, 0))
    launch = kernel.over(4, device=fake, wait=False)
    first, apart = launch(a, b), launch(a, d)
    assert "wait" not in fake.calls
    second = launch(b, c)  # reads what `first` still has to bring back
    assert b.tolist() == [2, 2, 2, 2]
    assert d.tolist() == [0, 0, 0, 0]
    for done in (second, apart, first):
        done.wait()
    assert c.tolist() == [3, 3, 3, 3]
    assert d.tolist() == [2, 2, 2, 2]
    assert not fake.buffers


def test_what_is_written_twice_holds_the_later_whoever_is_waited_for_first() -> None:
    fake, kernel = FakeDevice(run=add), kernel_from(ADD)
    a, b, out = np.full(4, 1, np.float32), np.full(4, 10, np.float32), np.zeros(4, np.float32)
    launch = kernel.over(4, device=fake, wait=False)
    first, second = launch(a, out), launch(b, out)
    second.wait()
    first.wait()
    assert out.tolist() == [11, 11, 11, 11]


def test_a_launch_that_waits_sees_what_one_in_flight_wrote() -> None:
    fake, kernel = FakeDevice(run=add), kernel_from(ADD)
    a, b, c = (np.full(4, number, np.float32) for number in (1, 0, 0))
    kept = kernel.over(4, device=fake, wait=False)(a, b)
    kernel.over(4, device=fake)(b, c)
    assert c.tolist() == [3, 3, 3, 3]
    assert kept.wait().device == "fake"


@contextmanager
def opened_device(name: str) -> Iterator[Any]:
    """Open a device of this machine, shared as `atoll.open` shares them; skip where there is none."""
    if name in ("vulkan", "opencl"):
        with device(name) as found:
            yield Device(found)
        return
    made = Device(CpuDriver({"PATH": ""} if name == "interpreter" else None).open(0))
    yield made
    made.free()


@pytest.mark.parametrize("name", ["interpreter", "cpu", "vulkan", "opencl"])
def test_overlap_means_the_same_on_every_device(name: str) -> None:
    # Each work-item writes its own element and reads it through another array, two elements before.
    kernel = kernel_from(
        "@kernel\ndef k(x: view[f32], out: view[f32], seen: view[f32]):\n"
        "    i = atoll.global_id(0)\n    out[i] = x[i + 2] + 1.0\n    seen[i] = x[i + 2]\n"
    )
    with opened_device(name) as opened:
        for wait in (True, False, True):
            whole, seen = np.arange(10, dtype=np.float32), np.zeros(6, np.float32)
            kernel.over(6, device=opened, wait=wait)(whole[:8], whole[2:], seen).wait()
            assert whole.tolist() == [0, 1, 3, 4, 5, 6, 7, 8, 8, 9]
            assert seen.tolist() == [3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize("name", ["interpreter", "cpu", "vulkan", "opencl"])
def test_chains_in_flight_keep_their_order(name: str) -> None:
    a, b = np.zeros(64, np.float32), np.zeros(64, np.float32)
    with opened_device(name) as opened:
        launch = kernel_from(ADD).over(64, device=opened, wait=False)
        flights = [launch(*((a, b) if turn % 2 == 0 else (b, a))) for turn in range(6)]
        for done in reversed(flights):
            done.wait()
    assert a[0] == 6
    assert b[0] == 5


SHAPES: tuple[tuple[str, Any], ...] = (
    ("contiguous", lambda: np.arange(12, dtype=np.float32)),
    ("strided", lambda: np.arange(36, dtype=np.float32)[::3]),
    ("reversed", lambda: np.arange(12, dtype=np.float32)[::-1]),
    ("odd start", lambda: np.arange(13, dtype=np.float32)[1:]),
    ("read only", lambda: _frozen(np.arange(12, dtype=np.float32))),
    ("empty", lambda: np.zeros(0, np.float32)),
)


def _frozen(array: Any) -> Any:
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("name", ["interpreter", "cpu", "vulkan", "opencl"])
def test_arrays_of_every_shape_are_taken_again_and_again(name: str) -> None:
    kernel = kernel_from(
        "@kernel\ndef k(x: view[f32], out: view[f32]):\n"
        "    i = atoll.global_id(0)\n    if i < x.size:\n        out[i] = x[i] + 1.0\n"
    )
    with opened_device(name) as opened:
        for _ in range(2):  # the second time round everything was prepared for another shape
            for _, make in SHAPES:
                x, out = make(), np.full(24, -1, np.float32)[::2]
                assert kernel.over(12, device=opened)(x, out).device == opened.name
                assert np.array_equal(out[: x.size], x + 1)
                assert (out[x.size :] == -1).all()
