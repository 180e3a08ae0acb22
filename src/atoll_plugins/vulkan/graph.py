"""A captured sequence of launches: recorded once, submitted as often as wanted.

It owns what it refers to: buffers that are released stay until the graph is closed. It starts and ends with
a barrier against everything, since what is around it is not known when it is recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from atoll_plugins.vulkan.descriptors import Descriptors
from atoll_plugins.vulkan.frames import FrameRing
from atoll_plugins.vulkan.make import Maker
from atoll_plugins.vulkan.memory import Buffer
from atoll_plugins.vulkan.recorder import DispatchRequest, Recorder


class VulkanGraph:
    """Recorded commands.

    Args:
        maker: Of the device.
        frames: Run them.
        requests: What is recorded.
        full: Whether a barrier stands before every command.
    """

    def __init__(
        self, maker: Maker, frames: FrameRing, requests: Sequence[DispatchRequest], *, full: bool
    ) -> None:
        self._frames = frames
        #: What is recorded.
        self.requests = tuple(requests)
        #: Each buffer once.
        self.buffers: tuple[Buffer, ...] = tuple(
            {buffer.buffer: buffer for request in requests for buffer in request.operands.buffers}.values()
        )
        self._descriptors = Descriptors(maker)
        self._commands: Any = frames.commands()
        try:
            self._record(maker, full)
        except BaseException:
            self.destroy()
            raise

    def _record(self, maker: Maker, full: bool) -> None:
        recorder = Recorder(maker, full=full)
        self._frames.begin(self._commands, maker.vk.VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT)
        recorder.barrier(self._commands, everything=True)
        for request in self.requests:
            bound = recorder.bind(self._descriptors, request)
            recorder.dispatch(self._commands, bound, request)
        recorder.barrier(self._commands, everything=True, host=True)
        maker.check("vkEndCommandBuffer", maker.vk.vkEndCommandBuffer(self._commands))

    def submit(self) -> None:
        """Queue all of it once more."""
        number = self._frames.queue(self._commands)
        for buffer in self.buffers:
            buffer.used = number

    def destroy(self) -> None:
        """Free it; it is not in flight."""
        self._descriptors.destroy()
        self._frames.free_commands(self._commands)
