"""An open Vulkan device: pooled memory, one queue, six frames in flight.

A launch is recorded into a frame and submitted; nothing waits until the host looks at bytes. Held launches
share a frame, captured ones are recorded for good: all three are :mod:`atoll_plugins.vulkan.recorder`.
Finalisers only append to a deque, which is drained before anything else is done: one that ran inside a lock
of this device would wait for itself.
"""

from __future__ import annotations

import gc
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from atoll.errors import DeviceError
from atoll.plugin import (
    Argument,
    Bound,
    BufferArgument,
    DeviceInfo,
    Emitted,
    Executable,
    ScalarArgument,
    Target,
)
from atoll.plugin.values import dataclass, field
from atoll.runtime import faults, limits, tracing
from atoll.runtime.captured import Captured
from atoll.runtime.handles import Handles, room
from atoll.runtime.native import Table
from atoll.runtime.pack import pack_scalars
from atoll_plugins.vulkan.bound import BoundPipeline
from atoll_plugins.vulkan.entry import entry_points, is_spirv
from atoll_plugins.vulkan.frames import FrameRing
from atoll_plugins.vulkan.graph import VulkanGraph
from atoll_plugins.vulkan.make import NEWEST, PUSH_BYTES, Maker, Physical, Pipeline, create_device
from atoll_plugins.vulkan.memory import Buffer, DeviceMemory
from atoll_plugins.vulkan.pipecache import PipelineCache
from atoll_plugins.vulkan.queries import Queries, Sink
from atoll_plugins.vulkan.recorder import DispatchRequest, Operands, Recorder
from atoll_plugins.vulkan.staging import RING_BYTES, Staging

