"""Arrays in a CUDA device's memory are launched on where they lie: PyTorch's, and those of other libraries.

The device is the fake driver interface, whose memory is this process's own; it runs a kernel that the emitter
of the processor made from the same KIR that the code on the device was made from.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import atoll
from atoll.errors import LaunchError
from atoll.kernels.launch import Done
from atoll.kernels.variants import NOTHING, Promises, module_for
from atoll.runtime import Device
from atoll_plugins.cpu.emitter import CpuEmitter
from atoll_plugins.cuda import arrays as cuda_arrays
from atoll_plugins.cuda.driver import CudaDriver
from conformance.driver_kernels import fake_cuda
from kernel_text import kernel_from

SAXPY = (
    "@kernel\ndef saxpy(a: f32, x: view[f32], y: view[f32], out: view[f32]):\n"
    "    i = atoll.global_id(0)\n    if i < out.size:\n        out[i] = a * x[i] + y[i]\n"
)
PLAIN = Promises(plain=True, apart=True, fours=True)


class Bench:
    """The fake device, a kernel, and what the device runs for it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        library = fake_cuda(folder)
        self.device = Device(CudaDriver(str(library)).open(0))
        self.fake = ctypes.CDLL(str(library))
        self.fake.fake_last_image.restype = ctypes.c_char_p
        self.fake.fake_last_stream.restype = ctypes.c_size_t
        self.kernel = kernel_from(SAXPY, "saxpy")
        self.folder, self.patch = folder, monkeypatch

    def runs(self, known: Promises) -> None:
        """Let the device run the code for these promises from now on."""
        compiled = self.kernel.compiled()
        module, _ = module_for(compiled, known)
        emitter = CpuEmitter()
        code = emitter.emit(module, "saxpy", emitter.target(None), (64, 1, 1)).code
        source, out = self.folder / "k.c", self.folder / f"k{known.plain}.so"
        source.write_bytes(code)
        command = [
            "cc",
            "-std=c11",
            "-shared",
            "-fPIC",
            "-ffp-contract=off",
            "-w",
            "-o",
            str(out),
            str(source),
        ]
        subprocess.run([*command, "-lm"], check=True)
        self.patch.setenv("FAKE_CUDA_KERNELS", str(out))

    def image(self) -> str:
        return bytes(self.fake.fake_last_image()).decode()

    def launch(self, size: int, *arguments: Any) -> Done:
        done: Done = self.kernel.over(size, device=self.device, block=64)(*arguments)
        return done


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    made = Bench(tmp_path, monkeypatch)
    yield made
    made.device.free()


def floats(size: int, *, off: int = 0) -> Any:
    """Return numbers that start `off` elements after a multiple of 16 bytes."""
    raw = np.zeros(size + 8, np.float32)
    start = -raw.__array_interface__["data"][0] % 16 // 4 + off
    found = raw[start : start + size]
    found[:] = np.arange(size)
    return found


class Interface:
    """An array that says it lies on a device."""

    def __init__(self, array: Any, **changes: Any) -> None:
        self.array = array
        shown = {**array.__array_interface__, "version": 3, **changes}
        self.__cuda_array_interface__ = {key: shown[key] for key in shown if key != "descr"}


