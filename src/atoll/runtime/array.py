"""What is an array that lies on a device? A buffer, a type, and a size and a step for each dimension.

Reshaping, slicing and turning axes give arrays over the same buffer. There is no arithmetic here: kernels,
primitives (:mod:`atoll.engine`) and fused expressions compute.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from atoll.diagnostics import Diagnostic
from atoll.errors import LaunchError
from atoll.runtime.buffer import Buffer
from atoll.runtime.dlpack import HOST, give, packed, seen, words

if TYPE_CHECKING:
    import numpy as np

    from atoll.runtime.device import Device

_NUMPY = {
    "bool": "?", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "u8": "u1", "u16": "u2", "u32": "u4",
    "u64": "u8", "f16": "f2", "bf16": "u2", "f32": "f4", "f64": "f8",
}  # fmt: skip
_BYTES = {name: int(text.replace("?", "?1")[1]) for name, text in _NUMPY.items()}
_KIR = {text: name for name, text in _NUMPY.items() if name != "bf16"}


#: The class of an open device; this room stands below it.
_open_kind: type | None = None


class Array:
    """An array in a device's memory; made by :func:`array` and :func:`empty`.

    Attributes:
        buffer: Its memory, which other arrays may share.
        element: The name of its type in kernels, as ``f32``.
        shape: Elements in each dimension.
        strides: The step to the next one in each dimension, in elements.
        offset: The element of the buffer that the indices 0 mean.
    """

    __slots__ = ("__weakref__", "buffer", "element", "offset", "shape", "strides")
    #: NumPy leaves operators between its arrays and these to us, and we have none outside `fuse`.
    __array_ufunc__ = None

    def __init__(
        self,
        buffer: Buffer,
        element: str,
        shape: tuple[int, ...],
        strides: tuple[int, ...] | None = None,
        offset: int = 0,
    ) -> None:
        self.buffer, self.element, self.shape, self.offset = buffer, element, shape, offset
        self.strides = packed(shape) if strides is None else strides

    # --- what it is ---

    @property
    def device(self) -> Device:
        """The open device that it lies on."""
        found: Device = self.buffer.device
        return found

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its elements as NumPy has it; bf16 shows its bits, as uint16."""
        import numpy as np

        return np.dtype(_NUMPY[self.element])

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many elements it has."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """How many bytes its elements take."""
        return self.size * self.itemsize

    @property
    def itemsize(self) -> int:
        """How many bytes an element takes."""
        return _BYTES[self.element]

    @property
    def is_contiguous(self) -> bool:
        """Whether its elements lie one after the other, in C order."""
        steps = zip(self.shape, self.strides, packed(self.shape), strict=True)
        return self.size == 0 or all(size == 1 or step == dense for size, step, dense in steps)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without dimensions has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<atoll array {self.element}{list(self.shape)} on {self.device.info}>"

    # --- views ---

    def reshape(self, *shape: int | tuple[int, ...]) -> Array:
        """Return the same elements in another shape, over the same buffer; one size may be -1.

        Raises:
            LaunchError: Where the number of elements differs, or they do not lie one after the other.
        """
        asked = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        sizes = tuple(int(size) for size in asked)  # type: ignore[arg-type]
        if sizes.count(-1) == 1:
            rest = math.prod(size for size in sizes if size != -1)
            sizes = tuple(self.size // max(rest, 1) if size == -1 else size for size in sizes)
        if math.prod(sizes) != self.size or any(size < 0 for size in sizes):
            raise _shape("an array is reshaped to another number of elements", self.shape, sizes)
        if not self.is_contiguous:
            raise _shape("an array with gaps is reshaped, which would copy it", self.shape, sizes)
        return Array(self.buffer, self.element, sizes, None, self.offset)

    def transpose(self, *axes: int) -> Array:
        """Return it with its axes in another order, reversed where none is named; nothing is copied."""
        order = axes or tuple(reversed(range(self.ndim)))
        if sorted(axis % max(self.ndim, 1) for axis in order) != list(range(self.ndim)):
            raise _shape("axes are named that are not those of the array", self.shape, order)
        shape, strides = (
            zip(*((self.shape[a], self.strides[a]) for a in order), strict=True) if order else ((), ())
        )
        return Array(self.buffer, self.element, tuple(shape), tuple(strides), self.offset)

    @property
    def T(self) -> Array:  # noqa: N802 - NumPy's word
        """It with its axes reversed."""
        return self.transpose()

    def broadcast(self, shape: tuple[int, ...]) -> Array:
        """Return it repeated to a shape, by NumPy's rule; nothing is copied.

        Raises:
            LaunchError: Where it does not fit.
        """
        missing = len(shape) - self.ndim
        sizes, steps = (1,) * missing + self.shape, (0,) * missing + self.strides
        if missing < 0 or any(mine not in (1, all_) for mine, all_ in zip(sizes, shape, strict=True)):
            raise _shape("an array does not repeat to a shape", self.shape, shape)
        strides = (0 if mine == 1 else step for mine, step in zip(sizes, steps, strict=True))
        return Array(self.buffer, self.element, shape, tuple(strides), self.offset)

    def __getitem__(self, key: Any) -> Array:
        """Return a part over the same buffer: integers, slices, `...` and None, as NumPy has them."""
        keys = list(key) if isinstance(key, tuple) else [key]
        wanted = sum(item is not None and item is not Ellipsis for item in keys)
        if wanted > self.ndim or keys.count(Ellipsis) > 1:
            raise _shape("an array is indexed in more dimensions than it has", self.shape, key)
        at = keys.index(Ellipsis) if Ellipsis in keys else len(keys)
        keys[at : at + 1] = [slice(None)] * (self.ndim - wanted)
        shape: list[int] = []
        strides: list[int] = []
        offset, axis = self.offset, 0
        for item in keys:
            if item is None:
                shape, strides = [*shape, 1], [*strides, 0]
                continue
            size, step = self.shape[axis], self.strides[axis]
            axis += 1
            if isinstance(item, slice):
                first, _, by = item.indices(size)
                count = len(range(*item.indices(size)))
                offset += first * step if count else 0
                shape, strides = [*shape, count], [*strides, step * by]
                continue
            index = item.__index__()
            if not -size <= index < size:
                raise IndexError(f"index {index} is out of bounds for an axis of {size} elements")
            offset += index % size * step
        return Array(self.buffer, self.element, tuple(shape), tuple(strides), offset)

    # --- to the host and back ---

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return a copy on the host, after everything that was launched before."""
        import numpy as np

        low, high = self._reach()
        flat = np.empty(max(high - low, 0), self.dtype)
        if flat.size:
            self._download(flat, low)
        if self.is_contiguous:
            return flat.reshape(self.shape)
        steps = tuple(step * self.itemsize for step in self.strides)
        start = flat[self.offset - low :] if self.size else flat
        return np.lib.stride_tricks.as_strided(start, self.shape, steps).copy()

    def set(self, values: Any) -> Array:
        """Copy host values in; the array has to be without gaps.

        Raises:
            LaunchError: Where the shape differs, or the array has gaps.
        """
        import numpy as np

        given = np.ascontiguousarray(values, self.dtype).reshape(np.shape(values))
        if given.shape != self.shape or not self.is_contiguous:
            raise _shape(
                "values are copied into an array of another shape, or with gaps", given.shape, self.shape
            )
        if given.size and self.buffer.handle:
            self.buffer.upload(given.reshape(-1).view("u1").data, self.offset * self.itemsize)
        elif given.size:
            raise _foreign("values are copied into")
        return self

    def wait(self) -> Array:
        """Block until everything launched on its device is done."""
        self.device.wait()
        return self

    async def ready(self) -> Array:
        """Wait as :meth:`wait` does, beside other tasks: ``await x.ready()``."""
        from asyncio import to_thread

        await to_thread(self.device.wait)
        return self

    def _reach(self) -> tuple[int, int]:
        """Return the first element of the buffer that it has, and the one after its last."""
        if not self.size:
            return self.offset, self.offset
        reach = [(size - 1) * step for size, step in zip(self.shape, self.strides, strict=True)]
        low = self.offset + sum(step for step in reach if step < 0)
        return low, self.offset + sum(step for step in reach if step > 0) + 1

    def _download(self, flat: np.ndarray[Any, Any], first: int) -> None:
        if not self.buffer.handle:
            raise _foreign("values are copied out of")
        self.device.download(self.buffer.handle, flat.view("u1").data, first * self.itemsize)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("an array on a device is not seen by NumPy without a copy")
        found = self.numpy()
        return found if dtype is None else found.astype(dtype)

    # --- to other libraries, without a copy where there is memory that they can reach ---

    @property
    def address(self) -> int:
        """Where its element of the indices 0 lies, on a device whose memory has addresses."""
        return self.buffer.address + self.offset * self.itemsize

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """What NumPy's protocol says of it, where kernels run in this process's memory."""
        if self.device.memory != "host":
            raise AttributeError("the array lies in a device's own memory; `.numpy()` copies it")
        self.buffer.share()
        steps = tuple(step * self.itemsize for step in self.strides)
        kind = self.dtype.str
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": kind,
            "strides": steps,
            "data": (self.address, False),
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's kind and number of its device: the host's for memory that has no address."""
        if self.device.memory == "own":
            from atoll.plugin import registry

            info = self.device.info
            numbers = getattr(registry().drivers.get(info.driver), "tensor_devices", ())
            if numbers:
                return int(numbers[0]), info.index
        return HOST, 0

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        """Return a DLPack capsule: over its memory where that has an address, else of a copy on the host.

        Raises:
            BufferError: Where no copy is allowed and one is needed.
        """
        if self.__dlpack_device__()[0] != HOST:
            self.device.wait()
            self.buffer.share()
            return give(self, versioned=max_version is not None)
        if self.device.memory == "host":
            import numpy as np

            self.device.wait()
            found = np.asarray(_Shown(self))
        elif copy is False:
            raise BufferError("the array's memory has no address, so DLPack gives a copy on the host")
        else:
            found = self.numpy()
        versioned = max_version is not None
        return words(found, versioned=versioned) if self.element == "bf16" else found.__dlpack__()


class _Shown:
    """An array's memory for NumPy, which keeps this alive and this the array."""

    def __init__(self, array: Array) -> None:
        self.array, self.__array_interface__ = array, array.__array_interface__


