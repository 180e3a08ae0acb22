"""What the processor's memory is to a kernel: buffers by handle, of one device and one process."""

from __future__ import annotations

import ctypes
import os
import threading

from atoll.plugin import DeviceInfo
from atoll.runtime import faults
from atoll.runtime.handles import Handles, room

_ALIGN = 64


class Memory:
    """Bytes at a multiple of 64, zero at first."""

    __slots__ = ("address", "view")

    def __init__(self, nbytes: int) -> None:
        raw = bytearray(nbytes + _ALIGN)
        start = -ctypes.addressof(ctypes.c_char.from_buffer(raw)) % _ALIGN
        self.view = memoryview(raw)[start : start + nbytes]
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(raw, start))


class HostMemory:
    """The buffers of a device that is the processor itself."""

    def __init__(self, info: DeviceInfo) -> None:
        self.info = info
        self._buffers: Handles[Memory] = Handles(info.name)
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._open = True

    def allocate(self, nbytes: int) -> int:
        """Return the handle of a new buffer."""
        with self._using():
            size = room(nbytes)
            if size > self.info.limits["buffer_bytes"]:
                limit = f"{self.info.limits['buffer_bytes']} bytes of memory were free"
                raise faults.out_of_memory(self.info.name, nbytes, limit)
            return self._buffers.add(Memory(size), size)

    def release(self, handle: int) -> None:
        """Free a buffer; harmless on a closed device."""
        with self._lock:
            self._buffers.pop(handle)

    def upload(self, handle: int, data: memoryview, offset: int = 0) -> None:
        """Copy host bytes into a buffer."""
        with self._using():
            memory = self._buffers.inside(handle, offset, data.nbytes)
            if data.nbytes:
                memory.view[offset : offset + data.nbytes] = data.cast("B")

    def download(self, handle: int, out: memoryview, offset: int = 0) -> None:
        """Copy a buffer into host bytes."""
        with self._using():
            memory = self._buffers.inside(handle, offset, out.nbytes)
            if out.nbytes:
                out.cast("B")[:] = memory.view[offset : offset + out.nbytes]

    def copy(self, other: object, source: int, start: int, target: int, offset: int, nbytes: int) -> bool:
        """Copy between two buffers of this process."""
        if not isinstance(other, HostMemory):
            return False
        with other._using():
            read = other._buffers.inside(source, start, nbytes)
        with self._using():
            written = self._buffers.inside(target, offset, nbytes)
            written.view[offset : offset + nbytes] = read.view[start : start + nbytes]
        return True

    def wait(self) -> None:
        """Return at once: a launch runs to its end."""
        self._using()

    def close(self) -> None:
        """Free everything; idempotent."""
        with self._lock:
            if self._open and os.getpid() == self._process:
                self._end()
            self._open = False
            for _ in self._buffers.drain():
                pass

    def _end(self) -> None:
        """Stop what runs for this device."""

    def _using(self) -> threading.RLock:
        faults.check_usable(self.info.name, is_open=self._open, process=self._process)
        return self._lock
