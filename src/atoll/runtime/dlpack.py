"""What does a DLPack capsule hold? Read here, so that arrays of a device's memory can be taken.

Source: dlpack.h, versions 0.8 and 1.0. A capsule is consumed once: it is renamed, and the tensor's own
deleter is called when nothing here refers to it any more.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from atoll._util.values import dataclass

if TYPE_CHECKING:
    import numpy as np

#: The memory of the host (``kDLCPU``).
HOST = 1
#: What dlpack.h calls the kinds of elements that have a KIR scalar.
_KINDS = {0: "i", 1: "u", 2: "f"}
_BFLOAT, _BOOL = 4, 6
_READ_ONLY = 1
_OLD, _NEW = b"dltensor", b"dltensor_versioned"


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _DELETER))


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", _DELETER),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


class _Owner:
    """Calls a tensor's deleter when nobody refers to the tensor any more."""

    def __init__(self, address: int, deleter: Any) -> None:
        self._address, self._deleter = address, deleter

    def __del__(self) -> None:
        if self._deleter:
            self._deleter(self._address)


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor that another library gave.

    Attributes:
        address: Of the element with the indices 0.
        sizes: Elements in each dimension.
        strides: In elements.
        element: The name of a KIR scalar, or nothing where none is like it.
        writable: False where the capsule says that it is for reading; one before version 1.0 cannot say.
        device: Its kind and its number, as dlpack.h counts them.
        owner: Keeps the memory alive.
    """

    address: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    element: str
    writable: bool
    device: tuple[int, int]
    owner: Any


def take(value: Any, queue: int | None) -> Tensor:
    """Return the tensor behind a value with ``__dlpack__``.

    Args:
        value: The array.
        queue: The queue on which it is to be ready, as its kind of device counts queues for DLPack.

    Raises:
        BufferError: Where it cannot be given, or is of a version after 1.
    """
    try:
        capsule = value.__dlpack__(stream=queue, max_version=(1, 0))
    except TypeError:  # an exporter from before version 1.0
        capsule = value.__dlpack__(stream=queue)
    name = _NEW if _is(capsule, _NEW) else _OLD
    address = _pointer(capsule, name)
    if name == _NEW:
        new = _Versioned.from_address(address)
        if new.major != 1:
            raise BufferError(f"a capsule of DLPack {new.major}.{new.minor}, and 1 is read")
        tensor, deleter, writable = new.tensor, new.deleter, not new.flags & _READ_ONLY
    else:
        old = _Managed.from_address(address)
        tensor, deleter, writable = old.tensor, old.deleter, True
    _rename(capsule, b"used_" + name)
    return _read(tensor, _Owner(address, deleter), writable)


def _read(tensor: _Tensor, owner: _Owner, writable: bool) -> Tensor:
    sizes = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    strides = tuple(tensor.strides[axis] for axis in range(tensor.ndim)) if tensor.strides else packed(sizes)
    address = (tensor.data or 0) + tensor.byte_offset
    device = tensor.device_type, tensor.device_id
    return Tensor(address, sizes, strides, _element(tensor), writable, device, owner)


class _Shown:
    """A tensor's memory for NumPy, which keeps this alive and this the tensor."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.__array_interface__ = {
            "version": 3,
            "shape": tensor.sizes,
            "typestr": "<u2",
            "strides": tuple(step * 2 for step in tensor.strides),
            "data": (tensor.address, not tensor.writable),
        }


def bits(tensor: Tensor) -> np.ndarray[Any, Any]:
    """Return a bf16 tensor in the host's memory as NumPy's array of its bits, over the same memory."""
    import numpy as np

    return np.asarray(_Shown(tensor))