Size = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a device is used, where it is not as usual.

    Attributes:
        budget: Bytes that its buffers may take together; None for what the driver gives.
        staged: Whether the host reaches buffers through staging memory; None where the device decides.
        staging_bytes: Of the memory for each direction.
        full_barriers: A barrier before every command, to tell a missing one from another fault.
        cache: The folder of compiled pipelines; None for Atoll's own.
    """

    budget: int | None = None
    staged: bool | None = None
    staging_bytes: int = RING_BYTES
    full_barriers: bool = field(default_factory=lambda: os.environ.get("ATOLL_BARRIERS") == "full")
    cache: Path | None = None


@dataclass(slots=True)
class VulkanExecutable:
    """A pipeline; destroyed with the device or when dropped.

    Attributes:
        entry: The entry point's name.
        owner: The device it was made on.
        key: Its number there.
        group: The work-group size that the code fixes, or None.
        access: How each buffer is used, with that of a large parameter block.
        push: Bytes of push constants.
    """

    entry: str
    owner: VulkanDevice
    key: int
    group: Size | None
    access: tuple[str, ...]
    push: int

    def __del__(self) -> None:
        self.owner.dropped.append(("pipeline", self.key))


class VulkanDevice:
    """An open device; a lock around every call that is not a finaliser's."""

    def __init__(self, vk: Table, physical: Physical, options: Options | None = None) -> None:
        self._vk, self._options = vk, options or Options()
        self._lock = self.lock = threading.RLock()
        self._process = os.getpid()
        self.info: DeviceInfo = physical.info
        #: What finalisers let go of: kind and number.
        self.dropped: deque[tuple[str, int]] = deque()
        self._buffers: Handles[Buffer] = Handles(self.info.name)
        self._pipelines: Handles[Pipeline] = Handles(self.info.name)
        self._graphs: Handles[VulkanGraph] = Handles(self.info.name)
        self._captured: list[DispatchRequest] | None = None
        self._held = 0
        #: How many buffers were released: a handle that was good before may be good no more.
        self.retired = 0
        #: The code and shape of the last launch that was found to fit.
        self._fitting: tuple[int, Size, Size] | None = None
        self._properties = vk.ffi.new("VkPhysicalDeviceProperties *")
        memory = vk.ffi.new("VkPhysicalDeviceMemoryProperties *")
        vk.vkGetPhysicalDeviceProperties(physical.handle, self._properties)
        vk.vkGetPhysicalDeviceMemoryProperties(physical.handle, memory)
        self._maker = Maker(vk, self.info.name, create_device(vk, physical))
        self._frames: FrameRing | None = None
        self._cache: PipelineCache | None = None
        discrete = self._properties.deviceType == vk.VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU
        limit, staged = self._options.budget, self._options.staged
        self._memory = DeviceMemory(self._maker, memory, discrete=discrete, limit=limit, staged=staged)
        self._memory.relieve = self._relieve
        self._recorder = Recorder(self._maker, full=self._options.full_barriers)
        self._usage = (
            vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
            | vk.VK_BUFFER_USAGE_TRANSFER_SRC_BIT
            | vk.VK_BUFFER_USAGE_TRANSFER_DST_BIT
        )
        self._open = True
        try:
            self._create_objects(physical)
        except BaseException:
            self.close()
            raise

    # ---- opening and closing

    def _create_objects(self, physical: Physical) -> None:
        vk = self._vk
        queue = vk.ffi.new("VkQueue *")
        vk.vkGetDeviceQueue(self._maker.device, physical.family, 0, queue)
        self._clock = physical.clock_bits > 0
        sink: Callable[[], Sink | None] = self._sink if self._clock else lambda: None
        self._frames = FrameRing(self._maker, queue[0], physical.family, lambda: Queries(self._maker, sink))
        self._frames.started = self._recorder.fresh
        self._cache = PipelineCache(self._maker, self._properties, self._options.cache)
        self._staging = Staging(
            vk.ffi,
            self._memory,
            self._frames,
            self._recorder,
            self._usage,
            self._submit,
            self._options.staging_bytes,
        )

    def _sink(self) -> Sink | None:
        """Return who takes the times of dispatches, or None."""
        made = tracing.active()
        if made is None:
            return None
        track, period = f"{self.info} {self.info.name}", self._properties.limits.timestampPeriod
        made.settle[track] = self.wait
        return lambda name, start, end, handed: made.device(
            track, name, int(start * period), int(end * period), handed
        )

    def close(self) -> None:
        """Free everything; idempotent. Where work may still run on a lost device, it is left alone."""
        with self._lock:
            if not self._open:
                return
            try:
                if self._frames is not None and not self._maker.lost and os.getpid() == self._process:
                    self._submit()
                    self._frames.finish()
            finally:
                self._open = False
                if os.getpid() == self._process and not self._maker.runs_on:
                    self._destroy()

    def _destroy(self) -> None:
        if self._maker.lost:  # what was in flight ends in finite time
            self._vk.vkDeviceWaitIdle(self._maker.device)
        if self._frames is not None:
            self._let_go()
            for request in self._captured or ():
                self._captured_no_more(request)
            for graph in self._graphs.drain():
                self._retire_graph(graph)
            self._frames.destroy()
        for pipeline in self._pipelines.drain():
            self._maker.destroy_pipeline(pipeline)
        for buffer in (*self._buffers.drain(), *self._memory.shelf.clear()):
            self._memory.destroy(buffer)
        self._staging_buffers()
        self._memory.drop()
        if self._cache is not None:
            if not self._maker.lost:
                self._cache.save()
            self._cache.destroy()
        self._vk.vkDestroyDevice(self._maker.device, self._vk.ffi.NULL)

    def _staging_buffers(self) -> None:
        if self._cache is not None:
            for buffer in self._staging.drain():
                self._memory.destroy(buffer)

    def _using(self) -> threading.RLock:
        """Return the lock, once it is sure that the device can be used; what was dropped is let go of."""
        faults.check_usable(self.info.name, is_open=self._open, process=self._process)
        if self._maker.lost:
            raise faults.closed(self.info.name, self._maker.lost, is_lost=True)
        with self._lock:
            self._let_go()
        return self._lock

    def enter(self) -> None:
        """Refuse a device that cannot be used, and let go of what was dropped; the lock is held."""
        if self.dropped or not self._open or self._maker.lost or self._process != faults.Here.process:
            self._using()

    @property
    def _ring(self) -> FrameRing:
        assert self._frames is not None
        return self._frames

    def _let_go(self) -> None:
        """Destroy what finalisers dropped, each after the last frame that may use it."""
        while self.dropped:
            kind, number = self.dropped.popleft()
            if kind == "buffer":
                self._retire(self._buffers.pop(number))
            elif kind == "pipeline":
                pipeline = self._pipelines.pop(number)
                if pipeline is not None:
                    self._ring.later(partial(self._maker.destroy_pipeline, pipeline))
            else:
                self._retire_graph(self._graphs.pop(number))
        self._ring.collect()

    def _retire(self, buffer: Buffer | None) -> None:
        """Let an array's buffer wait for the next, once no graph has it; destroy any other after its frame.

        What uses it next is ordered behind what used it last, as every use of one buffer is.
        """
        if buffer is None:
            return
        buffer.is_released = True
        self.retired += 1
        if not buffer.graphs and not (buffer.is_array and self._memory.shelf.put(buffer.nbytes, buffer)):
            self._ring.later(partial(self._destroy_buffer, buffer))

    def _destroy_buffer(self, buffer: Buffer) -> None:
        self._recorder.hazards.forget(buffer.buffer)
        self._memory.destroy(buffer)

    def _retire_graph(self, graph: VulkanGraph | None) -> None:
        if graph is None:
            return
        self._ring.later(graph.destroy)
        for buffer in graph.buffers:
            buffer.graphs -= 1
            if buffer.is_released:
                self._retire(buffer)

    def _relieve(self) -> None:
        """Free what can be freed: what nobody refers to, once all work is done."""
        gc.collect()
        self._let_go()
        self._ring.finish()
        for buffer in self._memory.shelf.clear():
            if buffer.used <= self._ring.finished:
                self._destroy_buffer(buffer)
            else:
                self._ring.later(partial(self._destroy_buffer, buffer))

    # ---- code

    def target(self) -> Target:
        """Return SPIR-V for the version in use: the device's, but none newer than the instance asks for."""
        version = self.info.facts.version or NEWEST
        return Target(backend="vulkan", version=str(min(version, NEWEST)))

    def load(self, code: Emitted) -> Executable:
        """Make a pipeline of SPIR-V."""
        group = self._entry(code)
        spill = code.layout.block_bytes > PUSH_BYTES
        access = (*code.layout.access, *(("read",) if spill else ()))
        push = 0 if spill else code.layout.block_bytes
        most = self._properties.limits.maxPerStageDescriptorStorageBuffers
        if len(access) > most:
            reason = f"it takes {len(access)} buffers, the device binds {most}"
            raise faults.code_refused(code.entry, self.info.name, reason)
        limits.check_shared(self.info, code)
        with self._using():
            pipeline = self._pipeline(code, len(access), push)
            return VulkanExecutable(code.entry, self, self._pipelines.add(pipeline, 0), group, access, push)

    def _pipeline(self, code: Emitted, bindings: int, push: int) -> Pipeline:
        assert self._cache is not None
        try:
            return self._maker.pipeline(code.code, code.entry, bindings, push, self._cache.handle)
        except DeviceError as error:
            if type(error) is not DeviceError:
                raise
            first = error.diagnostics[0]
            raise faults.code_refused(code.entry, self.info.name, first.message, *first.notes) from error

    def _entry(self, code: Emitted) -> Size | None:
        if not is_spirv(code.code):
            raise faults.code_refused(code.entry, self.info.name, "it is not SPIR-V")
        entries = entry_points(code.code)
        if code.entry not in entries:
            has = ", ".join(f"`{name}`" for name in entries) or "none"
            raise faults.code_refused(code.entry, self.info.name, f"it has these entry points: {has}")
        return entries[code.entry]

    # ---- memory

    def allocate(self, nbytes: int) -> int:
        """Return the handle of a new buffer.

        Raises:
            OutOfMemoryError: Where there is no room; it says what there is.
            DeviceError: Where no kernel sees a buffer of that size.
        """
        limits.check_buffer(self.info, nbytes)
        with self._lock:
            self.enter()
            size = room(nbytes)
            return self._buffers.add(self._memory.taken(size, self._usage), size)

    def release(self, handle: int) -> None:
        """Free a buffer after all launched work; a finaliser may call it at any time."""
        self.dropped.append(("buffer", handle))

    def memory_report(self) -> tuple[str, ...]:
        """Return what the pools hold, a line a pool."""
        with self._using():
            return self._memory.report()

    def upload(self, handle: int, data: memoryview, offset: int = 0) -> None:
        """Copy host bytes into a buffer, in the order of launches."""
        with self._using():
            buffer = self._buffers.inside(handle, offset, data.nbytes)
            if data.nbytes and self._memory.plan.staged:
                self._staging.upload(buffer, data, offset)
                buffer.used = self._ring.upcoming
            elif data.nbytes:
                self._reach(buffer)
                self._vk.ffi.memmove(buffer.address + offset, self._vk.ffi.from_buffer(data), data.nbytes)

    def download(self, handle: int, out: memoryview, offset: int = 0) -> None:
        """Copy a buffer into host bytes, after all launched work."""
        with self._using():
            buffer = self._buffers.inside(handle, offset, out.nbytes)
            self._submit()
            if out.nbytes and self._memory.plan.staged:
                self._staging.download(buffer, out, offset)
            elif out.nbytes:
                self._reach(buffer)
                self._vk.ffi.memmove(self._vk.ffi.from_buffer(out), buffer.address + offset, out.nbytes)
            else:
                self._ring.finish()

    def copy(self, other: object, source: int, start: int, target: int, offset: int, nbytes: int) -> bool:
        """Queue a copy between two buffers of this device; memory is not shared with another one."""
        if other is not self:
            return False
        with self._using():
            read = self._buffers.inside(source, start, nbytes)
            written = self._buffers.inside(target, offset, nbytes)
            if nbytes:
                frame = self._ring.acquire()
                self._recorder.copy(frame.commands, read, written, (start, offset), nbytes)
                read.used = written.used = frame.number
                if not self._held:
                    self._submit()
        return True

    def _reach(self, buffer: Buffer) -> None:
        """Wait until the host may touch a buffer."""
        self._submit()
        self._ring.wait(min(buffer.used, self._ring.submitted))

    # ---- launching

    def launch(
        self, executable: Executable, groups: Size, group: Size, arguments: tuple[Argument, ...]
    ) -> None:
        """Submit one launch, or keep it for the frame or the graph that is being made."""
        assert isinstance(executable, VulkanExecutable)
        self._check_shape(executable, groups, group)
        block = pack_scalars(item for item in arguments if isinstance(item, ScalarArgument))
        with self._using():
            handles = [item.handle for item in arguments if isinstance(item, BufferArgument)]
            self.put(self.request(executable, handles, groups, block))

    def bind(self, executable: Executable, group: Size) -> Bound:
        """Return code ready to be launched on buffers, by handle."""
        assert isinstance(executable, VulkanExecutable)
        return BoundPipeline(self, executable, group).launch

    def put(self, request: DispatchRequest) -> None:
        """Submit a dispatch, or keep it for the frame or the graph that is being made; the lock is held."""
        if self._captured is not None:
            for buffer in request.operands.buffers:
                buffer.graphs += 1
            self._captured.append(request)
            return
        try:
            self._dispatch(request)
        finally:
            if request.spilled is not None:
                self._retire(request.spilled)
        if not self._held:
            self._submit()

    def check_shape(self, executable: VulkanExecutable, groups: Size, group: Size) -> None:
        """Refuse groups that the device or the code does not launch."""
        limits.check_shape(self.info, groups, group)
        if executable.group is not None and group != executable.group:
            message = f"`{executable.entry}` was compiled for another group"
            raise faults.shape(message, str(group), str(executable.group))

    def _check_shape(self, executable: VulkanExecutable, groups: Size, group: Size) -> None:
        if self._fitting != (executable.key, groups, group):
            self.check_shape(executable, groups, group)
            self._fitting = executable.key, groups, group

    def operands(self, executable: VulkanExecutable, handles: Sequence[int]) -> Operands:
        """Return buffers as code binds them; what spills of its parameter block comes after them."""
        access = executable.access[: len(handles)]
        return Operands(tuple([self._buffers.get(each) for each in handles]), access)

    def request(
        self,
        executable: VulkanExecutable,
        handles: Sequence[int],
        groups: Size,
        block: bytes,
        known: Operands | None = None,
    ) -> DispatchRequest:
        """Return a dispatch; `known` are the operands of those handles."""
        spills = len(block) > PUSH_BYTES
        given = len(handles) + spills
        if given != len(executable.access) or (executable.push and len(block) != executable.push):
            asked = f"{given} buffers and {len(block)} bytes"
            wanted = f"{len(executable.access)} buffers and {executable.push} bytes of push constants"
            raise faults.arguments(f"the arguments do not fit `{executable.entry}`", asked, wanted)
        pipeline = self._pipelines.get(executable.key)
        operands = known or self.operands(executable, handles)
        spilled = self._spilled(block) if spills else None
        if spilled is not None:
            operands = Operands((*operands.buffers, spilled), executable.access)
        return DispatchRequest(
            name=executable.entry,
            pipeline=pipeline,
            operands=operands,
            groups=groups,
            push=block if executable.push else b"",
            spilled=spilled,
            keeps=executable,
        )

    def _spilled(self, block: bytes) -> Buffer:
        """Return a buffer of a large parameter block."""
        buffer = self._memory.buffer(room(len(block)), self._memory.plan.uploads, self._usage)
        self._vk.ffi.memmove(buffer.address, block, len(block))
        return buffer

    def _dispatch(self, request: DispatchRequest) -> None:
        ring, recorder = self._ring, self._recorder
        frame = ring.recording or ring.acquire()
        last, bound = frame.last
        if request is not last:
            frame.kept.append(request)
            bound = recorder.bind(frame.descriptors, request)  # what may fail comes before any command
            for buffer in request.operands.buffers:
                buffer.used = frame.number
            frame.last = request, bound
        if not frame.queries.is_on:
            recorder.dispatch(frame.commands, bound, request)
            return
        frame.queries.around(
            frame.commands, request.name, lambda: recorder.dispatch(frame.commands, bound, request)
        )
        if frame.queries.is_full:
            self._submit()

    def _submit(self) -> None:
        """Submit what is recorded; where that fails, nothing of it runs."""
        frame = self._ring.recording
        if frame is None:
            return
        if not self._memory.plan.staged:
            self._recorder.finish(frame.commands)
        try:
            self._ring.submit()
        except BaseException:
            self._recorder.distrust()
            raise

    def wait(self) -> None:
        """Block until all launched work is done."""
        with self._using():
            self._submit()
            self._ring.finish()

    # ---- many launches at once

    def hold(self) -> None:
        """Keep launches in one frame until :meth:`let_go`, or until the host needs what they write."""
        with self._using():
            self._held += 1

    def let_go(self) -> None:
        """Submit what was held."""
        with self._using():
            self._held = max(0, self._held - 1)
            if not self._held:
                self._submit()

    def capture(self) -> None:
        """Keep launches for a graph until :meth:`captured`; none of them runs."""
        with self._using():
            if self._captured is not None:
                raise faults.shape(
                    f"{self.info.name} is capturing already", "a second graph", "one at a time"
                )
            self._captured = []

    def captured(self) -> Captured:
        """Return the graph of the launches since :meth:`capture`."""
        with self._using():
            requests, self._captured = self._captured or [], None
            try:
                graph = VulkanGraph(self._maker, self._ring, requests, full=self._options.full_barriers)
                for buffer in graph.buffers:
                    buffer.graphs += 1
            finally:
                for request in requests:
                    self._captured_no_more(request)
            key = self._graphs.add(graph, 0)
            return Captured(partial(self._replay, key), partial(self.dropped.append, ("graph", key)))

    def _captured_no_more(self, request: DispatchRequest) -> None:
        for buffer in request.operands.buffers:
            buffer.graphs -= 1
            if buffer.is_released or buffer is request.spilled:
                self._retire(buffer)

    def _replay(self, key: int) -> None:
        with self._using():
            if key not in self._graphs.live:
                raise faults.closed(f"a graph on {self.info.name}")
            graph = self._graphs.get(key)
            self._submit()
            if self._clock and tracing.active() is not None:
                for request in graph.requests:  # one by one, so that the trace has each
                    self._dispatch(request)
                self._submit()
                return
            graph.submit()
            self._recorder.hazards.passed()  # it ends with a barrier
