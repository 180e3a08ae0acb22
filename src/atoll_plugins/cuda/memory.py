"""Buffers of one CUDA device: pieces of pooled blocks, reused in the order of the legacy default stream.

What this package queues is ordered on that stream, so a buffer that is released may be handed out at once:
whatever uses it next comes after what used it last. Other libraries order their work elsewhere. A block that
they were told of (:meth:`DeviceMemory.expose`) is waited for before a piece of it is handed out again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from atoll.errors import OutOfMemoryError
from atoll.plugin.values import dataclass
from atoll.runtime import faults
from atoll.runtime.handles import Handles, room
from atoll.runtime.native import Table
from atoll.runtime.storage import Budget, NoRoomError, Piece, Pool, Shelf, grain

#: The part of a device's memory that empty blocks of large buffers may take.
KEPT_SHARE = 8


@dataclass(slots=True, eq=False)
class Block:
    """An allocation of the driver.

    Attributes:
        address: Where it lies.
        nbytes: Its size.
        is_foreign: Whether work on another queue may use it.
    """

    address: int
    nbytes: int
    is_foreign: bool = False


@dataclass(slots=True, eq=False)
class Buffer:
    """A buffer in its place.

    Attributes:
        piece: Where it lies.
        size: What was asked of the pool.
        graphs: How many captured graphs refer to it.
        is_released: Whether its owner let go of it.
    """

    piece: Piece[Block]
    size: int
    graphs: int = 0
    is_released: bool = False

    @property
    def address(self) -> int:
        """Where it lies."""
        return self.piece.memory.address + self.piece.offset


class DeviceMemory:
    """The pool of one device; its context is current in every call.

    Args:
        cu: The interface.
        name: The device's, for errors.
        total: Bytes that the device has.
        limit: Bytes that its buffers may take together; None for what the driver gives.
        check: Raises what a function returned.
    """

    def __init__(
        self, cu: Table, name: str, total: int, limit: int | None, check: Callable[[str, int], None]
    ) -> None:
        self._cu, self._name, self._check = cu, name, check
        self._blocks: list[Block] = []
        self._pool: Pool[Block] = Pool(
            self._block, self._drop, Budget(limit), alignment=512, keep_bytes=total // KEPT_SHARE
        )
        self._buffers: Handles[Buffer] = Handles(name)
        self._shelf: Shelf[Piece[Block]] = Shelf()
        #: Lets go of what nobody refers to; asked once when there is no room.
        self.relieve: Callable[[], None] = lambda: None

    def allocate(self, nbytes: int) -> int:
        """Return the handle of a new buffer.

        Raises:
            OutOfMemoryError: Where there is no room; it says what there is.
        """
        size = room(nbytes)
        large = grain(size)
        piece = self._shelf.take(large) or self._piece(large)
        return self._buffers.add(Buffer(piece, large), size)

    def _piece(self, size: int) -> Piece[Block]:
        try:
            return self._pool.allocate(size)
        except NoRoomError:
            self.relieve()
            for piece in self._shelf.clear():
                self._pool.release(piece)
            self._pool.trim()
        try:
            return self._pool.allocate(size)
        except NoRoomError as error:
            raise faults.out_of_memory(self._name, size, *self.report(), f"{error}") from error

    def get(self, handle: int) -> Buffer:
        """Return the buffer behind a handle."""
        return self._buffers.get(handle)

    def inside(self, handle: int, offset: int, nbytes: int) -> int:
        """Return the address of the bytes from `offset` on; a DeviceError where they are not inside."""
        return self._buffers.inside(handle, offset, nbytes).address + offset

    def release(self, handle: int) -> None:
        """Take a buffer back, unless a graph refers to it."""
        buffer = self._buffers.pop(handle)
        if buffer is not None:
            buffer.is_released = True
            self._free(buffer)

    def keep(self, buffers: Iterable[Buffer]) -> None:
        """Count a graph that refers to buffers."""
        for buffer in buffers:
            buffer.graphs += 1

    def let_go(self, buffers: Iterable[Buffer]) -> None:
        """Count a graph no longer."""
        for buffer in buffers:
            buffer.graphs -= 1
            self._free(buffer)

    def _free(self, buffer: Buffer) -> None:
        if buffer.graphs or not buffer.is_released:
            return
        try:
            if buffer.piece.memory.is_foreign:
                self._check("cuCtxSynchronize", self._cu.cuCtxSynchronize())
                for block in self._blocks:
                    block.is_foreign = False
        finally:
            if not self._shelf.put(buffer.size, buffer.piece):
                self._pool.release(buffer.piece)

    def expose(self, addresses: Iterable[int]) -> None:
        """Note that work on another queue may use what lies at these addresses."""
        for block in self._blocks:
            if any(block.address <= each < block.address + block.nbytes for each in addresses):
                block.is_foreign = True

    def _block(self, size: int) -> Block:
        pointer = self._cu.ffi.new("CUdeviceptr *")
        try:
            self._check("cuMemAlloc", self._cu.cuMemAlloc_v2(pointer, size))
        except OutOfMemoryError as error:
            raise NoRoomError(error.diagnostics[0].notes[0]) from error
        block = Block(int(pointer[0]), size)
        self._blocks.append(block)
        return block

    def _drop(self, block: Block) -> None:
        self._blocks.remove(block)
        self._cu.cuMemFree_v2(block.address)  # waits for everything

    def drop(self) -> None:
        """Give every block back."""
        for _ in (*self._buffers.drain(), *self._shelf.clear()):
            pass
        self._pool.drop()

    def report(self) -> tuple[str, ...]:
        """Return what the pool holds and what the device has."""
        lines = [f"pooled: {self._pool.statistics()}"]
        if self._shelf.nbytes:
            lines.append(
                f"{self._shelf.nbytes} of these bytes were released and wait for the next of their size"
            )
        free, total = self._cu.ffi.new("size_t *"), self._cu.ffi.new("size_t *")
        if not self._cu.cuMemGetInfo_v2(free, total):
            lines.append(f"the device has {free[0]} of {total[0]} bytes free, whoever uses them")
        return tuple(lines)
