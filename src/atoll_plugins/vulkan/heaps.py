"""In which of a device's memories do buffers lie, and does the host reach them there?

A discrete device reads its own memory fifty times as fast as the host's, so its buffers lie there and the
host copies through staging memory. A device that shares the host's memory is written to directly.
Decided on plain numbers, so that recorded devices test it.
"""

from __future__ import annotations

from collections.abc import Sequence

from atoll.plugin.values import dataclass

# VkMemoryPropertyFlagBits.
LOCAL, VISIBLE, COHERENT, CACHED = 1, 2, 4, 8
_HOST = VISIBLE | COHERENT


@dataclass(frozen=True, slots=True)
class MemoryKind:
    """A memory type of the device.

    Attributes:
        index: Its number there.
        flags: What it is.
        room: Bytes of its heap.
    """

    index: int
    flags: int
    room: int

    def has(self, flags: int) -> bool:
        """Tell whether it is all of that."""
        return self.flags & flags == flags


@dataclass(frozen=True, slots=True)
class Plan:
    """Which memory types serve for what, best first.

    Attributes:
        staged: Whether the host reaches buffers through staging memory only.
        buffers: For buffers.
        uploads: For what the host writes.
        downloads: For what the host reads.
    """

    staged: bool
    buffers: tuple[int, ...]
    uploads: tuple[int, ...]
    downloads: tuple[int, ...]


def plan(kinds: Sequence[MemoryKind], *, discrete: bool, staged: bool | None = None) -> Plan:
    """Return which memory types serve for what.

    Args:
        kinds: All of a device's memory types.
        discrete: Whether the device has memory of its own.
        staged: Says it instead, where it is not None and the device allows it.
    """
    host = [kind for kind in kinds if kind.has(_HOST)]
    local = [kind for kind in kinds if kind.has(LOCAL)]
    direct = sorted(host, key=lambda kind: (not kind.has(LOCAL), not kind.has(CACHED), kind.index))
    wanted = discrete if staged is None else staged
    own = sorted(local, key=lambda kind: (-kind.room, kind.has(VISIBLE), kind.index))
    if not direct or (wanted and own) or (own and not direct[0].has(LOCAL)):
        buffers, is_staged = own, True
    else:
        buffers, is_staged = direct, False
    uploads = sorted(host, key=lambda kind: (kind.has(LOCAL), kind.has(CACHED), -kind.room, kind.index))
    downloads = sorted(host, key=lambda kind: (not kind.has(CACHED), kind.has(LOCAL), -kind.room, kind.index))
    return Plan(is_staged, *(tuple(kind.index for kind in part) for part in (buffers, uploads, downloads)))