def empty(shape: int | tuple[int, ...], element: str = "f32", *, device: object = None) -> Array:
    """Return an array with undefined contents.

    Args:
        shape: Elements in each dimension.
        element: The name of a kernel's scalar type, as ``f32`` or ``bf16``.
        device: A device's name, or an open device; None for the default.
    """
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if element not in _NUMPY:
        raise _shape("an array has no such type of elements", sizes, element)
    opened = _opened(device)
    found = Array(None, element, sizes)  # type: ignore[arg-type]
    found.buffer = Buffer(opened, max(found.nbytes, 1))
    return found


def array(value: Any, *, device: object = None) -> Array:
    """Return an array on a device.

    Args:
        value: A NumPy array, a number or list of them, an array of another library through the array
            interface or DLPack, or an array of a device. What lies on the device already, in another
            library's memory, is used there without a copy; everything else is copied.
        device: A device's name (``vulkan:0``), or an open device; None for the default.

    Raises:
        LaunchError: Where its elements have a type that no kernel takes.
        DeviceError: Where there is no such device.
    """
    import numpy as np

    opened = _opened(device)
    if isinstance(value, Array):
        return _copied(value, opened) or _uploaded(value.numpy(), opened, value.element)
    lying = opened.array(value)
    if lying is not None:
        return _borrowed(lying, opened)
    element = ""
    if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
        value, element = seen(value)
    given = np.asarray(value)
    if given.dtype == np.float64 and not hasattr(value, "dtype"):
        given = given.astype(np.float32)  # numbers of Python, which say no width
    if given.dtype.name == "bfloat16":
        element = "bf16"
    element = element or _KIR.get(given.dtype.str[1:].replace("b1", "?"), "")
    if not element or not given.dtype.isnative:
        raise _shape("an array has elements of a type that no kernel takes", given.shape, given.dtype)
    return _uploaded(given.view(np.uint16) if element == "bf16" else given, opened, element)


