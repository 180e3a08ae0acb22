"""Runs kernels on the processor: C text compiled by the host's compiler, work-groups on threads.

The result does not depend on the number of threads: a work-group runs on one of them, in order.
"""

from __future__ import annotations

import ctypes
import os
import platform
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from atoll._util.machine import free_memory, processors
from atoll.accel import DeviceFacts
from atoll.plugin import (
    Argument,
    BufferArgument,
    DeviceInfo,
    DriverDevice,
    Emitted,
    Executable,
    LauncherSource,
    ScalarArgument,
    Target,
)
from atoll.runtime import faults, launcher_source
from atoll.runtime.handles import Handles, room
from atoll.runtime.pack import pack_scalars
from atoll_plugins.cpu.compile import CompilationError, Compiler, compiled, find_compiler

_HERE = Path(__file__).parent
_INSTALL = "install a C compiler (Debian: `apt-get install gcc`)"
_ALIGN = 64

Size = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class CpuExecutable:
    """A compiled kernel. Its shared object stays loaded until the process ends."""

    entry: str
    function: Any


class _Memory:
    """Bytes at a multiple of 64, zero at first."""

    __slots__ = ("address", "view")

    def __init__(self, nbytes: int) -> None:
        raw = bytearray(nbytes + _ALIGN)
        start = -ctypes.addressof(ctypes.c_char.from_buffer(raw)) % _ALIGN
        self.view = memoryview(raw)[start : start + nbytes]
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(raw, start))


class CpuDevice:
    """The processor, opened: a pool of threads and the memory handed out."""

    def __init__(self, info: DeviceInfo, compiler: Compiler, environment: Mapping[str, str]) -> None:
        self.info = info
        self._compiler = compiler
        self._environment = environment
        self._buffers: Handles[_Memory] = Handles(info.name)
        self._threads = processors()
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="atoll-cpu")
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._open = True

    def target(self) -> Target:
        """Return C for this machine."""
        return Target(backend="cpu", arch=self.info.facts.arch)

    def load(self, code: Emitted) -> Executable:
        """Compile a kernel's C text, or take it from the cache."""
        self._using()
        try:
            library = compiled(code.code, self._compiler, self._environment)
            function = getattr(ctypes.CDLL(str(library)), code.entry)
        except CompilationError as error:
            said = f"`{self._compiler.path}` refused it"
            raise faults.code_refused(code.entry, self.info.name, said, str(error)) from error
        except (OSError, AttributeError) as error:
            raise faults.code_refused(
                code.entry, self.info.name, f"it could not be loaded: {error}"
            ) from error
        words = ctypes.POINTER(ctypes.c_uint32)
        function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, words, words, ctypes.c_uint64, ctypes.c_uint64]
        function.restype = None
        return CpuExecutable(code.entry, function)

    def allocate(self, nbytes: int) -> int:
        """Return the handle of a new buffer."""
        with self._using():
            size = room(nbytes)
            if size > self.info.limits["buffer_bytes"]:
                limit = f"{self.info.limits['buffer_bytes']} bytes of free memory"
                raise faults.outside(self.info.name, f"a buffer of {nbytes} bytes", limit)
            return self._buffers.add(_Memory(size), size)

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

    def launch(
        self, executable: Executable, groups: Size, group: Size, arguments: tuple[Argument, ...]
    ) -> None:
        """Run one launch to its end."""
        assert isinstance(executable, CpuExecutable)
        handles = [item.handle for item in arguments if isinstance(item, BufferArgument)]
        block = pack_scalars(item for item in arguments if isinstance(item, ScalarArgument))
        with self._using():
            kept = [self._buffers.get(handle) for handle in handles]
            pointers = (ctypes.c_void_p * (len(kept) or 1))(*(item.address for item in kept))
            packed = _Memory(room(len(block)))
            packed.view[: len(block)] = block
            grid, local = (ctypes.c_uint32 * 3)(*groups), (ctypes.c_uint32 * 3)(*group)
            call = (ctypes.addressof(pointers), packed.address, grid, local)
            self._run(executable.function, call, groups[0] * groups[1] * groups[2])

    def _run(self, function: Any, call: tuple[Any, ...], total: int) -> None:
        shares = min(self._threads, total)
        if shares == 1:
            function(*call, 0, total)
            return
        edges = [total * share // shares for share in range(shares + 1)]
        running = [
            self._pool.submit(partial(function, *call, first, last)) for first, last in pairwise(edges)
        ]
        for future in running:
            future.result()

    def wait(self) -> None:
        """Return at once: a launch runs to its end."""
        self._using()

    def close(self) -> None:
        """Free everything; idempotent."""
        with self._lock:
            if self._open and os.getpid() == self._process:
                self._pool.shutdown()
            self._open = False
            for _ in self._buffers.drain():
                pass

    def _using(self) -> threading.RLock:
        if not self._open:
            raise faults.closed(self.info.name)
        if os.getpid() != self._process:
            raise faults.closed(self.info.name, "this process was forked after it had been opened")
        return self._lock


class CpuDriver:
    """The driver `cpu`: always the last choice."""

    name = "cpu"
    rank = 1000

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._stated = environment

    @property
    def _environment(self) -> Mapping[str, str]:
        return os.environ if self._stated is None else self._stated

    def devices(self) -> tuple[DeviceInfo, ...]:
        """Return the processor, where a compiler can make kernels for it."""
        compiler = find_compiler(self._environment)
        return () if compiler is None else (_describe(compiler),)

    def unavailable(self) -> tuple[str, str] | None:
        """Return (reason, fix) without a C compiler."""
        if find_compiler(self._environment) is not None:
            return None
        return "no C compiler (cc, gcc, clang) on PATH", _INSTALL

    def open(self, index: int) -> DriverDevice:
        """Open the processor."""
        compiler = find_compiler(self._environment)
        if compiler is None:
            raise faults.unavailable(self.name, *(self.unavailable() or ("", _INSTALL)))
        if index != 0:
            raise faults.no_index(self.name, index, 1)
        return CpuDevice(_describe(compiler), compiler, dict(self._environment))

    def launcher(self) -> LauncherSource | None:
        """Return the C launcher."""
        return launcher_source(_HERE)


def _describe(compiler: Compiler) -> DeviceInfo:
    name = processor_name()
    facts = DeviceFacts(backend="cpu", name=name, arch=platform.machine(), facts={"driver": compiler.version})
    limits = {"buffer_bytes": free_memory(), "threads": processors()}
    return DeviceInfo(driver="cpu", index=0, name=name, facts=facts, software=True, limits=limits)


def processor_name(path: Path = Path("/proc/cpuinfo")) -> str:
    """Return the processor's model as the system states it; the C launcher says the same."""
    with suppress(OSError):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return "processor"
