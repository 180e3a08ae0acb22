"""How a kernel is launched from Python: a domain, a device, checked arguments, results copied back."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from atoll.diagnostics import Diagnostic
from atoll.errors import LaunchError
from atoll.ir import Kernel, LaunchLayout, has_barrier
from atoll.ir.nodes import Builtin
from atoll.ir.walk import all_expressions
from atoll.kernels.arguments import Checked, Region, check, region_of, regions
from atoll.kernels.contract import hold
from atoll.kernels.definition import KernelFunction, Sizes, block_sizes
from atoll.kernels.structs import spread

if TYPE_CHECKING:
    from atoll.plugin import Argument, DriverDevice, Executable

Triple = tuple[int, int, int]
#: The block that serves a domain of one, two or three dimensions where nobody says which.
DEFAULT_BLOCKS: dict[int, Triple] = {1: (64, 1, 1), 2: (16, 16, 1), 3: (8, 8, 4)}
#: The most work-items in one dimension (docs/reference/launch-abi.md).
MAX_ITEMS = (1 << 31) - 1


def rank_of(kernel: Kernel) -> int:
    """Return how many dimensions a kernel's ids use: what its domain should have."""
    ids = [node.dimension for node in all_expressions(kernel.body) if isinstance(node, Builtin)]
    return 1 + max(ids, default=0)


def block_for(kernel: Kernel) -> Triple:
    """Return the block of a kernel's contract, else the one that serves its rank."""
    return kernel.group if any(kernel.group) else DEFAULT_BLOCKS[rank_of(kernel)]


@dataclass(frozen=True, slots=True)
class Shape:
    """How many work-items run, in groups of what size."""

    domain: Triple
    groups: Triple
    block: Triple