def _copied(value: Array, device: Device) -> Array | None:
    """Return a copy that the host does not touch, or None where its driver cannot make one."""
    if not value.is_contiguous or not value.buffer.handle:
        return None
    made = empty(value.shape, value.element, device=device)
    source, start = value.buffer.handle, value.offset * value.itemsize
    if not device.copy(value.device, source, start, made.buffer.handle, 0, value.nbytes):
        return None
    made.buffer.written()
    return made


def _uploaded(given: np.ndarray[Any, Any], device: Device, element: str) -> Array:
    import numpy as np

    return empty(given.shape, element, device=device).set(np.ascontiguousarray(given).reshape(given.shape))


def _borrowed(lying: Any, device: Device) -> Array:
    if not lying.element or lying.where not in (None, device.info.index):
        raise _shape(
            "an array lies on another device, or has a type that no kernel takes", lying.sizes, lying.where
        )
    if lying.queue:  # launches on arrays go to the device's own queue: what makes it is done first
        device.settle(lying.queue)
    found = Array(None, lying.element, lying.sizes, lying.strides)  # type: ignore[arg-type]
    found.buffer = Buffer(device, found.nbytes, address=lying.address, owner=lying)
    return found


def _opened(device: object) -> Device:
    global _open_kind
    if _open_kind is None or type(device) is not _open_kind:
        from atoll.runtime import device as room

        _open_kind = room.Device
        return device if isinstance(device, room.Device) else room.open(device)  # type: ignore[arg-type]
    return device  # type: ignore[return-value]


def _shape(message: str, given: object, wanted: object) -> LaunchError:
    return LaunchError(
        Diagnostic(code="ATL0820", message=message, notes=(f"the array: {given}", f"asked for: {wanted}"))
    )


def _foreign(what: str) -> LaunchError:
    return LaunchError(
        Diagnostic(
            code="ATL0820",
            message=f"{what} memory that another library owns",
            hint="use the library that made the array",
        )
    )
