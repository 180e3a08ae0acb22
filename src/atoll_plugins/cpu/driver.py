"""Runs kernels on the processor, work-groups on threads.

LLVM compiles them in this process where llvmlite is installed; else the host's C compiler does; else they are
interpreted (:mod:`atoll_plugins.cpu.interpreter`). The device's fact `driver` says which.
The result does not depend on the number of threads: a work-group runs on one of them, in order.
"""

from __future__ import annotations

import ctypes
import os
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from atoll.accel import DeviceFacts
from atoll.plugin import (
    Argument,
    Bound,
    BufferArgument,
    DeviceArray,
    DeviceInfo,
    DriverDevice,
    Emitted,
    Executable,
    LauncherSource,
    ScalarArgument,
    Target,
)
from atoll.plugin.tools import free_memory, processors
from atoll.runtime import faults, launcher_source, tracing
from atoll.runtime.handles import room
from atoll.runtime.pack import pack_scalars
from atoll.runtime.raw import interface
from atoll_plugins.cpu import llvm
from atoll_plugins.cpu.compile import CompilationError, Compiler, compiled, find_compiler
from atoll_plugins.cpu.memory import HostMemory, Memory
from atoll_plugins.llvm import compiler

_HERE = Path(__file__).parent
#: The device's name where no compiler is found.
INTERPRETER = "cpu (interpreter)"

Size = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class CpuExecutable:
    """A compiled kernel, and what keeps its code; a shared object stays loaded until the process ends."""

    entry: str
    function: Any
    keeps: Any = None


#: Of a thread where none is stated (x86-64 Linux), and the most that is taken as stated.
_STACK, _MOST_STACK = 1 << 21, 1 << 23
#: A launch expected to take less runs on the caller's thread: waking others would take as long.
SHORT_SECONDS = 100e-6


class ThreadedDevice(HostMemory):
    """The processor, opened: a pool of threads and the memory handed out."""

    #: Kernels read and write this process's own memory.
    memory = "host"

    def __init__(self, info: DeviceInfo) -> None:
        super().__init__(info)
        self._threads = processors()
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="atoll-cpu")

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
            packed = Memory(room(len(block)))
            packed.view[: len(block)] = block
            grid, local = (ctypes.c_uint32 * 3)(*groups), (ctypes.c_uint32 * 3)(*group)
            call = (ctypes.addressof(pointers), packed.address, grid, local)
            with self.timed(executable.entry):
                self.share(executable.function, call, 0, groups[0] * groups[1] * groups[2])

    def bind(self, executable: Executable, group: Size) -> Bound:
        """Return a kernel ready to be launched on addresses of this process."""
        assert isinstance(executable, CpuExecutable)
        return BoundKernel(self, executable, group).launch

    def address(self, handle: int) -> int:
        """Return where a buffer lies."""
        return self._buffers.get(handle).address

    def array(self, value: object) -> DeviceArray | None:
        """Return None: there is no other memory than this process's."""
        return None

    def glance(self, value: object) -> tuple[int, int, object] | None:
        """Return None, as :meth:`array` does."""
        return None

    def settle(self, queue: int) -> None:
        """Return at once: a launch runs to its end."""
        self._using()

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Note a launch in the trace that is being made, if one is."""
        trace, start = tracing.active(), time.perf_counter_ns()
        yield
        if trace is not None:
            trace.device(f"{self.info} {self.info.name}", name, start, time.perf_counter_ns(), start)

    def check_usable(self) -> None:
        """Refuse to run anything once it is closed, or in another process."""
        faults.check_usable(self.info.name, is_open=self._open, process=self._process)

    def share(self, function: Any, given: tuple[Any, ...], first: int, last: int) -> int:
        """Run the work-groups from `first` up to `last` on all threads; return on how many."""
        total = last - first
        shares = min(self._threads, total)
        if shares <= 1:
            function(*given, first, last)
            return 1
        edges = [first + total * share // shares for share in range(shares + 1)]
        running = [self._pool.submit(partial(function, *given, *pair)) for pair in pairwise(edges)]
        for future in running:
            future.result()
        return shares

    def _end(self) -> None:
        self._pool.shutdown()


class BoundKernel:
    """A kernel with its work-group size; on this thread while it is short, else on all of them."""

    __slots__ = ("_call", "_device", "_ffi", "_group", "_keeps", "_pace")

    def __init__(self, device: ThreadedDevice, executable: CpuExecutable, group: Size) -> None:
        self._ffi = ffi = interface()
        address = ctypes.cast(executable.function, ctypes.c_void_p).value
        self._call = ffi.cast(_SIGNATURE, address)
        self._device, self._keeps = device, executable
        self._group = ffi.new("uint32_t[3]", group)
        self._pace: float | None = None

    def launch(self, groups: Size, addresses: Sequence[int], block: bytes, queue: int) -> None:
        """Run one launch to its end; `queue` is 0."""
        if tracing.active() is None:
            self._run(groups, addresses, block)
            return
        with self._device.timed(self._keeps.entry):
            self._run(groups, addresses, block)

    def _run(self, groups: Size, addresses: Sequence[int], block: bytes) -> None:
        ffi = self._ffi
        self._device.check_usable()
        total = groups[0] * groups[1] * groups[2]
        pointers, grid = ffi.new("uintptr_t[]", addresses), ffi.new("uint32_t[3]", groups)
        given = (pointers, ffi.from_buffer(block), grid, self._group)
        first = 0
        if self._pace is None and total > 1:
            self._time(given, 0, 1)
            first = 1
        if (self._pace or 0.0) * (total - first) < SHORT_SECONDS or total == 1:
            self._time(given, first, total)
        else:
            start = time.perf_counter()
            threads = self._device.share(self._call, given, first, total)
            most = (time.perf_counter() - start) * threads / (total - first)
            self._pace = min(self._pace or most, most)

    def _time(self, given: tuple[Any, ...], first: int, last: int) -> None:
        start = time.perf_counter()
        self._call(*given, first, last)
        self._pace = (time.perf_counter() - start) / max(last - first, 1)


_SIGNATURE = "void(*)(uintptr_t *, char *, uint32_t *, uint32_t *, uint64_t, uint64_t)"


class CpuDevice(ThreadedDevice):
    """The processor through a C compiler."""

    def __init__(self, info: DeviceInfo, compiler: Compiler, environment: Mapping[str, str]) -> None:
        super().__init__(info)
        self._compiler = compiler
        self._environment = environment

    def target(self) -> Target:
        """Return C for this machine."""
        return Target(backend="cpu", arch=self.info.facts.arch)

    def load(self, code: Emitted) -> Executable:
        """Compile a kernel's C text, or take it from the cache."""
        self._using()
        try:
            lines = code.target.lines
            library = compiled(code.code, self._compiler, self._environment, code.entry, lines=lines)
            function = getattr(ctypes.CDLL(str(library)), code.entry)
        except CompilationError as error:
            said = f"`{self._compiler.path}` refused it"
            raise faults.code_refused(code.entry, self.info.name, said, str(error)) from error
        except (OSError, AttributeError) as error:
            raise faults.code_refused(
                code.entry, self.info.name, f"it could not be loaded: {error}"
            ) from error
        return CpuExecutable(code.entry, _typed(function))


