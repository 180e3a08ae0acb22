"""Binds buffers to a pipeline: one set a dispatch, from pools that go back as a whole.

A frame has an allocator of its own. A set stays from one turn of the frame to the next, so that a loop of
launches on the same buffers writes none, until something was destroyed: its handle may be another's then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from atoll_plugins.vulkan.make import Maker, Pipeline

#: Sets of a pool, and bindings of all of them; more are asked for in another pool.
SETS, BINDINGS = 64, 512
#: The most sets that stay for another turn.
KEPT = 256
_WHOLE = 2**64 - 1


class Descriptors:
    """Sets for one frame or one graph."""

    def __init__(self, maker: Maker) -> None:
        self._maker = maker
        #: Pools and how many bindings each has room for; the one in use is the `at`-th.
        self._pools: list[tuple[int, int]] = []
        self._at = self._sets = self._bindings = 0
        #: Sets by what they bind: a loop of launches on the same buffers takes one.
        self._known: dict[tuple[int, ...], int] = {}
        #: How many objects were destroyed when they were made, and whether some were forgotten since.
        self._age, self._is_stale = maker.destroyed, False
        vk = maker.vk
        self._layout, self._out = vk.ffi.new("VkDescriptorSetLayout[1]"), vk.ffi.new("VkDescriptorSet *")
        self._ask = vk.ffi.new("VkDescriptorSetAllocateInfo *")
        self._ask.sType = vk.VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO
        self._ask.descriptorSetCount = 1
        self._ask.pSetLayouts = self._layout
        #: For each number of buffers what describes them and what writes them.
        self._rows: dict[int, tuple[Any, Any]] = {}

    def bind(self, pipeline: Pipeline, buffers: Sequence[int]) -> int:
        """Return a set that binds buffers from 0 on."""
        if self._age != self._maker.destroyed:
            self._forget()
        key = (pipeline.set_layout, *buffers)
        found = self._known.get(key, 0)
        if found:
            return found
        vk, maker = self._maker.vk, self._maker
        self._ask.descriptorPool = self._pool(len(buffers))
        self._layout[0] = pipeline.set_layout
        result = vk.vkAllocateDescriptorSets(maker.device, self._ask, self._out)
        maker.check("vkAllocateDescriptorSets", result)
        found = int(self._out[0])
        self._sets += 1
        self._bindings += len(buffers)
        self._write(found, buffers)
        self._known[key] = found
        return found

    def _forget(self) -> None:
        """Use no set again that was made before something was destroyed."""
        self._age, self._is_stale = self._maker.destroyed, True
        self._known.clear()

    def _pool(self, bindings: int) -> int:
        """Return a pool with room for one more set."""
        while self._at < len(self._pools):
            pool, room = self._pools[self._at]
            if self._sets < SETS and self._bindings + bindings <= room:
                return pool
            self._at, self._sets, self._bindings = self._at + 1, 0, 0
        self._pools.append((self._make(max(BINDINGS, bindings)), max(BINDINGS, bindings)))
        return self._pools[self._at][0]

    def _make(self, bindings: int) -> int:
        vk = self._maker.vk
        size = {"type": vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, "descriptorCount": bindings}
        sizes = vk.ffi.new("VkDescriptorPoolSize[]", [size])
        values = {
            "sType": vk.VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
            "maxSets": SETS,
            "poolSizeCount": 1,
            "pPoolSizes": sizes,
        }
        kind = "VkDescriptorPool"
        made: int = self._maker.make("vkCreateDescriptorPool", kind, f"{kind}CreateInfo", values)
        return made

    def _write(self, descriptor_set: int, buffers: Sequence[int]) -> None:
        vk, count = self._maker.vk, len(buffers)
        infos, writes = self._rows.get(count) or self._described(count)
        for index, buffer in enumerate(buffers):
            infos[index].buffer = buffer
            writes[index].dstSet = descriptor_set
        vk.vkUpdateDescriptorSets(self._maker.device, count, writes, 0, vk.ffi.NULL)

    def _described(self, count: int) -> tuple[Any, Any]:
        vk, new = self._maker.vk, self._maker.vk.ffi.new
        infos = new("VkDescriptorBufferInfo[]", [(0, 0, _WHOLE)] * count)
        writes = new("VkWriteDescriptorSet[]", count)
        for index in range(count):
            row: Any = writes[index]
            row.sType = vk.VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET
            row.dstBinding = index
            row.descriptorCount = 1
            row.descriptorType = vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
            row.pBufferInfo = infos + index
        self._rows[count] = infos, writes
        return infos, writes

    def reset(self) -> None:
        """Take every set back that cannot serve again; nothing in flight uses one."""
        is_good = self._age == self._maker.destroyed and not self._is_stale
        if is_good and len(self._known) <= KEPT:
            return
        vk = self._maker.vk
        self._age, self._is_stale = self._maker.destroyed, False
        used = self._pools[: self._at + 1] if self._sets or self._at else []
        self._at = self._sets = self._bindings = 0
        self._known.clear()
        for pool, _ in used:
            result = vk.vkResetDescriptorPool(self._maker.device, pool, 0)
            self._maker.check("vkResetDescriptorPool", result)

    def destroy(self) -> None:
        """Free the pools."""
        for pool, _ in self._pools:
            self._maker.destroy("vkDestroyDescriptorPool", pool)
        self._pools.clear()
        self._known.clear()
        self._at = self._sets = self._bindings = 0
