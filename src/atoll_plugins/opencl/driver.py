"""Reaches OpenCL devices through the ICD loader: OpenCL 1.2 calls, source compiled by the device.

The C launcher in ``launcher.c`` makes the same calls in the same order. Both read ``abi.h``.
"""

from __future__ import annotations

import os
import re
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atoll.accel import DeviceFacts, Version
from atoll.plugin import (
    Argument,
    Bound,
    BufferArgument,
    DeviceInfo,
    DriverDevice,
    Emitted,
    Executable,
    LauncherSource,
    ScalarArgument,
    Target,
)
from atoll.runtime import faults, launcher_source, tracing
from atoll.runtime.handles import Handles, room
from atoll.runtime.limits import check_buffer, check_shape, stated
from atoll.runtime.native import LibraryMissingError, Table, open_table
from atoll_plugins.opencl.events import Timer

Size = tuple[int, int, int]

_HERE = Path(__file__).parent
_LIBRARY = "libOpenCL.so.1"
_INSTALL = (
    "install an OpenCL driver and its loader (Debian: `apt-get install ocl-icd-libopencl1 pocl-opencl-icd`)"
)
_MOST_PLATFORMS = 16
_MOST_DEVICES = 64
#: CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY.
_NO_ROOM = frozenset({-4, -5, -6})
#: CL_INVALID_BUFFER_SIZE.
_BUFFER_SIZE = -61
#: Of a queue and a context that were there: CL_DEVICE_NOT_AVAILABLE, CL_INVALID_CONTEXT,
#: CL_INVALID_COMMAND_QUEUE, and what NVIDIA's driver says of a kernel that reached outside its buffers.
#: OpenCL has no word for a device that was lost.
_LOST = frozenset({-2, -34, -36, -9999})


@dataclass(frozen=True, slots=True)
class _Found:
    """A device that compiles source, as the interface gave it."""

    info: DeviceInfo
    device: Any


@dataclass(slots=True)
class OpenClExecutable:
    """A built program and its kernel; released with the device or when dropped."""

    entry: str
    owner: OpenClDevice
    key: int
    #: The most work-items of a group; fewer than the device's where the kernel takes more of each.
    most_items: int
    #: The handles and the block that its kernel was given last; None where that is not known.
    given: tuple[tuple[int, ...], bytes] | None = None

    def __del__(self) -> None:
        self.owner.drop("kernel", self.key)


class BoundKernel:
    """A kernel with its work-group size; what it was given last is not given again."""

    def __init__(self, device: OpenClDevice, executable: OpenClExecutable, group: Size) -> None:
        self._device, self._executable, self._group = device, executable, group
        self._groups: Size | None = None
        self._sizes: tuple[Any, Any] = None, None

    def launch(self, groups: Size, addresses: Sequence[int], block: bytes, queue: int) -> None:
        """Queue one launch on buffers by handle; there is one queue."""
        device, executable, handles = self._device, self._executable, tuple(addresses)
        with device.lock:
            device.enter()
            if groups != self._groups:
                self._sizes = device.sizes(executable, groups, self._group)
                self._groups = groups
            if executable.given != (handles, block):
                device.give(executable, handles, block)
            device.queue(executable, *self._sizes)


