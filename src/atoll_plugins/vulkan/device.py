"""An open Vulkan device: memory that the host sees, one queue, one launch in flight.

Each launch is recorded, submitted and later waited for; the next launch or copy waits first. What a
launch alone needs (its descriptors, the buffer of a large parameter block) is freed after that wait.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass

from atoll.errors import DeviceError
from atoll.plugin import (
    Argument,
    BufferArgument,
    DeviceInfo,
    Emitted,
    Executable,
    ScalarArgument,
    Target,
)
from atoll.runtime import faults
from atoll.runtime.handles import Handles, room
from atoll.runtime.native import Table
from atoll.runtime.pack import pack_scalars
from atoll_plugins.vulkan.entry import entry_points, is_spirv
from atoll_plugins.vulkan.make import NEWEST, PUSH_BYTES, Maker, Physical, Pipeline, create_device
from atoll_plugins.vulkan.results import result_text

WAIT_SECONDS = 600
_LOST = -4
_TIMEOUT = 2

Size = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _Buffer:
    buffer: int
    memory: int


@dataclass(slots=True)
class VulkanExecutable:
    """A pipeline; destroyed with the device or when dropped.

    Attributes:
        entry: The entry point's name.
        owner: The device it was made on.
        key: Its number there.
        group: The work-group size that the code fixes, or None.
        bindings: Storage buffers it binds, with the one of a large parameter block.
        push: Bytes of push constants.
    """

    entry: str
    owner: VulkanDevice
    key: int
    group: Size | None
    bindings: int
    push: int

    def __del__(self) -> None:
        self.owner.unload(self.key)


@dataclass(slots=True)
class _Flight:
    """What the launch in flight needs until it is done; holding the executable keeps its pipeline."""

    executable: VulkanExecutable
    pool: int = 0
    spill: _Buffer | None = None


class VulkanDevice:
    """An open device; a lock around every call."""

    def __init__(self, vk: Table, physical: Physical) -> None:
        self._vk = vk
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._lost = ""
        self._flight: _Flight | None = None
        self.info: DeviceInfo = physical.info
        self._buffers: Handles[_Buffer] = Handles(self.info.name)
        self._pipelines: Handles[Pipeline] = Handles(self.info.name)
        self._properties = vk.ffi.new("VkPhysicalDeviceProperties *")
        self._memory = vk.ffi.new("VkPhysicalDeviceMemoryProperties *")
        vk.vkGetPhysicalDeviceProperties(physical.handle, self._properties)
        vk.vkGetPhysicalDeviceMemoryProperties(physical.handle, self._memory)
        device = create_device(vk, physical, self._properties.apiVersion)
        self._maker = Maker(vk, self.info.name, device)
        self._pool = self._fence = 0
        self._open = True
        try:
            self._create_objects(physical.family)
        except BaseException:
            self.close()
            raise

    # ---- opening and closing

    def _create_objects(self, family: int) -> None:
        vk, make = self._vk, self._maker.make
        queue = vk.ffi.new("VkQueue *")
        vk.vkGetDeviceQueue(self._maker.device, family, 0, queue)
        self._queue = queue[0]
        pool = {
            "sType": vk.VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
            "flags": vk.VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
            "queueFamilyIndex": family,
        }
        self._pool = make("vkCreateCommandPool", "VkCommandPool", "VkCommandPoolCreateInfo", pool)
        commands = {
            "sType": vk.VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
            "commandPool": self._pool,
            "level": vk.VK_COMMAND_BUFFER_LEVEL_PRIMARY,
            "commandBufferCount": 1,
        }
        kind = "VkCommandBuffer"
        self._commands = make("vkAllocateCommandBuffers", kind, f"{kind}AllocateInfo", commands)
        fence = {"sType": vk.VK_STRUCTURE_TYPE_FENCE_CREATE_INFO}
        self._fence = make("vkCreateFence", "VkFence", "VkFenceCreateInfo", fence)

    def close(self) -> None:
        """Free everything; idempotent. A lost device is left alone: its work may still run."""
        with self._lock:
            if not self._open:
                return
            try:
                if self._usable():
                    self._settle()
            finally:
                self._open = False
                if self._usable():
                    self._destroy()

    def _usable(self) -> bool:
        return not self._lost and os.getpid() == self._process

    def _destroy(self) -> None:
        for buffer in self._buffers.drain():
            self._free(buffer)
        for pipeline in self._pipelines.drain():
            self._maker.destroy_pipeline(pipeline)
        self._maker.destroy("vkDestroyFence", self._fence)
        self._maker.destroy("vkDestroyCommandPool", self._pool)
        self._vk.vkDestroyDevice(self._maker.device, self._vk.ffi.NULL)

    def _using(self) -> threading.RLock:
        """Return the lock, once it is sure that the device can be used."""
        faults.check_usable(self.info.name, is_open=self._open, process=self._process)
        if self._lost:
            raise faults.closed(self.info.name, self._lost)
        return self._lock

    def _check(self, function: str, result: int) -> None:
        if result == _LOST:
            self._lost = f"`{function}` said that the device is lost"
        self._maker.check(function, result)

    # ---- code

    def target(self) -> Target:
        """Return SPIR-V for the version in use: the device's, but none newer than the instance asks for."""
        version = self.info.facts.version or NEWEST
        return Target(backend="vulkan", version=str(min(version, NEWEST)))

    def load(self, code: Emitted) -> Executable:
        """Make a pipeline of SPIR-V."""
        group = self._entry(code)
        spill = code.layout.block_bytes > PUSH_BYTES
        bindings = len(code.layout.buffers) + spill
        push = 0 if spill else code.layout.block_bytes
        most = self._properties.limits.maxPerStageDescriptorStorageBuffers
        if bindings > most:
            reason = f"it takes {bindings} buffers, the device binds {most}"
            raise faults.code_refused(code.entry, self.info.name, reason)
        shared, room = code.layout.shared_bytes, self._properties.limits.maxComputeSharedMemorySize
        if shared > room:
            reason = f"it takes {shared} bytes of shared memory, the device has {room}"
            raise faults.code_refused(code.entry, self.info.name, reason)
        with self._using():
            try:
                pipeline = self._maker.pipeline(code.code, code.entry, bindings, push)
            except DeviceError as error:
                notes = error.diagnostics[0].notes
                raise faults.code_refused(
                    code.entry, self.info.name, error.diagnostics[0].message, *notes
                ) from error
            key = self._pipelines.add(pipeline, 0)
        return VulkanExecutable(code.entry, self, key, group, bindings, push)

    def _entry(self, code: Emitted) -> Size | None:
        if not is_spirv(code.code):
            raise faults.code_refused(code.entry, self.info.name, "it is not SPIR-V")
        entries = entry_points(code.code)
        if code.entry not in entries:
            has = ", ".join(f"`{name}`" for name in entries) or "none"
            raise faults.code_refused(code.entry, self.info.name, f"it has these entry points: {has}")
        return entries[code.entry]

    def unload(self, key: int) -> None:
        """Destroy a pipeline, unless it went with the device."""
        with self._lock:
            pipeline = self._pipelines.pop(key)
            if pipeline is not None and self._open and self._usable():
                self._maker.destroy_pipeline(pipeline)

    # ---- memory

    def allocate(self, nbytes: int) -> int:
        """Return the handle of a new buffer."""
        most = self._properties.limits.maxStorageBufferRange
        if nbytes > most:
            raise faults.outside(self.info.name, f"a buffer of {nbytes} bytes", f"at most {most} bytes each")
        with self._using():
            return self._buffers.add(self._allocate(room(nbytes)), room(nbytes))

    def _allocate(self, nbytes: int) -> _Buffer:
        vk, make = self._vk, self._maker.make
        create = {
            "sType": vk.VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
            "size": nbytes,
            "usage": vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
            "sharingMode": vk.VK_SHARING_MODE_EXCLUSIVE,
        }
        buffer, memory = make("vkCreateBuffer", "VkBuffer", "VkBufferCreateInfo", create), 0
        try:
            needs = vk.ffi.new("VkMemoryRequirements *")
            vk.vkGetBufferMemoryRequirements(self._maker.device, buffer, needs)
            allocate = {
                "sType": vk.VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                "allocationSize": needs.size,
                "memoryTypeIndex": self._memory_type(needs.memoryTypeBits),
            }
            memory = make("vkAllocateMemory", "VkDeviceMemory", "VkMemoryAllocateInfo", allocate)
            result = vk.vkBindBufferMemory(self._maker.device, buffer, memory, 0)
            self._check("vkBindBufferMemory", result)
        except BaseException:
            self._free(_Buffer(buffer, memory))
            raise
        return _Buffer(buffer, memory)

    def _memory_type(self, allowed: int) -> int:
        """Return cached memory first, for reading back; coherent always, so that nothing needs a flush."""
        vk = self._vk
        need = vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
        for wanted in (need | vk.VK_MEMORY_PROPERTY_HOST_CACHED_BIT, need):
            for index in range(self._memory.memoryTypeCount):
                if allowed >> index & 1 and self._memory.memoryTypes[index].propertyFlags & wanted == wanted:
                    return index
        raise faults.call_failed(
            "vkGetPhysicalDeviceMemoryProperties", "no memory that the host sees", self.info.name
        )

    def _free(self, buffer: _Buffer) -> None:
        self._maker.destroy("vkDestroyBuffer", buffer.buffer)
        self._maker.destroy("vkFreeMemory", buffer.memory)

    def release(self, handle: int) -> None:
        """Free a buffer, after all launched work; nothing is left to free of a closed or lost device."""
        with self._lock:
            if self._open and self._usable():
                self._settle()
                buffer = self._buffers.pop(handle)
                if buffer is not None:
                    self._free(buffer)

    def upload(self, handle: int, data: memoryview, offset: int = 0) -> None:
        """Copy host bytes into a buffer."""
        with self._using():
            buffer = self._buffers.inside(handle, offset, data.nbytes)
            self._settle()
            self._copy(buffer, data, offset, into=True)

    def download(self, handle: int, out: memoryview, offset: int = 0) -> None:
        """Copy a buffer into host bytes, after all launched work."""
        with self._using():
            buffer = self._buffers.inside(handle, offset, out.nbytes)
            self._settle()
            self._copy(buffer, out, offset, into=False)

    def _copy(self, buffer: _Buffer, host: memoryview | bytes, offset: int, *, into: bool) -> None:
        vk = self._vk
        size = memoryview(host).nbytes
        if size == 0:
            return
        mapped = vk.ffi.new("void **")
        device = self._maker.device
        self._check("vkMapMemory", vk.vkMapMemory(device, buffer.memory, offset, size, 0, mapped))
        other = vk.ffi.from_buffer(host)
        vk.ffi.memmove(*((mapped[0], other) if into else (other, mapped[0])), size)
        vk.vkUnmapMemory(device, buffer.memory)

    # ---- launching

    def launch(
        self, executable: Executable, groups: Size, group: Size, arguments: tuple[Argument, ...]
    ) -> None:
        """Submit one launch; the next call waits for it."""
        assert isinstance(executable, VulkanExecutable)
        self._check_shape(executable, groups, group)
        block = pack_scalars(item for item in arguments if isinstance(item, ScalarArgument))
        with self._using():
            self._settle()
            handles = [item.handle for item in arguments if isinstance(item, BufferArgument)]
            buffers = [self._buffers.get(handle) for handle in handles]
            flight = _Flight(executable)
            try:
                self._prepare(flight, buffers, groups, block)
            except BaseException:
                self._retire(flight)
                raise
            self._submit(flight)

    def _check_shape(self, executable: VulkanExecutable, groups: Size, group: Size) -> None:
        most = tuple(self._properties.limits.maxComputeWorkGroupCount)
        if any(count > limit for count, limit in zip(groups, most, strict=True)):
            raise faults.shape(f"too many groups for {self.info.name}", str(groups), f"at most {most}")
        if executable.group is not None and group != executable.group:
            message = f"`{executable.entry}` was compiled for another group"
            raise faults.shape(message, str(group), str(executable.group))

    def _prepare(self, flight: _Flight, buffers: list[_Buffer], groups: Size, block: bytes) -> None:
        executable = flight.executable
        given = len(buffers) + (len(block) > PUSH_BYTES)
        if given != executable.bindings or (executable.push and len(block) != executable.push):
            asked = f"{given} buffers and {len(block)} bytes"
            wanted = f"{executable.bindings} buffers and {executable.push} bytes of push constants"
            raise faults.arguments(f"the arguments do not fit `{executable.entry}`", asked, wanted)
        if len(block) > PUSH_BYTES:
            flight.spill = self._allocate(room(len(block)))
            self._copy(flight.spill, block, 0, into=True)
            buffers = [*buffers, flight.spill]
        pipeline, bound = self._pipelines.get(executable.key), 0
        if buffers:
            flight.pool, bound = self._maker.descriptors(pipeline, [item.buffer for item in buffers])
        self._record(executable, pipeline, bound, groups, block)

    def _record(
        self, executable: VulkanExecutable, pipeline: Pipeline, bound: int, groups: Size, block: bytes
    ) -> None:
        vk, commands, new = self._vk, self._commands, self._vk.ffi.new
        begin = new("VkCommandBufferBeginInfo *")
        begin.sType = vk.VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO
        begin.flags = vk.VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT
        self._check("vkBeginCommandBuffer", vk.vkBeginCommandBuffer(commands, begin))
        point, null = vk.VK_PIPELINE_BIND_POINT_COMPUTE, vk.ffi.NULL
        vk.vkCmdBindPipeline(commands, point, pipeline.pipeline)
        if bound:
            sets = new("VkDescriptorSet[]", [bound])
            vk.vkCmdBindDescriptorSets(commands, point, pipeline.layout, 0, 1, sets, 0, null)
        if executable.push:
            stage, data = vk.VK_SHADER_STAGE_COMPUTE_BIT, vk.ffi.from_buffer(block)
            vk.vkCmdPushConstants(commands, pipeline.layout, stage, 0, executable.push, data)
        vk.vkCmdDispatch(commands, *groups)
        barrier = new("VkMemoryBarrier *")
        barrier.sType = vk.VK_STRUCTURE_TYPE_MEMORY_BARRIER
        barrier.srcAccessMask = vk.VK_ACCESS_SHADER_WRITE_BIT
        barrier.dstAccessMask = (
            vk.VK_ACCESS_HOST_READ_BIT | vk.VK_ACCESS_SHADER_READ_BIT | vk.VK_ACCESS_SHADER_WRITE_BIT
        )
        compute = vk.VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT
        after = compute | vk.VK_PIPELINE_STAGE_HOST_BIT
        vk.vkCmdPipelineBarrier(commands, compute, after, 0, 1, barrier, 0, null, 0, null)
        self._check("vkEndCommandBuffer", vk.vkEndCommandBuffer(commands))

    def _submit(self, flight: _Flight) -> None:
        vk = self._vk
        commands = vk.ffi.new("VkCommandBuffer[]", [self._commands])
        submit = vk.ffi.new("VkSubmitInfo *")
        submit.sType = vk.VK_STRUCTURE_TYPE_SUBMIT_INFO
        submit.commandBufferCount = 1
        submit.pCommandBuffers = commands
        result = vk.vkQueueSubmit(self._queue, 1, submit, self._fence)
        if result:
            self._retire(flight)
        self._check("vkQueueSubmit", result)
        self._flight = flight

    def _settle(self) -> None:
        """Wait for the launch in flight and free what it alone needed."""
        if self._flight is None:
            return
        vk, device = self._vk, self._maker.device
        fences = vk.ffi.new("VkFence[]", [self._fence])
        result = vk.vkWaitForFences(device, 1, fences, 1, WAIT_SECONDS * 10**9)
        if result:
            self._lost = f"the launch of `{self._flight.executable.entry}` did not finish"
            said = result_text(result) + (f" after {WAIT_SECONDS} seconds" if result == _TIMEOUT else "")
            raise faults.call_failed("vkWaitForFences", said, self.info.name)
        flight, self._flight = self._flight, None
        result = vk.vkResetFences(device, 1, fences)
        if result:  # a fence that stays signalled would let the next launch through before it ran
            self._lost = "its fence could not be reset"
        self._check("vkResetFences", result)
        self._retire(flight)

    def _retire(self, flight: _Flight) -> None:
        self._maker.destroy("vkDestroyDescriptorPool", flight.pool)
        if flight.spill is not None:
            self._free(flight.spill)

    def wait(self) -> None:
        """Block until all launched work is done."""
        with self._using():
            self._settle()
