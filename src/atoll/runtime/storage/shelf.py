"""What is asked for again in the same size? A buffer that was released waits here, as it is, for the next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")

#: The most bytes that wait on a shelf.
SHELF_BYTES = 64 << 20
#: What is larger does not wait.
_LARGEST = 16 << 20
#: Sizes up to there are rounded up to a multiple of this.
GRAIN = 256


def grain(nbytes: int) -> int:
    """Return the size that is asked for where `nbytes` are wanted: neighbouring sizes share buffers."""
    return nbytes if nbytes > _LARGEST else max(GRAIN, -(-nbytes // GRAIN) * GRAIN)


class Shelf(Generic[T]):
    """Released things by their size, the last released first to be taken.

    Attributes:
        nbytes: Of all that wait.
    """

    def __init__(self, most: int = SHELF_BYTES) -> None:
        self._most = most
        self._by_size: dict[int, list[T]] = {}
        self.nbytes = 0

    def __len__(self) -> int:
        return sum(map(len, self._by_size.values()))

    def take(self, size: int) -> T | None:
        """Return one of a size, or None."""
        waiting = self._by_size.get(size)
        if not waiting:
            return None
        self.nbytes -= size
        return waiting.pop()

    def put(self, size: int, thing: T) -> bool:
        """Let one wait; False where it is too large, or too much waits already."""
        if size > _LARGEST or self.nbytes + size > self._most:
            return False
        self.nbytes += size
        waiting = self._by_size.get(size)
        if waiting is None:
            self._by_size[size] = [thing]
        else:
            waiting.append(thing)
        return True

    def clear(self) -> Iterator[T]:
        """Give up everything that waits."""
        waiting, self._by_size, self.nbytes = self._by_size, {}, 0
        for things in waiting.values():
            yield from things
