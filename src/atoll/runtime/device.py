"""An open device, shared by everyone in the process who opens it, and a launch on host arrays.

The driver's device is closed when the last one who opened it closes it, when nothing refers to it any
more, or when the process ends.
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

from atoll._util.values import dataclass
from atoll.accel import PROCESSOR
from atoll.artifact import unmet
from atoll.plugin import (
    Argument,
    Bound,
    BufferArgument,
    DeviceArray,
    DeviceInfo,
    DriverDevice,
    Emitted,
    Executable,
    RecordingDevice,
    ScalarArgument,
    Target,
    registry,
)
from atoll.runtime import budgets, faults, leaving, limits, tracing
from atoll.runtime.choosing import chooser
from atoll.runtime.graphs import Graph
from atoll.runtime.pack import pack_block
from atoll.runtime.regions import Extent, Region, regions
from atoll.runtime.status import DriverStatus, ask_all, is_left_behind

Size = tuple[int, int, int]
_MOST_ITEMS = 2**31 - 1
_MOST_LOADED = 64

_lock = threading.RLock()


@dataclass(frozen=True, slots=True)
class Launched:
    """A launch that ran.

    Attributes:
        device: The device's own name, as the driver states it.
        info: All that is known of it.
    """

    device: str
    info: DeviceInfo


def _nothing(_value: object) -> None:
    return None


class Device:
    """A device of this machine, open. Everyone in the process who opens one device has this one object.

    It is a :class:`atoll.plugin.DriverDevice` too, but that it keeps loaded code.
    """

    def __init__(self, device: DriverDevice, budget: int | None = None, *, held: bool = False) -> None:
        """Take an open device of a driver.

        Args:
            device: It.
            budget: Bytes that its buffers may take together; None for what the driver gives.
            held: Whether the driver holds the budget, so that nothing is counted here.
        """
        self._device = device
        #: Bytes that its buffers may take together; None for what the driver gives.
        self.budget = budget
        self._counter = None if budget is None or held else budgets.counter(budget)
        self._process = os.getpid()
        self._users = 0
        self._loaded: dict[Emitted, Executable] = {}
        #: What records its launches now; see :mod:`atoll.runtime.graphs`.
        self.graph: Graph | None = None
        #: The driver's device where it records many launches as one submission.
        self.recording: RecordingDevice | None = device if hasattr(device, "captured") else None  # type: ignore[assignment]
        #: False once it was freed; what is prepared for it then serves no more.
        self.is_open = True
        #: Launches that were made for it, bounded by who keeps them here; they go with it.
        self.ready: dict[Any, Any] = {}
        #: What the engine decided for arrays of it; bounded and gone as they are.
        self.plans: dict[Any, Any] = {}
        #: Buffers that nobody refers to any more (:mod:`atoll.runtime.buffer`).
        self.gone: deque[tuple[int, int, int]] = deque()
        #: As :class:`atoll.plugin.AddressedDevice` has it; nothing where the driver takes handles alone.
        self.memory: str = getattr(device, "memory", "")
        #: Whether code is launched by :meth:`bind`: on addresses, or where memory has none on handles.
        self.binds: bool = hasattr(device, "bind")
        #: As there; what is asked in every launch goes to the driver straight.
        self.glance: Callable[[object], tuple[int, int, object] | None] = getattr(device, "glance", _nothing)

    @property
    def info(self) -> DeviceInfo:
        """What it is."""
        return self._device.info

    @property
    def is_usable(self) -> bool:
        """Whether it is open, and was opened in this process."""
        return self.is_open and self._process == faults.Here.process

    @property
    def name(self) -> str:
        """The device's own name."""
        return self.info.name

    def target(self) -> Target:
        """Return what an emitter should emit for it."""
        return self._device.target()

    def load(self, code: Emitted) -> Executable:
        """Return code loaded on the device; the same code is loaded once, the oldest makes room.

        Raises:
            DeviceError: Where the device states that it lacks what the code requires, or refuses the code.
        """
        faults.check_required(code.entry, code.requires, self.info)
        limits.check_shared(self.info, code)
        with _lock:
            found = self._loaded.pop(code, None) or self._device.load(code)
            self._loaded[code] = found
            while len(self._loaded) > _MOST_LOADED:
                del self._loaded[next(iter(self._loaded))]
            return found

    def has(self, code: Emitted) -> bool:
        """Tell whether the device states everything that code requires: a fact to decide on, no error."""
        return not unmet(code.requires, self.info.facts)

    def allocate(self, nbytes: int) -> int:
        """Return the handle of a new buffer, contents undefined."""
        if self._counter is not None:
            return self._counter.allocate(self._device, nbytes)
        return self._device.allocate(nbytes)

    def release(self, handle: int) -> None:
        """Free a buffer."""
        self._device.release(handle)
        if self._counter is not None:
            self._counter.release(handle)

    def upload(self, handle: int, data: memoryview, offset: int = 0) -> None:
        """Copy host bytes into a buffer, now: it is not recorded."""
        with tracing.host("upload"):
            self._device.upload(handle, data, offset)

    def download(self, handle: int, out: memoryview, offset: int = 0) -> None:
        """Copy a buffer into writable host bytes, after all launched work."""
        with tracing.host("download"):
            self._device.download(handle, out, offset)

    def launch(
        self, executable: Executable, groups: Size, group: Size, arguments: tuple[Argument, ...]
    ) -> None:
        """Queue one launch on buffers of this device, or record it."""
        queue = partial(self._device.launch, executable, groups, group, arguments)
        if self.graph is None:
            queue()
        elif self.recording is None:
            self.graph.add(queue)
        else:
            queue()
            self.graph.add(None)

    def wait(self) -> None:
        """Block until all launched work is done."""
        with tracing.host("wait"):
            self._device.wait()

    def bind(self, executable: Executable, group: Size) -> Bound:
        """Return code ready to be launched on addresses or handles, where :attr:`binds` says so."""
        bound = self.bound(executable, group)
        return bound if self.graph is None else self.graph.bound(bound, recorded=self.recording is not None)

    def bound(self, executable: Executable, group: Size) -> Bound:
        """Return it as :meth:`bind` does, for one who asks for :attr:`graph` before each launch."""
        bound: Bound = self._device.bind(executable, group)  # type: ignore[attr-defined]
        return bound

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Submit the launches of the body together, where the driver can; in order, as always."""
        if self.recording is None:
            yield
            return
        self.recording.hold()
        try:
            yield
        finally:
            self.recording.let_go()

    def copy(self, other: Device, source: int, start: int, target: int, offset: int, nbytes: int) -> bool:
        """Copy from a buffer of a device, which may be this one; False where only the host can do that."""
        copies = getattr(self._device, "copy", None)
        return copies is not None and bool(copies(other._device, source, start, target, offset, nbytes))

    def address(self, handle: int) -> int:
        """Return where a buffer lies, where :attr:`memory` says that it has an address."""
        return int(self._device.address(handle))  # type: ignore[attr-defined]

    def expose(self, handle: int) -> None:
        """Say that other libraries may use a buffer, on queues of their own."""
        exposed = getattr(self._device, "expose", None)
        if exposed is not None:
            exposed(handle)

    def array(self, value: object) -> DeviceArray | None:
        """Return an array that lies in the device's own memory, or None where `value` is none."""
        if self.memory != "own":
            return None
        found: DeviceArray | None = self._device.array(value)  # type: ignore[attr-defined]
        return found

    def settle(self, queue: int) -> None:
        """Block until all work of a queue is done."""
        self._device.settle(queue)  # type: ignore[attr-defined]

    def run(
        self,
        code: Emitted,
        groups: Sequence[int],
        group: Sequence[int],
        arguments: Mapping[str, Any],
        domain: Sequence[int] | None = None,
    ) -> Launched:
        """Run code on host arrays and wait: what it writes is in the arrays afterwards.

        Args:
            code: What to run; its layout says which arguments it takes.
            groups: Work-groups in each dimension; missing dimensions are 1.
            group: Work-items of a group in each dimension.
            arguments: By name, NumPy arrays for the buffers and numbers for the scalars.
            domain: Work-items that run in each dimension; everything where it is None.

        Raises:
            LaunchError: Where the shape or an argument does not fit.
            DeviceError: Where the device refuses or fails.
        """
        grid, local = _shape(code, groups, group)
        limits.check_shape(self.info, grid, local)
        arrays, values = _split(code, arguments, domain)
        extents = [_extent(*row) for row in zip(arrays.items(), code.layout.access, strict=True)]
        found = regions(extents) if _takes_offsets(code) else _apart(code, extents)
        block = pack_block(code.layout, {**values, **_view_fields(code, arrays, found)})
        _run(self, self.load(code), grid, local, code.layout.access, found, block)
        return Launched(self.name, self.info)

    def close(self) -> None:
        """Let go of it; the last of those who opened it frees it. So does the last reference."""
        with _lock:
            self._users -= 1
            if self._users <= 0:
                self.free()

    def free(self) -> None:
        """Free everything, whoever else uses it; idempotent."""
        with _lock:
            self.is_open = False
            self._loaded.clear()
            self.ready.clear()
            self.plans.clear()
            known = _open.get((self.info.driver, self.info.index))
            if known is self:
                del _open[self.info.driver, self.info.index]
        self._device.close()

    def __del__(self) -> None:
        self._loaded.clear()
        leaving.leave(self._device)

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<atoll device {self.info} {self.name}>"


