"""How a kernel is launched from Python: a domain, a device, checked arguments, results copied back."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from atoll.errors import DeviceError, LaunchError
from atoll.ir import LaunchLayout
from atoll.kernels.arguments import Checked, check
from atoll.kernels.contract import hold
from atoll.kernels.definition import KernelFunction, Sizes
from atoll.kernels.shapes import Shape, Triple, check_grid, fitted, grid_shape, over_shape
from atoll.kernels.shapes import refusal as _refusal
from atoll.kernels.structs import spread
from atoll.kernels.variants import (
    NOTHING,
    Promises,
    module_for,
    narrowed,
    promises,
    served,
    takes_promises,
    unrolls,
    width_for,
)
from atoll.runtime.array import Array
from atoll.runtime.regions import Region, regions

if TYPE_CHECKING:
    from atoll.kernels.front import Compiled
    from atoll.kernels.prepared import Prepared
    from atoll.plugin import AddressedDevice, Argument, BufferArgument, DriverDevice, Executable


# --- launching -----------------------------------------------------------------------------------


class Done:
    """A launch that was queued. With `wait=True` (the default) it is complete.

    Attributes:
        device: The name of the device that ran it, as its driver states it.
    """

    __slots__ = ("__weakref__", "_flight", "device")

    def __init__(self, device: str, flight: Flight | None = None) -> None:
        self.device = device
        self._flight = flight

    def wait(self) -> Done:
        """Block until the launch is done, then copy what it wrote back; harmless when repeated.

        Raises:
            DeviceError: Where the launch failed, on the device or on its way there.
        """
        flight, self._flight = self._flight, None
        if flight is not None:
            flight.finish()
        return self

    def __repr__(self) -> str:
        return f"Done(device={self.device!r})"


class OnQueue(Done):
    """A launch on arrays that lie on the device: nothing has to come back, and only a queue is waited for."""

    __slots__ = ("_arguments", "_on", "_queue")

    def __init__(self, device: str, on: DriverDevice, arguments: object, queue: int) -> None:
        self.device, self._flight = device, None
        self._on: DriverDevice | None = on
        self._arguments, self._queue = arguments, queue

    def wait(self) -> Done:
        """Block until the launch is done; harmless when repeated."""
        on, self._on = self._on, None
        if on is not None:
            try:
                settle(on, self._queue)
            finally:
                self._arguments = None
        return self


@dataclass(slots=True)
class Flight:
    """What a launch needs until it is done.

    Attributes:
        device: Where it runs.
        checked: Its arguments; their memory stays alive with them.
        buffers: The device's buffers that are this launch's own, with the memory each stands for.
        queue: The queue it is on; 0 is the device's own.
        error: What a launch that is not waited for raised on its way.
    """

    device: DriverDevice
    checked: Checked | None
    buffers: dict[int, tuple[int, Region]] = field(default_factory=dict)
    queue: int = 0
    error: BaseException | None = None

    def finish(self) -> None:
        """Wait, copy back, free."""
        try:
            if self.error is not None:
                raise self.error
            settle(self.device, self.queue)
            for handle, region in self.buffers.values():
                if region.written and region.high > region.low:
                    self.device.download(handle, region.memory(), region.skipped)
        finally:
            self.release()

    def __del__(self) -> None:
        if self.buffers:
            self.release()

    def release(self) -> None:
        """Free the buffers, whatever became of them."""
        buffers, self.buffers, self.checked = self.buffers, {}, None
        for handle, _ in buffers.values():
            self.device.release(handle)

    def writes_into(self, found: Sequence[Region]) -> bool:
        """Tell whether this launch still has to copy back into one of these regions."""
        return any(
            mine.written and mine.low < other.high and other.low < mine.high
            for _, mine in self.buffers.values()
            for other in found
        )


def settle(device: DriverDevice, queue: int) -> None:
    """Block until a queue is done."""
    if queue:
        cast("AddressedDevice", device).settle(queue)
    else:
        device.wait()


#: Launches on host arrays that nobody has waited for yet, in order.
_flying: list[weakref.ref[Done]] = []
_flying_lock = threading.Lock()


def _land(found: Sequence[Region]) -> None:
    """Finish every launch that still has to write into this memory, in their order."""
    with _flying_lock:
        alive = [done for done in (kept() for kept in _flying) if done is not None and done._flight]
        _flying[:] = map(weakref.ref, alive)
    for done in alive:
        flight = done._flight
        if flight is not None and flight.writes_into(found):
            done.wait()


class Launch:
    """A kernel with a domain and a device; calling it launches.

    One that names its device keeps what it opened: else every launch would open it, compile, and close it.
    """

    __slots__ = ("_opened", "_prepared", "device", "kernel", "shape", "waits")

    def __init__(
        self, kernel: KernelFunction, shape: Shape, device: object = None, waits: bool = True
    ) -> None:
        self.kernel, self.shape, self.device, self.waits = kernel, shape, device, waits
        self._prepared: Prepared | None = None
        self._opened: DriverDevice | None = None

    def __call__(self, *arguments: Any, **named: Any) -> Done:
        """Check the arguments, launch, and (unless `wait=False`) wait and copy results back.

        Where every array lies on the device already, the launch is queued where what makes them is
        ordered, and nothing is waited for: what is queued after it there sees its writes.

        Raises:
            LaunchError: Where an argument does not fit, naming it.
            CompileError: Where the device lacks what the kernel needs.
            DeviceError: Where the device fails.
        """
        if named:
            arguments = self.kernel.ordered(arguments, named)
        if self._prepared is not None:
            done = self._prepared(arguments)
            if done is not None:
                return done
        if any(type(value) is Array for value in arguments):
            from atoll.kernels.resident import launch_resident

            return launch_resident(self, arguments)
        return self._first(arguments)

    def _first(self, arguments: tuple[Any, ...]) -> Done:
        """Launch with everything asked anew, and prepare the next one where that can be."""
        compiled = self.kernel.compiled()
        device = self._opened = open_device(self.device)
        if getattr(device, "graph", None) is not None:
            raise _not_recorded(compiled.kernel.name)
        checked = check(compiled.kernel, spread(compiled.params, arguments), device)
        hold(self.kernel.requires, compiled.kernel.name, checked)
        _queue(checked)
        if 0 in self.shape.domain:
            return Done(device.info.name)
        code, shape, known = placed(self, device, checked)
        done = start(device, code.executable, code.layout, shape, checked, waits=self.waits)
        if getattr(device, "memory", "") and compiled.plain:
            from atoll.kernels.prepared import prepare

            self._prepared = prepare(self, compiled, device, code, shape, known)
        return done


def _not_recorded(kernel: str) -> LaunchError:
    return LaunchError(
        _refusal(
            f"a launch of `{kernel}` is recorded on arrays that do not lie on the device",
            "a graph owns what it refers to; it cannot own memory of the host or of another library",
            hint="make them with `atoll.array(…, device=…)` before",
        )
    )


def start(
    device: DriverDevice,
    executable: Executable,
    layout: LaunchLayout,
    shape: Shape,
    checked: Checked,
    *,
    waits: bool,
) -> Done:
    """Queue one launch; wait for it where that is asked and an array has to come back."""
    memory = getattr(device, "memory", "")
    if memory == "host":
        bound = cast("AddressedDevice", device).bind(executable, shape.block)
        bound(shape.groups, [item.first for item in checked.arrays], _block(layout, shape, checked), 0)
        return Done(device.info.name)
    flight = Flight(device, checked, queue=_queue(checked))
    done = Done(device.info.name, flight)
    found = regions([item for item in checked.arrays if item.queue is None])
    _land(found)
    try:
        passed = upload(flight, layout, shape, found)
        _queue_launch(flight, executable, shape, passed)
    except DeviceError as error:
        if waits:
            raise
        flight.error = error
    if waits and (flight.buffers or not checked.arrays):
        return done.wait()
    if flight.buffers:
        with _flying_lock:
            _flying.append(weakref.ref(done))
    return done


def queued(
    device: DriverDevice, executable: Executable, layout: LaunchLayout, shape: Shape, checked: Checked
) -> tuple[Flight, Callable[[], None]]:
    """Bring the arrays to the device; return what owns them there, and what queues one launch on them."""
    flight = Flight(device, checked, queue=_queue(checked))
    if getattr(device, "memory", "") == "host":
        bound = cast("AddressedDevice", device).bind(executable, shape.block)
        addresses, block = [item.first for item in checked.arrays], _block(layout, shape, checked)
        return flight, lambda: bound(shape.groups, addresses, block, 0)
    found = regions([item for item in checked.arrays if item.queue is None])
    try:
        passed = upload(flight, layout, shape, found)
    except BaseException:
        flight.release()
        raise
    return flight, lambda: _queue_launch(flight, executable, shape, passed)


def _queue(checked: Checked) -> int:
    """Return the queue of a launch: the one that its arrays on the device share."""
    named = {item.queue for item in checked.arrays if item.queue is not None}
    if len(named) > 1:
        raise LaunchError(
            _refusal(
                "the arrays of a launch are ordered on different queues",
                f"queues: {', '.join(map(str, sorted(named)))}",
                hint="make them on one stream, or synchronize them and pass them again",
            )
        )
    return named.pop() if named else 0


@dataclass(frozen=True, slots=True)
class Passed:
    """What a launch passes: its arguments by handle, and an array's address where it has no handle."""

    arguments: tuple[Argument, ...]
    addresses: tuple[int | None, ...]
    block: bytes


