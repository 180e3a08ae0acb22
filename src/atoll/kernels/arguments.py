"""Do these arguments fit the kernel's signature? Checked by name before anything is launched.

An array is NumPy's, or anything that shows itself through ``__array_interface__`` or DLPack without a copy,
or one that already lies in the memory of the device that is launched on.
Strides and offsets are passed as they are (launch ABI 1), so a slice is launched without a copy;
arrays that overlap share one device buffer (:mod:`atoll.runtime.regions`).
"""

from __future__ import annotations

import math
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
    SCALARS,
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
from atoll.kernels.scalars import Typed
from atoll.runtime.dlpack import HOST, seen
from atoll.runtime.regions import Extent, bounds

if TYPE_CHECKING:
    import numpy as np

    from atoll.plugin import DeviceArray

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
class ArrayArgument(Extent):
    """An array argument, checked: its memory, and how a kernel finds an element.

    Attributes:
        name: The parameter.
        array: The array; it keeps the memory alive.
        sizes: Elements in each dimension.
        strides: In elements.
        queue: Where the array lies on the device: the queue that what makes it is ordered on. None where it
            lies in this process's memory.
    """

    name: str
    array: Any
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    queue: int | None = None

    @property
    def size(self) -> int:
        """Its elements; what `x.size` in a launch contract means."""
        return math.prod(self.sizes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements in each dimension; what `x.shape` in a launch contract means."""
        return self.sizes


@dataclass(frozen=True, slots=True)
class Checked:
    """The arguments of one launch: the arrays in order, and each scalar's value by name."""

    arrays: tuple[ArrayArgument, ...]
    scalars: dict[str, bool | int | float]


def check(kernel: Kernel, arguments: Sequence[Any], device: Any = None) -> Checked:
    """Return the arguments of a launch.

    Args:
        kernel: The kernel.
        arguments: One for each parameter of KIR.
        device: Where it runs, if arrays in that device's own memory may be among them.

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
                arrays.append(_array(param, param.type, value, used[param.name] != "read", device))
            else:
                scalars[param.name] = scalar_value(param, value)
        except LaunchError as error:
            faults += error.diagnostics
    if faults:
        raise LaunchError(*faults)
    return Checked(tuple(arrays), scalars)


def _fault(message: str, *notes: str, hint: str | None = None) -> Diagnostic:
    return Diagnostic(code="ATL0760", message=message, notes=notes, hint=hint)


def _numpy_name(element: Scalar) -> str:
    """Return what NumPy calls a type: ``float32`` for `f32`."""
    return {"f": "float", "i": "int", "u": "uint"}[element.name[0]] + element.name[1:]


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
        low, high = scalar.range if scalar.is_integer else ("-max", "max")
        raise _refuse(param, f"{plain!r}, which is not from {low} to {high}")
    return value_of(scalar, bits_of(scalar, plain))


def _array(param: Parameter, view: View, value: Any, written: bool, device: Any) -> ArrayArgument:
    if getattr(device, "memory", "") == "own" and not hasattr(value, "__array_interface__"):
        lying = device.array(value)
        if lying is not None:
            return _resident(param, view, lying, written, device)
    array, scalar = as_array(param, value)
    if hasattr(array, "mask") and hasattr(array, "filled"):
        raise _refuse(
            param, "an array with a mask, which no kernel sees", hint="pass its `.filled(…)` or `.data`"
        )
    if scalar != view.element or array.ndim != view.rank:
        given = f"an array of {array.ndim} dimensions of {scalar if scalar == BF16 else array.dtype}"
        hint = None
        if view.element == BF16:
            hint = (
                "NumPy has no bf16 of its own: pass an array of `ml_dtypes.bfloat16`, a tensor of another "
                "library, or an array of Atoll's"
            )
        elif array.ndim == view.rank:
            hint = f'pass `{param.name}.astype("{_numpy_name(view.element)}")`, which copies'
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
    strides = tuple(stride // array.itemsize for stride in array.strides)
    low, high = bounds(first, array.shape, strides, array.itemsize)
    return ArrayArgument(
        low, high, first, array.itemsize, written, param.name, array, tuple(array.shape), strides
    )


def _resident(param: Parameter, view: View, found: DeviceArray, written: bool, device: Any) -> ArrayArgument:
    """Return the argument of an array that lies on the device."""
    if found.element != view.element.name or len(found.sizes) != view.rank:
        raise _refuse(param, f"an array of {len(found.sizes)} dimensions of {found.element or 'no KIR type'}")
    if found.where is not None and found.where != device.info.index:
        raise _refuse(param, f"an array on device {found.where} of `{device.info.driver}`")
    if written and not found.writable:
        raise _refuse(param, "an array that may not be written, which the kernel does")
    repeats = any(step == 0 and count > 1 for step, count in zip(found.strides, found.sizes, strict=True))
    if written and repeats and 0 not in found.sizes:
        raise _refuse(param, "an array that repeats its elements, which the kernel would write")
    first, item = found.address, view.element.nbytes
    if first % item:
        raise _refuse(param, "an array that is not aligned", hint="pass a copy")
    low, high = bounds(first, found.sizes, found.strides, item)
    return ArrayArgument(
        low, high, first, item, written, param.name, found, found.sizes, found.strides, found.queue
    )


def as_array(param: Parameter, value: Any) -> tuple[np.ndarray[Any, Any], Scalar | None]:
    """Return an argument as a NumPy array over the same memory, and the type of its elements.

    Raises:
        LaunchError: Where it is no array.
    """
    import numpy as np

    if not isinstance(value, np.ndarray):
        if hasattr(value, "__array_interface__"):
            value = np.asarray(value)
        elif hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
            return _from_dlpack(param, value)
        else:
            hint = "pass a NumPy array, as `numpy.asarray(…)` makes one"
            raise _refuse(param, f"a {type(value).__name__}", hint=hint)
    return value, scalar_of_dtype(value.dtype)


def _from_dlpack(param: Parameter, value: Any) -> tuple[np.ndarray[Any, Any], Scalar | None]:
    """Return another library's array over the same memory, and the type of its elements.

    A capsule of DLPack before 1.0 has no flag for reading only, and NumPy then allows no writing; its
    consumers may write (dlpack.h), so a kernel does.
    """
    kind, _ = value.__dlpack_device__()
    if int(kind) != HOST:
        raise _refuse(
            param,
            f"a {type(value).__name__} in the memory of another device (DLPack device type {int(kind)})",
            hint="copy it to the host",
        )
    try:
        array, element = seen(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise _refuse(param, f"a {type(value).__name__} that DLPack does not give: {error}") from error
    if element:
        return array, SCALARS[element]
    if not array.flags.writeable and not _says_read_only(value):
        array = _writable(array)
    return array, scalar_of_dtype(array.dtype)


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
