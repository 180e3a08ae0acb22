"""Copies between the host and buffers that the host does not see, through two rings of memory that it sees.

A large copy is cut into chunks, several of which are in flight at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from atoll.runtime.storage import Ring
from atoll_plugins.vulkan.frames import FrameRing
from atoll_plugins.vulkan.memory import Buffer, DeviceMemory
from atoll_plugins.vulkan.recorder import Recorder

RING_BYTES, CHUNK_BYTES = 32 << 20, 8 << 20


class Staging:
    """Uploads and downloads of one device.

    Args:
        ffi: Copies bytes.
        memory: Makes the staging buffers, on first use.
        frames: Run the copies.
        recorder: Records them.
        usage: ``VkBufferUsageFlags`` of the staging buffers.
        submit: Submits what is recorded, as the device does it for a launch.
        ring_bytes: Of each of the two buffers; a copy is cut into quarters of it.
    """

    def __init__(
        self,
        ffi: Any,
        memory: DeviceMemory,
        frames: FrameRing,
        recorder: Recorder,
        usage: int,
        submit: Callable[[], None],
        ring_bytes: int = RING_BYTES,
    ) -> None:
        self._ffi, self._memory, self._frames, self._recorder = ffi, memory, frames, recorder
        self._usage, self._submit, self._size = usage, submit, ring_bytes
        self._chunk = min(CHUNK_BYTES, ring_bytes // 4)
        self._rings: dict[tuple[int, ...], tuple[Buffer, Ring]] = {}

    def _ring(self, kinds: tuple[int, ...]) -> tuple[Buffer, Ring]:
        if kinds not in self._rings:
            buffer = self._memory.buffer(self._size, kinds, self._usage)
            self._rings[kinds] = buffer, Ring(self._size)
        return self._rings[kinds]

    def _span(self, ring: Ring, nbytes: int) -> int:
        """Return the offset of a part of a ring, once what used it is done."""
        frames = self._frames
        while True:
            ring.retire(frames.finished)
            offset = ring.take(nbytes, frames.submitted + 1)
            if offset is not None:
                return offset
            oldest = ring.oldest()
            assert oldest is not None
            if oldest > frames.submitted:
                self._submit()
            if oldest > frames.submitted:  # what was to use it is not going to run
                ring.retire(oldest)
            frames.wait(min(oldest, frames.submitted))

    def drain(self) -> Iterator[Buffer]:
        """Give up the staging buffers; nothing is in flight."""
        while self._rings:
            yield self._rings.popitem()[1][0]

    def upload(self, target: Buffer, data: memoryview, offset: int) -> None:
        """Copy host bytes into a buffer, in the order of launches; they are taken before it returns."""
        host = self._ffi.from_buffer(data)
        staged, ring = self._ring(self._memory.plan.uploads)
        for at in range(0, data.nbytes, self._chunk):
            nbytes = min(self._chunk, data.nbytes - at)
            span = self._span(ring, nbytes)
            self._ffi.memmove(staged.address + span, host + at, nbytes)
            commands = self._frames.acquire().commands
            self._recorder.copy(commands, staged, target, (span, offset + at), nbytes)
            self._submit()

    def download(self, source: Buffer, out: memoryview, offset: int) -> None:
        """Copy a buffer into host bytes, after all launched work."""
        host = self._ffi.from_buffer(out, require_writable=True)
        staged, ring = self._ring(self._memory.plan.downloads)
        flying: deque[tuple[int, int, int, int]] = deque()

        def land() -> None:
            number, span, at, nbytes = flying.popleft()
            self._frames.wait(number)
            self._ffi.memmove(host + at, staged.address + span, nbytes)

        for at in range(0, out.nbytes, self._chunk):
            if len(flying) == 3:
                land()
            nbytes = min(self._chunk, out.nbytes - at)
            span = self._span(ring, nbytes)
            commands = self._frames.acquire().commands
            self._recorder.copy(commands, source, staged, (offset + at, span), nbytes)
            self._recorder.finish(commands)
            self._submit()
            flying.append((self._frames.submitted, span, at, nbytes))
        while flying:
            land()
