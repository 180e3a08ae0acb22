"""Reaches Vulkan devices through the loader: which there are, and what they say of themselves.

Opening one and launching on it is :mod:`atoll_plugins.vulkan.device`. The C launcher in ``launcher.c``
records the same commands. Both read ``abi.h``.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atoll.accel import DeviceFacts, Version
from atoll.plugin import DeviceInfo, DriverDevice, LauncherSource
from atoll.plugin.values import dataclass
from atoll.runtime import faults, launcher_source
from atoll.runtime.limits import stated
from atoll.runtime.native import LibraryMissingError, Table, open_table
from atoll_plugins.vulkan.capabilities import capabilities
from atoll_plugins.vulkan.make import NEWEST, PUSH_BYTES, Physical
from atoll_plugins.vulkan.results import result_text

if TYPE_CHECKING:
    from atoll_plugins.vulkan.device import Options

_HERE = Path(__file__).parent
_LIBRARY = "libvulkan.so.1"
_INSTALL = (
    "install a Vulkan driver and the loader "
    "(Debian: `apt-get install libvulkan1 mesa-vulkan-drivers`, or the vendor's driver)"
)
_OLDEST = 1 << 22 | 2 << 12
_NEWEST = NEWEST.parts[0] << 22 | NEWEST.parts[1] << 12
_SPIRV = {0: "1.0", 1: "1.3", 2: "1.5"}


class CallError(Exception):
    """A function that failed before a device was open."""


@dataclass(slots=True)
class _Instance:
    """The one instance of a process; kept until its end, since a device may be in use anywhere."""

    handle: Any


class VulkanDriver:
    """The driver `vulkan`."""

    name = "vulkan"
    rank = 20

    def __init__(
        self, library: str = _LIBRARY, options: Options | None = None, table: Table | None = None
    ) -> None:
        self._library, self._options = library, options
        self._table = table
        self._instance: _Instance | None = None
        self._lock = threading.Lock()

    def table(self) -> Table:
        """Return the loader's functions; LibraryMissingError where there is no loader."""
        if self._table is None:
            self._table = open_table(_HERE / "abi.h", self._library)
        return self._table

    def devices(self) -> tuple[DeviceInfo, ...]:
        """Return the devices that compute with Vulkan 1.2 or newer."""
        try:
            return tuple(found.info for found in self._find())
        except (LibraryMissingError, CallError):
            return ()

    def unavailable(self) -> tuple[str, str] | None:
        """Return (reason, fix) where there is no device, else None."""
        try:
            if self._find():
                return None
        except (LibraryMissingError, CallError) as error:
            return str(error), _INSTALL
        return self._nothing(), _INSTALL

    def _nothing(self) -> str:
        return f"{self._library} finds no device of Vulkan 1.2 or newer that computes"

    def open(self, index: int) -> DriverDevice:
        """Open a device."""
        return self._open(index, self._options)

    def open_within(self, index: int, budget: int) -> DriverDevice:
        """Open a device whose buffers take no more than `budget` bytes together."""
        from dataclasses import replace

        from atoll_plugins.vulkan.device import Options

        return self._open(index, replace(self._options or Options(), budget=budget))

    def _open(self, index: int, options: Options | None) -> DriverDevice:
        try:
            found = self._find()
        except (LibraryMissingError, CallError) as error:
            raise faults.unavailable(self.name, str(error), _INSTALL) from error
        if not found:
            raise faults.unavailable(self.name, self._nothing(), _INSTALL)
        # A build asks for the launcher and opens nothing.
        from atoll_plugins.vulkan.device import VulkanDevice

        return VulkanDevice(self.table(), faults.one_of(self.name, found, index), options)

    def memory(self, index: int) -> dict[str, int]:
        """Return what a device's memory has now, where it says so."""
        try:
            found = self._find()
        except (LibraryMissingError, CallError):
            return {}
        from atoll_plugins.vulkan.room import room

        return room(self.table(), faults.one_of(self.name, found, index).handle)

    def launcher(self) -> LauncherSource | None:
        """Return the C launcher."""
        return launcher_source(_HERE)

    def _find(self) -> list[Physical]:
        with self._lock:
            vk = self.table()
            if self._instance is None:
                self._instance = _Instance(_create_instance(vk))
            found: list[Physical] = []
            for handle in _enumerate(vk, self._instance.handle):
                physical = _describe(vk, handle, len(found))
                if physical is not None:
                    found.append(physical)
            return found


def _create_instance(vk: Table) -> Any:
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
