"""How a kernel's arguments become buffers and one parameter block (docs/reference/launch-abi.md)."""

from __future__ import annotations

from collections.abc import Iterable

from atoll.plugin import ScalarArgument


def pack_scalars(scalars: Iterable[ScalarArgument]) -> bytes:
    """Return scalars one after the other, each at the next multiple of its alignment."""
    block = bytearray()
    for scalar in scalars:
        align = max(1, scalar.align)
        block += bytes(-len(block) % align)
        block += scalar.data
    return bytes(block)
