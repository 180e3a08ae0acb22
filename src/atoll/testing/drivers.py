"""Does a driver keep its door's promises? One suite for every driver, ours or anyone's.

Use it from any test runner::

    @pytest.mark.parametrize("check", DRIVER_CHECKS, ids=lambda check: check.__name__)
    def test_my_driver(check): check(DriverCase(MyDriver(), 0, code))

`code` is a kernel for the device, called with ``groups`` and ``group`` of 64: with the buffers ``x``, ``y``,
``out`` and the scalars ``a`` (f32) and ``n`` (u32) it sets ``out[i] = a * x[i] + y[i]`` for ``i < n``. Its
layout may ask for the views' sizes and steps too. Each check raises AssertionError with what was wrong. A
driver that runs nothing says ``computes=False`` and is held to the rest (:func:`checks_for`).
"""

from __future__ import annotations

import gc
import threading
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from atoll.errors import AtollError, DeviceError
from atoll.plugin import (
    Argument,
    BufferArgument,
    Driver,
    DriverDevice,
    Emitted,
    Executable,
    LaunchLayout,
    ParamField,
    ScalarArgument,
)
from atoll.runtime.pack import pack_block

GROUP = (64, 1, 1)

#: The layout of the kernel that the suite launches.
LAYOUT = LaunchLayout(
    buffers=("x", "y", "out"),
    access=("read", "read", "write"),
    fields=(ParamField(path="a", type="f32", offset=0), ParamField(path="n", type="u32", offset=4)),
    block_bytes=8,
)


@dataclass(frozen=True, slots=True)
class DriverCase:
    """A driver, the index of one of its devices, and the kernel compiled for it.

    Attributes:
        driver: Which.
        index: Of its device.
        code: The kernel.
        computes: Whether launches do anything.
    """

    driver: Driver
    index: int
    code: Emitted
    computes: bool = True

    def block(self, a: float, count: int) -> tuple[ScalarArgument, ...]:
        """Return the parameter block for buffers of `count` elements."""
        return parameters(self.code.layout, a, count)

    def launch(
        self, device: DriverDevice, code: Executable, a: float, x: array[float], y: array[float]
    ) -> array[float]:
        """Return a * x + y from one launch with buffers of its own."""
        return launch(device, code, a, x, y, self.code.layout)

    @contextmanager
    def opened(self) -> Iterator[DriverDevice]:
        """Open the device and close it."""
        device = self.driver.open(self.index)
        try:
            yield device
        finally:
            device.close()


DriverCheck = Callable[[DriverCase], None]


def parameters(layout: LaunchLayout, a: float, count: int) -> tuple[ScalarArgument, ...]:
    """Return the parameter block of a layout for buffers of `count` elements."""
    values: dict[str, int | float | bool] = {"a": a, "n": count}
    for name in layout.buffers:
        values |= {f"{name}.offset": 0, f"{name}.size.0": count, f"{name}.stride.0": 1}
    return (ScalarArgument(pack_block(layout, values), 8),)


