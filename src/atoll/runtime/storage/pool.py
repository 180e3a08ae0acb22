"""Which part of which block does a buffer get? First fit in the order of addresses; neighbours merge.

A block that the driver refuses is asked for again at half the size, down to what is needed: the largest
size that a driver states is often not the truth (llama.cpp#13024). What is above a quarter of a block has a
block of its own. Blocks that become empty are kept, so that a steady state asks the driver for nothing: those
of the usual size all, the others up to a number of bytes, the oldest going first. :meth:`Pool.trim` gives
them back, and so does an allocation that finds no room.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Generic, TypeVar

from atoll._util.values import dataclass, field

B = TypeVar("B")

#: A block's usual bytes.
BLOCK_BYTES = 64 << 20


class NoRoomError(Exception):
    """The driver or the budget has no room for a block."""


@dataclass(slots=True)
class Budget:
    """How much of a device's memory its pools may take together.

    Attributes:
        limit: In bytes; None for as much as the driver gives.
        taken: Bytes of all blocks.
    """

    limit: int | None = None
    taken: int = 0

    def take(self, nbytes: int) -> None:
        """Count a block.

        Raises:
            NoRoomError: Where it would exceed the limit.
        """
        if self.limit is not None and self.taken + nbytes > self.limit:
            raise NoRoomError(f"{nbytes} bytes more than {self.taken} exceed the budget of {self.limit}")
        self.taken += nbytes

    def give_back(self, nbytes: int) -> None:
        """Count a block no longer."""
        self.taken -= nbytes


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a pool holds, in bytes.

    Attributes:
        reserved: Of all blocks.
        used: Of all pieces.
        largest: The largest piece that fits without a new block.
        blocks: How many there are.
        pieces: How many are handed out.
        limit: Of the budget, which other pools may share; None without one.
    """

    reserved: int
    used: int
    largest: int
    blocks: int
    pieces: int
    limit: int | None

    @property
    def free(self) -> int:
        """Bytes in blocks that no piece has."""
        return self.reserved - self.used

    def __str__(self) -> str:
        limit = "no budget" if self.limit is None else f"a budget of {self.limit}"
        return (
            f"{self.used} bytes in {self.pieces} buffers, {self.free} free in {self.blocks} blocks, "
            f"the largest hole {self.largest}, {limit}"
        )


@dataclass(slots=True, eq=False)
class Block(Generic[B]):
    """One allocation of the driver: its holes by offset, none touching another.

    Attributes:
        own: Whether it is for one large piece at a time.
    """

    memory: B
    size: int
    own: bool = False
    offsets: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    used: int = 0

    def take(self, nbytes: int) -> int | None:
        """Return the offset of the first hole that is large enough, or None."""
        for at, size in enumerate(self.sizes):
            if size >= nbytes:
                offset = self.offsets[at]
                if size == nbytes:
                    del self.offsets[at], self.sizes[at]
                else:
                    self.offsets[at], self.sizes[at] = offset + nbytes, size - nbytes
                self.used += nbytes
                return offset
        return None

    def give_back(self, offset: int, nbytes: int) -> None:
        """Make a hole, merged with the holes that touch it."""
        at = bisect_left(self.offsets, offset)
        self.used -= nbytes
        if at < len(self.offsets) and offset + nbytes == self.offsets[at]:
            nbytes += self.sizes[at]
            del self.offsets[at], self.sizes[at]
        if at and self.offsets[at - 1] + self.sizes[at - 1] == offset:
            self.sizes[at - 1] += nbytes
            return
        self.offsets.insert(at, offset)
        self.sizes.insert(at, nbytes)


@dataclass(slots=True, eq=False)
class Piece(Generic[B]):
    """A part of a block; given back once."""

    block: Block[B]
    offset: int
    size: int

    @property
    def memory(self) -> B:
        """The block's memory."""
        return self.block.memory


