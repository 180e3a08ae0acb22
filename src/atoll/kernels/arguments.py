"""Do these arguments fit the kernel's signature? Checked by name before anything is launched.

An array is NumPy's, or anything that shows itself through ``__array_interface__`` or DLPack without a copy.
Strides and offsets are passed as they are (launch ABI 1), so a slice is launched without a copy;
arrays that overlap share one device buffer, so that aliasing means on a device what it means here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from atoll.diagnostics import Diagnostic
from atoll.errors import LaunchError
from atoll.ir import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Kernel,
    Parameter,
    Scalar,
    View,
    accesses,
)
from atoll.ir.nodes import bits_of, value_of
from atoll.kernels.promote import literal_fits
from atoll.kernels.scalars import Typed, limits

if TYPE_CHECKING:
    import numpy as np

_DTYPES = {
    "b1": BOOL, "i1": I8, "i2": I16, "i4": I32, "i8": I64,
    "u1": U8, "u2": U16, "u4": U32, "u8": U64, "f2": F16, "f4": F32, "f8": F64,
}  # fmt: skip


def scalar_of_dtype(dtype: Any) -> Scalar | None:
    """Return the scalar type of a NumPy dtype in native byte order, or None."""
    if getattr(dtype, "name", "") == "bfloat16":
        return BF16
    if not dtype.isnative:
        return None
    return _DTYPES.get(f"{dtype.kind}{dtype.itemsize}")


@dataclass(frozen=True, slots=True)
class ArrayArgument:
    """An array argument, checked.

    Attributes:
        name: The parameter.
        array: The array; it keeps the memory alive.
        low: The address of the first byte that any element has.
        high: The address after the last one; equal to `low` where there is no element.
        first: The address of the element with the indices 0.
        itemsize: Bytes of an element.
        sizes: Elements in each dimension.
        strides: In elements.
        written: Whether the kernel writes to it.
    """

    name: str
    array: Any
    low: int
    high: int
    first: int
    itemsize: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    written: bool


@dataclass(frozen=True, slots=True)
class Checked:
    """The arguments of one launch: the arrays in order, and each scalar's value by name."""

    arrays: tuple[ArrayArgument, ...]
    scalars: dict[str, bool | int | float]


def check(kernel: Kernel, arguments: Sequence[Any]) -> Checked:
    """Return the arguments of a launch.

    Raises:
        LaunchError: With everything that does not fit, each naming its argument.
    """
    if len(arguments) != len(kernel.params):
        names = ", ".join(param.name for param in kernel.params)
        raise LaunchError(
            _fault(
                f"`{kernel.name}` takes {len(kernel.params)} arguments, not {len(arguments)}",
                f"its parameters: {names}",
            )
        )
    used = accesses(kernel)
    faults: list[Diagnostic] = []
    arrays: list[ArrayArgument] = []
    scalars: dict[str, bool | int | float] = {}
    for param, value in zip(kernel.params, arguments, strict=True):
        try:
            if isinstance(param.type, View):
                arrays.append(_array(param, param.type, value, used[param.name] != "read"))
            else:
                scalars[param.name] = scalar_value(param, value)
        except LaunchError as error:
            faults += error.diagnostics
    if faults:
        raise LaunchError(*faults)
    return Checked(tuple(arrays), scalars)


def _fault(message: str, *notes: str, hint: str | None = None) -> Diagnostic:
    return Diagnostic(code="ATL0760", message=message, notes=notes, hint=hint)


def _refuse(param: Parameter, given: str, hint: str | None = None) -> LaunchError:
    return LaunchError(
        _fault(
            f"the argument `{param.name}` does not fit its parameter",
            f"the parameter is a {param.type}"
            if isinstance(param.type, View)
            else f"the parameter is {param.type}",
            f"the argument is {given}",
            hint=hint,
        )
    )


def scalar_value(param: Parameter, value: Any) -> bool | int | float:
    """Return a scalar argument as a value of the parameter's type; range checked.

    Raises:
        LaunchError: Where it is not one.
    """
    scalar = param.type
    assert isinstance(scalar, Scalar)
    plain: Any = value.value if isinstance(value, Typed) else value
    if hasattr(plain, "dtype") and getattr(plain, "ndim", 1) == 0:
        plain = plain.item()
    if isinstance(plain, bool) != (scalar == BOOL) or not isinstance(plain, bool | int | float):
        raise _refuse(param, f"{value!r} of type {type(value).__name__}")
    if scalar == BOOL:
        return bool(plain)
    if scalar.is_integer and isinstance(plain, float):
        raise _refuse(param, f"the float {plain!r}", hint=f"pass `int({param.name})`")
    if not literal_fits(plain, scalar):
        low, high = limits(scalar) if scalar.is_integer else ("-max", "max")
        raise _refuse(param, f"{plain!r}, which is not from {low} to {high}")
    return value_of(scalar, bits_of(scalar, plain))