class LlvmDevice(ThreadedDevice):
    """The processor through LLVM."""

    def target(self) -> Target:
        """Return LLVM IR."""
        return Target(backend="cpu", arch=llvm.ARCH)

    def load(self, code: Emitted) -> Executable:
        """Compile a kernel's LLVM IR in this process."""
        self._using()
        address, kept = llvm.load(code, self.info)
        return CpuExecutable(code.entry, _typed(address), kept)


def _typed(function: Any) -> Any:
    words = ctypes.POINTER(ctypes.c_uint32)
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, words, words, ctypes.c_uint64, ctypes.c_uint64]
    function.restype = None
    return function


class CpuDriver:
    """The driver `cpu`: always the last choice."""

    name = "cpu"
    rank = 1000

    def __init__(
        self, environment: Mapping[str, str] | None = None, *, with_llvm: bool | None = None
    ) -> None:
        """Take the environment instead of this process's.

        Args:
            environment: Whose PATH is searched; a stated one is all there is, so llvmlite is passed over.
            with_llvm: Whether llvmlite is taken where it is installed, where that is not to follow from this.
        """
        self._stated = environment
        wanted = environment is None if with_llvm is None else with_llvm
        self._llvm = compiler.installed() if wanted else None

    @property
    def _environment(self) -> Mapping[str, str]:
        return os.environ if self._stated is None else self._stated

    def devices(self) -> tuple[DeviceInfo, ...]:
        """Return the processor; without LLVM and a compiler its name says ``cpu (interpreter)``."""
        return (self._info(self._compiler()),)

    def unavailable(self) -> tuple[str, str] | None:
        """Return None: the interpreter is always there."""
        return None

    def open(self, index: int) -> DriverDevice:
        """Open the processor: with LLVM, else with a C compiler, else with the interpreter."""
        if index != 0:
            raise faults.no_index(self.name, index, 1)
        found = self._compiler()
        info = self._info(found)
        if self._llvm is not None:
            return LlvmDevice(info)
        if found is not None:
            return CpuDevice(info, found, dict(self._environment))
        from atoll_plugins.cpu.interpreter import InterpreterDevice

        return InterpreterDevice(info)

    def _compiler(self) -> Compiler | None:
        return None if self._llvm is not None else find_compiler(self._environment)

    def _info(self, found: Compiler | None) -> DeviceInfo:
        if self._llvm is not None:
            return _describe(processor_name(), f"LLVM through llvmlite {self._llvm}")
        if found is None:
            return _describe(INTERPRETER, "interpreter")
        return _describe(processor_name(), found.version)

    def launcher(self) -> LauncherSource | None:
        """Return the C launcher."""
        return launcher_source(_HERE)


def _describe(name: str, made_by: str) -> DeviceInfo:
    facts = DeviceFacts(backend="cpu", name=name, arch=platform.machine(), facts={"driver": made_by})
    limits = {"buffer_bytes": free_memory(), "threads": processors(), "shared_bytes": stack_room()}
    return DeviceInfo(driver="cpu", index=0, name=name, facts=facts, software=True, limits=limits)


def stack_room() -> int:
    """Return how much of a thread's stack a group may take: half, so what the thread is doing has room."""
    import resource

    size, _ = resource.getrlimit(resource.RLIMIT_STACK)
    return min(_STACK if size == resource.RLIM_INFINITY else size, _MOST_STACK) // 2


def processor_name(path: Path = Path("/proc/cpuinfo")) -> str:
    """Return the processor's model as the system states it; the C launcher says the same."""
    with suppress(OSError):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return "processor"
