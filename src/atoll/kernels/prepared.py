"""How is a launch made short? What its kernel, its argument types and its device decide is decided once.

A prepared launch asks of each argument only what may differ next time, packs the parameter block in one
call and launches on addresses. Whatever it does not expect it leaves to the whole check, which knows the
words for it; so nothing is launched here that would be refused there.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from atoll.errors import LaunchError
from atoll.ir import BOOL, SCALARS, LaunchLayout, Scalar, View, accesses
from atoll.kernels.arguments import scalar_value
from atoll.kernels.variants import Promises, are_apart, is_plain
from atoll.runtime.regions import bounds

if TYPE_CHECKING:
    from atoll.ir import Parameter
    from atoll.kernels.front import Compiled
    from atoll.kernels.launch import Done, Launch, Loaded, Shape
    from atoll.plugin import DriverDevice

#: How a field of the parameter block is packed, by the KIR scalar's name; bf16 has no letter.
_LETTERS = {
    "bool": "I", "i8": "i", "i16": "i", "i32": "i", "i64": "q", "u8": "I", "u16": "I", "u32": "I", "u64": "Q",
    "f16": "e2x", "f32": "f", "f64": "d",
}  # fmt: skip
#: What NumPy's `flags.num` says of an array: in C order, aligned; writable.
_PLAIN, _WRITABLE = 0x1 | 0x100, 0x400


@cache
def _address_of() -> Callable[[Any], int]:
    """Return what gives the address of an array in C order; four times as fast as NumPy's own words."""
    from cffi import FFI

    ffi = FFI()
    whole, view = ffi.typeof("uintptr_t"), ffi.from_buffer
    convert = ffi.cast
    return lambda array: int(convert(whole, view(array)))


class Prepared:
    """One launch, ready: call it with the arguments; None means that they need the whole check."""

    __slots__ = (
        "_address", "_array", "_bound", "_compiled", "_device", "_domain", "_environment", "_index",
        "_kernel", "_known", "_name", "_names", "_pack", "_params", "_shape",
    )  # fmt: skip

    def __init__(
        self,
        launch: Launch,
        compiled: Compiled,
        device: DriverDevice,
        code: Loaded,
        shape: Shape,
        known: Promises,
    ) -> None:
        import numpy as np

        addressed: Any = device
        used = accesses(compiled.kernel)
        self._kernel, self._compiled, self._shape, self._known = launch.kernel, compiled, shape, known
        self._device, self._name = device, device.info.name
        self._index = device.info.index
        self._environment = _environment() if launch.device is None else None
        self._bound = addressed.bind(code.executable, shape.block)
        self._array = addressed.array if addressed.memory == "own" else None
        self._address = _address_of()
        self._params = tuple(_Asked(item, used.get(item.name, ""), np) for item in compiled.kernel.params)
        self._pack = struct.Struct(_format(code.layout)).pack
        self._domain = shape.domain if code.layout.has_domain else ()
        self._names = tuple(item.name for item in compiled.kernel.params)

    def __call__(self, arguments: tuple[Any, ...]) -> Done | None:
        """Launch, or return None where an argument is not what was prepared for."""
        if len(arguments) != len(self._params) or not self._serves():
            return None
        values: list[Any] = [*self._domain]
        addresses: list[int] = []
        take = self._on_host if self._array is None else self._on_device
        queue = take(arguments, values, addresses)
        if queue is None or (self._kernel.requires and not self._holds(arguments)):
            return None
        try:
            block = self._pack(*values)
        except (struct.error, OverflowError):
            return None
        self._bound(self._shape.groups, addresses, block, queue)
        return self._done(arguments, queue)

    def _on_host(self, arguments: tuple[Any, ...], values: list[Any], addresses: list[int]) -> int | None:
        """Fill in what arrays of this process give; return the queue, or None where one is unexpected."""
        for value, asked in zip(arguments, self._params, strict=True):
            kind = asked.kind
            if asked.rank:
                if type(value) is not kind or value.flags.num & asked.flags != asked.flags:
                    return None
                shape, dtype = value.shape, value.dtype
                if len(shape) != asked.rank or (dtype is not asked.dtype and dtype != asked.dtype):
                    return None
                addresses.append(self._address(value))
                values += (0, *shape, 1) if asked.rank == 1 else (0, *shape, *_strides(shape))
            elif type(value) is kind:
                values.append(value)
            elif not asked.converts(value, values):
                return None
        return 0

    def _on_device(self, arguments: tuple[Any, ...], values: list[Any], addresses: list[int]) -> int | None:
        """Fill in what arrays on the device give; what was promised of others is asked of them too."""
        extents: list[tuple[int, int, bool]] = []
        queue, known, array = None, self._known, cast("Any", self._array)
        for value, asked in zip(arguments, self._params, strict=True):
            if not asked.rank:
                if type(value) is asked.kind:
                    values.append(value)
                elif not asked.converts(value, values):
                    return None
                continue
            found = array(value)
            if found is None or not asked.takes(found, self._index) or queue not in (None, found.queue):
                return None
            address, sizes, strides, queue = found.address, found.sizes, found.strides, found.queue
            if known.plain and not is_plain(address, sizes, strides):
                return None
            if known.apart:
                extents.append((*bounds(address, sizes, strides, asked.item), asked.written))
            addresses.append(address)
            values += (0, *sizes, *strides)
        return (queue or 0) if are_apart(extents) else None

    def _serves(self) -> bool:
        """Tell whether kernel and device are still what was prepared for."""
        kernel, device = self._kernel, cast("Any", self._device)
        if kernel._compiled is not self._compiled or not kernel.is_current() or not device.is_open:
            return False
        return self._environment is None or self._environment == _environment()

    def _holds(self, arguments: tuple[Any, ...]) -> bool:
        """Tell whether the launch contract holds; arrays on a device are left to the whole check."""
        if self._array is not None:
            return False
        values = dict(zip(self._names, arguments, strict=True))
        return all(item.holds(values) for item in self._kernel.requires)

    def _done(self, arguments: tuple[Any, ...], queue: int) -> Done:
        from atoll.kernels.launch import Done, Flight

        if self._array is None:
            return Done(self._name)
        return Done(self._name, Flight(self._device, cast("Any", arguments), queue=queue))