# ---- opening

_open: weakref.WeakValueDictionary[tuple[str, int], Device] = weakref.WeakValueDictionary()


def statuses() -> tuple[DriverStatus, ...]:
    """Return what every installed driver reaches, lowest rank first; for `doctor` and `device list`."""
    leaving.close_left()
    return ask_all((name, registry().drivers[name]) for name in registry().drivers)


def devices() -> tuple[DeviceInfo, ...]:
    """Return the devices of every installed driver, in the order in which a default is looked for."""
    return tuple(info for status in statuses() for info in status.devices)


def open(name: str | None = None, *, budget: int | None = None) -> Device:  # noqa: A001 - `atoll.open`
    """Open a device.

    Args:
        name: A driver, a driver with an index, or a part of a device's own name. Without it
            ATOLL_DEVICE, else the first device that is not software, else the processor.
        budget: Bytes that its buffers may take together, whoever makes them in this process; what would
            take more raises OutOfMemoryError. A driver that takes memory in blocks counts blocks. None for
            what the driver gives, or for the budget that the device is open with.

    Raises:
        DeviceError: Where there is none; it lists what exists and why the rest is missing. Also where this
            process was forked after the driver had been asked for its devices, where the budget is no whole
            number from 1, and where the device is open with another one.
    """
    leaving.close_left()
    wanted = budgets.checked(budget)
    info = choose(name)
    if info.driver != PROCESSOR and is_left_behind(info.driver):
        raise faults.forked(info.name)
    key = info.driver, info.index
    with _lock:
        device = _open.get(key)
        if device is None or device._process != os.getpid():
            made, left = budgets.opened(registry().drivers[info.driver], info.index, wanted)
            device = Device(made, wanted, held=left is None)
            _open[key] = device
            _close_at_exit()
        budgets.check_same(info.name, wanted, device.budget)
        device._users += 1
        return device