class OpenClDevice:
    """An open device: one context, one queue in order, a lock around every call that is not a finaliser's."""

    def __init__(self, cl: Table, found: _Found) -> None:
        self._cl, self._null = cl, cl.ffi.NULL
        self._found = found
        self._lock = self.lock = threading.RLock()
        self._process = os.getpid()
        self._open = True
        #: Why the device takes no more work; empty while it does.
        self.lost = ""
        #: What finalisers and owners let go of: kind and number.
        self.dropped: deque[tuple[str, int]] = deque()
        self._buffers: Handles[Any] = Handles(found.info.name)
        self._kernels: Handles[tuple[Any, Any]] = Handles(found.info.name)
        self._options = _options(cl, found.device)
        self._timer = Timer(cl, f"{found.info} {found.info.name}", self._check)
        self._keeps_times = False
        result = cl.ffi.new("cl_int *")
        devices = cl.ffi.new("cl_device_id[]", [found.device])
        self._context = cl.clCreateContext(cl.ffi.NULL, 1, devices, cl.ffi.NULL, cl.ffi.NULL, result)
        self._check("clCreateContext", result[0])
        self._queue = cl.clCreateCommandQueue(self._context, found.device, 0, result)
        if result[0]:
            cl.clReleaseContext(self._context)
        self._check("clCreateCommandQueue", result[0])

    @property
    def info(self) -> DeviceInfo:
        """What it is."""
        return self._found.info

    def target(self) -> Target:
        """Return OpenCL C of the device's version."""
        return Target(backend="opencl", version=str(self.info.facts.version or ""))

    def load(self, code: Emitted) -> Executable:
        """Build source and take its entry."""
        cl = self._cl
        with self._using():
            result = cl.ffi.new("cl_int *")
            source = cl.ffi.new("char[]", code.code)
            texts = cl.ffi.new("const char *[]", [source])
            lengths = cl.ffi.new("size_t[]", [len(code.code)])
            program = cl.clCreateProgramWithSource(self._context, 1, texts, lengths, result)
            self._check("clCreateProgramWithSource", result[0])
            try:
                kernel = self._build(program, code.entry, result)
                most = self._room(kernel, code.entry)
            except BaseException:
                cl.clReleaseProgram(program)
                raise
            return OpenClExecutable(code.entry, self, self._kernels.add((kernel, program), 0), most)

    def _build(self, program: Any, entry: str, result: Any) -> Any:
        cl = self._cl
        devices = cl.ffi.new("cl_device_id[]", [self._found.device])
        built = cl.clBuildProgram(program, 1, devices, self._options, cl.ffi.NULL, cl.ffi.NULL)
        if built:
            self._check_fatal("clBuildProgram", built)
            log = self._build_log(program)
            raise faults.code_refused(entry, self.info.name, f"`clBuildProgram` returned {built}", log)
        kernel = cl.clCreateKernel(program, entry.encode(), result)
        if result[0]:
            self._check_fatal("clCreateKernel", result[0])
            raise faults.code_refused(entry, self.info.name, f"`clCreateKernel` returned {result[0]}")
        return kernel

    def _room(self, kernel: Any, entry: str) -> int:
        """Return how many work-items a group of a kernel may have; refuse one that takes too much memory."""
        cl = self._cl
        try:
            shared = self._asked(kernel, cl.CL_KERNEL_LOCAL_MEM_SIZE, "cl_ulong *")
            room = self.info.limits.get("shared_bytes", shared)
            if shared > room:
                reason = f"it takes {shared} bytes of shared memory, the device has {room}"
                raise faults.code_refused(entry, self.info.name, reason)
            return self._asked(kernel, cl.CL_KERNEL_WORK_GROUP_SIZE, "size_t *")
        except BaseException:
            cl.clReleaseKernel(kernel)
            raise

    def _asked(self, kernel: Any, what: int, kind: str) -> int:
        """Return what a kernel says of itself on this device."""
        cl = self._cl
        value = cl.ffi.new(kind)
        size = cl.ffi.sizeof(cl.ffi.typeof(kind).item)
        result = cl.clGetKernelWorkGroupInfo(kernel, self._found.device, what, size, value, cl.ffi.NULL)
        self._check("clGetKernelWorkGroupInfo", result)
        return int(value[0])

    def _build_log(self, program: Any) -> str:
        cl = self._cl
        what = (program, self._found.device, cl.CL_PROGRAM_BUILD_LOG)
        size = cl.ffi.new("size_t *")
        cl.clGetProgramBuildInfo(*what, 0, cl.ffi.NULL, size)
        log = cl.ffi.new("char[]", size[0] + 1)
        cl.clGetProgramBuildInfo(*what, size[0], log, cl.ffi.NULL)
        text: bytes = cl.ffi.string(log)
        return text.decode(errors="replace").strip()

    def drop(self, kind: str, number: int) -> None:
        """Free something now, or where another thread uses the device, when it is used next."""
        self.dropped.append((kind, number))
        if self._lock.acquire(blocking=False):
            try:
                if self._open and os.getpid() == self._process:
                    self._let_go()
            finally:
                self._lock.release()

    def _let_go(self) -> None:
        """Free what finalisers and owners dropped."""
        while self.dropped:
            kind, number = self.dropped.popleft()
            if kind == "buffer":
                buffer = self._buffers.pop(number)
                if buffer is not None:
                    self._cl.clReleaseMemObject(buffer)
            else:
                pair = self._kernels.pop(number)
                if pair is not None:
                    self._release_kernel(*pair)

    def _release_kernel(self, kernel: Any, program: Any) -> None:
        self._cl.clReleaseKernel(kernel)
        self._cl.clReleaseProgram(program)

    def allocate(self, nbytes: int) -> int:
        """Return the handle of a new buffer."""
        cl = self._cl
        with self._using():
            result = cl.ffi.new("cl_int *")
            size = room(nbytes)
            buffer = cl.clCreateBuffer(self._context, cl.CL_MEM_READ_WRITE, size, cl.ffi.NULL, result)
            if result[0] == _BUFFER_SIZE:  # some take more than they state
                check_buffer(self.info, size)
            self._check("clCreateBuffer", result[0])
            return self._buffers.add(buffer, size)

    def release(self, handle: int) -> None:
        """Free a buffer; a finaliser may call it at any time, on a closed device too."""
        self.drop("buffer", handle)

    def upload(self, handle: int, data: memoryview, offset: int = 0) -> None:
        """Copy host bytes into a buffer."""
        self._copy("clEnqueueWriteBuffer", handle, data, offset)

    def download(self, handle: int, out: memoryview, offset: int = 0) -> None:
        """Copy a buffer into host bytes, after all launched work."""
        self._copy("clEnqueueReadBuffer", handle, out, offset)

    def _copy(self, function: str, handle: int, data: memoryview, offset: int) -> None:
        cl = self._cl
        with self._using():
            buffer = self._buffers.inside(handle, offset, data.nbytes)
            if data.nbytes == 0:
                return
            host = cl.ffi.from_buffer(data)
            null = cl.ffi.NULL
            call = cl.functions[function]
            result = call(self._queue, buffer, cl.CL_TRUE, offset, data.nbytes, host, 0, null, null)
            self._check(function, result)

    def launch(
        self,
        executable: Executable,
        groups: Size,
        group: Size,
        arguments: tuple[Argument, ...],
    ) -> None:
        """Queue one launch."""
        assert isinstance(executable, OpenClExecutable)
        with self._using():
            sizes = self.sizes(executable, groups, group)
            kernel, _ = self._kernels.get(executable.key)
            executable.given = None
            for index, argument in enumerate(arguments):
                self._set_argument(kernel, executable.entry, index, argument)
            self.queue(executable, *sizes)

    def bind(self, executable: Executable, group: Size) -> Bound:
        """Return a kernel ready to be launched on buffers, by handle."""
        assert isinstance(executable, OpenClExecutable)
        return BoundKernel(self, executable, group).launch

    def sizes(self, executable: OpenClExecutable, groups: Size, group: Size) -> tuple[Any, Any]:
        """Return the work-items of a launch and of a group as the interface takes them."""
        check_shape(self.info, groups, group, executable.most_items)
        new = self._cl.ffi.new
        return new("size_t[3]", [a * b for a, b in zip(groups, group, strict=True)]), new("size_t[3]", group)

    def give(self, executable: OpenClExecutable, handles: tuple[int, ...], block: bytes) -> None:
        """Set the arguments of a kernel; the lock is held."""
        kernel, _ = self._kernels.get(executable.key)
        executable.given = None
        arguments: list[Argument] = [BufferArgument(handle, "both") for handle in handles]
        if block:
            arguments.append(ScalarArgument(block, 8))
        for index, argument in enumerate(arguments):
            self._set_argument(kernel, executable.entry, index, argument)
        executable.given = handles, block

    def queue(self, executable: OpenClExecutable, sizes: Any, local: Any) -> None:
        """Queue a launch of a kernel whose arguments are set; the lock is held."""
        cl, null = self._cl, self._null
        kernel, _ = self._kernels.get(executable.key)
        trace = tracing.active()
        if trace is None:
            result = cl.clEnqueueNDRangeKernel(self._queue, kernel, 3, null, sizes, local, 0, null, null)
        else:
            self._time(trace)
            result = self._timer.around(
                executable.entry,
                lambda event: cl.clEnqueueNDRangeKernel(
                    self._queue, kernel, 3, null, sizes, local, 0, null, event
                ),
            )
        if result:
            self._check("clEnqueueNDRangeKernel", result)

    def _time(self, trace: tracing.Trace) -> None:
        """Have a queue that keeps times, and be asked for them."""
        trace.settle[f"{self.info} {self.info.name}"] = self._read_times
        if self._keeps_times:
            return
        cl, result = self._cl, self._cl.ffi.new("cl_int *")
        self._check("clFinish", cl.clFinish(self._queue))
        queue = cl.clCreateCommandQueue(
            self._context, self._found.device, cl.CL_QUEUE_PROFILING_ENABLE, result
        )
        self._check("clCreateCommandQueue", result[0])
        cl.clReleaseCommandQueue(self._queue)
        self._queue, self._keeps_times = queue, True

    def _read_times(self) -> None:
        with self._using():
            self._timer.read()

    def copy(self, other: object, source: int, start: int, target: int, offset: int, nbytes: int) -> bool:
        """Queue a copy between two buffers of this device; another one has a context of its own."""
        if other is not self:
            return False
        cl, null = self._cl, self._cl.ffi.NULL
        with self._using():
            read = self._buffers.inside(source, start, nbytes)
            written = self._buffers.inside(target, offset, nbytes)
            if nbytes:
                result = cl.clEnqueueCopyBuffer(
                    self._queue, read, written, start, offset, nbytes, 0, null, null
                )
                self._check("clEnqueueCopyBuffer", result)
        return True

    def _set_argument(self, kernel: Any, entry: str, index: int, argument: Argument) -> None:
        ffi = self._cl.ffi
        if isinstance(argument, BufferArgument):
            value = ffi.new("cl_mem *", self._buffers.get(argument.handle))
            size = ffi.sizeof("cl_mem")
        else:
            value, size = ffi.from_buffer(argument.data), len(argument.data)
        result = self._cl.clSetKernelArg(kernel, index, size, value)
        if result:
            self._check_fatal("clSetKernelArg", result)
            name = f"argument {index} of `{entry}` on {self.info.name}"
            raise faults.call_failed("clSetKernelArg", str(result), name)

    def wait(self) -> None:
        """Block until all launched work is done."""
        with self._using():
            self._check("clFinish", self._cl.clFinish(self._queue))

    def close(self) -> None:
        """Free everything; idempotent."""
        with self._lock:
            if not self._open:
                return
            self._open = False
            if os.getpid() != self._process:
                return
            self._cl.clFinish(self._queue)
            self._timer.drop()
            for buffer in self._buffers.drain():
                self._cl.clReleaseMemObject(buffer)
            for pair in self._kernels.drain():
                self._release_kernel(*pair)
            self._cl.clReleaseCommandQueue(self._queue)
            self._cl.clReleaseContext(self._context)

    def enter(self) -> None:
        """Refuse a device that cannot be used, and free what was dropped; the lock is held."""
        if self.dropped or self.lost or not self._open or self._process != faults.Here.process:
            self._using()

    def _using(self) -> threading.RLock:
        """Return the lock, once it is sure that the device can be used."""
        faults.check_usable(self.info.name, is_open=self._open, process=self._process)
        if self.lost:
            raise faults.closed(self.info.name, self.lost, is_lost=True)
        with self._lock:
            self._let_go()
        return self._lock

    def _check(self, function: str, result: int) -> None:
        """Raise what a function returned, where that is an error.

        Raises:
            DeviceLostError: Where queue or context are gone, which they stay.
            OutOfMemoryError: Where there was no memory.
            DeviceError: Where it failed otherwise.
        """
        if result:
            self._check_fatal(function, result)
            raise faults.call_failed(function, str(result), self.info.name)

    def _check_fatal(self, function: str, result: int) -> None:
        """Raise a result that says the same of every function."""
        if result in _LOST:
            self.lost = f"`{function}` returned {result}"
            raise faults.lost(self.info.name, function, str(result))
        if result in _NO_ROOM:
            raise faults.no_memory(function, str(result), self.info.name)


