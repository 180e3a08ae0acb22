"""A Vulkan without a device: every function succeeds, memory is the host's, nothing runs.

It serves what is decided before a device computes: which memory is chosen, how often the driver is asked,
what is recorded. Devices are plain numbers, so one that nobody here has can be recorded and tested.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atoll.runtime.native import Table, declarations, declared_functions

_ABI = Path(__file__).parent / "abi.h"
_VERSION = 1 << 22 | 3 << 12
#: Creators whose last argument takes the new object.
_MAKES = ("vkCreate", "vkAllocate")


@dataclass(frozen=True, slots=True)
class NullDevice:
    """A device as its interface would state it.

    Attributes:
        name: Its name.
        kind: ``VkPhysicalDeviceType``: 1 integrated, 2 discrete, 4 a processor.
        types: Memory types: flags and heap.
        heaps: Bytes of each heap; what is allocated beyond is refused.
        buffer_bytes: The most of one storage buffer.
        push_bytes: The most of push constants.
        budget: Of each heap, what a process may take and what it takes; nothing where it is not said.
    """

    name: str = "null"
    kind: int = 4
    types: tuple[tuple[int, int], ...] = ((0b1111, 0),)
    heaps: tuple[int, ...] = (1 << 32,)
    buffer_bytes: int = 1 << 27
    push_bytes: int = 128
    budget: tuple[tuple[int, int], ...] = ()


@dataclass(slots=True)
class NullVulkan:
    """The state behind a null table.

    Attributes:
        devices: What there is.
        memory: The bytes of each allocation that is alive, and its heap.
    """

    devices: tuple[NullDevice, ...]
    memory: dict[int, tuple[Any, int, int]] = field(default_factory=dict)
    _sizes: dict[int, int] = field(default_factory=dict)
    _last: int = 0

    def table(self) -> Table:
        """Return its functions."""
        ffi = declarations(_ABI)
        names = declared_functions(_ABI.read_text(encoding="utf-8"))
        return Table(ffi, {name: self._function(ffi, name) for name in names})

    def _function(self, ffi: Any, name: str) -> Callable[..., Any]:
        own: Callable[..., Any] | None = getattr(self, f"_{name}", None)
        if own is not None:
            return lambda *arguments: own(ffi, *arguments)
        if name.startswith(_MAKES):
            return lambda *arguments: self._make(ffi, arguments[-1])
        return lambda *_: 0

    def _make(self, ffi: Any, out: Any) -> int:
        self._last += 1
        kind = ffi.typeof(out[0]) if isinstance(out[0], ffi.CData) else None
        out[0] = self._last if kind is None else ffi.cast(kind, self._last)
        return 0

    # ---- what devices say

    def _vkEnumerateInstanceVersion(self, ffi: Any, out: Any) -> int:  # noqa: N802
        out[0] = _VERSION
        return 0

    def _vkEnumeratePhysicalDevices(self, ffi: Any, instance: Any, count: Any, out: Any) -> int:  # noqa: N802
        count[0] = len(self.devices)
        for at in range(len(self.devices)):
            out[at] = ffi.cast("VkPhysicalDevice", at + 1)
        return 0

    def _of(self, ffi: Any, handle: Any) -> NullDevice:
        return self.devices[int(ffi.cast("uintptr_t", handle)) - 1]

    def _vkGetPhysicalDeviceProperties(self, ffi: Any, handle: Any, out: Any) -> None:  # noqa: N802
        device = self._of(ffi, handle)
        out.apiVersion, out.deviceType = _VERSION, device.kind
        out.deviceName = device.name.encode()
        limits = out.limits
        limits.maxStorageBufferRange, limits.maxPushConstantsSize = device.buffer_bytes, device.push_bytes
        limits.maxPerStageDescriptorStorageBuffers = 64
        limits.maxComputeSharedMemorySize = 1 << 15
        limits.maxComputeWorkGroupInvocations = 1024
        limits.maxComputeWorkGroupCount = (65535, 65535, 65535)
        limits.maxComputeWorkGroupSize = (1024, 1024, 64)
        limits.timestampPeriod = 1.0

    def _vkGetPhysicalDeviceQueueFamilyProperties(self, ffi: Any, handle: Any, count: Any, out: Any) -> None:  # noqa: N802
        count[0], out[0].queueFlags, out[0].queueCount = 1, 2, 1

    def _vkGetPhysicalDeviceMemoryProperties(self, ffi: Any, handle: Any, out: Any) -> None:  # noqa: N802
        device = self._of(ffi, handle)
        local = {heap for flags, heap in device.types if flags & 1}
        out.memoryTypeCount, out.memoryHeapCount = len(device.types), len(device.heaps)
        for at, (flags, heap) in enumerate(device.types):
            out.memoryTypes[at].propertyFlags, out.memoryTypes[at].heapIndex = flags, heap
        for at, size in enumerate(device.heaps):
            out.memoryHeaps[at].size, out.memoryHeaps[at].flags = size, int(at in local)

    def _vkGetPhysicalDeviceMemoryProperties2(self, ffi: Any, handle: Any, out: Any) -> None:  # noqa: N802
        self._vkGetPhysicalDeviceMemoryProperties(ffi, handle, out.memoryProperties)
        stated = ffi.cast("VkPhysicalDeviceMemoryBudgetPropertiesEXT *", out.pNext)
        for at, (most, used) in enumerate(self._of(ffi, handle).budget):
            stated.heapBudget[at], stated.heapUsage[at] = most, used

    def _vkEnumerateDeviceExtensionProperties(  # noqa: N802
        self, ffi: Any, handle: Any, layer: Any, count: Any, out: Any
    ) -> int:
        names = [b"VK_KHR_bind_memory2"] + [b"VK_EXT_memory_budget"] * bool(self._of(ffi, handle).budget)
        count[0] = len(names)
        for at, name in enumerate(names if out else ()):
            out[at].extensionName = name
        return 0

    def _vkCreateDevice(self, ffi: Any, handle: Any, create: Any, allocator: Any, out: Any) -> int:  # noqa: N802
        # A device's handle says which it is.
        out[0] = ffi.cast("VkDevice", int(ffi.cast("uintptr_t", handle)))
        return 0

    # ---- memory

    def _vkCreateBuffer(self, ffi: Any, device: Any, create: Any, allocator: Any, out: Any) -> int:  # noqa: N802
        self._make(ffi, out)
        self._sizes[out[0]] = create.size
        return 0

    def _vkGetBufferMemoryRequirements(self, ffi: Any, device: Any, buffer: int, out: Any) -> None:  # noqa: N802
        out.size, out.alignment = self._sizes[int(buffer)], 256
        out.memoryTypeBits = (1 << len(self._of(ffi, device).types)) - 1

    def _vkAllocateMemory(self, ffi: Any, device: Any, allocate: Any, allocator: Any, out: Any) -> int:  # noqa: N802
        stated = self._of(ffi, device)
        heap = stated.types[allocate.memoryTypeIndex][1]
        taken = sum(size for _, size, of in self.memory.values() if of == heap)
        if taken + allocate.allocationSize > stated.heaps[heap]:
            return -2
        self._make(ffi, out)
        self.memory[out[0]] = None, allocate.allocationSize, heap
        return 0

    def _vkFreeMemory(self, ffi: Any, device: Any, memory: int, allocator: Any) -> None:  # noqa: N802
        del self.memory[int(memory)]

    def _vkMapMemory(  # noqa: N802
        self, ffi: Any, device: Any, memory: int, offset: int, size: int, flags: int, out: Any
    ) -> int:
        data, nbytes, heap = self.memory[int(memory)]
        data = ffi.new("char[]", nbytes) if data is None else data
        self.memory[int(memory)] = data, nbytes, heap
        out[0] = data + offset
        return 0