def upload(flight: Flight, layout: LaunchLayout, shape: Shape, found: Sequence[Region]) -> Passed:
    """Copy the arrays of this process to the device and return what a launch passes.

    Args:
        flight: Owns the buffers.
        layout: How the arguments reach the kernel.
        shape: Of the launch.
        found: The region of each array that does not lie on the device.
    """
    from atoll.plugin import BufferArgument, ScalarArgument
    from atoll.runtime.pack import pack_block

    checked, device = flight.checked, flight.device
    assert checked is not None
    left = iter(found)
    of = [next(left) if item.queue is None else None for item in checked.arrays]
    for region in found:
        if id(region) not in flight.buffers:
            handle = device.allocate(max(region.nbytes, 1))
            flight.buffers[id(region)] = handle, region
            if region.high > region.low:
                device.upload(handle, region.memory(), region.skipped)
    handles = [0 if region is None else flight.buffers[id(region)][0] for region in of]
    buffers = [BufferArgument(*pair) for pair in zip(handles, layout.access, strict=True)]
    pairs = list(zip(checked.arrays, of, strict=True))
    offsets = [0 if region is None else region.offset(item) for item, region in pairs]
    block = pack_block(layout, _fields(shape, checked, offsets))
    scalars = (ScalarArgument(block, 8),) if block else ()
    addresses = tuple(item.first if region is None else None for item, region in pairs)
    return Passed((*buffers, *scalars), addresses, block)


