"""Which Vulkan devices does the loader list, and what do they say of themselves?

Asked where a device is looked for; a build that takes the launcher alone does not import it.
"""

from __future__ import annotations

from typing import Any

from atoll.accel import DeviceFacts, Version
from atoll.plugin import DeviceInfo
from atoll.runtime.limits import stated
from atoll.runtime.native import LibraryMissingError, Table
from atoll_plugins.vulkan.capabilities import capabilities
from atoll_plugins.vulkan.make import NEWEST, PUSH_BYTES, Physical
from atoll_plugins.vulkan.results import result_text

_OLDEST = 1 << 22 | 2 << 12
_NEWEST = NEWEST.parts[0] << 22 | NEWEST.parts[1] << 12
_SPIRV = {0: "1.0", 1: "1.3", 2: "1.5"}


class CallError(Exception):
    """A function that failed before a device was open."""


#: What is raised where nothing can be listed.
FAILURES = (LibraryMissingError, CallError)


def found(vk: Table, instance: Any) -> list[Physical]:
    """Return the devices that compute with Vulkan 1.2 or newer.

    Raises:
        CallError: Where the loader cannot list them.
    """
    listed: list[Physical] = []
    for handle in _enumerate(vk, instance):
        physical = _describe(vk, handle, len(listed))
        if physical is not None:
            listed.append(physical)
    return listed


def create_instance(vk: Table) -> Any:
    """Return an instance of the newest version that both sides know.

    Raises:
        CallError: Where there is none.
    """
    version = vk.ffi.new("uint32_t *")
    _call(vk, "vkEnumerateInstanceVersion", version)
    application = vk.ffi.new(
        "VkApplicationInfo *",
        {
            "sType": vk.VK_STRUCTURE_TYPE_APPLICATION_INFO,
            "apiVersion": min(version[0], _NEWEST),
        },
    )
    engine = vk.ffi.new("char[]", b"atoll")
    application.pEngineName = engine
    create = vk.ffi.new(
        "VkInstanceCreateInfo *",
        {"sType": vk.VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, "pApplicationInfo": application},
    )
    instance = vk.ffi.new("VkInstance *")
    _call(vk, "vkCreateInstance", create, vk.ffi.NULL, instance)
    return instance[0]


def _enumerate(vk: Table, instance: Any) -> list[Any]:
    most = 32
    count, handles = vk.ffi.new("uint32_t *", most), vk.ffi.new("VkPhysicalDevice[]", most)
    result = vk.vkEnumeratePhysicalDevices(instance, count, handles)
    if result < 0:
        raise CallError(f"`vkEnumeratePhysicalDevices` returned {result_text(result)}")
    return list(handles)[: count[0]]


def _describe(vk: Table, handle: Any, index: int) -> Physical | None:
    """Return a device, or None where it is too old or does not compute."""
    properties = vk.ffi.new("VkPhysicalDeviceProperties *")
    vk.vkGetPhysicalDeviceProperties(handle, properties)
    version = properties.apiVersion
    family = compute_family(vk, handle) if version >= _OLDEST else None
    if family is None:
        return None
    name: str = vk.ffi.string(properties.deviceName).decode(errors="replace")
    minor = version >> 12 & 0x3FF
    facts = DeviceFacts(
        backend="vulkan",
        name=name,
        version=Version((version >> 22, minor)),
        facts={
            "driver": _driver_version(vk, handle, properties),
            "uuid": _uuid(vk, handle),
            "spirv": _SPIRV.get(minor, "1.6"),
            "spirv.capability": capabilities(vk, handle),
        },
    )
    info = DeviceInfo(
        driver="vulkan",
        index=index,
        name=name,
        facts=facts,
        software=properties.deviceType == vk.VK_PHYSICAL_DEVICE_TYPE_CPU,
        limits={
            "push_bytes": PUSH_BYTES,
            "buffer_bytes": properties.limits.maxStorageBufferRange,
            "group_size": properties.limits.maxComputeWorkGroupInvocations,
            "shared_bytes": properties.limits.maxComputeSharedMemorySize,
            **stated(
                tuple(properties.limits.maxComputeWorkGroupCount),
                tuple(properties.limits.maxComputeWorkGroupSize),
            ),
        },
    )
    return Physical(handle, info, *family)


def compute_family(vk: Table, handle: Any) -> tuple[int, int] | None:
    """Return the first family of queues that compute and the bits of its timestamps, or None."""
    most = 64
    count, families = vk.ffi.new("uint32_t *", most), vk.ffi.new("VkQueueFamilyProperties[]", most)
    vk.vkGetPhysicalDeviceQueueFamilyProperties(handle, count, families)
    for index in range(count[0]):
        if families[index].queueFlags & vk.VK_QUEUE_COMPUTE_BIT:
            return index, families[index].timestampValidBits
    return None


def _uuid(vk: Table, handle: Any) -> str:
    """Return the device's identity, the same in every process and interface, as hexadecimal digits."""
    identity = vk.ffi.new(
        "VkPhysicalDeviceIDProperties *",
        {"sType": vk.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES},
    )
    more = vk.ffi.new(
        "VkPhysicalDeviceProperties2 *",
        {"sType": vk.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, "pNext": identity},
    )
    vk.vkGetPhysicalDeviceProperties2(handle, more)
    return bytes(vk.ffi.buffer(identity.deviceUUID)).hex()


def _driver_version(vk: Table, handle: Any, properties: Any) -> str:
    """Return the driver's version as it prints it, else as the number it states."""
    driver = vk.ffi.new(
        "VkPhysicalDeviceDriverProperties *",
        {"sType": vk.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES},
    )
    more = vk.ffi.new(
        "VkPhysicalDeviceProperties2 *",
        {"sType": vk.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, "pNext": driver},
    )
    vk.vkGetPhysicalDeviceProperties2(handle, more)
    text = vk.ffi.string(driver.driverInfo)
    return text.decode(errors="replace") or str(properties.driverVersion)


def _call(vk: Table, function: str, *arguments: Any) -> None:
    result = vk.functions[function](*arguments)
    if result:
        raise CallError(f"`{function}` returned {result_text(result)}")
