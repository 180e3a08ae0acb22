"""How a kernel's arguments become buffers and one parameter block (docs/reference/launch-abi.md)."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from atoll.plugin import ScalarArgument
from atoll.runtime import faults

if TYPE_CHECKING:
    from atoll.ir import LaunchLayout, Scalar

#: ``domain.N`` where nobody states a domain: every work-item runs.
EVERYTHING = 0xFFFFFFFF

_FLOATS = {"f16": "<e", "f32": "<f", "f64": "<d"}


def pack_scalars(scalars: Iterable[ScalarArgument]) -> bytes:
    """Return scalars one after the other, each at the next multiple of its alignment."""
    block = bytearray()
    for scalar in scalars:
        block += bytes(-len(block) % max(1, scalar.align))
        block += scalar.data
    return bytes(block)


def pack_block(layout: LaunchLayout, values: Mapping[str, int | float | bool]) -> bytes:
    """Return the parameter block of a launch.

    Args:
        layout: The fields.
        values: By path of the field (``a``, ``x.size.0``). A domain that is not given runs everything.

    Raises:
        LaunchError: Where a field has no value, or a value is not in the range of the field's type.
    """
    from atoll.ir import SCALARS  # opening a device takes none of that room

    block = bytearray(layout.block_bytes)
    for item in layout.fields:
        if item.path not in values and re.fullmatch(r"domain\.[0-9]", item.path):
            value: int | float | bool = EVERYTHING
        elif item.path not in values:
            given = ", ".join(sorted(values)) or "nothing"
            raise faults.arguments(f"the launch gives no value for `{item.path}`", given, item.path)
        else:
            value = values[item.path]
        raw = _bytes_of(item.path, SCALARS[item.type], value)
        block[item.offset : item.offset + len(raw)] = raw
    return bytes(block)


def _bytes_of(path: str, scalar: Scalar, value: int | float | bool) -> bytes:
    if scalar.is_float:
        return _float_bytes(path, scalar, float(value))
    low, high = scalar.range
    if isinstance(value, float) or not low <= int(value) <= high:
        raise _out_of_range(path, scalar, value)
    width = max(4, scalar.nbytes)
    return int(value).to_bytes(width, "little", signed=scalar.is_signed)


def _float_bytes(path: str, scalar: Scalar, value: float) -> bytes:
    if scalar.name == "bf16":
        return _bfloat16(path, scalar, value).to_bytes(4, "little")
    try:
        return struct.pack(_FLOATS[scalar.name], value).ljust(4, b"\0")
    except OverflowError:
        raise _out_of_range(path, scalar, value) from None


def _bfloat16(path: str, scalar: Scalar, value: float) -> int:
    """Return the upper half of the f32 bits, rounded to nearest, ties to even."""
    try:
        bits: int = struct.unpack("<I", struct.pack("<f", value))[0]
    except OverflowError:
        raise _out_of_range(path, scalar, value) from None
    if math.isnan(value):
        return bits >> 16 | 0x40
    rounded = bits + 0x7FFF + (bits >> 16 & 1) >> 16
    if rounded & 0x7F80 == 0x7F80 and not math.isinf(value):
        raise _out_of_range(path, scalar, value)
    return rounded


def _out_of_range(path: str, scalar: Scalar, value: object) -> Exception:
    return faults.arguments(
        f"the value of `{path}` is not in the range of its type", repr(value), str(scalar)
    )
