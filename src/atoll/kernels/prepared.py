"""How is a launch made short? What its kernel, its argument types and its device decide is decided once.

A prepared launch asks of each argument only what may differ next time, packs the parameter block in one
call and launches on addresses. Whatever it does not expect it leaves to the whole check, which knows the
words for it; so nothing is launched here that would be refused there.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from atoll.errors import LaunchError
from atoll.ir import BOOL, SCALARS, LaunchLayout, Scalar, View, accesses
from atoll.kernels.arguments import scalar_value
from atoll.kernels.launch import Done, OnQueue
from atoll.kernels.variants import START, Promises, is_plain
from atoll.runtime.raw import address_of
from atoll.runtime.regions import bounds

if TYPE_CHECKING:
    from atoll.ir import Parameter
    from atoll.kernels.front import Compiled
    from atoll.kernels.launch import Launch, Loaded
    from atoll.kernels.shapes import Shape
    from atoll.plugin import DeviceArray, DriverDevice

#: How a field of the parameter block is packed, by the KIR scalar's name; bf16 has no letter.
_LETTERS = {
    "bool": "I", "i8": "i", "i16": "i", "i32": "i", "i64": "q", "u8": "I", "u16": "I", "u32": "I", "u64": "Q",
    "f16": "e2x", "f32": "f", "f64": "d",
}  # fmt: skip
#: What NumPy's `flags.num` says of an array: in C order, aligned; writable.
_PLAIN, _WRITABLE = 0x1 | 0x100, 0x400


class Prepared:
    """One launch, ready: call it with the arguments; None means that they need the whole check."""

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
        captures = compiled.captures
        self._captures = captures if captures.names else None
        used = accesses(compiled.kernel)
        self._kernel, self._compiled, self._shape, self._known = launch.kernel, compiled, shape, known
        self._device, self._name = device, device.info.name
        self._index = device.info.index
        self._environment = _environment() if launch.device is None else None
        self._bound = addressed.bind(code.executable, shape.block)
        self._array: Callable[[Any], DeviceArray | None] = addressed.array
        self._is_host = addressed.memory == "host"
        self._glance = addressed.glance
        #: The addresses of arrays that were found apart last, their shapes as remembered.
        self._proved: list[int] | None = None
        self._mask = START - 1 if known.plain else 0
        self._address = address_of()
        self._params = tuple(_Asked(item, used.get(item.name, ""), np) for item in compiled.kernel.params)
        self._arrays = tuple(item for item in self._params if item.rank)
        self._pack = struct.Struct(_format(code.layout)).pack
        self._domain = shape.domain if code.layout.has_domain else ()
        self._names = tuple(item.name for item in compiled.kernel.params)
        self._count, self._groups = len(self._params), shape.groups

    def __call__(self, arguments: tuple[Any, ...]) -> Done | None:
        """Launch, or return None where an argument is not what was prepared for."""
        device = cast("Any", self._device)
        if (
            len(arguments) != self._count
            or self._kernel._compiled is not self._compiled
            or not device.is_open
            or device.graph is not None
            or (self._captures is not None and not self._captures.current())
            or (self._environment is not None and self._environment != _environment())
        ):
            return None
        values: list[Any] = [*self._domain]
        addresses: list[int] = []
        take = self._on_host if self._is_host else self._on_device
        queue = take(arguments, values, addresses)
        if queue is None or (self._kernel.requires and not self._holds(arguments)):
            return None
        try:
            block = self._pack(*values)
        except (struct.error, OverflowError):
            return None
        self._bound(self._groups, addresses, block, queue)
        if self._is_host:
            return Done(self._name)
        return OnQueue(self._name, device, arguments, queue)

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
        queue, mask, glance = None, self._mask, self._glance
        for value, asked in zip(arguments, self._params, strict=True):
            if not asked.rank:
                if type(value) is asked.kind:
                    values.append(value)
                elif not asked.converts(value, values):
                    return None
                continue
            seen = glance(value)
            if seen is None:
                found = self._array(value)
                if found is None or not self._learns(asked, found):
                    return None
                address, stream = found.address, found.queue
            else:
                address, stream, key = seen
                if key != asked.key:
                    found = self._array(value)
                    if found is None or not self._learns(asked, found):
                        return None
                    asked.key = key
            if address & mask or address % asked.item or (queue is not None and stream != queue):
                return None
            queue = stream
            addresses.append(address)
            values += asked.fields
        return (queue or 0) if self._are_apart(addresses) else None

    def _learns(self, asked: _Asked, found: DeviceArray) -> bool:
        """Remember what an array on the device gives to the block; tell whether it is what was asked."""
        asked.key = self._proved = None
        if not asked.takes(found, self._index):
            return False
        if self._known.plain and not is_plain(0, found.sizes, found.strides):
            return False
        asked.fields = (0, *found.sizes, *found.strides)
        asked.low, asked.high = bounds(0, found.sizes, found.strides, asked.item)
        return True

    def _are_apart(self, addresses: list[int]) -> bool:
        """Tell whether no array that is written overlaps another, where the code was made for that."""
        if not self._known.apart or addresses == self._proved:
            return True
        arrays = self._arrays
        for at, asked in enumerate(arrays):
            if asked.written:
                low, high = addresses[at] + asked.low, addresses[at] + asked.high
                for number, other in enumerate(arrays):
                    start = addresses[number]
                    if number != at and low < start + other.high and start + other.low < high:
                        return False
        self._proved = addresses
        return True

    def _holds(self, arguments: tuple[Any, ...]) -> bool:
        """Tell whether the launch contract holds; arrays on a device are left to the whole check."""
        if not self._is_host:
            return False
        values = dict(zip(self._names, arguments, strict=True))
        return all(item.holds(values) for item in self._kernel.requires)


class _Asked:
    """What an argument has to be, in the words that are quick to ask."""

    __slots__ = (
        "dtype", "element", "fields", "flags", "high", "item", "key", "kind", "low", "param", "rank",
        "written",
    )  # fmt: skip

    def __init__(self, param: Parameter, access: str, np: Any) -> None:
        self.param = param
        #: Of the array on a device that was seen last: what it adds to the block, and where it reaches to.
        self.key: object = None
        self.fields: tuple[int, ...] = ()
        self.low = self.high = 0
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