def _queue_launch(flight: Flight, executable: Executable, shape: Shape, passed: Passed) -> None:
    device = flight.device
    if all(address is None for address in passed.addresses):
        device.launch(executable, shape.groups, shape.block, passed.arguments)
        return
    own = cast("AddressedDevice", device)
    if flight.buffers and flight.queue:
        device.wait()  # the copies went through the device's own queue
    addresses = [
        own.address(cast("BufferArgument", argument).handle) if address is None else address
        for argument, address in zip(passed.arguments, passed.addresses, strict=False)
    ]
    own.bind(executable, shape.block)(shape.groups, addresses, passed.block, flight.queue)


def _block(layout: LaunchLayout, shape: Shape, checked: Checked) -> bytes:
    from atoll.runtime.pack import pack_block

    return pack_block(layout, _fields(shape, checked, [0] * len(checked.arrays)))


def _fields(shape: Shape, checked: Checked, offsets: Sequence[int]) -> dict[str, bool | int | float]:
    """Return the values of the parameter block by path (launch ABI 1)."""
    fields: dict[str, bool | int | float] = dict(checked.scalars)
    fields |= {f"domain.{axis}": size for axis, size in enumerate(shape.domain)}
    for item, offset in zip(checked.arrays, offsets, strict=True):
        fields[f"{item.name}.offset"] = offset
        for axis, (size, stride) in enumerate(zip(item.sizes, item.strides, strict=True)):
            fields[f"{item.name}.size.{axis}"] = size
            fields[f"{item.name}.stride.{axis}"] = stride
    return fields


def open_device(device: object) -> DriverDevice:
    """Return an open device from a name, an open device, or None for the default."""
    if device is None or isinstance(device, str):
        from atoll import runtime

        return runtime.open(device)
    if hasattr(device, "launch") and hasattr(device, "info"):
        return cast("DriverDevice", device)
    raise LaunchError(
        _refusal(f"{device!r} is no device", hint='name one, as `device="cpu"`, or pass `atoll.open(…)`')
    )


@dataclass(frozen=True, slots=True)
class Loaded:
    """A kernel's code on a device.

    Attributes:
        wide: Whether one work-item does the work of four neighbours.
    """

    compiled: Compiled
    layout: LaunchLayout
    executable: Executable
    wide: bool = False


def placed(launch: Launch, device: DriverDevice, checked: Checked) -> tuple[Loaded, Shape, Promises]:
    """Return the code of a launch on a device, the groups that run there, and what was known of the arrays.

    Raises:
        LaunchError: Where the device launches no such groups, or not so many, with both.
    """
    shape = fitted(launch.shape, device.info)
    known = promises(checked.arrays, shape)
    code = executable_for(launch.kernel, device, shape.block, known)
    shape = narrowed(shape) if code.wide else shape
    check_grid(shape, device.info)
    return code, shape, known