def _array(param: Parameter, view: View, value: Any, written: bool) -> ArrayArgument:
    array = as_array(param, value)
    scalar = scalar_of_dtype(array.dtype)
    if scalar != view.element or array.ndim != view.rank:
        given = f"an array of {array.ndim} dimensions of {array.dtype}"
        hint = f"pass `{param.name}.astype(…)`, which copies" if array.ndim == view.rank else None
        raise _refuse(param, given, hint)
    if written and not array.flags.writeable:
        raise _refuse(param, "an array that may not be written, which the kernel does")
    if any(stride % array.itemsize for stride in array.strides):
        raise _refuse(
            param, f"an array with strides of {array.strides} bytes, no multiples of {array.itemsize}"
        )
    if written and array.size and 0 in (s for s, n in zip(array.strides, array.shape, strict=True) if n > 1):
        raise _refuse(param, "an array that repeats its elements, which the kernel would write")
    first = int(array.__array_interface__["data"][0])
    if first % array.itemsize:
        raise _refuse(param, "an array that is not aligned", hint="pass a copy")
    low, high = _bounds(array, first)
    strides = tuple(stride // array.itemsize for stride in array.strides)
    return ArrayArgument(
        param.name, array, low, high, first, array.itemsize, tuple(array.shape), strides, written
    )


def as_array(param: Parameter, value: Any) -> np.ndarray[Any, Any]:
    """Return an argument as a NumPy array over the same memory.

    Raises:
        LaunchError: Where it is no array.
    """
    import numpy as np

    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "__array_interface__"):
        return np.asarray(value)
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        return _from_dlpack(param, value)
    raise _refuse(
        param, f"a {type(value).__name__}", hint="pass a NumPy array, as `numpy.asarray(…)` makes one"
    )


#: What DLPack calls the host's memory.
_HOST = 1


def _from_dlpack(param: Parameter, value: Any) -> np.ndarray[Any, Any]:
    """Return another library's array over the same memory.

    A capsule of DLPack before 1.0 has no flag for reading only, and NumPy then allows no writing; its
    consumers may write (dlpack.h), so a kernel does.
    """
    import numpy as np

    kind, _ = value.__dlpack_device__()
    if int(kind) != _HOST:
        raise _refuse(
            param,
            f"a {type(value).__name__} in the memory of another device (DLPack device type {int(kind)})",
            hint="copy it to the host",
        )
    try:
        array = np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise _refuse(param, f"a {type(value).__name__} that DLPack does not give: {error}") from error
    if array.flags.writeable or _says_read_only(value):
        return array
    return _writable(array)


def _says_read_only(value: Any) -> bool:
    """Tell whether an array that NumPy made unwritable was so already: only DLPack 1.0 can say."""
    try:
        value.__dlpack__(max_version=(1, 0))
    except (TypeError, BufferError):
        return False
    return True


class _Shown:
    """An array's memory for NumPy, which keeps this alive and this the array."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        shown = dict(array.__array_interface__)
        shown["data"] = (shown["data"][0], False)
        self.array, self.__array_interface__ = array, shown


def _writable(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    import numpy as np

    return np.asarray(_Shown(array))


def _bounds(array: np.ndarray[Any, Any], first: int) -> tuple[int, int]:
    if array.size == 0:
        return first, first
    reach = [(size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True)]
    low = first + sum(step for step in reach if step < 0)
    return low, first + sum(step for step in reach if step > 0) + array.itemsize


@dataclass(frozen=True, slots=True)
class Region:
    """Memory that becomes one device buffer: arrays that overlap stand in one."""

    low: int
    high: int
    written: bool


def regions(arrays: Sequence[ArrayArgument]) -> tuple[Region, ...]:
    """Return the memory of the arrays without overlap.

    Raises:
        LaunchError: Where two arrays overlap so that no element offset reaches one of them.
    """
    merged: list[Region] = []
    for item in sorted(arrays, key=lambda item: (item.low, item.high)):
        last = merged[-1] if merged else None
        if last is not None and item.low < last.high:
            merged[-1] = Region(last.low, max(last.high, item.high), last.written or item.written)
        else:
            merged.append(Region(item.low, item.high, item.written))
    for item in arrays:
        region = region_of(merged, item)
        if item.high > item.low and (item.first - region.low) % item.itemsize:
            raise LaunchError(
                _fault(
                    f"the argument `{item.name}` overlaps another one at a part of an element",
                    f"it starts {item.first - region.low} bytes into their memory",
                    hint="pass a copy of one of them",
                )
            )
    return tuple(merged)


def region_of(found: Sequence[Region], item: ArrayArgument) -> Region:
    """Return the region that an array lies in."""
    for region in found:
        if region.low <= item.low and item.high <= region.high:
            return region
    raise AssertionError("every array lies in a region")