class Pool(Generic[B]):
    """Pieces of blocks of one kind of memory.

    Args:
        make: Asks the driver for a block of so many bytes; NoRoomError where it has none.
        drop: Gives a block back to the driver.
        budget: Counts the blocks; may be shared with other pools.
        block_bytes: A block's usual size.
        alignment: Of every piece; a power of two.
        keep_bytes: The most of empty blocks of other sizes that are kept.
    """

    def __init__(
        self,
        make: Callable[[int], B],
        drop: Callable[[B], None],
        budget: Budget,
        *,
        block_bytes: int = BLOCK_BYTES,
        alignment: int = 256,
        keep_bytes: int = 0,
    ) -> None:
        self._make, self._drop, self._budget = make, drop, budget
        self._block_bytes, self._alignment, self._keep_bytes = block_bytes, alignment, keep_bytes
        #: Empty blocks of other sizes, the oldest first.
        self._spare: list[Block[B]] = []
        self._blocks: list[Block[B]] = []
        self._pieces = 0

    def allocate(self, nbytes: int) -> Piece[B]:
        """Return a piece of at least `nbytes`.

        Raises:
            NoRoomError: Where no hole fits, and neither budget nor driver allow another block.
        """
        size = max(1, -(-nbytes // self._alignment)) * self._alignment
        own = size > self._block_bytes // 4
        for block in self._spared(size) if own else self._shared():
            offset = block.take(size)
            if offset is not None:
                return self._piece(block, offset, size)
        block = self._add(size, size if own else self._block_bytes, own=own)
        offset = block.take(size)
        assert offset is not None
        return self._piece(block, offset, size)

    def _shared(self) -> list[Block[B]]:
        return [block for block in self._blocks if not block.own]

    def _spared(self, size: int) -> list[Block[B]]:
        """Return the smallest spare block that serves and wastes no more than an eighth of itself."""
        serving = [block for block in self._spare if size <= block.size <= size + block.size // 8]
        return sorted(serving, key=lambda block: block.size)[:1]

    def _piece(self, block: Block[B], offset: int, size: int) -> Piece[B]:
        self._pieces += 1
        if block in self._spare:
            self._spare.remove(block)
        return Piece(block, offset, size)

    def _add(self, least: int, wanted: int, *, own: bool) -> Block[B]:
        """Return a new block of `wanted` bytes, or of half as many and so on down to `least`."""
        while True:
            try:
                return self._new(wanted, own=own)
            except NoRoomError:
                if self._spare:
                    self._spend(0)
                    continue
                if wanted <= least:
                    raise
                wanted = max(least, wanted // 2 // self._alignment * self._alignment)

    def _new(self, size: int, *, own: bool) -> Block[B]:
        self._budget.take(size)
        try:
            memory = self._make(size)
        except BaseException:
            self._budget.give_back(size)
            raise
        block = Block(memory, size, own, [0], [size])
        self._blocks.append(block)
        return block

    def release(self, piece: Piece[B]) -> None:
        """Take a piece back; of empty blocks with sizes of their own, too many go."""
        block = piece.block
        block.give_back(piece.offset, piece.size)
        self._pieces -= 1
        if block.own:
            self._spare.append(block)
            self._spend(self._keep_bytes)

    def _spend(self, most: int) -> None:
        """Give spare blocks back until they take no more than `most` bytes."""
        while sum(block.size for block in self._spare) > most:
            self._remove(self._spare[0])

    def _remove(self, block: Block[B]) -> None:
        self._blocks.remove(block)
        if block in self._spare:
            self._spare.remove(block)
        self._budget.give_back(block.size)
        self._drop(block.memory)

    def trim(self) -> int:
        """Give empty blocks back to the driver; return their bytes."""
        empty = [block for block in self._blocks if not block.used]
        for block in empty:
            self._remove(block)
        return sum(block.size for block in empty)

    def drop(self) -> None:
        """Give every block back, whoever has pieces of it."""
        for block in tuple(self._blocks):
            self._remove(block)

    def statistics(self) -> Statistics:
        """Return what the pool holds."""
        return Statistics(
            reserved=sum(block.size for block in self._blocks),
            used=sum(block.used for block in self._blocks),
            largest=max((size for block in self._blocks for size in block.sizes), default=0),
            blocks=len(self._blocks),
            pieces=self._pieces,
            limit=self._budget.limit,
        )