class OpenClDriver:
    """The driver `opencl`."""

    name = "opencl"
    rank = 30

    def __init__(self, library: str = _LIBRARY, table: Table | None = None) -> None:
        """Take another library, or another table of its functions, than the system's."""
        self._library = library
        self._table = table

    def table(self) -> Table:
        """Return the loader's functions; LibraryMissingError where there is no loader."""
        if self._table is None:
            self._table = open_table(_HERE / "abi.h", self._library)
        return self._table

    def devices(self) -> tuple[DeviceInfo, ...]:
        """Return the devices that compile OpenCL C."""
        try:
            return tuple(found.info for found in self._find())
        except LibraryMissingError:
            return ()

    def unavailable(self) -> tuple[str, str] | None:
        """Return (reason, fix) where there is no device, else None."""
        try:
            if self._find():
                return None
        except LibraryMissingError as error:
            return str(error), _INSTALL
        return f"{self._library} finds no device that compiles OpenCL C", _INSTALL

    def open(self, index: int) -> DriverDevice:
        """Open a device."""
        missing = self.unavailable()
        if missing is not None:
            raise faults.unavailable(self.name, *missing)
        return OpenClDevice(self.table(), faults.one_of(self.name, self._find(), index))

    def launcher(self) -> LauncherSource | None:
        """Return the C launcher."""
        return launcher_source(_HERE)

    def _find(self) -> list[_Found]:
        found: list[_Found] = []
        for device in self._list(self.table()):
            info = _describe(self.table(), device, len(found))
            if info is not None and len(found) < _MOST_DEVICES:
                found.append(_Found(info, device))
        return found

    def _list(self, cl: Table) -> Iterator[Any]:
        platforms = cl.ffi.new("cl_platform_id[]", _MOST_PLATFORMS)
        devices = cl.ffi.new("cl_device_id[]", _MOST_DEVICES)
        count = cl.ffi.new("cl_uint *")
        if cl.clGetPlatformIDs(_MOST_PLATFORMS, platforms, count):
            return
        for platform in list(platforms)[: count[0]]:
            if cl.clGetDeviceIDs(platform, cl.CL_DEVICE_TYPE_ALL, _MOST_DEVICES, devices, count):
                continue
            yield from list(devices)[: count[0]]


