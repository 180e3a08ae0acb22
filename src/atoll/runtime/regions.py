"""Which arrays of a launch share a device buffer? Those that overlap: aliasing means one thing everywhere.

What a kernel writes through one array it reads through another that lies over it, on the processor's memory
and on a device alike; each array's own start is an element offset (launch ABI 1).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from atoll._util.values import dataclass

#: Every element starts at a multiple of its size, and no element is larger.
_LARGEST = 8


@dataclass(frozen=True, slots=True)
class Extent:
    """The host memory of one array.

    Attributes:
        low: The address of the first byte that any element has.
        high: The address after the last one; equal to `low` where there is no element.
        first: The address of the element with the indices 0.
        itemsize: Bytes of an element.
        written: Whether the kernel writes to it.
    """

    low: int
    high: int
    first: int
    itemsize: int
    written: bool


@dataclass(frozen=True, slots=True)
class Region:
    """Host memory that becomes one device buffer.

    Attributes:
        low: The address of its first byte.
        high: The address after the last one.
        written: Whether anything in it is written.
        skipped: Bytes of the buffer before `low`, so that every element offset is whole.
    """

    low: int
    high: int
    written: bool
    skipped: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes that the buffer has to hold."""
        return self.skipped + self.high - self.low

    def offset(self, extent: Extent) -> int:
        """Return the element of the buffer that an array's indices 0 mean."""
        return (extent.first - self.low + self.skipped) // extent.itemsize

    def memory(self) -> memoryview:
        """Return its bytes; whoever owns the arrays keeps them alive."""
        size = self.high - self.low
        return memoryview((ctypes.c_ubyte * size).from_address(self.low)).cast("B")


def bounds(first: int, sizes: tuple[int, ...], strides: tuple[int, ...], item: int) -> tuple[int, int]:
    """Return the addresses of an array's first byte and after its last."""
    if 0 in sizes:
        return first, first
    low = high = first
    for size, stride in zip(sizes, strides, strict=True):
        reach = (size - 1) * stride * item
        low, high = (low + reach, high) if reach < 0 else (low, high + reach)
    return low, high + item


def regions(extents: Sequence[Extent]) -> tuple[Region, ...]:
    """Return the region of each array, in order: one object for those that overlap."""
    order = sorted(range(len(extents)), key=lambda at: (extents[at].low, extents[at].high))
    members: list[list[int]] = []
    end = 0
    for at in order:
        if members and extents[at].low < end:
            members[-1].append(at)
        else:
            members.append([at])
            end = 0
        end = max(end, extents[at].high)
    found: dict[int, Region] = {}
    for group in members:
        found |= dict.fromkeys(group, _joined([extents[at] for at in group]))
    return tuple(found[at] for at in range(len(extents)))


def _joined(extents: Sequence[Extent]) -> Region:
    low, high = extents[0].low, max(item.high for item in extents)
    whole = all((item.first - low) % item.itemsize == 0 for item in extents)
    return Region(low, high, any(item.written for item in extents), 0 if whole else low % _LARGEST)
