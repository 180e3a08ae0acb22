"""Which part of a staging buffer is free? It is handed out in order and comes back in the same order."""

from __future__ import annotations

from collections import deque


class Ring:
    """Offsets into a buffer of fixed size.

    Args:
        size: Of the buffer, in bytes; a multiple of `alignment`.
        alignment: Of every offset.
    """

    def __init__(self, size: int, alignment: int = 256) -> None:
        self.size, self._alignment = size, alignment
        #: (ticket, bytes with what was skipped at the end of the buffer), oldest first.
        self._taken: deque[tuple[int, int]] = deque()
        self._head = self._used = 0

    def take(self, nbytes: int, ticket: int) -> int | None:
        """Return the offset of `nbytes`, or None where older ones have to come back first.

        Args:
            nbytes: At most the ring's size.
            ticket: Comes back with :meth:`retire`; never smaller than one before.
        """
        size = max(1, -(-nbytes // self._alignment)) * self._alignment
        skipped = self.size - self._head if self._head + size > self.size else 0
        if self._used == 0:
            self._head = skipped = 0
        if self._used + skipped + size > self.size:
            return None
        offset = 0 if skipped else self._head
        self._head = (offset + size) % self.size
        self._used += skipped + size
        self._taken.append((ticket, skipped + size))
        return offset

    def oldest(self) -> int | None:
        """Return the ticket that has to come back next, or None where nothing is taken."""
        return self._taken[0][0] if self._taken else None

    def retire(self, ticket: int) -> None:
        """Take back everything up to a ticket."""
        while self._taken and self._taken[0][0] <= ticket:
            self._used -= self._taken.popleft()[1]