def executable_for(
    kernel: KernelFunction, device: DriverDevice, block: Triple, known: Promises = NOTHING
) -> Loaded:
    """Return a kernel's code loaded on a device; kept for the next launch of the same code."""
    from atoll.plugin import registry

    target = device.target()
    compiled = kernel.compiled_for(target)
    emitter = registry().emitters[target.backend]
    promised = takes_promises(emitter)
    known = served(known, device.info) if promised else NOTHING
    cache, lines = _kept(kernel.loaded, device), wants_lines()
    found = cache.get((block, known, lines))
    if found is None or found.compiled is not compiled:
        module, wide = compiled.optimised, False
        if promised:
            asked = width_for(emitter, block)
            module, wide = module_for(compiled, known, asked, unrolls=unrolls(emitter))
        same = block, replace(known, fours=wide), lines  # a domain of fours gives nothing to most kernels
        found = cache.get(same)
        if found is None or found.compiled is not compiled:
            target = replace(target, plain=known.plain, apart=known.apart, lines=lines)
            emitted = emitter.emit(module, compiled.kernel.name, target, block)
            if named := os.environ.get("ATOLL_DUMP", ""):
                from atoll.kernels.dump import dump

                dump(named, compiled, module, emitter, emitted)
            found = Loaded(compiled, emitted.layout, device.load(emitted), wide)
        cache[same] = cache[block, known, lines] = found
    return cast("Loaded", found)


def wants_lines() -> bool:
    """Tell whether code is to say its lines of the source: ATOLL_KERNEL_LINES asks, for a profiler's run."""
    return os.environ.get("ATOLL_KERNEL_LINES", "") not in ("", "0")


def _kept(loaded: dict[int, tuple[Any, dict[Any, Any]]], device: DriverDevice) -> dict[Any, Any]:
    """Return what a kernel keeps for a device. It goes with the device, which is not kept alive by it."""
    key = id(device)
    known = loaded.get(key)
    if known is None or known[0]() is not device:
        try:
            gone = weakref.ref(device, lambda _: loaded.pop(key, None))
        except TypeError:  # a foreign device that has slots and no place for a weak reference
            return {}
        known = loaded[key] = (gone, {})
    return known[1]


#: How many launches a kernel keeps ready, and a device.
_MOST_READY = 64


def over(kernel: KernelFunction, shape: Sizes, *, device: object, block: Sizes | None, wait: bool) -> Launch:
    """Return a launch over a domain, the same one for the same question.

    A block that was tuned for the device serves where none is named.
    """
    ready = _ready(kernel, device)
    key = (kernel, shape, device if type(device) is str else None, block, wait)
    if ready is None or not _plain(shape) or not (block is None or _plain(block)):
        return _made(kernel, shape, device, block, wait)
    known = ready.get(key)
    if known is not None and known[0] is kernel.state() and kernel.is_current():
        return known[1]
    made = _made(kernel, shape, device, block, wait)
    while len(ready) >= _MOST_READY:
        ready.pop(next(iter(ready)), None)
    ready[key] = kernel.state(), made
    return made


def _ready(kernel: KernelFunction, device: object) -> dict[Any, tuple[object, Launch]] | None:
    """Return where launches are kept: with the kernel, or with the device, which they keep alive."""
    if device is None or type(device) is str:
        return kernel.ready
    return getattr(device, "ready", None)


def _made(kernel: KernelFunction, shape: Sizes, device: object, block: Sizes | None, wait: bool) -> Launch:
    if block is None and kernel.tuned:
        device = open_device(device)
        block = kernel.tuned.get(device.info.name)
    return Launch(kernel, over_shape(kernel.compiled().kernel, shape, block), device, wait)


def _plain(sizes: object) -> bool:
    """Tell whether sizes are plain integers: a float or a bool equal to one is another question."""
    if type(sizes) is int:
        return True
    return type(sizes) is tuple and all(type(size) is int for size in sizes)


def grid(kernel: KernelFunction, key: object) -> Launch:
    """Return a launch by grid, block and device."""
    if not isinstance(key, tuple) or not 2 <= len(key) <= 3:
        raise LaunchError(
            _refusal(
                f"`{kernel.__name__}[…]` takes a grid, a block and, where wanted, a device",
                hint=f'write `{kernel.__name__}[(4,), (64,)]` or `{kernel.__name__}[(4,), (64,), "cpu"]`',
            )
        )
    return Launch(
        kernel, grid_shape(kernel.compiled().kernel, key[0], key[1]), key[2] if len(key) == 3 else None
    )