class _Asked:
    """What an argument has to be, in the words that are quick to ask."""

    __slots__ = ("dtype", "element", "flags", "item", "kind", "param", "rank", "written")

    def __init__(self, param: Parameter, access: str, np: Any) -> None:
        self.param = param
        self.written = access not in ("", "read")
        if isinstance(param.type, View):
            element = param.type.element
            self.rank, self.element, self.item = param.type.rank, element.name, element.nbytes
            self.kind: Any = np.ndarray
            self.dtype = _dtype(element, np)
            self.flags = _PLAIN | (_WRITABLE if self.written else 0)
        else:
            self.rank, self.element, self.item = 0, param.type.name, 0
            self.kind = _kind(param.type)
            self.dtype, self.flags = None, 0

    def converts(self, value: Any, values: list[Any]) -> bool:
        """Add a number that is not of the usual type, range checked; tell whether it is one."""
        try:
            values.append(scalar_value(self.param, value))
        except LaunchError:
            return False
        return True

    def takes(self, found: Any, index: int) -> bool:
        """Tell whether an array on the device is what is asked; what repeats its elements is asked anew."""
        return (
            found.element == self.element
            and len(found.sizes) == self.rank
            and found.address % self.item == 0
            and (not self.written or (found.writable and 0 not in found.strides))
            and found.where in (None, index)
        )


def prepare(
    launch: Launch, compiled: Compiled, device: DriverDevice, code: Loaded, shape: Shape, known: Promises
) -> Prepared | None:
    """Return a launch made ready, or None where a parameter has a type that only the whole check packs."""
    if any(item.type == "bf16" for item in code.layout.fields) or not hasattr(device, "is_open"):
        return None
    return Prepared(launch, compiled, device, code, shape, known)


def _environment() -> tuple[str | None, str | None]:
    return os.environ.get("ATOLL_DEVICE"), os.environ.get("ATOLL_REQUIRE_DEVICE")


def _kind(scalar: Scalar) -> type | None:
    """Return the Python type whose values go into the block as they are: the packing checks their range."""
    if scalar == BOOL:
        return bool
    if scalar.is_integer:
        return int if scalar.bits >= 32 else None
    return float


def _dtype(element: Scalar, np: Any) -> Any:
    if element.name == "bf16":
        return None
    return np.dtype("?" if element == BOOL else f"{element.name[0]}{element.nbytes}")


def _strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    found, step = [1], 1
    for size in shape[:0:-1]:
        step *= size
        found.append(step)
    return tuple(reversed(found))


def _format(layout: LaunchLayout) -> str:
    """Return the parameter block as a format of :mod:`struct`, its gaps spelled out."""
    text, end = "<", 0
    for item in layout.fields:
        text += f"{item.offset - end}x" if item.offset > end else ""
        text += _LETTERS[item.type]
        end = item.offset + max(4, SCALARS[item.type].nbytes)
    return text + (f"{layout.block_bytes - end}x" if layout.block_bytes > end else "")
