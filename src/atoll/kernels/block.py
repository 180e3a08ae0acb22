"""How the parameter block of a launch is filled: launch ABI 1, field by field."""

from __future__ import annotations

from collections.abc import Mapping

from atoll.ir import SCALARS, Kind, LaunchLayout
from atoll.ir.nodes import value_of
from atoll.kernels.arguments import Checked


def parameter_block(
    layout: LaunchLayout, domain: tuple[int, int, int], checked: Checked, offsets: Mapping[str, int]
) -> bytes:
    """Return the bytes of the parameter block."""
    arrays = {item.name: item for item in checked.arrays}
    block = bytearray(layout.block_bytes)
    for item in layout.fields:
        name, _, rest = item.path.partition(".")
        if not rest:
            value = widened(item.type, checked.scalars[name])
        elif name == "domain" and name not in arrays:
            value = domain[int(rest)]
        else:
            what, _, axis = rest.partition(".")
            array = arrays[name]
            value = offsets[name]
            if what != "offset":
                value = (array.sizes if what == "size" else array.strides)[int(axis)]
        block[item.offset : item.offset + item.nbytes] = (value & ((1 << 64) - 1)).to_bytes(8, "little")[
            : item.nbytes
        ]
    return bytes(block)


def widened(type_name: str, bits: int) -> int:
    """Return the bits of a scalar as the block holds them: narrow integers extended to four bytes."""
    scalar = SCALARS[type_name]
    if scalar.kind is Kind.SIGNED:
        return int(value_of(scalar, bits))
    return bits
