"""Which number stands for which buffer of a device, and is a copy inside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from atoll._util.values import dataclass, field
from atoll.runtime import faults

B = TypeVar("B")

#: No interface takes an empty buffer; the C launchers allocate as much.
LEAST_BUFFER = 16


def room(nbytes: int) -> int:
    """Return the bytes to allocate for a buffer of `nbytes`: a multiple of 4, at least 16."""
    return max(LEAST_BUFFER, -(-nbytes // 4) * 4)


@dataclass(slots=True)
class Handles(Generic[B]):
    """The live buffers of one device. Numbers are never used twice."""

    device: str
    live: dict[int, tuple[B, int]] = field(default_factory=dict)
    last: int = 0

    def add(self, buffer: B, nbytes: int) -> int:
        """Return a new handle of a buffer with `nbytes` usable bytes."""
        self.last += 1
        self.live[self.last] = (buffer, nbytes)
        return self.last

    def get(self, handle: int) -> B:
        """Return the buffer behind a handle."""
        return self._find(handle)[0]

    def inside(self, handle: int, offset: int, nbytes: int) -> B:
        """Return the buffer behind a handle that holds the bytes from `offset` on."""
        buffer, size = self._find(handle)
        if offset < 0 or offset + nbytes > size:
            raise faults.outside(self.device, f"{nbytes} bytes from {offset}", f"{size} bytes")
        return buffer

    def pop(self, handle: int) -> B | None:
        """Forget a handle and return its buffer; None where there is none, so releasing twice is harmless."""
        found = self.live.pop(handle, None)
        return found[0] if found else None

    def drain(self) -> Iterator[B]:
        """Forget every handle, giving the buffers."""
        while self.live:
            yield self.live.popitem()[1][0]

    def _find(self, handle: int) -> tuple[B, int]:
        try:
            return self.live[handle]
        except KeyError:
            raise faults.outside(self.device, f"buffer {handle}", f"{len(self.live)} live buffers") from None