class Tensor:
    """As much of PyTorch's tensor as a launch asks of one."""

    def __init__(self, array: Any, where: int = 0, *, on_device: bool = True, grad: bool = False) -> None:
        self.array, self.where, self.is_cuda, self.requires_grad = array, where, on_device, grad
        self.shape, self.dtype, self.layout = array.shape, array.dtype.name, "strided"

    def data_ptr(self) -> int:
        return int(self.array.__array_interface__["data"][0])

    def stride(self) -> tuple[int, ...]:
        return tuple(step // self.array.itemsize for step in self.array.strides)

    def get_device(self) -> int:
        return self.where


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    made: Any = types.ModuleType("torch")
    made.Tensor, made.strided, made.float32, made.int32, made.current = (
        Tensor,
        "strided",
        "float32",
        "int32",
        0,
    )
    made._C = types.SimpleNamespace(_cuda_getCurrentRawStream=lambda _where: made.current)
    monkeypatch.setitem(sys.modules, "torch", made)
    cuda_arrays._torch.cache_clear()
    yield made
    cuda_arrays._torch.cache_clear()


def test_tensors_are_launched_on_the_current_stream_where_they_lie(bench: Bench, torch: Any) -> None:
    bench.runs(PLAIN)
    x, y, out = floats(100), floats(100), floats(100)
    for turn, stream in enumerate((0, 4711, 4712)):
        torch.current = stream
        x[:] = turn
        done = bench.launch(100, 2.0, Tensor(x), Tensor(y), Tensor(out))
        assert bench.fake.fake_last_stream() == stream
        assert np.array_equal(out, 2 * x + y)
        assert done.wait().device == bench.device.name
    assert "ld.global.nc.v4.f32" in bench.image()
    assert "st.global.v4.f32" in bench.image()


def test_tensors_that_are_not_plain_take_the_general_code(bench: Bench, torch: Any) -> None:
    bench.runs(NOTHING)
    x, y, out = floats(300)[::3], floats(100, off=1), floats(100)
    bench.launch(100, 2.0, Tensor(x), Tensor(y), Tensor(out))
    assert np.array_equal(out, 2 * x + y)
    assert "v4" not in bench.image()


def test_a_launch_that_was_prepared_asks_the_promises_again(bench: Bench, torch: Any) -> None:
    bench.runs(PLAIN)
    x, y, out = floats(100), floats(100), floats(100)
    for _ in range(2):
        bench.launch(100, 2.0, Tensor(x), Tensor(y), Tensor(out))
    bench.runs(NOTHING)
    odd = floats(100, off=1)
    bench.launch(100, 3.0, Tensor(odd), Tensor(y), Tensor(out))
    assert np.array_equal(out, 3 * odd + y)
    assert "v4" not in bench.image()


def test_an_array_in_place_is_not_read_ahead(bench: Bench, torch: Any) -> None:
    bench.runs(PLAIN)
    x, y = floats(100), floats(100)
    bench.launch(100, 2.0, Tensor(x), Tensor(y), Tensor(y))
    assert np.array_equal(y, 3 * np.arange(100, dtype=np.float32))
    assert "v4" in bench.image()
    assert ".nc" not in bench.image()


def test_a_launch_prepared_for_arrays_apart_takes_one_in_place_anew(bench: Bench, torch: Any) -> None:
    bench.runs(PLAIN)
    x, y, out = floats(100), floats(100), floats(100)
    for _ in range(2):
        bench.launch(100, 2.0, Tensor(x), Tensor(y), Tensor(out))
    assert ".nc" in bench.image()
    bench.launch(100, 2.0, Tensor(x), Tensor(y), Tensor(y))
    assert ".nc" not in bench.image()
    assert np.array_equal(y, 3 * np.arange(100, dtype=np.float32))


def test_a_domain_that_four_does_not_divide_is_launched_one_by_one(bench: Bench, torch: Any) -> None:
    bench.runs(Promises(plain=True, apart=True))
    x, y, out = floats(99), floats(99), floats(99)
    bench.launch(99, 2.0, Tensor(x), Tensor(y), Tensor(out))
    assert np.array_equal(out, 2 * x + y)
    assert "v4" not in bench.image()


def test_the_array_interface_names_its_stream(bench: Bench) -> None:
    bench.runs(PLAIN)
    x, y, out = floats(64), floats(64), floats(64)
    bench.launch(64, 2.0, *(Interface(item, stream=4711) for item in (x, y, out)))
    assert bench.fake.fake_last_stream() == 4711
    assert np.array_equal(out, 2 * x + y)
    bench.launch(64, 2.0, *(Interface(item, stream=1) for item in (x, y, out)))
    assert bench.fake.fake_last_stream() == 0


def test_dlpack_is_asked_for_the_legacy_stream_and_kept_alive(bench: Bench) -> None:
    asked: list[Any] = []

    class Exporter:
        def __init__(self, array: Any) -> None:
            self.array = array

        def __dlpack_device__(self) -> tuple[int, int]:
            return 2, 0

        def __dlpack__(self, *, stream: Any = None, max_version: Any = None) -> Any:
            asked.append(stream)
            return self.array.__dlpack__(max_version=max_version)

    bench.runs(NOTHING)
    x, y, out = floats(8, off=1), floats(8), floats(8)
    bench.launch(8, 2.0, Exporter(x), Exporter(y), Exporter(out))
    assert np.array_equal(out, 2 * x + y)
    assert asked == [1, 1, 1]


def test_arrays_here_and_there_meet_in_one_launch(bench: Bench, torch: Any) -> None:
    bench.runs(NOTHING)
    torch.current = 4711
    x, y, out = floats(64), floats(64), np.zeros(64, np.float32)
    bench.launch(64, 2.0, Tensor(x), y, out)
    assert np.array_equal(out, 2 * x + y)
    assert bench.fake.fake_last_stream() == 4711


def refused(bench: Bench, *arguments: Any) -> str:
    with pytest.raises(LaunchError) as caught:
        bench.launch(8, 2.0, *arguments)
    return str(caught.value)


def test_what_does_not_fit_is_said(bench: Bench, torch: Any) -> None:
    x, y, out = floats(8), floats(8), floats(8)
    ints = np.zeros(8, np.int32)
    assert "an array of 1 dimensions of i32" in refused(bench, Tensor(ints), Tensor(y), Tensor(out))
    assert "on device 3 of `cuda`" in refused(bench, Tensor(x, 3), Tensor(y), Tensor(out))
    assert "may not be written" in refused(bench, Tensor(x), Tensor(y), Tensor(out, grad=True))
    read = Interface(out, data=(out.__array_interface__["data"][0], True))
    assert "may not be written" in refused(bench, Interface(x), Interface(y), read)
    assert "different queues" in refused(
        bench, Interface(x, stream=5), Interface(y, stream=6), Interface(out, stream=5)
    )
    assert "no KIR type" in refused(bench, Interface(x, typestr=">f4"), Interface(y), Interface(out))


def test_a_tensor_of_another_device_is_refused_by_the_processor(torch: Any) -> None:
    x = floats(8)
    with pytest.raises(LaunchError, match="does not fit its parameter"):
        kernel_from(SAXPY, "saxpy").over(8, device="cpu")(2.0, Tensor(x), x, x)


def test_launches_on_arrays_are_recorded_as_one_graph(bench: Bench) -> None:
    bench.runs(PLAIN)
    x, y = (atoll.array(np.arange(100, dtype=np.float32), device=bench.device) for _ in range(2))
    bench.launch(100, 2.0, x, y, y)  # prepared, so that the recorded ones have to ask anew
    before = y.buffer.epoch
    with atoll.capture(bench.device) as graph:
        for _ in range(3):
            bench.launch(100, 2.0, x, y, y)
    assert len(graph) == 3
    assert graph._calls == [], "the driver records, Python does not"
    assert np.array_equal(y.numpy(), 3 * np.arange(100))
    graph.replay()
    assert y.buffer.epoch != before
    assert np.array_equal(y.numpy(), 9 * np.arange(100))
    bench.launch(100, 2.0, x, y, y)
    assert np.array_equal(y.numpy(), 11 * np.arange(100))
    graph.close()


def test_an_array_over_a_tensor_waits_for_what_makes_it(
    bench: Bench, torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[int] = []
    monkeypatch.setattr(bench.device, "settle", waited.append)
    x = floats(8)
    for stream in (0, 4711):
        torch.current = stream
        assert atoll.array(Tensor(x), device=bench.device).address == x.__array_interface__["data"][0]
    assert waited == [4711]