def launch(
    device: DriverDevice,
    code: Executable,
    a: float,
    x: array[float],
    y: array[float],
    layout: LaunchLayout = LAYOUT,
) -> array[float]:
    """Return a * x + y from one launch with buffers of its own."""
    out = array("f", bytes(4 * len(x)))
    handles = [device.allocate(4 * len(x)) for _ in range(3)]
    try:
        for handle, data in zip(handles, (x, y, out), strict=True):
            device.upload(handle, memoryview(data).cast("B"))
        bound = [BufferArgument(handle, how) for handle, how in zip(handles, LAYOUT.access, strict=True)]
        passed: tuple[Argument, ...] = (*bound, *parameters(layout, a, len(x)))
        device.launch(code, (-(-len(x) // GROUP[0]), 1, 1), GROUP, passed)
        device.download(handles[2], memoryview(out).cast("B"))
    finally:
        for handle in handles:
            device.release(handle)
    return out


def numbers(count: int, first: int = 0) -> array[float]:
    """Return small whole numbers, exact in f32 whatever the order of operations."""
    return array("f", [float((first + item) % 1000) for item in range(count)])


def names_and_ranks_are_plain(case: DriverCase) -> None:
    """The name is a word, each device says the driver's name, its index and a name of its own."""
    assert case.driver.name.isidentifier(), f"the name {case.driver.name!r} is no identifier"
    assert isinstance(case.driver.rank, int)
    for index, info in enumerate(case.driver.devices()):
        assert (info.driver, info.index) == (case.driver.name, index), f"{info} at place {index}"
        assert info.name, f"{info} has no name"
        assert info.facts.name == info.name, f"{info} has two names"
        assert all(value >= 0 for value in info.limits.values()), f"{info} has a limit below 0"


def listing_twice_gives_equal_devices(case: DriverCase) -> None:
    """The order and the names do not change while nothing is plugged in."""
    names = [(str(info), info.name) for info in case.driver.devices()]
    assert names == [(str(info), info.name) for info in case.driver.devices()]


def it_is_available_or_says_why(case: DriverCase) -> None:
    """With a device there is no reason, without one there is a reason and a fix."""
    missing = case.driver.unavailable()
    if case.driver.devices():
        assert missing is None, f"it has devices and is unavailable: {missing}"
    else:
        assert missing is not None
        assert all(missing), f"an empty reason or fix: {missing}"


def an_index_out_of_range_is_refused(case: DriverCase) -> None:
    """A device that does not exist is a DeviceError, not another device."""
    for index in (len(case.driver.devices()), 10**6):
        try:
            device = case.driver.open(index)
        except DeviceError:
            continue
        device.close()
        raise AssertionError(f"it opened the device {index}, which it does not list")


def bytes_come_back(case: DriverCase) -> None:
    """Uploads at offsets are read back, and the rest of the buffer is left alone."""
    with case.opened() as device:
        handle = device.allocate(1000)
        device.upload(handle, memoryview(bytes(1000)))
        device.upload(handle, memoryview(b"abc"), 7)
        device.upload(handle, memoryview(b""), 1000)
        out = bytearray(1000)
        device.download(handle, memoryview(out))
        expected = bytearray(1000)
        expected[7:10] = b"abc"
        assert out == expected, "the bytes differ"
        part = bytearray(3)
        device.download(handle, memoryview(part), 7)
        assert part == b"abc", f"the part is {bytes(part)!r}"
        device.release(handle)


def copies_outside_a_buffer_are_refused(case: DriverCase) -> None:
    """Past the end, before the start, or of a released buffer: a DeviceError, and the device still works."""
    with case.opened() as device:
        handle, gone = device.allocate(64), device.allocate(64)
        device.release(gone)
        device.release(gone)
        for buffer, offset in ((handle, 1 << 20), (handle, -1), (gone, 0), (987654, 0)):
            for copy in (device.upload, device.download):
                try:
                    copy(buffer, memoryview(bytearray(16)), offset)
                except DeviceError:
                    continue
                raise AssertionError(f"a copy at {offset} of buffer {buffer} was let through")
        device.upload(handle, memoryview(bytes(64)))


def a_launch_computes(case: DriverCase) -> None:
    """One group, several groups, and a last group that is not whole."""
    with case.opened() as device:
        code = device.load(case.code)
        for count in (1, 4, 64, 65, 1000, 100_000):
            x, y = numbers(count), numbers(count, 7)
            out = case.launch(device, code, 2.0, x, y)
            wrong = [item for item in range(count) if out[item] != 2 * x[item] + y[item]]
            assert not wrong, f"{len(wrong)} of {count} elements are wrong, the first at {wrong[0]}"


def what_a_kernel_leaves_alone_is_kept(case: DriverCase) -> None:
    """Elements past `n` keep what was uploaded."""
    with case.opened() as device:
        code = device.load(case.code)
        handles = [device.allocate(4 * 128) for _ in range(3)]
        for handle in handles:
            device.upload(handle, memoryview(array("f", [3.0] * 128)).cast("B"))
        bound = [BufferArgument(handle, how) for handle, how in zip(handles, LAYOUT.access, strict=True)]
        device.launch(code, (2, 1, 1), GROUP, (*bound, *case.block(1.0, 70)))
        out = array("f", bytes(4 * 128))
        device.download(handles[2], memoryview(out).cast("B"))
        assert list(out) == [6.0] * 70 + [3.0] * 58, f"{list(out)}"


def later_launches_see_earlier_ones(case: DriverCase) -> None:
    """Launches without a wait between them run in order: out = x + out, a hundred times."""
    with case.opened() as device:
        code = device.load(case.code)
        x, total = device.allocate(256), device.allocate(256)
        device.upload(x, memoryview(array("f", [1.0] * 64)).cast("B"))
        device.upload(total, memoryview(bytes(256)))
        block = case.block(1.0, 64)
        bound = (BufferArgument(x, "read"), BufferArgument(total, "read"), BufferArgument(total, "write"))
        for _ in range(100):
            device.launch(code, (1, 1, 1), GROUP, (*bound, *block))
        device.wait()
        out = array("f", bytes(256))
        device.download(total, memoryview(out).cast("B"))
        assert list(out) == [100.0] * 64, f"{list(out)}"


def a_hundred_launches_leave_nothing_behind(case: DriverCase) -> None:
    """Allocate, launch and release a hundred times; loaded code may be dropped and loaded again."""
    with case.opened() as device:
        x = numbers(200)
        loaded = [device.load(case.code)]
        for turn in range(100):
            if turn % 25 == 24:
                loaded[0] = device.load(case.code)
            out = case.launch(device, loaded[0], float(turn), x, x)
            assert list(out) == [(turn + 1) * item for item in x], f"turn {turn} is wrong"
        loaded.clear()
        gc.collect()


def code_that_is_none_is_refused(case: DriverCase) -> None:
    """Damaged code and a missing entry point are a DeviceError with a reason, and the device still works."""
    with case.opened() as device:
        for bad in (
            replace(case.code, code=b"\x01no code\xff" * 3),
            replace(case.code, entry="no_such_entry"),
        ):
            try:
                device.load(bad)
            except DeviceError as error:
                assert error.diagnostics[0].notes, "it gives no reason"
                continue
            raise AssertionError(f"it loaded {bad.code[:20]!r} for `{bad.entry}`")
        x = numbers(4)
        assert list(case.launch(device, device.load(case.code), 1.0, x, x)) == [0.0, 2.0, 4.0, 6.0]


def two_threads_share_a_device(case: DriverCase) -> None:
    """Launches from two threads on one device do not mix their buffers."""
    with case.opened() as device:
        code = device.load(case.code)
        faults: list[str] = []

        def work(first: int) -> None:
            x = numbers(500, first)
            try:
                for _ in range(20):
                    out = case.launch(device, code, 3.0, x, x)
                    if any(value != 4 * item for value, item in zip(out, x, strict=True)):
                        faults.append(f"thread {first} got a wrong element")
            except AtollError as error:
                faults.append(str(error))

        threads = [threading.Thread(target=work, args=(first,)) for first in (0, 300)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not faults, faults[0]


def two_opens_are_independent(case: DriverCase) -> None:
    """Closing one of two opened devices leaves the other working."""
    with case.opened() as device:
        other = case.driver.open(case.index)
        other.close()
        x = numbers(4)
        assert list(case.launch(device, device.load(case.code), 0.0, x, x)) == [0.0, 1.0, 2.0, 3.0]


def a_closed_device_refuses(case: DriverCase) -> None:
    """Closing twice and releasing are harmless; any other use is a DeviceError, of loaded code too."""
    device = case.driver.open(case.index)
    loaded = [device.load(case.code)]
    handle = device.allocate(64)
    device.close()
    device.close()
    device.release(handle)
    uses: tuple[Callable[[], object], ...] = (
        lambda: device.allocate(4),
        lambda: device.upload(handle, memoryview(b"abcd")),
        lambda: device.launch(loaded[0], (1, 1, 1), GROUP, ()),
        device.wait,
    )
    for number, use in enumerate(uses):
        try:
            use()
        except DeviceError:
            continue
        raise AssertionError(f"use {number} of a closed device was let through")
    loaded.clear()
    gc.collect()


def _running_sum(device: DriverDevice) -> tuple[int, int, tuple[BufferArgument, ...]]:
    """Return 64 ones, 64 zeros, and what binds a launch that adds the ones to the zeros."""
    x, total = device.allocate(256), device.allocate(256)
    device.upload(x, memoryview(array("f", [1.0] * 64)).cast("B"))
    device.upload(total, memoryview(bytes(256)))
    return (
        x,
        total,
        (BufferArgument(x, "read"), BufferArgument(total, "read"), BufferArgument(total, "write")),
    )


def recorded_launches_run_when_submitted(case: DriverCase) -> None:
    """Where a device records: nothing runs before, everything runs each time, what is released stays."""
    with case.opened() as device:
        if not hasattr(device, "captured"):
            return
        recording: Any = device
        code = device.load(case.code)
        x, total, bound = _running_sum(device)
        recording.capture()
        for _ in range(7):
            device.launch(code, (1, 1, 1), GROUP, (*bound, *case.block(1.0, 64)))
        device.release(x)
        noise = [device.allocate(256) for _ in range(4)]
        graph = recording.captured()
        for handle in noise:
            device.upload(handle, memoryview(array("f", [1000.0] * 64)).cast("B"))
        out = array("f", bytes(256))
        device.download(total, memoryview(out).cast("B"))
        assert list(out) == [0.0] * 64, "a launch ran while it was recorded"
        for _ in range(3):
            graph.submit()
        device.launch(
            code, (1, 1, 1), GROUP, (BufferArgument(total, "read"), *bound[1:], *case.block(1.0, 64))
        )
        device.download(total, memoryview(out).cast("B"))
        assert list(out) == [42.0] * 64, f"{list(out)}"
        graph.close()
        graph.close()


def held_launches_run_in_order(case: DriverCase) -> None:
    """Where a device records: what is held for one submission sees what was held before it."""
    with case.opened() as device:
        if not hasattr(device, "let_go"):
            return
        recording: Any = device
        code = device.load(case.code)
        _, total, bound = _running_sum(device)
        recording.hold()
        for _ in range(200):
            device.launch(code, (1, 1, 1), GROUP, (*bound, *case.block(1.0, 64)))
        recording.let_go()
        out = array("f", bytes(256))
        device.download(total, memoryview(out).cast("B"))
        assert list(out) == [200.0] * 64, f"{list(out)}"


def bound_code_does_what_a_launch_does(case: DriverCase) -> None:
    """Where a device binds: launches take turns with others, of the same buffers and of other ones."""
    with case.opened() as device:
        if not hasattr(device, "bind"):
            return
        binding: Any = device
        code = device.load(case.code)
        x, total, passed = _running_sum(device)
        two, large, _ = _running_sum(device)
        place = binding.address if getattr(device, "memory", "") else int
        mine, other = (tuple(place(item) for item in (of, to, to)) for of, to in ((x, total), (two, large)))
        launch, out = binding.bind(code, GROUP), array("f", bytes(256))
        once, twice = (case.block(a, 64)[0].data for a in (1.0, 2.0))
        for _ in range(5):
            launch((1, 1, 1), mine, once, 0)
            launch((1, 1, 1), mine, once, 0)
            launch((1, 1, 1), list(other), twice, 0)
            device.launch(code, (1, 1, 1), GROUP, (*passed, *case.block(1.0, 64)))
            launch((1, 1, 1), mine, twice, 0)
        for handle, wanted in ((total, 25.0), (large, 10.0)):
            device.download(handle, memoryview(out).cast("B"))
            assert list(out) == [wanted] * 64, f"{list(out)}"


def copies_on_a_device_are_in_the_order_of_launches(case: DriverCase) -> None:
    """Where a device copies: parts of buffers, behind earlier launches and before later ones."""
    with case.opened() as device:
        if not hasattr(device, "copy"):
            return
        copying: Any = device
        code = device.load(case.code)
        x, total, kept = (device.allocate(256) for _ in range(3))
        for handle, value in ((x, 1.0), (total, 0.0), (kept, -1.0)):
            device.upload(handle, memoryview(array("f", [value] * 64)).cast("B"))
        bound = (BufferArgument(x, "read"), BufferArgument(total, "read"), BufferArgument(total, "write"))
        for turn in range(8):
            device.launch(code, (1, 1, 1), GROUP, (*bound, *case.block(1.0, 64)))
            assert copying.copy(device, total, 32 * turn, kept, 32 * turn, 16), "it does not copy to itself"
        out = array("f", bytes(256))
        device.download(kept, memoryview(out).cast("B"))
        expected = [turn + 1.0 if item < 4 else -1.0 for turn in range(8) for item in range(8)]
        assert list(out) == expected, f"{list(out)}"
        for source, start, offset in ((x, 250, 0), (x, 0, 250), (987654, 0, 0)):
            try:
                copying.copy(device, source, start, kept, offset, 16)
            except DeviceError:
                continue
            raise AssertionError(f"a copy of buffer {source} from {start} to {offset} was let through")


def another_opened_device_gives_its_bytes(case: DriverCase) -> None:
    """Where a device copies: from another one, or it says that only the host can."""
    with case.opened() as device, case.opened() as other:
        if not hasattr(device, "copy"):
            return
        copying: Any = device
        source, target = other.allocate(64), device.allocate(64)
        other.upload(source, memoryview(bytes(range(64))))
        device.upload(target, memoryview(bytes(64)))
        out = bytearray(64)
        copied = copying.copy(other, source, 3, target, 5, 20)
        device.download(target, memoryview(out))
        wanted = bytes(5) + bytes(range(3, 23)) + bytes(39) if copied else bytes(64)
        assert out == wanted, f"{bytes(out)!r}, copied: {copied}"


def an_allocation_beyond_reason_is_refused(case: DriverCase) -> None:
    """A buffer larger than any memory is a DeviceError, and the device still works."""
    with case.opened() as device:
        try:
            device.allocate(1 << 60)
        except DeviceError:
            device.upload(device.allocate(64), memoryview(bytes(64)))
            return
        raise AssertionError("it allocated 2**60 bytes")


def the_target_is_of_its_backend(case: DriverCase) -> None:
    """What it asks emitters for is of the backend it is named after."""
    with case.opened() as device:
        assert device.target().backend == case.driver.name
        assert device.info.driver == case.driver.name
        assert device.info.facts.backend == case.driver.name


def the_launcher_is_one_text(case: DriverCase) -> None:
    """Its C launcher defines the driver's table and links no vendor's library."""
    launcher = case.driver.launcher()
    if launcher is None:
        return
    assert f"atoll_driver_{case.driver.name}" in launcher.text, "it does not define its table"
    assert all(word in ("-ldl", "-lpthread", "-lm") for word in launcher.libraries), launcher.libraries


#: What looks at results.
_COMPUTING: tuple[DriverCheck, ...] = (
    a_launch_computes,
    what_a_kernel_leaves_alone_is_kept,
    later_launches_see_earlier_ones,
    a_hundred_launches_leave_nothing_behind,
    code_that_is_none_is_refused,
    two_threads_share_a_device,
    two_opens_are_independent,
    recorded_launches_run_when_submitted,
    held_launches_run_in_order,
    bound_code_does_what_a_launch_does,
    copies_on_a_device_are_in_the_order_of_launches,
    another_opened_device_gives_its_bytes,
)

#: Every check, cheap ones first.
DRIVER_CHECKS: tuple[DriverCheck, ...] = (
    names_and_ranks_are_plain,
    listing_twice_gives_equal_devices,
    it_is_available_or_says_why,
    an_index_out_of_range_is_refused,
    the_launcher_is_one_text,
    the_target_is_of_its_backend,
    bytes_come_back,
    copies_outside_a_buffer_are_refused,
    *_COMPUTING,
    an_allocation_beyond_reason_is_refused,
    a_closed_device_refuses,
)


def checks_for(case: DriverCase) -> tuple[DriverCheck, ...]:
    """Return the checks that a driver is held to: without what looks at results where it computes none."""
    return tuple(check for check in DRIVER_CHECKS if case.computes or check not in _COMPUTING)
