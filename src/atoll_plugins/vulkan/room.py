"""How much of a device's memory may this process take now? Asked of `VK_EXT_memory_budget`, where it is.

The numbers are the driver's estimate and change with what others take, so they are asked when they are wanted
and nothing is decided by them. Source: the registry's VkPhysicalDeviceMemoryBudgetPropertiesEXT.
"""

from __future__ import annotations

from typing import Any

from atoll.runtime.native import Table

_EXTENSION = b"VK_EXT_memory_budget"


def room(vk: Table, handle: Any) -> dict[str, int]:
    """Return `total`, `budget` and `used` of the device's largest heap, in bytes; nothing where unknown."""
    if not _has_budget(vk, handle):
        return {}
    budget = vk.ffi.new("VkPhysicalDeviceMemoryBudgetPropertiesEXT *")
    budget.sType = vk.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT
    more = vk.ffi.new("VkPhysicalDeviceMemoryProperties2 *")
    more.sType = vk.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2
    more.pNext = budget
    vk.vkGetPhysicalDeviceMemoryProperties2(handle, more)
    heaps = more.memoryProperties.memoryHeaps
    every = range(more.memoryProperties.memoryHeapCount)
    own = [at for at in every if heaps[at].flags & vk.VK_MEMORY_HEAP_DEVICE_LOCAL_BIT]
    at = max(own or every, key=lambda index: heaps[index].size)
    return {"total": heaps[at].size, "budget": budget.heapBudget[at], "used": budget.heapUsage[at]}


def _has_budget(vk: Table, handle: Any) -> bool:
    new, null = vk.ffi.new, vk.ffi.NULL
    count = new("uint32_t *")
    if vk.vkEnumerateDeviceExtensionProperties(handle, null, count, null):
        return False
    names = new("VkExtensionProperties[]", count[0] or 1)
    if vk.vkEnumerateDeviceExtensionProperties(handle, null, count, names):
        return False
    return any(vk.ffi.string(names[at].extensionName) == _EXTENSION for at in range(count[0]))
