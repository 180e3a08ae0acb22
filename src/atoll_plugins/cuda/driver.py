"""Reaches CUDA devices through the driver interface of ``libcuda``: which there are, what they say.

Opening one and launching on it is :mod:`atoll_plugins.cuda.device`. The C launcher in ``launcher.c`` queues a
launch with the same calls. Both read ``abi.h``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from atoll.accel import DeviceFacts, Version
from atoll.plugin import DeviceInfo, DriverDevice, LauncherSource
from atoll.runtime import faults, launcher_source
from atoll.runtime.limits import stated
from atoll.runtime.native import LibraryMissingError, Table, open_table
from atoll_plugins.cuda.results import CallError, error_text

_HERE = Path(__file__).parent
_LIBRARY = "libcuda.so.1"
_INSTALL = "install NVIDIA's driver; in a container, start it with the GPU passed through"
#: Toolkit versions and the PTX ISA each brought (PTX ISA 9.1, "Release Notes").
NEWEST_ISA = {
    **{f"11.{minor}": f"7.{minor}" for minor in range(9)},
    **{f"12.{minor}": f"8.{minor}" for minor in range(6)},
    "12.6": "8.5",
    "12.7": "8.6",
    "12.8": "8.7",
    "12.9": "8.8",
    "13.0": "9.0",
    "13.1": "9.1",
}
_MODULE_VERSION = Path("/proc/driver/nvidia/version")


class CudaDriver:
    """The driver `cuda`."""

    name = "cuda"
    rank = 10
    # DLPack: kDLCUDA, kDLCUDAManaged.
    tensor_devices = (2, 13)

    def __init__(
        self, library: str = _LIBRARY, table: Table | None = None, budget: int | None = None
    ) -> None:
        """Take another library, or another table of its functions, than the system's.

        Args:
            library: What the loader is asked for.
            table: The functions, initialised.
            budget: Bytes that the buffers of a device may take together; None for what the driver gives.
        """
        self._library, self._budget = library, budget
        self._table = table

    def table(self) -> Table:
        """Return the interface, initialised.

        Raises:
            LibraryMissingError: Where there is no driver.
            CallError: Where it does not start.
        """
        if self._table is None:
            table = open_table(_HERE / "abi.h", self._library)
            _call(table, "cuInit", 0)
            self._table = table
        return self._table

    def devices(self) -> tuple[DeviceInfo, ...]:
        """Return the devices in the driver's order."""
        try:
            return tuple(info for info, _ in self._find())
        except (LibraryMissingError, CallError):
            return ()

    def unavailable(self) -> tuple[str, str] | None:
        """Return (reason, fix) where there is no device, else None."""
        try:
            if self._find():
                return None
        except (LibraryMissingError, CallError) as error:
            return str(error), _INSTALL
        return f"{self._library} finds no device", _INSTALL

    def open(self, index: int) -> DriverDevice:
        """Open a device."""
        return self._open(index, self._budget)

    def open_within(self, index: int, budget: int) -> DriverDevice:
        """Open a device whose buffers take no more than `budget` bytes together."""
        return self._open(index, budget)

    def _open(self, index: int, budget: int | None) -> DriverDevice:
        try:
            found = self._find()
        except (LibraryMissingError, CallError) as error:
            raise faults.unavailable(self.name, str(error), _INSTALL) from error
        if not found:
            raise faults.unavailable(self.name, f"{self._library} finds no device", _INSTALL)
        # A build asks for the launcher and opens nothing.
        from atoll_plugins.cuda.device import CudaDevice

        return CudaDevice(self.table(), *faults.one_of(self.name, found, index), budget)

    def launcher(self) -> LauncherSource | None:
        """Return the C launcher."""
        return launcher_source(_HERE)

    def _find(self) -> list[tuple[DeviceInfo, int]]:
        cu = self.table()
        version, count = cu.ffi.new("int *"), cu.ffi.new("int *")
        _call(cu, "cuDriverGetVersion", version)
        _call(cu, "cuDeviceGetCount", count)
        return [_describe(cu, ordinal, version[0]) for ordinal in range(count[0])]


def _describe(cu: Table, ordinal: int, supported: int) -> tuple[DeviceInfo, int]:
    device, name = cu.ffi.new("CUdevice *"), cu.ffi.new("char[]", 256)
    _call(cu, "cuDeviceGet", device, ordinal)
    _call(cu, "cuDeviceGetName", name, 256, device[0])
    major = _attribute(cu, device[0], cu.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
    minor = _attribute(cu, device[0], cu.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
    raw: bytes = cu.ffi.string(name)
    version = Version((supported // 1000, supported % 1000 // 10))
    facts = DeviceFacts(
        backend="cuda",
        name=raw.decode(errors="replace"),
        arch=f"sm_{major}{minor}",
        version=version,
        facts={"driver": driver_version() or str(version), **_isa(version)},
    )
    info = DeviceInfo(
        driver="cuda",
        index=ordinal,
        name=facts.name,
        facts=facts,
        software=False,
        limits=_limits(cu, device[0]),
    )
    return info, device[0]


def _isa(version: Version) -> dict[str, str]:
    """Return the newest PTX ISA that a driver of this toolkit reads, where it is known."""
    isa = NEWEST_ISA.get(str(version))
    return {} if isa is None else {"ptx.isa": isa}


def _limits(cu: Table, device: int) -> dict[str, int]:
    total = cu.ffi.new("size_t *")
    _call(cu, "cuDeviceTotalMem_v2", total, device)
    # The attributes of the three dimensions follow one another.
    groups, items = (
        tuple(_attribute(cu, device, first + axis) for axis in range(3))
        for first in (cu.CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, cu.CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)
    )
    return {
        "buffer_bytes": int(total[0]),
        "group_size": _attribute(cu, device, cu.CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        "shared_bytes": _attribute(cu, device, cu.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
        **stated(groups, items),
    }


def _attribute(cu: Table, device: int, attribute: int) -> int:
    value = cu.ffi.new("int *")
    _call(cu, "cuDeviceGetAttribute", value, attribute, device)
    return int(value[0])


def _call(cu: Table, function: str, *arguments: Any) -> None:
    result = cu.functions[function](*arguments)
    if result:
        raise CallError(f"`{function}` returned {error_text(cu, result)}")


def driver_version(path: Path = _MODULE_VERSION) -> str:
    """Return the version of the kernel module (``580.159.04``), or nothing where it does not say."""
    try:
        first = path.read_text(encoding="utf-8", errors="replace").split("\n", 1)[0]
    except OSError:
        return ""
    found = re.search(r" (\d+\.[\d.]+) ", first)
    return found[1] if found else ""
