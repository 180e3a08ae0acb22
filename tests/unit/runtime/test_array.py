"""An array on a device: what it is, its views, what others see of it."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import numpy as np
import pytest

import atoll
from atoll import f32, kernel, view
from atoll.runtime.array import Array, empty
from atoll.runtime.dlpack import give
from atoll.runtime.handles import Handles


@kernel
def scaled_sum(a: f32, x: view[f32], y: view[f32], out: view[f32]) -> None:
    i = atoll.global_id(0)
    if i < out.size:
        out[i] = a * x[i] + y[i]


def ramp(*shape: int, device: str = "cpu") -> Array:
    found: Array = atoll.array(np.arange(np.prod(shape), dtype=np.float32).reshape(shape), device=device)
    return found


@pytest.mark.parametrize(
    "key",
    [
        1, -1, slice(1, None), slice(None, None, -1), (slice(None), 2), (..., 0), (slice(0, 0),), (None, 1),
        (slice(2, 0, -1), slice(None, None, 2)), (slice(1, 3), 1, slice(-1, None, -2)),
    ],
)  # fmt: skip
def test_a_part_is_what_numpy_says_and_shares_the_buffer(key: Any) -> None:
    x = ramp(3, 4, 5)
    part = x[key]
    assert part.buffer is x.buffer
    np.testing.assert_array_equal(part.numpy(), np.arange(60, dtype=np.float32).reshape(3, 4, 5)[key])


def test_axes_turn_and_repeat_without_a_copy() -> None:
    x = ramp(3, 4)
    assert x.T.shape == (4, 3)
    assert x.T.buffer is x.buffer
    np.testing.assert_array_equal(x.T.numpy(), x.numpy().T)
    np.testing.assert_array_equal(x[0].broadcast((2, 4)).numpy(), np.broadcast_to(x.numpy()[0], (2, 4)))
    np.testing.assert_array_equal(x.reshape(-1, 2).numpy(), x.numpy().reshape(-1, 2))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda x: x.reshape(5), "an array is reshaped to another number of elements"),
        (lambda x: x.T.reshape(12), "an array with gaps is reshaped, which would copy it"),
        (lambda x: x[0, 0, 0], "an array is indexed in more dimensions than it has"),
        (lambda x: x.broadcast((3, 5)), "an array does not repeat to a shape"),
        (lambda x: x.transpose(0, 0), "axes are named that are not those of the array"),
        (lambda x: x.set(np.zeros(3)), "values are copied into an array of another shape, or with gaps"),
        (lambda x: empty(3, "c64", device="cpu"), "an array has no such type of elements"),
        (
            lambda x: atoll.array(np.zeros(2, "c8"), device="cpu"),
            "an array has elements of a type that no kernel takes",
        ),
    ],
)
def test_what_no_view_can_be_is_refused(ask: Any, message: str) -> None:
    with pytest.raises(atoll.AtollError) as caught:
        ask(ramp(3, 4))
    assert (caught.value.diagnostics[0].code, caught.value.diagnostics[0].message) == ("ATL0820", message)


@pytest.mark.parametrize("device", ["cpu", "vulkan", "opencl"])
def test_a_kernel_runs_where_its_arrays_are(device: str) -> None:
    x, y, out = ramp(8, device=device), ramp(8, device=device), ramp(8, device=device)
    done = scaled_sum.over(4)(1.0, x[::2], y[::-2], out[4:])
    assert done.device == out.device.name
    np.testing.assert_array_equal(out.numpy(), [0, 1, 2, 3, 7, 7, 7, 7])


@pytest.mark.parametrize("device", ["cpu", "vulkan"])
def test_a_prepared_launch_asks_what_may_differ(device: str) -> None:
    launch = scaled_sum.over(4)
    x, y, out = ramp(8, device=device), ramp(8, device=device), ramp(4, device=device)
    for a, left, right in (
        (1.0, x[:4], y[:4]),
        (2.0, x[4:], y[::2]),
        (3.0, x[1:5], y[::-2]),
        (1, x[:4], x[:4]),
    ):
        epoch = out.buffer.epoch
        launch(a, left, right, out)
        np.testing.assert_array_equal(out.numpy(), np.float32(a) * left.numpy() + right.numpy())
        assert out.buffer.epoch != epoch
    whole = x.numpy()
    launch(1.0, x[1:5], y[:4], x[:4])  # over what it reads, which a copy would not see
    assert x.numpy()[4:].tolist() == whole[4:].tolist()
    for wrong in (x[:4].reshape(2, 2), ramp(4, device="opencl"), np.zeros(4, np.float32)):
        with pytest.raises(atoll.AtollError):
            launch(1.0, wrong, y[:4], out)


def test_every_write_has_a_new_epoch_and_a_read_has_none() -> None:
    x, y, out = ramp(8), ramp(8), ramp(8)
    before = x.buffer.epoch, out.buffer.epoch
    scaled_sum.over(8)(1.0, x, y, out)
    assert x.buffer.epoch == before[0]
    assert out.buffer.epoch != before[1]
    epoch = x[2:].buffer.epoch
    x.set(np.ones(8))
    assert x.buffer.epoch != epoch


def test_memory_that_others_may_write_never_keeps_its_epoch() -> None:
    x = ramp(8)
    seen = np.from_dlpack(x)
    assert x.buffer.epoch != x.buffer.epoch
    np.testing.assert_array_equal(seen, np.arange(8))


@pytest.mark.parametrize("where", ["cpu", None])
def test_an_operand_from_elsewhere_is_an_error_always(where: str | None) -> None:
    x, out = ramp(8, device="vulkan"), ramp(8, device="vulkan")
    other: Any = np.ones(8, np.float32) if where is None else ramp(8, device=where)
    with pytest.raises(atoll.AtollError) as caught:
        scaled_sum.over(8)(1.0, x, other, out)
    assert str(caught.value) == (
        "error[ATL0821]: the operand `y` lies on another device\n"
        f"  it lies in: {'the host' if where is None else 'cpu:0'}"
        + ("'s memory" if where is None else "")
        + "\n"
        "  this launch runs on: vulkan:0\n"
        '  help: copy it with `atoll.array(y, device="vulkan:0")`'
    )
    with pytest.raises(atoll.AtollError, match="ATL0821"):
        scaled_sum.over(8, device="cpu")(1.0, x, x, out)


def test_numpy_sees_memory_of_this_process_and_copies_of_a_device() -> None:
    here, there = ramp(8), ramp(8, device="opencl")
    np.asarray(here)[0] = 9  # through the array interface, over the same memory
    assert here.numpy()[0] == 9
    assert np.from_dlpack(here)[0] == 9
    np.testing.assert_array_equal(np.from_dlpack(there), np.arange(8))
    np.testing.assert_array_equal(np.asarray(there), np.arange(8))
    with pytest.raises(BufferError, match="has no address"):
        there.__dlpack__(copy=False)
    with pytest.raises(AttributeError):
        _ = there.__array_interface__


class _Tensor:
    """An array whose capsule is ours, as a device with memory of its own gives it."""

    def __init__(self, array: Array, versioned: bool) -> None:
        self.array, self.versioned = array, versioned

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None) -> Any:
        return give(self.array, versioned=self.versioned)


@pytest.mark.parametrize("versioned", [False, True])
def test_a_capsule_of_ours_keeps_its_memory_and_is_deleted_once(versioned: bool) -> None:
    from atoll.runtime import dlpack

    x = ramp(3, 4)
    seen: Any = np.from_dlpack(_Tensor(x.T, versioned)) if not versioned else None
    if seen is None:
        seen = dlpack.take(_Tensor(x, True), None)
        assert (seen.sizes, seen.strides, seen.element, seen.device) == ((3, 4), (4, 1), "f32", (1, 0))
        give(x, versioned=True)  # nobody takes it
    kept = weakref.ref(x.buffer)
    del x
    gc.collect()
    assert kept() is not None
    if not versioned:
        np.testing.assert_array_equal(seen, np.arange(12, dtype=np.float32).reshape(3, 4).T)
    del seen
    gc.collect()
    assert kept() is None


@pytest.mark.parametrize("versioned", [False, True])
def test_a_consumer_that_gives_a_capsule_back_keeps_its_error(versioned: bool) -> None:
    """It was a SystemError: the deleter was a function of Python, which loses the error that is pending."""
    x = empty(4, "bf16", device="cpu")
    with pytest.raises((BufferError, RuntimeError), match="dtype"):  # NumPy has no such type
        np.from_dlpack(_Tensor(x, versioned))


def test_memory_of_a_device_is_shown_by_the_number_that_its_driver_states(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from atoll.plugin import registry

    x = ramp(4)
    monkeypatch.setattr(x.device, "memory", "own")
    monkeypatch.setattr(registry().drivers["cpu"], "tensor_devices", (2, 13), raising=False)
    assert x.__dlpack_device__() == (2, 0)


def test_what_nobody_refers_to_serves_the_next_of_its_size_and_another_frees_it() -> None:
    device: Any = atoll.open("cpu")
    kept = ramp(8)
    live: Handles[Any] = device._device._buffers
    handle = kept.buffer.handle
    part = kept[2:]
    del kept
    ramp(8)
    assert handle in live.live
    epoch = part.buffer.epoch
    del part
    gc.collect()
    next_one = ramp(8)
    assert next_one.buffer.handle == handle
    assert next_one.buffer.epoch != epoch
    assert next_one.numpy().tolist() == list(range(8))
    del next_one
    gc.collect()
    ramp(100)
    assert handle not in live.live


def test_memory_that_others_may_use_serves_nobody_else() -> None:
    device: Any = atoll.open("cpu")
    live: Handles[Any] = device._device._buffers
    kept = ramp(24)
    handle = kept.buffer.handle
    kept.buffer.share()
    del kept
    gc.collect()
    assert ramp(24).buffer.handle != handle
    assert handle not in live.live


def test_an_array_is_waited_for_beside_other_tasks() -> None:
    x = ramp(4)
    assert asyncio.run(x.ready()) is x


def test_a_half_brain_float_shows_its_bits() -> None:
    x = empty(2, "bf16", device="cpu").set(np.array([0x3F80, 0xC000], np.uint16))
    assert (x.dtype.name, x.numpy().tolist()) == ("uint16", [0x3F80, 0xC000])
