"""When did each dispatch of a frame run? Two timestamps around each, read once the frame is done."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from atoll_plugins.vulkan.make import Maker

#: Dispatches of a frame that are timed; then the frame is full.
MOST = 256

#: Takes a name, start and end in the device's ticks, and the host's nanoseconds of the submission.
Sink = Callable[[str, int, int, int], None]


class Queries:
    """The timestamps of one frame.

    Args:
        maker: Of the device.
        sink: Returns who takes the spans, or None while nobody does: then nothing is made or recorded.
    """

    def __init__(self, maker: Maker, sink: Callable[[], Sink | None]) -> None:
        self._maker, self._sink = maker, sink
        self._pool = 0
        self._names: list[str] = []
        self._on = False
        self._submitted = 0

    @property
    def is_on(self) -> bool:
        """Whether the dispatches of this frame are timed."""
        return self._on

    @property
    def is_full(self) -> bool:
        """Whether no other dispatch can be timed in this frame."""
        return self._on and len(self._names) == MOST

    def begin(self, commands: Any) -> None:
        """Start a frame."""
        self._on = self._sink() is not None
        if not self._on:
            return
        vk, maker = self._maker.vk, self._maker
        if not self._pool:
            values = {
                "sType": vk.VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                "queryType": vk.VK_QUERY_TYPE_TIMESTAMP,
                "queryCount": 2 * MOST,
            }
            self._pool = maker.make("vkCreateQueryPool", "VkQueryPool", "VkQueryPoolCreateInfo", values)
        vk.vkCmdResetQueryPool(commands, self._pool, 0, 2 * MOST)

    def around(self, commands: Any, name: str, record: Callable[[], None]) -> None:
        """Record commands between two timestamps, where somebody takes them."""
        if not self._on or len(self._names) == MOST:
            record()
            return
        vk, at = self._maker.vk, 2 * len(self._names)
        vk.vkCmdWriteTimestamp(commands, vk.VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, self._pool, at)
        record()
        vk.vkCmdWriteTimestamp(commands, vk.VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, self._pool, at + 1)
        self._names.append(name)

    def submitted(self) -> None:
        """Note when the frame was handed over: nothing of it ran earlier."""
        self._submitted = time.perf_counter_ns()

    def read(self) -> None:
        """Hand out the spans of the frame, which is done."""
        names, self._names = self._names, []
        sink = self._sink()
        if not names or sink is None:
            return
        vk, count = self._maker.vk, 2 * len(names)
        ticks = vk.ffi.new("uint64_t[]", count)
        flags = vk.VK_QUERY_RESULT_64_BIT
        device = self._maker.device
        result = vk.vkGetQueryPoolResults(device, self._pool, 0, count, 8 * count, ticks, 8, flags)
        self._maker.check("vkGetQueryPoolResults", result)
        for at, name in enumerate(names):
            sink(name, ticks[2 * at], ticks[2 * at + 1], self._submitted)

    def drop(self) -> None:
        """Forget the frame, which is not submitted."""
        self._names.clear()

    def destroy(self) -> None:
        """Free what was made."""
        self._maker.destroy("vkDestroyQueryPool", self._pool)
        self._pool = 0
