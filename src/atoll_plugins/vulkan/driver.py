"""Reaches Vulkan devices through the loader: which there are, and what they say of themselves.

Opening one and launching on it is :mod:`atoll_plugins.vulkan.device`. The C launcher in ``launcher.c``
records the same commands. Both read ``abi.h``.
"""

from __future__ import annotations

from _thread import allocate_lock
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atoll.plugin.values import dataclass
from atoll.runtime import launcher_source

if TYPE_CHECKING:
    from atoll.plugin import DeviceInfo, DriverDevice, LauncherSource
    from atoll.runtime.native import Table
    from atoll_plugins.vulkan.device import Options
    from atoll_plugins.vulkan.make import Physical

_HERE = Path(__file__).parent
_LIBRARY = "libvulkan.so.1"
_INSTALL = (
    "install a Vulkan driver and the loader "
    "(Debian: `apt-get install libvulkan1 mesa-vulkan-drivers`, or the vendor's driver)"
)


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
        self._lock = allocate_lock()

    def table(self) -> Table:
        """Return the loader's functions; LibraryMissingError where there is no loader."""
        if self._table is None:
            from atoll.runtime.native import open_table

            self._table = open_table(_HERE / "abi.h", self._library)
        return self._table

    def devices(self) -> tuple[DeviceInfo, ...]:
        """Return the devices that compute with Vulkan 1.2 or newer."""
        from atoll_plugins.vulkan.physical import FAILURES

        try:
            return tuple(found.info for found in self._find())
        except FAILURES:
            return ()

    def unavailable(self) -> tuple[str, str] | None:
        """Return (reason, fix) where there is no device, else None."""
        from atoll_plugins.vulkan.physical import FAILURES

        try:
            if self._find():
                return None
        except FAILURES as error:
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
        # A build asks for the launcher and opens nothing.
        from atoll.runtime import faults
        from atoll_plugins.vulkan.device import VulkanDevice
        from atoll_plugins.vulkan.physical import FAILURES

        try:
            found = self._find()
        except FAILURES as error:
            raise faults.unavailable(self.name, str(error), _INSTALL) from error
        if not found:
            raise faults.unavailable(self.name, self._nothing(), _INSTALL)
        return VulkanDevice(self.table(), faults.one_of(self.name, found, index), options)

    def memory(self, index: int) -> dict[str, int]:
        """Return what a device's memory has now, where it says so."""
        from atoll.runtime import faults
        from atoll_plugins.vulkan.physical import FAILURES
        from atoll_plugins.vulkan.room import room

        try:
            found = self._find()
        except FAILURES:
            return {}
        return room(self.table(), faults.one_of(self.name, found, index).handle)

    def launcher(self) -> LauncherSource | None:
        """Return the C launcher."""
        return launcher_source(_HERE)

    def _find(self) -> list[Physical]:
        from atoll_plugins.vulkan.physical import create_instance, found

        with self._lock:
            vk = self.table()
            if self._instance is None:
                self._instance = _Instance(create_instance(vk))
            return found(vk, self._instance.handle)
