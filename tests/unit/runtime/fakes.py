"""Drivers without hardware: devices by name, and one that keeps its promises in memory."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from atoll.accel import DeviceFacts
from atoll.plugin import (
    Argument,
    BufferArgument,
    DeviceInfo,
    Emitted,
    Executable,
    LauncherSource,
    ScalarArgument,
    Target,
)
from atoll.runtime import DriverStatus
from atoll.testing.drivers import LAYOUT


def info(driver: str, index: int, name: str, *, software: bool = False) -> DeviceInfo:
    """Return a device."""
    facts = DeviceFacts(backend=driver, name=name)
    return DeviceInfo(driver=driver, index=index, name=name, facts=facts, software=software, limits={})


def status(driver: str, rank: int, *devices: DeviceInfo, reason: str = "") -> DriverStatus:
    """Return what a driver reaches."""
    return DriverStatus(
        name=driver, rank=rank, devices=devices, reason=reason, fix="buy one" if reason else ""
    )


@dataclass
class Loaded:
    """Loaded code."""

    entry: str


@dataclass
class MemoryDevice:
    """A device that adds in Python: saxpy over whole buffers; it keeps a list of its calls."""

    info: DeviceInfo = field(default_factory=lambda: info("mem", 0, "Memory"))
    calls: list[str] = field(default_factory=list)
    buffers: dict[int, bytearray] = field(default_factory=dict)
    blocks: list[bytes] = field(default_factory=list)
    closed: bool = False

    def target(self) -> Target:
        return Target(backend="mem")

    def load(self, code: Emitted) -> Executable:
        self.calls.append("load")
        return Loaded(code.entry)

    def allocate(self, nbytes: int) -> int:
        self.calls.append(f"allocate {nbytes}")
        handle = len(self.calls)
        self.buffers[handle] = bytearray(nbytes)
        return handle

    def release(self, handle: int) -> None:
        self.calls.append("release")
        del self.buffers[handle]

    def upload(self, handle: int, data: memoryview, offset: int = 0) -> None:
        self.calls.append(f"upload {data.nbytes}")
        self.buffers[handle][offset : offset + data.nbytes] = data

    def download(self, handle: int, out: memoryview, offset: int = 0) -> None:
        self.calls.append(f"download {out.nbytes}")
        out[:] = self.buffers[handle][offset : offset + out.nbytes]

    def launch(
        self,
        executable: Executable,
        groups: tuple[int, int, int],
        group: tuple[int, int, int],
        arguments: tuple[Argument, ...],
    ) -> None:
        self.calls.append("launch")
        bound = [self.buffers[item.handle] for item in arguments if isinstance(item, BufferArgument)]
        self.blocks += [item.data for item in arguments if isinstance(item, ScalarArgument)]
        if len(bound) != 3:
            return
        a, n = struct.unpack_from("<fI", self.blocks[-1])
        x, y = (struct.unpack(f"<{len(item) // 4}f", item) for item in bound[:2])
        for index in range(min(n, len(x))):
            struct.pack_into("<f", bound[2], 4 * index, a * x[index] + y[index])

    def wait(self) -> None:
        self.calls.append("wait")

    def close(self) -> None:
        self.closed = True


class MemoryDriver:
    """A driver with two memory devices; `opened` keeps every device it gave."""

    name = "mem"
    rank = 5

    def __init__(self) -> None:
        self.opened: list[MemoryDevice] = []

    def devices(self) -> tuple[DeviceInfo, ...]:
        return info("mem", 0, "Memory"), info("mem", 1, "Other Memory")

    def unavailable(self) -> tuple[str, str] | None:
        return None

    def open(self, index: int) -> MemoryDevice:
        device = MemoryDevice(self.devices()[index])
        self.opened.append(device)
        return device

    def launcher(self) -> LauncherSource | None:
        return None


CODE = Emitted(
    target=Target(backend="mem"),
    stage="text",
    code=b"saxpy",
    text=True,
    entry="saxpy",
    suffix=".mem",
    layout=LAYOUT,
)