def seen(value: Any) -> tuple[np.ndarray[Any, Any], str]:
    """Return an array of another library in the host's memory, as NumPy's over the same memory.

    bf16, which NumPy has no type for, is shown by its bits.

    Returns:
        The array, and the name of its KIR scalar where the array's type does not say it: ``bf16`` or nothing.

    Raises:
        BufferError: Where it cannot be given.
        RuntimeError, TypeError, ValueError: As NumPy and the library raise them.
    """
    import numpy as np

    try:
        return np.from_dlpack(value), ""
    except (BufferError, RuntimeError):  # NumPy before 2 says the second of a type that it does not have
        tensor = take(value, None)
        if tensor.element != "bf16":
            raise
    return bits(tensor), "bf16"


def packed(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides, in elements, of an array in C order."""
    strides, step = [], 1
    for size in reversed(sizes):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def _element(tensor: _Tensor) -> str:
    if tensor.lanes != 1:
        return ""
    if tensor.code == _BOOL:
        return "bool" if tensor.bits == 8 else ""
    if tensor.code == _BFLOAT:
        return "bf16" if tensor.bits == 16 else ""
    return f"{_KINDS[tensor.code]}{tensor.bits}" if tensor.code in _KINDS else ""


# --- capsules ------------------------------------------------------------------------------------

_api = ctypes.pythonapi
_api.PyCapsule_IsValid.restype = ctypes.c_int
_api.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_api.PyCapsule_SetName.restype = ctypes.c_int
_api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
#: Names that capsules were given; a capsule does not copy its name.
_USED = {b"used_" + name: ctypes.create_string_buffer(b"used_" + name) for name in (_OLD, _NEW)}


def _is(capsule: object, name: bytes) -> bool:
    return bool(_api.PyCapsule_IsValid(capsule, name))


def _pointer(capsule: object, name: bytes) -> int:
    if not _is(capsule, name):
        raise BufferError("`__dlpack__` gave no capsule of DLPack that was not used before")
    return int(_api.PyCapsule_GetPointer(capsule, name))


def _rename(capsule: object, name: bytes) -> None:
    _api.PyCapsule_SetName(capsule, ctypes.cast(_USED[name], ctypes.c_char_p))


# --- giving --------------------------------------------------------------------------------------


class _Lent:
    """An array's memory for NumPy, which keeps this alive and this the array; nothing is read."""

    def __init__(self, array: Any, interface: dict[str, Any]) -> None:
        self.array, self.__array_interface__ = array, interface


def give(array: Any, *, versioned: bool) -> object:
    """Return a capsule over the memory of an array of a device; it keeps it alive.

    NumPy makes the capsule of the address, as of memory of the host, and deletes it; then the place and the
    kind of the elements are written over. A deleter of ours would be a function of Python, which loses the
    error of a consumer that gives the capsule back because of one.
    """
    import numpy as np

    item = array.dtype.itemsize
    interface = {
        "version": 3,
        "shape": array.shape,
        "typestr": array.dtype.str,
        "strides": tuple(step * item for step in array.strides),
        "data": (array.address, False),
    }
    found = np.asarray(_Lent(array, interface))
    return _said(_capsule(found, versioned=versioned), array.element, *array.__dlpack_device__())


def words(array: np.ndarray[Any, Any], *, versioned: bool) -> object:
    """Return a capsule over NumPy's array of the bits of bf16 numbers that says what they are."""
    return _said(_capsule(array, versioned=versioned), "bf16", HOST, 0)


def _capsule(array: np.ndarray[Any, Any], *, versioned: bool) -> object:
    if versioned:
        try:
            return array.__dlpack__(max_version=(1, 0))
        except TypeError:  # NumPy before 2.1
            pass
    return array.__dlpack__()


def _said(capsule: object, element: str, kind: int, number: int) -> object:
    name, form = (_NEW, _Versioned) if _is(capsule, _NEW) else (_OLD, _Managed)
    tensor = form.from_address(_pointer(capsule, name)).tensor
    tensor.device_type, tensor.device_id = kind, number
    if element == "bf16":
        tensor.code = _BFLOAT
    return capsule
