"""An open CUDA device: its primary context, pooled memory, the legacy default stream, graphs.

Launches are queued one by one, or kept for a graph. Finalisers only append to a deque, which is drained when
the device is used next: one that ran inside this device's lock would change what is being changed. What a
result means is :mod:`atoll_plugins.cuda.results`; a context that an error has ended takes no more work.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any

from atoll.plugin import (
    Argument,
    Bound,
    BufferArgument,
    DeviceArray,
    DeviceInfo,
    Emitted,
    Executable,
    Target,
)
from atoll.plugin.values import dataclass
from atoll.runtime import faults, tracing
from atoll.runtime.captured import Captured
from atoll.runtime.handles import Handles
from atoll.runtime.native import Table
from atoll.runtime.raw import interface
from atoll_plugins.cuda import blas
from atoll_plugins.cuda.arrays import array_of, glance
from atoll_plugins.cuda.events import Timer
from atoll_plugins.cuda.graph import CudaGraph, LaunchRequest
from atoll_plugins.cuda.memory import DeviceMemory
from atoll_plugins.cuda.results import LOST, OUT_OF_MEMORY, error_text, failure

_LOG_BYTES = 4096
#: How many streams a kernel keeps the handle's value of.
_MOST_STREAMS = 64
#: Results of asking for access to another device's memory that leave the copy to the driver.
_NO_PEER = (0, 217, 704)  # CUDA_SUCCESS, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, …_ALREADY_ENABLED

Size = tuple[int, int, int]


@dataclass(slots=True)
class CudaExecutable:
    """A loaded module and its function; unloaded with the device or when dropped."""

    entry: str
    owner: CudaDevice
    key: int

    def __del__(self) -> None:
        self.owner.dropped.append(("module", self.key))


class BoundFunction:
    """A function with its work-group size and room for its arguments, which a launch copies."""

    def __init__(self, device: CudaDevice, executable: CudaExecutable, function: Any, group: Size) -> None:
        self._device, self._executable, self._function, self._group = device, executable, function, group
        cu = device.cu
        self._ffi, self._null, self._launch = cu.ffi, cu.ffi.NULL, cu.cuLaunchKernel
        self._copy = interface().memmove
        self._streams: dict[int, Any] = {0: cu.ffi.NULL}
        self._addresses: Any = None
        #: What the last launch was given, which lies where a launch takes it from, and the call for it.
        self._last: tuple[int, ...] | None = None
        self._packed: bytes | None = None
        self._shape: tuple[Size, int] | None = None
        self._call: Any = None

    def launch(self, groups: Size, addresses: Sequence[int], block: bytes, queue: int) -> None:
        """Queue one launch on a stream; 0 is the legacy default stream."""
        device, given = self._device, tuple(addresses)
        with device.lock:
            device.enter()
            try:
                if device.requests is not None or tracing.active() is not None:
                    device.queue(self._request(groups, given, block), self._stream(queue))
                    return
                if given != self._last:
                    self._fill(given, len(block))
                if queue:
                    device.memory_of.expose(given)
                if block is not self._packed:
                    self._copy(self._block, block, len(block))
                    self._packed = block
                if (groups, queue) != self._shape:
                    self._prepare(groups, queue)
                result = self._call()
            finally:
                device.leave()
            if result:
                device.check("cuLaunchKernel", result)

    def _fill(self, addresses: tuple[int, ...], nbytes: int) -> None:
        """Put the addresses of buffers where a launch takes them from."""
        if self._addresses is None:
            self._reserve(len(addresses), nbytes)
        self._addresses[0 : len(addresses)] = addresses
        self._last = addresses

    def _prepare(self, groups: Size, queue: int) -> None:
        """Make the call for a grid and a stream; its arguments are copied by it from where they lie."""
        stream = self._stream(queue)
        self._call = partial(
            self._launch, self._function, *groups, *self._group, 0, stream, self._pointers, self._null
        )
        self._shape = groups, queue

    def _stream(self, queue: int) -> Any:
        known = self._streams.get(queue)
        if known is not None:
            return known
        if len(self._streams) > _MOST_STREAMS:
            self._streams = {0: self._null}
        self._streams[queue] = stream = self._ffi.cast("CUstream", queue)
        return stream

    def _reserve(self, count: int, nbytes: int) -> None:
        self._addresses, self._block, self._pointers = self._room(count, nbytes)

    def _room(self, count: int, nbytes: int) -> tuple[Any, Any, Any]:
        ffi = self._ffi
        addresses = ffi.new("CUdeviceptr[]", max(count, 1))
        block = ffi.new("char[]", max(nbytes, 1))
        places = [ffi.cast("void *", addresses + at) for at in range(count)]
        return addresses, block, ffi.new("void *[]", [*places, ffi.cast("void *", block)])

    def _request(self, groups: Size, addresses: Sequence[int], block: bytes) -> LaunchRequest:
        """Return the launch with arguments of its own; who owns the memory is the caller's to know."""
        places, copied, pointers = self._room(len(addresses), len(block))
        places[0 : len(addresses)] = addresses
        self._copy(copied, block, len(block))
        keeps = (self._executable, places, copied)
        entry = self._executable.entry
        return LaunchRequest(entry, self._function, groups, self._group, pointers, (), keeps)