def choose(name: str | None = None) -> DeviceInfo:
    """Return the device that :func:`open` would open; asks the drivers once a process and name."""
    stated = (os.environ.get("ATOLL_DEVICE", ""), os.environ.get("ATOLL_REQUIRE_DEVICE", ""))
    return _chosen(name, stated, os.getpid())


@cache
def _chosen(name: str | None, stated: tuple[str, str], _process: int) -> DeviceInfo:
    environment = {"ATOLL_DEVICE": stated[0], "ATOLL_REQUIRE_DEVICE": stated[1]}
    return chooser(registry().drivers, environment).choose(name)


@cache
def _close_at_exit() -> None:
    atexit.register(_close_all)


def _close_all() -> None:
    for device in list(_open.values()):
        device.free()
    leaving.close_left()


# ---- launching


def _shape(code: Emitted, groups: Sequence[int], group: Sequence[int]) -> tuple[Size, Size]:
    grid, local = _three(groups), _three(group)
    if any(
        count <= 0 or items <= 0 or count * items > _MOST_ITEMS
        for count, items in zip(grid, local, strict=True)
    ):
        asked = f"{_shown(grid)} groups of {_shown(local)}"
        possible = f"1 to {_MOST_ITEMS} work-items in a dimension"
        raise faults.shape(f"the launch of `{code.entry}` has an impossible shape", asked, possible)
    if any(code.layout.group) and local != code.layout.group:
        message = f"`{code.entry}` was compiled for another group"
        raise faults.shape(message, _shown(local), _shown(code.layout.group))
    return grid, local


def _three(sizes: Sequence[int]) -> Size:
    filled = (*sizes, 1, 1, 1)
    if not 1 <= len(sizes) <= 3:
        raise faults.shape("a launch has one to three dimensions", str(tuple(sizes)), "1 to 3 sizes")
    return filled[0], filled[1], filled[2]


def _shown(sizes: Size) -> str:
    return " x ".join(map(str, sizes))


