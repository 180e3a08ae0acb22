"""Makes buffers: each a piece of a pooled block, which stays mapped where the host sees it.

Running out is met once by :attr:`DeviceMemory.relieve`, which frees what work in flight kept; then it is an
error that says what was asked and what there is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from atoll.errors import OutOfMemoryError
from atoll.plugin.values import dataclass
from atoll.runtime import faults
from atoll.runtime.storage import Budget, NoRoomError, Piece, Pool, Shelf, Statistics, grain
from atoll_plugins.vulkan.heaps import VISIBLE, MemoryKind, Plan, plan
from atoll_plugins.vulkan.make import Maker

#: The part of a heap that empty blocks of large buffers may take.
KEPT_SHARE = 8


@dataclass(frozen=True, slots=True)
class Mapped:
    """A block of device memory; `address` is where the host sees it, or nothing."""

    memory: int
    address: Any


@dataclass(slots=True, eq=False)
class Buffer:
    """A buffer in its place.

    Attributes:
        buffer: The interface's handle; also its number for hazards.
        pool: Has its memory.
        piece: Where it lies.
        nbytes: Its usable bytes.
        used: The number of the last frame that touches it.
        graphs: How many captured graphs refer to it.
        is_released: Whether its owner let go of it.
        is_array: Whether it is one of those that wait for the next, where they are released.
    """

    buffer: int
    pool: Pool[Mapped]
    piece: Piece[Mapped]
    nbytes: int
    used: int = 0
    graphs: int = 0
    is_released: bool = False
    is_array: bool = False

    @property
    def address(self) -> Any:
        """Where the host sees its first byte; nothing where the host does not."""
        base = self.piece.memory.address
        return None if base is None else base + self.piece.offset


class DeviceMemory:
    """The pools of one device."""

    def __init__(
        self, maker: Maker, properties: Any, *, discrete: bool, limit: int | None, staged: bool | None
    ) -> None:
        rows = range(properties.memoryTypeCount)
        self._kinds = [
            MemoryKind(at, row.propertyFlags, properties.memoryHeaps[row.heapIndex].size)
            for at in rows
            for row in (properties.memoryTypes[at],)
        ]
        self._maker = maker
        self.plan: Plan = plan(self._kinds, discrete=discrete, staged=staged)
        self._budget = Budget(limit)
        self._pools: dict[tuple[int, int], Pool[Mapped]] = {}
        #: Buffers of arrays that were released.
        self.shelf: Shelf[Buffer] = Shelf()
        #: Frees what can be freed; asked once when there is no room.
        self.relieve: Callable[[], None] = lambda: None

    def taken(self, nbytes: int, usage: int) -> Buffer:
        """Return a buffer for an array: one that was released, or a new one. Work in flight may still use it.

        Raises:
            OutOfMemoryError: Where there is no room.
        """
        size = grain(nbytes)
        found = self.shelf.take(size) or self.buffer(size, self.plan.buffers, usage)
        found.is_array, found.is_released = True, False
        return found

    def buffer(self, nbytes: int, kinds: Sequence[int], usage: int) -> Buffer:
        """Return a new buffer.

        Args:
            nbytes: Its bytes.
            kinds: The memory types that serve, best first.
            usage: ``VkBufferUsageFlags``.

        Raises:
            OutOfMemoryError: Where there is no room.
        """
        vk, maker = self._maker.vk, self._maker
        create = {
            "sType": vk.VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
            "size": nbytes,
            "usage": usage,
            "sharingMode": vk.VK_SHARING_MODE_EXCLUSIVE,
        }
        buffer = maker.make("vkCreateBuffer", "VkBuffer", "VkBufferCreateInfo", create)
        piece = None
        try:
            needs = vk.ffi.new("VkMemoryRequirements *")
            vk.vkGetBufferMemoryRequirements(maker.device, buffer, needs)
            pool = self._pool(kinds, needs.memoryTypeBits, needs.alignment)
            piece = self._piece(pool, needs.size)
            memory, offset = piece.memory.memory, piece.offset
            result = vk.vkBindBufferMemory(maker.device, buffer, memory, offset)
            maker.check("vkBindBufferMemory", result)
        except BaseException:
            maker.destroy("vkDestroyBuffer", buffer)
            if piece is not None:
                pool.release(piece)
            raise
        return Buffer(buffer, pool, piece, nbytes)

    def destroy(self, buffer: Buffer) -> None:
        """Free a buffer that no work in flight touches."""
        self._maker.destroy("vkDestroyBuffer", buffer.buffer)
        buffer.pool.release(buffer.piece)

    def _pool(self, kinds: Sequence[int], allowed: int, alignment: int) -> Pool[Mapped]:
        kind = next((index for index in kinds if allowed >> index & 1), None)
        if kind is None:
            reason = "no memory type for this buffer"
            raise faults.call_failed("vkGetBufferMemoryRequirements", reason, self._maker.name)
        key = kind, max(256, alignment)
        if key not in self._pools:
            room = next(item.room for item in self._kinds if item.index == kind)
            self._pools[key] = Pool(
                lambda size: self._block(kind, size),
                self._drop,
                self._budget,
                alignment=key[1],
                keep_bytes=room // KEPT_SHARE,
            )
        return self._pools[key]

    def _piece(self, pool: Pool[Mapped], nbytes: int) -> Piece[Mapped]:
        try:
            return pool.allocate(nbytes)
        except NoRoomError:
            self.relieve()
            self.trim()
        try:
            return pool.allocate(nbytes)
        except NoRoomError as error:
            raise faults.out_of_memory(self._maker.name, nbytes, *self.report(), f"{error}") from error

    def _block(self, kind: int, size: int) -> Mapped:
        vk, maker = self._maker.vk, self._maker
        allocate = {
            "sType": vk.VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
            "allocationSize": size,
            "memoryTypeIndex": kind,
        }
        try:
            memory = maker.make("vkAllocateMemory", "VkDeviceMemory", "VkMemoryAllocateInfo", allocate)
        except OutOfMemoryError as error:
            raise NoRoomError(error.diagnostics[0].notes[0]) from error
        if not self._kinds[kind].has(VISIBLE):
            return Mapped(memory, None)
        mapped = vk.ffi.new("void **")
        try:
            maker.check("vkMapMemory", vk.vkMapMemory(maker.device, memory, 0, size, 0, mapped))
        except BaseException:
            maker.destroy("vkFreeMemory", memory)
            raise
        return Mapped(memory, vk.ffi.cast("char *", mapped[0]))

    def _drop(self, block: Mapped) -> None:
        if block.address is not None:
            self._maker.vk.vkUnmapMemory(self._maker.device, block.memory)
        self._maker.destroy("vkFreeMemory", block.memory)

    def trim(self) -> None:
        """Give empty blocks back to the driver."""
        for pool in self._pools.values():
            pool.trim()

    def drop(self) -> None:
        """Give every block back."""
        for pool in self._pools.values():
            pool.drop()

    def statistics(self) -> dict[int, Statistics]:
        """Return what the pools hold, by memory type."""
        return {kind: pool.statistics() for (kind, _), pool in self._pools.items()}

    def report(self) -> tuple[str, ...]:
        """Return what there is, a line a pool."""
        lines = [f"memory type {kind}: {held}" for kind, held in self.statistics().items()]
        if self.shelf.nbytes:
            lines.append(
                f"{self.shelf.nbytes} of these bytes were released and wait for the next of their size"
            )
        return tuple(lines)