class CudaDevice:
    """An open device; a lock around every call that is not a finaliser's.

    Args:
        cu: The interface.
        info: What is said of the device.
        device: Its number in the interface.
        budget: Bytes that its buffers may take together; None for what the driver gives.
    """

    #: Kernels read and write the device's memory, which other libraries share.
    memory = "own"

    def __init__(self, cu: Table, info: DeviceInfo, device: int, budget: int | None = None) -> None:
        self._cu = self.cu = cu
        self.info = info
        self._device = device
        self._lock = self.lock = threading.RLock()
        self._left = cu.ffi.new("CUcontext *")
        self.glance = glance
        self._push, self._pop = cu.cuCtxPushCurrent_v2, cu.cuCtxPopCurrent_v2
        self._process = os.getpid()
        #: Why the device takes no more work; empty while it does.
        self.lost = ""
        #: What finalisers and owners let go of: kind and number.
        self.dropped: deque[tuple[str, int]] = deque()
        self._modules: Handles[tuple[Any, Any]] = Handles(info.name)
        self._graphs: Handles[CudaGraph] = Handles(info.name)
        #: Launches that are kept for a graph; None while they are queued.
        self.requests: list[LaunchRequest] | None = None
        self._peers: set[int] = set()
        context = cu.ffi.new("CUcontext *")
        self.check("cuDevicePrimaryCtxRetain", cu.cuDevicePrimaryCtxRetain(context, device))
        self._context = context[0]
        self._open = True
        total = info.limits.get("buffer_bytes", 0)
        self.memory_of = DeviceMemory(cu, info.name, total, budget, self.check)
        self.memory_of.relieve = self._let_go
        self._timer = Timer(cu, f"{info} {info.name}", self.check)

    def target(self) -> Target:
        """Return the device's architecture and the newest toolkit its driver serves."""
        facts = self.info.facts
        return Target(backend="cuda", arch=facts.arch, version=str(facts.version or ""))

    # ---- code

    def load(self, code: Emitted) -> Executable:
        """Load machine code, or compile PTX in the driver."""
        cu, ffi = self._cu, self._cu.ffi
        with self.current():
            image = ffi.new("char[]", code.code)
            log = ffi.new("char[]", _LOG_BYTES)
            asked = [cu.CU_JIT_ERROR_LOG_BUFFER, cu.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
            asked += [cu.CU_JIT_GENERATE_LINE_INFO] if code.target.lines else []
            options = ffi.new("CUjit_option[]", asked)
            given = [log, ffi.cast("void *", _LOG_BYTES - 1), ffi.cast("void *", 1)]
            values = ffi.new("void *[]", given[: len(asked)])
            module, function = ffi.new("CUmodule *"), ffi.new("CUfunction *")
            result = cu.cuModuleLoadDataEx(module, image, len(asked), options, values)
            if result:
                text: bytes = ffi.string(log)
                self._refuse(code.entry, "cuModuleLoadDataEx", result, text.decode(errors="replace").strip())
            result = cu.cuModuleGetFunction(function, module[0], code.entry.encode())
            if result:
                cu.cuModuleUnload(module[0])
                self._refuse(code.entry, "cuModuleGetFunction", result)
            return CudaExecutable(code.entry, self, self._modules.add((module[0], function[0]), 0))

    def _refuse(self, entry: str, function: str, result: int, log: str = "") -> None:
        """Raise what a function returned that takes code."""
        if result in LOST or result == OUT_OF_MEMORY:
            self.check(function, result)
        said = f"`{function}` returned {error_text(self._cu, result)}"
        raise faults.code_refused(entry, self.info.name, said, log)

    # ---- memory

    def allocate(self, nbytes: int) -> int:
        """Return the handle of a new buffer.

        Raises:
            OutOfMemoryError: Where there is no room; it says what there is.
        """
        with self._lock:
            self.enter()
            try:
                return self.memory_of.allocate(nbytes)
            finally:
                self.leave()

    def release(self, handle: int) -> None:
        """Free a buffer, after all launched work; a finaliser may call it at any time."""
        self.dropped.append(("buffer", handle))

    def expose(self, handle: int) -> None:
        """Say that other libraries may use a buffer: freeing it waits for everything."""
        with self.current():
            self.memory_of.expose([self.memory_of.get(handle).address])

    def memory_report(self) -> tuple[str, ...]:
        """Return what the pool holds and what the device has."""
        with self.current():
            return self.memory_of.report()

    def upload(self, handle: int, data: memoryview, offset: int = 0) -> None:
        """Copy host bytes into a buffer."""
        with self.current():
            address = self.memory_of.inside(handle, offset, data.nbytes)
            if data.nbytes:
                host = self._cu.ffi.from_buffer(data)
                self.check("cuMemcpyHtoD", self._cu.cuMemcpyHtoD_v2(address, host, data.nbytes))

    def download(self, handle: int, out: memoryview, offset: int = 0) -> None:
        """Copy a buffer into host bytes, after all launched work."""
        with self.current():
            address = self.memory_of.inside(handle, offset, out.nbytes)
            if out.nbytes:
                host = self._cu.ffi.from_buffer(out)
                self.check("cuMemcpyDtoH", self._cu.cuMemcpyDtoH_v2(host, address, out.nbytes))

    def copy(self, other: object, source: int, start: int, target: int, offset: int, nbytes: int) -> bool:
        """Copy from a buffer of this device, or over to it from another CUDA device."""
        if not isinstance(other, CudaDevice):
            return False
        cu, null = self._cu, self._cu.ffi.NULL
        with other.current():
            begin = other.memory_of.inside(source, start, nbytes)
            if other._device != self._device:  # its queue is not this device's
                other.check("cuStreamSynchronize", cu.cuStreamSynchronize(null))
        with self.current():
            to = self.memory_of.inside(target, offset, nbytes)
            if other._device == self._device:  # one primary context, one default stream
                self.check("cuMemcpyDtoDAsync", cu.cuMemcpyDtoDAsync_v2(to, begin, nbytes, null))
                return True
            self._reach(other)
            result = cu.cuMemcpyPeerAsync(to, self._context, begin, other._context, nbytes, null)
            self.check("cuMemcpyPeerAsync", result)
            # The other device may hand its memory out again as soon as this returns.
            self.check("cuStreamSynchronize", cu.cuStreamSynchronize(null))
        return True

    def _reach(self, other: CudaDevice) -> None:
        """Let this device reach another one's memory where the machine can; else the driver stages copies."""
        cu = self._cu
        if other._device in self._peers:
            return
        self._peers.add(other._device)
        can = cu.ffi.new("int *")
        self.check("cuDeviceCanAccessPeer", cu.cuDeviceCanAccessPeer(can, self._device, other._device))
        if can[0]:
            result = cu.cuCtxEnablePeerAccess(other._context, 0)
            if result not in _NO_PEER:
                self.check("cuCtxEnablePeerAccess", result)

    # ---- launching

    def launch(
        self, executable: Executable, groups: Size, group: Size, arguments: tuple[Argument, ...]
    ) -> None:
        """Queue one launch on the default stream, or keep it for the graph that is being made."""
        assert isinstance(executable, CudaExecutable)
        ffi = self._cu.ffi
        with self.current():
            _, function = self._modules.get(executable.key)
            handles = [item.handle for item in arguments if isinstance(item, BufferArgument)]
            buffers = {handle: self.memory_of.get(handle) for handle in handles}
            values = [
                ffi.new("CUdeviceptr *", buffers[item.handle].address)
                if isinstance(item, BufferArgument)
                else ffi.from_buffer(item.data)
                for item in arguments
            ]
            pointers = ffi.new("void *[]", [ffi.cast("void *", value) for value in values])
            kept = (executable, values)
            request = LaunchRequest(
                executable.entry, function, groups, group, pointers, tuple(buffers.values()), kept
            )
            self.queue(request, ffi.NULL)

    def queue(self, request: LaunchRequest, stream: Any) -> None:
        """Queue a launch, or keep it; the context is current."""
        if self.requests is not None:
            self.memory_of.keep(request.buffers)
            self.requests.append(request)
            return
        trace, queue = tracing.active(), partial(request.queue, self._cu, stream)
        if trace is None:
            result = queue()
        else:
            trace.settle[f"{self.info} {self.info.name}"] = self._read_times
            result = self._timer.around(request.name, stream, queue)
        self.check("cuLaunchKernel", result)

    def _read_times(self) -> None:
        with self.current():
            self._timer.read()

    def bind(self, executable: Executable, group: Size) -> Bound:
        """Return a function ready to be launched on addresses of the device's memory."""
        assert isinstance(executable, CudaExecutable)
        _, function = self._modules.get(executable.key)
        return BoundFunction(self, executable, function, group).launch

    def address(self, handle: int) -> int:
        """Return where a buffer lies."""
        return self.memory_of.get(handle).address

    def array(self, value: object) -> DeviceArray | None:
        """Return an array that lies in the memory of a CUDA device, or None where `value` is none."""
        return array_of(value)

    @property
    def product(self) -> Any:
        """What multiplies arrays of this device with NVIDIA's own library; None where that is not here.

        Nor is it while launches are kept for a graph, which its work would not be in.
        """
        return None if self.requests is not None else self._product

    @cached_property
    def _product(self) -> Any:
        found = blas.library()
        return None if found is None else blas.Products(found, self)

    def settle(self, queue: int) -> None:
        """Block until all work of a stream is done."""
        with self.current():
            stream = self._cu.ffi.cast("CUstream", queue)
            self.check("cuStreamSynchronize", self._cu.cuStreamSynchronize(stream))

    def wait(self) -> None:
        """Block until all launched work is done."""
        self.settle(0)

    # ---- many launches at once

    def hold(self) -> None:
        """Do nothing: a launch is queued at once, which costs the device no more than a batch would."""
        with self.current():
            return

    def let_go(self) -> None:
        """Do nothing, as :meth:`hold`."""
        with self.current():
            return

    def capture(self) -> None:
        """Keep launches for a graph until :meth:`captured`; none of them runs."""
        with self.current():
            if self.requests is not None:
                name = self.info.name
                raise faults.shape(f"{name} is capturing already", "a second graph", "one at a time")
            self.requests = []

    def captured(self) -> Captured:
        """Return the graph of the launches since :meth:`capture`."""
        requests, self.requests = self.requests or [], None
        with self.current():
            try:
                graph = CudaGraph(self._cu, requests, self.check)
                self.memory_of.keep(graph.buffers)
            finally:
                for request in requests:
                    self.memory_of.let_go(request.buffers)
            key = self._graphs.add(graph, 0)
            return Captured(partial(self._replay, key), partial(self.dropped.append, ("graph", key)))

    def _replay(self, key: int) -> None:
        with self.current():
            if key not in self._graphs.live:
                raise faults.closed(f"a graph on {self.info.name}")
            graph = self._graphs.get(key)
            if tracing.active() is None:
                graph.submit()
                return
            for request in graph.requests:  # one by one, so that the trace has each
                self.queue(request, self._cu.ffi.NULL)

    # ---- closing, and who may use it

    def _let_go(self) -> None:
        """Free what finalisers and owners dropped; the context is current."""
        while self.dropped:
            kind, number = self.dropped.popleft()
            if kind == "buffer":
                self.memory_of.release(number)
            elif kind == "graph":
                self._drop_graph(self._graphs.pop(number))
            else:
                pair = self._modules.pop(number)
                if pair is not None:
                    self._cu.cuModuleUnload(pair[0])

    def _drop_graph(self, graph: CudaGraph | None) -> None:
        if graph is None:
            return
        try:
            self.check("cuStreamSynchronize", self._cu.cuStreamSynchronize(self._cu.ffi.NULL))
        finally:
            graph.destroy()
            self.memory_of.let_go(graph.buffers)

    def close(self) -> None:
        """Free everything; idempotent."""
        with self._lock:
            if not self._open or os.getpid() != self._process:
                self._open = False
                return
            self._open = False
            try:
                if not self._push(self._context):
                    try:
                        self._destroy()
                    finally:
                        self.leave()
            finally:
                self._cu.cuDevicePrimaryCtxRelease_v2(self._device)

    def _destroy(self) -> None:
        product = self.__dict__.pop("_product", None)
        if product is not None:
            product.close()
        self._cu.cuStreamSynchronize(self._cu.ffi.NULL)
        for graph in self._graphs.drain():
            graph.destroy()
        self._timer.destroy()
        self.memory_of.drop()
        for module, _ in self._modules.drain():
            self._cu.cuModuleUnload(module)

    def enter(self) -> None:
        """Make the primary context current; the lock is held."""
        if not self._open or self.lost or self._process != faults.Here.process:
            self._refuse_use()
        result = self._push(self._context)
        if result:
            self.check("cuCtxPushCurrent", result)
        if self.dropped:
            try:
                self._let_go()
            except BaseException:
                self.leave()
                raise

    def _refuse_use(self) -> None:
        faults.check_usable(self.info.name, is_open=self._open, process=self._process)
        raise faults.closed(self.info.name, self.lost, is_lost=True)

    def leave(self) -> None:
        """Leave the caller's context as it was."""
        self._pop(self._left)

    @contextmanager
    def current(self) -> Iterator[None]:
        """Hold the lock and make the primary context current, leaving the caller's context as it was."""
        with self._lock:
            self.enter()
            try:
                yield
            finally:
                self.leave()

    def check(self, function: str, result: int) -> None:
        """Raise what a function returned, where that is an error.

        Raises:
            DeviceLostError: Where the context is at its end, which it stays.
            OutOfMemoryError: Where there was no memory.
            DeviceError: Where it failed otherwise.
        """
        if result in LOST:
            self.lost = f"`{function}` returned {error_text(self._cu, result)}"
        if result:
            raise failure(self._cu, function, result, self.info.name)