def _split(
    code: Emitted, arguments: Mapping[str, Any], domain: Sequence[int] | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    import numpy as np

    layout = code.layout
    scalars = {item.path for item in layout.fields if "." not in item.path}
    wanted = {*layout.buffers, *scalars}
    if wanted != arguments.keys():
        given, takes = ", ".join(arguments) or "nothing", ", ".join([*layout.buffers, *sorted(scalars)])
        raise faults.arguments(f"the arguments of `{code.entry}` are not its parameters", given, takes)
    arrays = {name: np.asarray(arguments[name]) for name in layout.buffers}
    for name, access in zip(layout.buffers, layout.access, strict=True):
        if access != "read" and (arrays[name] is not arguments[name] or not arrays[name].flags.writeable):
            given = f"{name}: {type(arguments[name]).__name__}, which cannot be written in place"
            raise faults.arguments(
                f"`{code.entry}` writes `{name}`", given, f"{name}: a writable NumPy array"
            )
    values = {name: _number(arguments[name]) for name in scalars}
    if domain is not None:
        if not layout.has_domain:
            message = f"`{code.entry}` has no domain: every work-item of its groups runs"
            raise faults.shape(message, f"a domain of {tuple(domain)}", "no domain")
        values |= {f"domain.{axis}": size for axis, size in enumerate(_three(domain))}
    return arrays, values


def _number(value: Any) -> int | float | bool:
    """Return a plain number from a NumPy scalar or a number."""
    plain = value.item() if hasattr(value, "item") else value
    if not isinstance(plain, int | float):
        raise faults.arguments("a scalar argument is no number", repr(value), "a number")
    return plain


def _extent(named: tuple[str, Any], access: str) -> Extent:
    name, array = named
    if array.dtype.hasobject or not array.dtype.isnative:
        raise faults.arguments(
            f"the array `{name}` has no plain elements", str(array.dtype), "native numbers"
        )
    first = low = high = array.__array_interface__["data"][0] if array.size else 0
    for size, stride in zip(array.shape, array.strides, strict=True):
        reach = (size - 1) * stride if array.size else 0
        low, high = (low + reach, high) if reach < 0 else (low, high + reach)
    return Extent(low, high + array.itemsize if array.size else high, first, array.itemsize, access != "read")


def _takes_offsets(code: Emitted) -> bool:
    return any(item.path.endswith(".offset") for item in code.layout.fields)


def _apart(code: Emitted, extents: Sequence[Extent]) -> tuple[Region, ...]:
    """Return a region for each array of code that is told no offsets; one array given twice has one.

    Raises:
        LaunchError: Where arrays overlap in part and one is written: no buffer starts where both do.
    """
    found: list[Region] = []
    for at, (name, extent) in enumerate(zip(code.layout.buffers, extents, strict=True)):
        mine = Region(extent.low, extent.high, extent.written)
        for before, (other, one) in enumerate(zip(code.layout.buffers[:at], extents, strict=False)):
            if extent.high <= one.low or one.high <= extent.low:
                continue
            if (extent.low, extent.high) == (one.low, one.high):
                both = extent.written or found[before].written
                mine = Region(extent.low, extent.high, both)
                shared = found[before]
                found[:] = [mine if region is shared else region for region in found]
            elif extent.written or one.written:
                message = f"the arrays `{other}` and `{name}` of `{code.entry}` overlap in part"
                raise faults.arguments(message, "memory that both reach", "whole arrays, or arrays apart")
        found.append(mine)
    return tuple(found)


def _view_fields(code: Emitted, arrays: dict[str, Any], found: Sequence[Region]) -> dict[str, int]:
    fields: dict[str, int] = {}
    stated = {item.path for item in code.layout.fields}
    for (name, array), region in zip(arrays.items(), found, strict=True):
        item = array.itemsize
        first = array.__array_interface__["data"][0] - region.low + region.skipped if array.size else 0
        own = {f"{name}.offset": first // item}
        for axis in range(array.ndim):
            own |= {
                f"{name}.size.{axis}": array.shape[axis],
                f"{name}.stride.{axis}": array.strides[axis] // item,
            }
        asked = {path for path in stated if path.startswith(f"{name}.")}
        if asked and asked != own.keys():
            rank = sum(path.startswith(f"{name}.size.") for path in asked)
            raise faults.arguments(f"the array `{name}` has another rank", f"{array.ndim}", f"{rank}")
        if any(stride % item for stride in array.strides) or first % item:
            raise faults.arguments(
                f"the array `{name}` has strides that are no whole elements",
                str(array.strides),
                f"multiples of {item}",
            )
        fields |= own
    return fields


def _run(
    device: DriverDevice,
    executable: Executable,
    grid: Size,
    local: Size,
    access: tuple[str, ...],
    found: Sequence[Region],
    block: bytes,
) -> None:
    """Copy in, launch, wait, copy out, free: the calls of the C launcher, in its order."""
    handles: dict[int, int] = {}
    try:
        for region in found:
            if id(region) not in handles:
                handles[id(region)] = device.allocate(region.nbytes)
                if region.high > region.low:
                    device.upload(handles[id(region)], region.memory(), region.skipped)
        buffers = [handles[id(region)] for region in found]
        passed: list[Argument] = [BufferArgument(*pair) for pair in zip(buffers, access, strict=True)]
        if block:
            passed.append(ScalarArgument(block, 8))
        device.launch(executable, grid, local, tuple(passed))
        device.wait()
        for region in {id(region): region for region in found}.values():
            if region.written and region.high > region.low:
                device.download(handles[id(region)], region.memory(), region.skipped)
    finally:
        for handle in handles.values():
            device.release(handle)
