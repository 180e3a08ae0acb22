"""Reaches CUDA devices through the driver interface of ``libcuda``, in each device's primary context.

The C launcher in ``launcher.c`` makes the same calls in the same order, but that it makes the context
current once a launch and this once a call. Both read ``abi.h``.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from atoll.accel import DeviceFacts, Version
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
    Target,
)
from atoll.runtime import faults, launcher_source
from atoll.runtime.handles import Handles, room
from atoll.runtime.limits import stated
from atoll.runtime.native import LibraryMissingError, Table, open_table
from atoll.runtime.raw import interface
from atoll_plugins.cuda import blas
from atoll_plugins.cuda.arrays import array_of, glance

_HERE = Path(__file__).parent
_LIBRARY = "libcuda.so.1"
_INSTALL = "install NVIDIA's driver; in a container, start it with the GPU passed through"
_LOG_BYTES = 4096
#: How many streams a kernel keeps the handle's value of.
_MOST_STREAMS = 64
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


Size = tuple[int, int, int]


class CallError(Exception):
    """A function that failed before a device was open."""


@dataclass(slots=True)
class CudaExecutable:
    """A loaded module and its function; unloaded with the device or when dropped."""

    entry: str
    owner: CudaDevice
    key: int

    def __del__(self) -> None:
        self.owner.unload(self.key)


class BoundFunction:
    """A function with its work-group size and room for its arguments, which a launch copies."""

    def __init__(self, device: CudaDevice, executable: CudaExecutable, function: Any, group: Size) -> None:
        self._device, self._executable, self._function, self._group = device, executable, function, group
        cu = device.cu
        self._ffi, self._null, self._launch = cu.ffi, cu.ffi.NULL, cu.cuLaunchKernel
        self._copy = interface().memmove
        self._streams: dict[int, Any] = {0: cu.ffi.NULL}
        self._addresses: Any = None
        self._last: list[int] | None = None

    def launch(self, groups: Size, addresses: Sequence[int], block: bytes, queue: int) -> None:
        """Queue one launch on a stream; 0 is the legacy default stream."""
        device = self._device
        stream = self._streams.get(queue) or self._stream(queue)
        with device.lock:
            device.enter()
            try:
                if addresses != self._last:
                    self._fill(addresses, len(block))
                self._copy(self._block, block, len(block))
                result = self._launch(
                    self._function, *groups, *self._group, 0, stream, self._pointers, self._null
                )
            finally:
                device.leave()
            if result:
                device.check("cuLaunchKernel", result)

    def _fill(self, addresses: Sequence[int], nbytes: int) -> None:
        """Put the addresses of buffers where a launch takes them from; often they are there already."""
        if self._addresses is None:
            self._reserve(len(addresses), nbytes)
        self._addresses[0 : len(addresses)] = addresses
        self._last = list(addresses)

    def _stream(self, queue: int) -> Any:
        if len(self._streams) > _MOST_STREAMS:
            self._streams.clear()
        self._streams[queue] = stream = self._ffi.cast("CUstream", queue)
        return stream

    def _reserve(self, count: int, nbytes: int) -> None:
        ffi = self._ffi
        self._addresses = ffi.new("CUdeviceptr[]", max(count, 1))
        self._block = ffi.new("char[]", max(nbytes, 1))
        places = [ffi.cast("void *", self._addresses + at) for at in range(count)]
        self._pointers = ffi.new("void *[]", [*places, ffi.cast("void *", self._block)])


class CudaDevice:
    """An open device: its primary context, the default stream, a lock around every call."""

    #: Kernels read and write the device's memory, which other libraries share.
    memory = "own"

    def __init__(self, cu: Table, info: DeviceInfo, device: int) -> None:
        self._cu = self.cu = cu
        self.info = info
        self._device = device
        self._lock = self.lock = threading.RLock()
        self._left = cu.ffi.new("CUcontext *")
        self.glance = glance
        self._push, self._pop = cu.cuCtxPushCurrent_v2, cu.cuCtxPopCurrent_v2
        self._process = os.getpid()
        self._buffers: Handles[int] = Handles(info.name)
        self._modules: Handles[tuple[Any, Any]] = Handles(info.name)
        context = cu.ffi.new("CUcontext *")
        self._check("cuDevicePrimaryCtxRetain", cu.cuDevicePrimaryCtxRetain(context, device))
        self._context = context[0]
        self._open = True

    def target(self) -> Target:
        """Return the device's architecture and the newest toolkit its driver serves."""
        facts = self.info.facts
        return Target(backend="cuda", arch=facts.arch, version=str(facts.version or ""))

    def load(self, code: Emitted) -> Executable:
        """Load machine code, or compile PTX in the driver."""
        cu, ffi = self._cu, self._cu.ffi
        with self.current():
            image = ffi.new("char[]", code.code)
            log = ffi.new("char[]", _LOG_BYTES)
            options = ffi.new(
                "CUjit_option[]", [cu.CU_JIT_ERROR_LOG_BUFFER, cu.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
            )
            values = ffi.new("void *[]", [log, ffi.cast("void *", _LOG_BYTES - 1)])
            module, function = ffi.new("CUmodule *"), ffi.new("CUfunction *")
            result = cu.cuModuleLoadDataEx(module, image, 2, options, values)
            if result:
                text: bytes = ffi.string(log)
                said = f"`cuModuleLoadDataEx` returned {error_text(cu, result)}"
                raise faults.code_refused(
                    code.entry, self.info.name, said, text.decode(errors="replace").strip()
                )
            result = cu.cuModuleGetFunction(function, module[0], code.entry.encode())
            if result:
                said = f"`cuModuleGetFunction` returned {error_text(cu, result)}"
                cu.cuModuleUnload(module[0])
                raise faults.code_refused(code.entry, self.info.name, said)
            return CudaExecutable(code.entry, self, self._modules.add((module[0], function[0]), 0))

    def unload(self, key: int) -> None:
        """Unload a module, unless it went with the device."""
        with self._lock:
            pair = self._modules.pop(key)
            if pair is not None and self._open and os.getpid() == self._process:
                with self.current():
                    self._cu.cuModuleUnload(pair[0])

    def allocate(self, nbytes: int) -> int:
        """Return the handle of a new buffer."""
        with self.current():
            pointer = self._cu.ffi.new("CUdeviceptr *")
            size = room(nbytes)
            self._check("cuMemAlloc", self._cu.cuMemAlloc_v2(pointer, size))
            return self._buffers.add(pointer[0], size)

    def release(self, handle: int) -> None:
        """Free a buffer, after all launched work; nothing is left to free of a closed device."""
        with self._lock:
            pointer = self._buffers.pop(handle)
            if pointer is not None and self._open and os.getpid() == self._process:
                with self.current():
                    self._check("cuMemFree", self._cu.cuMemFree_v2(pointer))

    def upload(self, handle: int, data: memoryview, offset: int = 0) -> None:
        """Copy host bytes into a buffer."""
        with self.current():
            pointer = self._buffers.inside(handle, offset, data.nbytes)
            if data.nbytes:
                host = self._cu.ffi.from_buffer(data)
                result = self._cu.cuMemcpyHtoD_v2(pointer + offset, host, data.nbytes)
                self._check("cuMemcpyHtoD", result)

    def download(self, handle: int, out: memoryview, offset: int = 0) -> None:
        """Copy a buffer into host bytes, after all launched work."""
        with self.current():
            pointer = self._buffers.inside(handle, offset, out.nbytes)
            if out.nbytes:
                host = self._cu.ffi.from_buffer(out)
                result = self._cu.cuMemcpyDtoH_v2(host, pointer + offset, out.nbytes)
                self._check("cuMemcpyDtoH", result)

    def launch(
        self,
        executable: Executable,
        groups: tuple[int, int, int],
        group: tuple[int, int, int],
        arguments: tuple[Argument, ...],
    ) -> None:
        """Queue one launch on the default stream."""
        ffi = self._cu.ffi
        assert isinstance(executable, CudaExecutable)
        with self.current():
            _, function = self._modules.get(executable.key)
            values = [self._value(argument) for argument in arguments]
            pointers = ffi.new("void *[]", [ffi.cast("void *", value) for value in values])
            result = self._cu.cuLaunchKernel(function, *groups, *group, 0, ffi.NULL, pointers, ffi.NULL)
            self._check("cuLaunchKernel", result)

    def bind(self, executable: Executable, group: Size) -> Bound:
        """Return a function ready to be launched on addresses of the device's memory."""
        assert isinstance(executable, CudaExecutable)
        _, function = self._modules.get(executable.key)
        return BoundFunction(self, executable, function, group).launch

    def address(self, handle: int) -> int:
        """Return where a buffer lies."""
        return int(self._buffers.get(handle))

    def array(self, value: object) -> DeviceArray | None:
        """Return an array that lies in the memory of a CUDA device, or None where `value` is none."""
        return array_of(value)

    @cached_property
    def product(self) -> Any:
        """What multiplies arrays of this device with NVIDIA's own library, or None where that is not here."""
        found = blas.library()
        return None if found is None else blas.Products(found, self)

    def settle(self, queue: int) -> None:
        """Block until all work of a stream is done."""
        with self.current():
            stream = self._cu.ffi.cast("CUstream", queue)
            self._check("cuStreamSynchronize", self._cu.cuStreamSynchronize(stream))

    def _value(self, argument: Argument) -> Any:
        ffi = self._cu.ffi
        if isinstance(argument, BufferArgument):
            return ffi.new("CUdeviceptr *", self._buffers.get(argument.handle))
        return ffi.from_buffer(argument.data)

    def wait(self) -> None:
        """Block until all launched work is done."""
        with self.current():
            self._check("cuStreamSynchronize", self._cu.cuStreamSynchronize(self._cu.ffi.NULL))

    def close(self) -> None:
        """Free everything; idempotent."""
        with self._lock:
            if not self._open or os.getpid() != self._process:
                self._open = False
                return
            product = self.__dict__.pop("product", None)
            try:
                with self.current():
                    if product is not None:
                        product.close()
                    for pointer in self._buffers.drain():
                        self._cu.cuMemFree_v2(pointer)
                    for module, _ in self._modules.drain():
                        self._cu.cuModuleUnload(module)
            finally:
                self._open = False
                self._cu.cuDevicePrimaryCtxRelease_v2(self._device)

    def enter(self) -> None:
        """Make the primary context current; the lock is held."""
        faults.check_usable(self.info.name, is_open=self._open, process=self._process)
        result = self._push(self._context)
        if result:
            self.check("cuCtxPushCurrent", result)

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
        """Raise what a function returned, where that is an error."""
        self._check(function, result)

    def _check(self, function: str, result: int) -> None:
        if result:
            raise faults.call_failed(function, error_text(self._cu, result), self.info.name)


class CudaDriver:
    """The driver `cuda`."""

    name = "cuda"
    rank = 10
    # DLPack: kDLCUDA, kDLCUDAManaged.
    tensor_devices = (2, 13)

    def __init__(self, library: str = _LIBRARY) -> None:
        self._library = library
        self._table: Table | None = None

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
        missing = self.unavailable()
        if missing is not None:
            raise faults.unavailable(self.name, *missing)
        return CudaDevice(self.table(), *faults.one_of(self.name, self._find(), index))

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


def error_text(cu: Table, result: int) -> str:
    """Return a result with the interface's own name and sentence for it."""
    said = []
    for function in (cu.cuGetErrorName, cu.cuGetErrorString):
        text = cu.ffi.new("const char **")
        function(result, text)
        said.append(cu.ffi.string(text[0]).decode(errors="replace") if text[0] != cu.ffi.NULL else "unknown")
    return f"{result} ({said[0]}: {said[1]})"


def driver_version(path: Path = _MODULE_VERSION) -> str:
    """Return the version of the kernel module (``580.159.04``), or nothing where it does not say."""
    try:
        first = path.read_text(encoding="utf-8", errors="replace").split("\n", 1)[0]
    except OSError:
        return ""
    found = re.search(r" (\d+\.[\d.]+) ", first)
    return found[1] if found else ""
