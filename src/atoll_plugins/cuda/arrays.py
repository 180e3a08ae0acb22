"""Which arrays lie in a CUDA device's memory, and on which stream are they ready?

PyTorch's tensors are asked directly: what is launched on them goes to the stream that PyTorch is on, and
nothing is waited for. Other libraries show ``__cuda_array_interface__`` (version 3: a stream, where it has
one) or DLPack, which is asked to make the array ready on the legacy default stream.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from atoll.plugin import DeviceArray
from atoll.runtime.dlpack import packed, take

#: dlpack.h: memory of a CUDA device, and memory that it shares with the host.
_CUDA, _MANAGED = 2, 13
#: The legacy default stream for DLPack and the array interface; the driver's own handle of it is 0.
_LEGACY = 1
_ELEMENTS = {
    "b1": "bool", "i1": "i8", "i2": "i16", "i4": "i32", "i8": "i64", "u1": "u8", "u2": "u16", "u4": "u32",
    "u8": "u64", "f2": "f16", "f4": "f32", "f8": "f64",
}  # fmt: skip


def array_of(value: Any) -> DeviceArray | None:
    """Return an array in the memory of a CUDA device, or None where `value` is none."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _of_torch(value) if value.is_cuda else None
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is not None:
        return _of_interface(value, interface)
    asked = getattr(value, "__dlpack_device__", None)
    if asked is not None and int(asked()[0]) in (_CUDA, _MANAGED):
        return _of_dlpack(value)
    return None


def glance(value: Any) -> tuple[int, int, object] | None:
    """Return a PyTorch tensor's address, PyTorch's current stream on its device, and what else it is."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor):
        return None
    where = value.get_device()
    if where < 0:
        return None
    stream = _torch()[2]
    key = (where, value.dtype, value.shape, value.stride(), value.requires_grad)
    return value.data_ptr(), stream(where), key


def _of_torch(value: Any) -> DeviceArray:
    elements, strided, stream = _torch()
    where = value.get_device()
    return DeviceArray(
        value.data_ptr(),
        tuple(value.shape),
        value.stride() if value.layout is strided else (),
        elements.get(value.dtype, "") if value.layout is strided else "",
        not value.requires_grad,
        stream(where),
        value,
        where,
    )


@cache
def _torch() -> tuple[dict[Any, str], Any, Any]:
    """Return PyTorch's element types by KIR's names, its plain layout, and what gives its current stream."""
    torch: Any = sys.modules["torch"]
    named = {
        "bool": "bool", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8",
        "uint16": "u16", "uint32": "u32", "uint64": "u64", "float16": "f16", "bfloat16": "bf16",
        "float32": "f32", "float64": "f64",
    }  # fmt: skip
    elements = {getattr(torch, name): scalar for name, scalar in named.items() if hasattr(torch, name)}
    direct = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
    return elements, torch.strided, direct or (lambda where: torch.cuda.current_stream(where).cuda_stream)


def _of_interface(value: Any, interface: dict[str, Any]) -> DeviceArray:
    address, read_only = interface["data"]
    sizes, text = tuple(interface["shape"]), str(interface["typestr"])
    element = _ELEMENTS.get(text[1:], "") if text[:1] in "<|=" and interface.get("mask") is None else ""
    item = int(text[2:]) if text[2:].isdigit() else 1
    steps = interface.get("strides")
    whole = steps is None or all(step % item == 0 for step in steps)
    strides = packed(sizes) if steps is None or not whole else tuple(step // item for step in steps)
    stream = interface.get("stream")
    queue = 0 if stream in (None, _LEGACY) else int(stream)
    return DeviceArray(address or 0, sizes, strides, element if whole else "", not read_only, queue, value)


def _of_dlpack(value: Any) -> DeviceArray:
    tensor = take(value, _LEGACY)
    return DeviceArray(
        tensor.address,
        tensor.sizes,
        tensor.strides,
        tensor.element,
        tensor.writable,
        0,
        (value, tensor.owner),
        tensor.device[1] if tensor.device[0] == _CUDA else None,
    )