def _describe(cl: Table, device: Any, index: int) -> DeviceInfo | None:
    """Return what a device says of itself, or None where it cannot compile or does not answer."""
    available = _number(cl, device, cl.CL_DEVICE_AVAILABLE, "cl_bool *")
    compiler = _number(cl, device, cl.CL_DEVICE_COMPILER_AVAILABLE, "cl_bool *")
    kind = _number(cl, device, cl.CL_DEVICE_TYPE, "cl_device_type *") if available and compiler else None
    if kind is None:
        return None
    name, driver = _text(cl, device, cl.CL_DEVICE_NAME), _text(cl, device, cl.CL_DRIVER_VERSION)
    stated = re.match(r"OpenCL (\d+)\.(\d+)", _text(cl, device, cl.CL_DEVICE_VERSION))
    if not name or stated is None:
        return None
    version = Version((int(stated[1]), int(stated[2])))
    extensions = " ".join(_text(cl, device, cl.CL_DEVICE_EXTENSIONS, 1 << 16).split())
    facts = {"driver": driver, **({"opencl.extension": extensions} if extensions else {})}
    return DeviceInfo(
        driver="opencl",
        index=index,
        name=name,
        facts=DeviceFacts(backend="opencl", name=name, version=version, facts=facts),
        software=bool(kind & cl.CL_DEVICE_TYPE_CPU),
        limits=_limits(cl, device),
    )


