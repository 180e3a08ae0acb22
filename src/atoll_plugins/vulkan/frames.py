"""Which frame is recorded next, and what becomes of what earlier ones used?

A *frame* is one submission: a command buffer, descriptors, and what it keeps alive. A ring of six are used in
turn; each signals its number on one timeline semaphore, and a slot waits for its own last number before it
is used again. What is dropped while a frame may use it is destroyed after that frame.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from atoll.plugin.values import dataclass, field
from atoll.runtime import faults
from atoll_plugins.vulkan.descriptors import Descriptors
from atoll_plugins.vulkan.make import Maker
from atoll_plugins.vulkan.queries import Queries
from atoll_plugins.vulkan.results import result_text

FRAMES = 6
WAIT_SECONDS = 600


@dataclass(slots=True, eq=False)
class Frame:
    """One submission.

    Attributes:
        commands: The command buffer.
        descriptors: Sets for it alone.
        queries: Its timestamps.
        number: What it signals; of the last use while it is not recorded.
        kept: What its commands refer to.
        last: The newest of it, and its set.
    """

    commands: Any
    descriptors: Descriptors
    queries: Queries
    number: int = 0
    kept: list[object] = field(default_factory=list)
    last: tuple[object, int] = (None, 0)


class FrameRing:
    """The frames of one queue.

    Attributes:
        submitted: The number of the last frame that was submitted.
        finished: The number of the last frame that is known to be done.
    """

    def __init__(self, maker: Maker, queue: Any, family: int, queries: Callable[[], Queries]) -> None:
        self._maker, self._queue = maker, queue
        self.submitted = self.finished = 0
        self.recording: Frame | None = None
        #: Called where a frame's commands were begun.
        self.started: Callable[[], None] = lambda: None
        self._next = 0
        self._frames: list[Frame] = []
        #: What is to be destroyed after which frame, in order.
        self._later: deque[tuple[int, Callable[[], None]]] = deque()
        self._pool = self._timeline = 0
        new = maker.vk.ffi.new
        #: What is submitted, but for the commands and the number.
        self._values, self._semaphores = new("uint64_t[1]"), new("VkSemaphore[1]")
        self._buffers, self._signal = new("VkCommandBuffer[1]"), new("VkTimelineSemaphoreSubmitInfo *")
        self._info, self._begin = new("VkSubmitInfo *"), new("VkCommandBufferBeginInfo *")
        self._waiting = new("VkSemaphoreWaitInfo *")
        try:
            self._create(family, queries)
            self._describe()
        except BaseException:
            self.destroy()
            raise

    def _create(self, family: int, queries: Callable[[], Queries]) -> None:
        vk, make = self._maker.vk, self._maker.make
        pool = {
            "sType": vk.VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
            "flags": vk.VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
            "queueFamilyIndex": family,
        }
        self._pool = make("vkCreateCommandPool", "VkCommandPool", "VkCommandPoolCreateInfo", pool)
        kind = vk.ffi.new("VkSemaphoreTypeCreateInfo *")
        kind.sType = vk.VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO
        kind.semaphoreType = vk.VK_SEMAPHORE_TYPE_TIMELINE
        timeline = {"sType": vk.VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, "pNext": kind}
        self._timeline = make("vkCreateSemaphore", "VkSemaphore", "VkSemaphoreCreateInfo", timeline)
        for _ in range(FRAMES):
            self._frames.append(Frame(self.commands(), Descriptors(self._maker), queries()))

    def _describe(self) -> None:
        """Fill in what is the same in every submission and every wait."""
        vk = self._maker.vk
        self._semaphores[0] = self._timeline
        signal, info, wait = self._signal, self._info, self._waiting
        signal.sType = vk.VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO
        signal.signalSemaphoreValueCount = 1
        signal.pSignalSemaphoreValues = self._values
        info.sType = vk.VK_STRUCTURE_TYPE_SUBMIT_INFO
        info.pNext = signal
        info.commandBufferCount = info.signalSemaphoreCount = 1
        info.pCommandBuffers, info.pSignalSemaphores = self._buffers, self._semaphores
        wait.sType = vk.VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO
        wait.semaphoreCount = 1
        wait.pSemaphores, wait.pValues = self._semaphores, self._values
        self._begin.sType = vk.VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO

    def commands(self) -> Any:
        """Return a new command buffer; it goes with the ring, or with :meth:`free_commands`."""
        vk = self._maker.vk
        values = {
            "sType": vk.VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
            "commandPool": self._pool,
            "level": vk.VK_COMMAND_BUFFER_LEVEL_PRIMARY,
            "commandBufferCount": 1,
        }
        kind = "VkCommandBuffer"
        return self._maker.make("vkAllocateCommandBuffers", kind, f"{kind}AllocateInfo", values)

    def free_commands(self, commands: Any) -> None:
        """Free a command buffer that is not in flight."""
        vk = self._maker.vk
        one = vk.ffi.new("VkCommandBuffer[]", [commands])
        vk.vkFreeCommandBuffers(self._maker.device, self._pool, 1, one)

    # ---- recording and submitting

    def acquire(self) -> Frame:
        """Return the frame that is recorded now, or the next one: its commands are begun."""
        if self.recording is not None:
            return self.recording
        frame = self._frames[self._next]
        self.wait(frame.number)
        self.collect()
        frame.queries.read()
        frame.descriptors.reset()
        frame.kept.clear()
        frame.last = None, 0
        self.begin(frame.commands, self._maker.vk.VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT)
        frame.queries.begin(frame.commands)
        frame.number = self.submitted + 1
        self.recording = frame
        self.started()
        return frame

    def begin(self, commands: Any, flags: int) -> None:
        """Begin a command buffer anew."""
        vk = self._maker.vk
        self._begin.flags = flags
        self._maker.check("vkBeginCommandBuffer", vk.vkBeginCommandBuffer(commands, self._begin))

    def abandon(self) -> None:
        """Drop what is recorded in the frame; what it was to keep alive may go."""
        frame, self.recording = self.recording, None
        if frame is not None:
            frame.number = 0
            frame.queries.drop()
            frame.kept.clear()
            frame.last = None, 0

    def submit(self) -> int:
        """End the frame and submit it; return its number."""
        frame = self.recording
        assert frame is not None
        vk = self._maker.vk
        try:
            self._maker.check("vkEndCommandBuffer", vk.vkEndCommandBuffer(frame.commands))
            frame.queries.submitted()
            self.queue(frame.commands)
        except BaseException:
            self.abandon()
            raise
        self.recording, self._next = None, (self._next + 1) % FRAMES
        return self.submitted

    def queue(self, commands: Any) -> int:
        """Submit ended commands; return the number that they signal."""
        vk, number = self._maker.vk, self.submitted + 1
        self._values[0], self._buffers[0] = number, commands
        self._maker.check("vkQueueSubmit", vk.vkQueueSubmit(self._queue, 1, self._info, 0))
        self.submitted = number
        return number

    # ---- waiting

    def wait(self, number: int) -> None:
        """Block until a frame that was submitted is done.

        Raises:
            DeviceLostError: Where the device was lost, now or before.
            DeviceTimeoutError: Where it did not finish in time; the device is given up.
        """
        if number <= self.finished:
            return
        vk = self._maker.vk
        self._values[0] = number
        result = vk.vkWaitSemaphores(self._maker.device, self._waiting, WAIT_SECONDS * 10**9)
        if result == 0:
            self.finished = number
            return
        maker = self._maker
        maker.lost = f"frame {number} did not finish; the last that did is {self.finished}"
        maker.runs_on = result != vk.VK_ERROR_DEVICE_LOST
        if result == vk.VK_TIMEOUT:
            raise faults.timed_out(maker.name, "vkWaitSemaphores", WAIT_SECONDS)
        raise faults.lost(maker.name, "vkWaitSemaphores", result_text(result))

    # ---- lifetime

    @property
    def upcoming(self) -> int:
        """The number of the last frame that what is dropped now may be used by."""
        return self.submitted + (self.recording is not None)

    def later(self, destroy: Callable[[], None]) -> None:
        """Destroy something once every frame of today is done."""
        self._later.append((self.upcoming, destroy))

    def collect(self) -> None:
        """Destroy what no frame uses any more."""
        while self._later and self._later[0][0] <= self.finished:
            self._later.popleft()[1]()

    def finish(self) -> None:
        """Wait for everything that was submitted, and destroy what waited for it."""
        self.wait(self.submitted)
        self.collect()
        for frame in self._frames:
            if frame is not self.recording:
                frame.queries.read()

    def destroy(self) -> None:
        """Free everything; nothing is in flight."""
        self.abandon()
        while self._later:
            self._later.popleft()[1]()
        for frame in self._frames:
            frame.descriptors.destroy()
            frame.queries.destroy()
        self._frames.clear()
        self._maker.destroy("vkDestroySemaphore", self._timeline)
        self._maker.destroy("vkDestroyCommandPool", self._pool)
        self._timeline = self._pool = 0