def over_shape(kernel: Kernel, shape: Sizes, block: Sizes | None) -> Shape:
    """Return the groups that cover a domain.

    Raises:
        LaunchError: Where the kernel does not allow it.
    """
    parts = shape if isinstance(shape, tuple) else (shape,)
    domain = _triple(kernel, parts, "domain", least=0)
    chosen = _block(kernel, block, len(parts))
    rounded = [-(-size // by) for size, by in zip(domain, chosen, strict=True)]
    if has_barrier(kernel) and any(size % by for size, by in zip(domain, chosen, strict=True)):
        raise LaunchError(
            _refusal(
                f"`{kernel.name}` waits at a barrier, so its domain has to be whole work-groups",
                f"the domain: {_shown(domain)}",
                f"the block: {_shown(chosen)}",
                hint="round the domain up and guard the accesses, as in `if i < x.size`",
            )
        )
    return Shape(domain, (rounded[0], rounded[1], rounded[2]), chosen)


def grid_shape(kernel: Kernel, groups: Sizes, block: Sizes) -> Shape:
    """Return a launch of whole groups.

    Raises:
        LaunchError: Where the kernel does not allow it.
    """
    parts = groups if isinstance(groups, tuple) else (groups,)
    counts = _triple(kernel, parts, "grid", least=0)
    chosen = _block(kernel, block, len(parts))
    domain = tuple(count * size for count, size in zip(counts, chosen, strict=True))
    return Shape(_triple(kernel, domain, "grid", least=0), counts, chosen)


def _triple(kernel: Kernel, parts: tuple[Any, ...], what: str, least: int) -> Triple:
    import operator

    try:
        sizes = tuple(operator.index(part) for part in parts)
    except TypeError:
        sizes = ()
    if not 1 <= len(sizes) <= 3 or any(not least <= size <= MAX_ITEMS for size in sizes):
        raise LaunchError(
            _refusal(
                f"`{kernel.name}` has no {what} {parts!r}",
                f"a {what} has one to three sizes from {least} to {MAX_ITEMS}",
            )
        )
    filled = (*sizes, 1, 1)
    return filled[0], filled[1], filled[2]


def _block(kernel: Kernel, block: Sizes | None, rank: int) -> Triple:
    contract = kernel.group if any(kernel.group) else None
    if block is None:
        return contract or DEFAULT_BLOCKS[rank]
    asked = block_sizes(block)
    if contract is not None and asked != contract:
        raise LaunchError(
            _refusal(
                f"`{kernel.name}` has a launch contract on its block",
                f"the contract: {_shown(contract)}",
                f"this launch: {_shown(asked)}",
            )
        )
    return asked


def _shown(sizes: Triple) -> str:
    return " x ".join(map(str, sizes))


def _refusal(message: str, *notes: str, hint: str | None = None) -> Diagnostic:
    return Diagnostic(code="ATL0761", message=message, notes=notes, hint=hint)


# --- launching -----------------------------------------------------------------------------------


@dataclass(slots=True)
class Done:
    """A launch that was queued. With `wait=True` (the default) it is complete.

    Attributes:
        device: The name of the device that ran it, as its driver states it.
    """

    device: str
    _device: DriverDevice | None = field(default=None, repr=False)
    _buffers: list[tuple[int, Region]] = field(default_factory=list, repr=False)
    _checked: Checked | None = field(default=None, repr=False)

    def wait(self) -> Done:
        """Block until the launch is done, then copy what it wrote back; harmless when repeated."""
        if self._device is None:
            return self
        device, buffers = self._device, self._buffers
        self._device, self._buffers = None, []
        try:
            device.wait()
            for handle, region in buffers:
                if region.written:
                    device.download(handle, _memory(region))
        finally:
            for handle, _ in buffers:
                device.release(handle)
            self._checked = None
        return self

    def __del__(self) -> None:
        if self._device is not None:
            for handle, _ in self._buffers:
                self._device.release(handle)


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel with a domain and a device; calling it launches."""

    kernel: KernelFunction
    shape: Shape
    device: object = None
    waits: bool = True

    def __call__(self, *arguments: Any) -> Done:
        """Check the arguments, launch, and (unless `wait=False`) wait and copy results back.

        Raises:
            LaunchError: Where an argument does not fit, naming it.
            CompileError: Where the device lacks what the kernel needs.
            DeviceError: Where the device fails.
        """
        compiled = self.kernel.compiled()
        checked = check(compiled.kernel, spread(compiled.params, arguments))
        hold(self.kernel.requires, compiled.kernel.name, checked)
        found = regions(checked.arrays)
        device = open_device(self.device)
        name = device.info.name
        if 0 in self.shape.domain:
            return Done(name)
        layout, executable = executable_for(self.kernel, device, self.shape.block)
        done = Done(name, device, [], checked)
        _start(done, device, executable, layout, self.shape, checked, found)
        return done.wait() if self.waits else done


def _start(
    done: Done,
    device: DriverDevice,
    executable: Executable,
    layout: LaunchLayout,
    shape: Shape,
    checked: Checked,
    found: Sequence[Region],
) -> None:
    arguments = upload(done, device, layout, shape, checked, found)
    device.launch(executable, shape.groups, shape.block, arguments)


def upload(
    done: Done,
    device: DriverDevice,
    layout: LaunchLayout,
    shape: Shape,
    checked: Checked,
    found: Sequence[Region],
) -> tuple[Argument, ...]:
    """Copy the arrays to a device and return what a launch passes; `done` owns the buffers."""
    from atoll.plugin import BufferArgument, ScalarArgument
    from atoll.runtime.pack import pack_block

    handles: dict[Region, int] = {}
    for region in found:
        handles[region] = device.allocate(max(region.high - region.low, 1))
        done._buffers.append((handles[region], region))
        if region.high > region.low:
            device.upload(handles[region], _memory(region))
    buffers = [
        BufferArgument(handles[region_of(found, item)], access)
        for item, access in zip(checked.arrays, layout.access, strict=True)
    ]
    block = pack_block(layout, _fields(shape, checked, found))
    scalars = (ScalarArgument(block, 8),) if block else ()
    return (*buffers, *scalars)


def _fields(shape: Shape, checked: Checked, found: Sequence[Region]) -> dict[str, bool | int | float]:
    """Return the values of the parameter block by path (launch ABI 1)."""
    fields: dict[str, bool | int | float] = dict(checked.scalars)
    fields |= {f"domain.{axis}": size for axis, size in enumerate(shape.domain)}
    for item in checked.arrays:
        fields[f"{item.name}.offset"] = (item.first - region_of(found, item).low) // item.itemsize
        for axis, (size, stride) in enumerate(zip(item.sizes, item.strides, strict=True)):
            fields[f"{item.name}.size.{axis}"] = size
            fields[f"{item.name}.stride.{axis}"] = stride
    return fields


def _memory(region: Region) -> memoryview:
    """Return the bytes of a region; the arrays that own them are alive in :class:`Checked`."""
    size = region.high - region.low
    return memoryview((ctypes.c_ubyte * size).from_address(region.low)).cast("B")


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


def executable_for(
    kernel: KernelFunction, device: DriverDevice, block: Triple
) -> tuple[LaunchLayout, Executable]:
    """Return a kernel's code loaded on a device; kept for the next launch of the same code."""
    compiled = kernel.compiled()
    cache = _kept(kernel.loaded, device)
    known = cache.get(block)
    if known is None or known[0] is not compiled:
        from atoll.plugin import registry

        target = device.target()
        emitter = registry().emitters[target.backend]
        emitted = emitter.emit(compiled.module, compiled.kernel.name, target, block)
        known = cache[block] = (compiled, emitted.layout, device.load(emitted))
    return known[1], known[2]


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


def over(kernel: KernelFunction, shape: Sizes, *, device: object, block: Sizes | None, wait: bool) -> Launch:
    """Return a launch over a domain; a block that was tuned for the device serves where none is named."""
    if block is None and kernel.tuned:
        device = open_device(device)
        block = kernel.tuned.get(device.info.name)
    return Launch(kernel, over_shape(kernel.compiled().kernel, shape, block), device, wait)


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