def _options(cl: Table, device: Any) -> bytes:
    """Return what every build is given: division and square root rounded correctly, where the device can."""
    single = _number(cl, device, cl.CL_DEVICE_SINGLE_FP_CONFIG, "cl_ulong *") or 0
    return (
        b"-cl-fp32-correctly-rounded-divide-sqrt" if single & cl.CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT else b""
    )


def _limits(cl: Table, device: Any) -> dict[str, int]:
    items = cl.ffi.new("size_t[3]")
    sizes = cl.clGetDeviceInfo(
        device, cl.CL_DEVICE_MAX_WORK_ITEM_SIZES, cl.ffi.sizeof(items), items, cl.ffi.NULL
    )
    asked = {
        "group_size": _number(cl, device, cl.CL_DEVICE_MAX_WORK_GROUP_SIZE, "size_t *"),
        "buffer_bytes": _number(cl, device, cl.CL_DEVICE_MAX_MEM_ALLOC_SIZE, "cl_ulong *"),
        "shared_bytes": _number(cl, device, cl.CL_DEVICE_LOCAL_MEM_SIZE, "cl_ulong *"),
    }
    found = {name: value for name, value in asked.items() if value is not None}
    return found if sizes else {**found, **stated(None, (items[0], items[1], items[2]))}


def _number(cl: Table, device: Any, what: int, kind: str) -> int | None:
    value = cl.ffi.new(kind)
    size = cl.ffi.sizeof(cl.ffi.typeof(kind).item)
    return None if cl.clGetDeviceInfo(device, what, size, value, cl.ffi.NULL) else int(value[0])


def _text(cl: Table, device: Any, what: int, most: int = 1024) -> str:
    text = cl.ffi.new("char[]", most)
    if cl.clGetDeviceInfo(device, what, most - 1, text, cl.ffi.NULL):
        return ""
    raw: bytes = cl.ffi.string(text)
    return raw.decode(errors="replace").strip()
