"""CUDA (on a fake interface) and OpenCL under faults: the k-th call of each fallible function fails once.

Each is a typed error, leaves nothing alive, and a lost device takes no more work while another one does. The
Vulkan backend's are in ``test_vulkan_backend.py``.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from atoll.errors import AtollError, DeviceError, DeviceLostError, OutOfMemoryError
from atoll.plugin import BufferArgument, Driver, Emitted
from atoll.runtime import tracing
from atoll.runtime.native import Table
from atoll.runtime.tables import Fault, counting, faulty
from atoll.testing.drivers import GROUP, LAYOUT, launch, numbers, parameters
from atoll_plugins.cuda.driver import CudaDriver
from atoll_plugins.opencl.driver import OpenClDriver
from conformance.driver_kernels import code, fake_cuda, needs_device


@dataclass(frozen=True)
class Interface:
    """What a vendor's interface says when it fails, and what it makes.

    Attributes:
        rooms: Results that are out of memory.
        lost: A result after which nothing works.
        other: Another result.
        makes: What unmakes what.
        work: What gives a device work.
        opening: Functions that only list devices and describe them.
    """

    rooms: tuple[int, ...]
    lost: int
    other: int
    makes: dict[str, str]
    work: tuple[str, ...]
    opening: tuple[str, ...]


CUDA = Interface(
    rooms=(2,),
    lost=700,
    other=999,
    makes={
        "cuMemAlloc_v2": "cuMemFree_v2",
        "cuModuleLoadDataEx": "cuModuleUnload",
        "cuDevicePrimaryCtxRetain": "cuDevicePrimaryCtxRelease_v2",
        "cuStreamCreate": "cuStreamDestroy_v2",
        "cuStreamEndCapture": "cuGraphDestroy",
        "cuGraphInstantiateWithFlags": "cuGraphExecDestroy",
        "cuEventCreate": "cuEventDestroy_v2",
        "cuCtxPushCurrent_v2": "cuCtxPopCurrent_v2",
    },
    work=("cuLaunchKernel", "cuGraphLaunch", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2"),
    opening=("cuInit", "cuGetError", "cuDriverGet", "cuDeviceGet", "cuDeviceTotal", "cuMemGetInfo"),
)
OPENCL = Interface(
    rooms=(-4, -5, -6),
    lost=-36,
    other=-33,
    makes={
        "clCreateBuffer": "clReleaseMemObject",
        "clCreateProgramWithSource": "clReleaseProgram",
        "clCreateKernel": "clReleaseKernel",
        "clCreateContext": "clReleaseContext",
        "clCreateCommandQueue": "clReleaseCommandQueue",
    },
    work=("clEnqueueNDRangeKernel", "clEnqueueReadBuffer", "clEnqueueWriteBuffer"),
    opening=("clGet",),
)
#: What frees: its result says nothing that could be acted on.
FREES = ("Release", "Destroy", "Free", "Unload", "PopCurrent")


@dataclass(frozen=True)
class Bench:
    """An interface, its table, and the kernel for it."""

    interface: Interface
    table: Table
    driver: Callable[[Table], Driver]
    code: Emitted

    def faulty(self, table: Table, fault: Fault) -> Table:
        """Return a table that fails as this interface does."""

        def fail(name: str, result: int, arguments: tuple[Any, ...]) -> Any:
            if name.startswith("clCreate"):  # the result goes where the last argument points
                arguments[-1][0] = result
                return table.ffi.NULL
            return result

        return faulty(table, fault, fail)


@pytest.fixture(params=["cuda", "opencl"], scope="module")
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "cuda":
        driver = CudaDriver(str(fake_cuda(folder)))
        return Bench(CUDA, driver.table(), lambda table: CudaDriver(table=table), code("cuda", folder))
    needs_device(OpenClDriver())
    opened = OpenClDriver()
    return Bench(OPENCL, opened.table(), lambda table: OpenClDriver(table=table), code("opencl", folder))


@dataclass
class Run:
    """One run: what was called, also before it was closed, what it raised, what it did after a loss."""

    made: Counter[str]
    reached: Counter[str]
    error: BaseException | None
    after: int


def program(bench: Bench, device: Any) -> None:
    """Use a device in every way that it has."""
    loaded, x = device.load(bench.code), numbers(100)
    assert list(launch(device, loaded, 1.0, x, x)) == [2 * item for item in x]
    if hasattr(device, "captured"):
        made = captured_sum(device, loaded)
        made.submit()
        made.close()
    if hasattr(device, "expose"):
        handle = device.allocate(64)
        device.expose(handle)
        device.release(handle)
    trace = tracing.Trace()
    before, tracing._active = tracing._active, trace
    try:
        assert list(launch(device, loaded, 1.0, x, x)) == [2 * item for item in x]
        for settle in trace.settle.values():
            settle()
    finally:
        tracing._active = before
    device.wait()


def captured_sum(device: Any, loaded: Any) -> Any:
    """Return a graph of one launch whose buffers nobody else has."""
    handles = [device.allocate(256) for _ in range(3)]
    bound = [BufferArgument(handle, how) for handle, how in zip(handles, LAYOUT.access, strict=True)]
    device.capture()
    device.launch(loaded, (1, 1, 1), GROUP, (*bound, *parameters(LAYOUT, 1.0, 64)))
    made = device.captured()
    for handle in handles:
        device.release(handle)
    return made


def run(bench: Bench, fault: Fault) -> Run:
    """Run every kind of use once; calls are counted below the faults, so one that fails counts nothing."""
    inner, counts = counting(bench.table)
    table, device, error, after = bench.faulty(inner, fault), None, None, 0
    try:
        device = bench.driver(table).open(0)
        program(bench, device)
    except AtollError as caught:
        error = caught.with_traceback(None)
        error.__context__ = error.__cause__ = None
    reached = Counter(counts)
    if device is not None:
        worked = sum(counts[name] for name in bench.interface.work)
        if fault.result == bench.interface.lost and error is not None:
            for use in (
                device.wait,
                lambda: device.allocate(4),
                lambda: device.load(bench.code),
                lambda: device.upload(1, memoryview(b"abcd")),
            ):
                with pytest.raises(DeviceLostError):
                    use()
            after = sum(counts[name] for name in bench.interface.work) - worked
        fault.function = ""
        device.close()
    return Run(counts, reached, error, after)


def left(bench: Bench, made: Counter[str]) -> dict[str, int]:
    pairs = bench.interface.makes.items()
    return {make: made[make] - made[free] for make, free in pairs if made[make] != made[free]}


def cases(bench: Bench, made: Counter[str]) -> Iterator[tuple[str, int, int]]:
    """Give function, call and result."""
    interface = bench.interface
    for name in sorted(made):
        if name.startswith(interface.opening) or any(word in name for word in FREES):
            continue
        for turn in range(1, made[name] + 1):
            for result in (*interface.rooms, interface.lost, interface.other):
                yield name, turn, result


def test_each_call_that_fails_is_a_typed_error_and_leaves_nothing(
    bench: Bench, whole: bool, tell: Callable[[str], None]
) -> None:
    clean = run(bench, Fault())
    assert clean.error is None
    assert left(bench, clean.made) == {}
    other = bench.driver(bench.table).open(0)
    beside = other.load(bench.code)
    every = list(cases(bench, clean.reached))
    tried = every if whole else random.Random(0).sample(every, 80)
    passed = 0
    for name, turn, result in tried:
        found = run(bench, Fault(name, turn, result))
        where = f"{name}, call {turn}, returns {result}"
        if name == "cuMemAlloc_v2" and result in bench.interface.rooms:
            # A block that is refused is asked for again at half the size.
            assert found.error is None, where
            passed += 1
        else:
            assert isinstance(found.error, AtollError), where
            assert type(found.error) is expected(bench, result), f"{where}: {found.error!r}"
            assert found.after == 0, where
        assert left(bench, found.made) == {}, where
        x = numbers(4)
        assert list(launch(other, beside, 1.0, x, x)) == [0.0, 2.0, 4.0, 6.0], where
    other.close()
    functions = len({name for name, _, _ in every})
    tell(f"{len(tried)} of {len(every)} failing calls of {functions} functions, {passed} asked again")
    assert len(every) > 80


def expected(bench: Bench, result: int) -> type[AtollError]:
    if result == bench.interface.lost:
        return DeviceLostError
    return OutOfMemoryError if result in bench.interface.rooms else DeviceError


def test_a_leak_is_seen(bench: Bench) -> None:
    made = run(bench, Fault()).made
    make = next(iter(bench.interface.makes))
    made[make] += 1
    assert left(bench, made) == {make: 1}


def test_a_lost_device_says_what_was_lost_and_another_is_opened(bench: Bench) -> None:
    work = bench.interface.work[0]
    device = bench.driver(bench.faulty(bench.table, Fault(work, 1, bench.interface.lost))).open(0)
    x, loaded = numbers(4), device.load(bench.code)
    with pytest.raises(DeviceLostError, match=f"{work.removesuffix('_v2')}` returned"):
        launch(device, loaded, 1.0, x, x)
    for _ in range(3):
        with pytest.raises(DeviceLostError, match="can no longer be used"):
            device.wait()
    device.close()
    again = bench.driver(bench.table).open(0)
    assert list(launch(again, again.load(bench.code), 1.0, x, x)) == [0.0, 2.0, 4.0, 6.0]
    again.close()


def test_finalisers_take_no_lock(bench: Bench) -> None:
    """One that runs inside the device's lock in another thread would wait for it."""
    import threading

    device: Any = bench.driver(bench.table).open(0)
    handle, loaded = device.allocate(64), [device.load(bench.code)]
    with device._lock:
        threads = [
            threading.Thread(target=device.release, args=(handle,)),
            threading.Thread(target=loaded.clear),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
            assert not thread.is_alive()
    with pytest.raises(DeviceError, match="outside"):
        device.upload(handle, memoryview(b"abcd"))
    device.close()


def test_cuda_memory_has_a_budget_and_a_report(tmp_path: Path) -> None:
    library = str(fake_cuda(tmp_path))
    device: Any = CudaDriver(library, budget=1 << 20).open(0)
    held = [device.allocate(300 << 10) for _ in range(3)]
    with pytest.raises(OutOfMemoryError) as caught:
        device.allocate(400 << 10)
    found = caught.value.diagnostics[0]
    assert f"has no room for {400 << 10} bytes" in found.message
    assert "921600 bytes in 3 buffers" in found.notes[0]
    assert "a budget of 1048576" in found.notes[0]
    assert "of 137438953472 bytes free" in found.notes[1]
    device.release(held.pop())
    device.allocate(300 << 10)
    device.close()


def test_a_steady_state_asks_the_cuda_driver_for_no_memory(tmp_path: Path) -> None:
    table, counts = counting(CudaDriver(str(fake_cuda(tmp_path))).table())
    device: Any = CudaDriver(table=table).open(0)
    emitted = code("cuda", tmp_path)
    loaded, small, large = device.load(emitted), numbers(1000), numbers(6 << 20)
    for x in (small, large):
        launch(device, loaded, 1.0, x, x)
    before = counts["cuMemAlloc_v2"], counts["cuMemFree_v2"], counts["cuCtxSynchronize"]
    for x in (small, large, small, large):
        launch(device, loaded, 1.0, x, x)
    assert (counts["cuMemAlloc_v2"], counts["cuMemFree_v2"], counts["cuCtxSynchronize"]) == before
    device.close()


def test_memory_that_others_were_told_of_is_waited_for(tmp_path: Path) -> None:
    table, counts = counting(CudaDriver(str(fake_cuda(tmp_path))).table())
    device: Any = CudaDriver(table=table).open(0)
    first, second, mine = (device.allocate(64) for _ in range(3))
    device.release(mine)
    device.wait()
    assert counts["cuCtxSynchronize"] == 0
    device.expose(first)
    bound = device.bind(device.load(code("cuda", tmp_path)), (64, 1, 1))
    for handle in (first, second):
        device.release(handle)
    device.wait()
    assert counts["cuCtxSynchronize"] == 1
    # So is what a launch on another library's queue takes.
    handles = [device.allocate(256) for _ in range(3)]
    bound((1, 1, 1), [device.address(handle) for handle in handles], bytes(8), 4711)
    device.release(handles[0])
    device.wait()
    assert counts["cuCtxSynchronize"] == 2
    device.close()


def test_a_library_is_not_there_while_a_graph_is_recorded(tmp_path: Path) -> None:
    device: Any = CudaDriver(str(fake_cuda(tmp_path))).open(0)
    device.__dict__["_product"] = SimpleNamespace(close=lambda: None)
    assert device.product is not None
    device.capture()
    assert device.product is None
    device.captured().close()
    assert device.product is not None
    device.close()
