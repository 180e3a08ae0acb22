"""The C launcher and the Python driver of one interface make the same calls; a failing one leaves nothing."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from atoll.errors import AtollError, DeviceLostError
from atoll.plugin import Driver, Emitted
from atoll.runtime import Device
from conformance import programs, shim
from conformance.driver_kernels import code, driver, fake_cuda, needs_device

BACKENDS = ("vulkan", "opencl", "cuda")
REAL = {"vulkan": "libvulkan.so.1", "opencl": "libOpenCL.so.1"}
# The call that opens the device: before it each side lists devices and asks what it needs to print.
OPENED = {
    "vulkan": "vkCreateDevice",
    "opencl": "clCreateContext",
    "cuda": "cuDevicePrimaryCtxRetain",
}
# Of what there is one a buffer; CUDA's lie in a pool, and each is copied in.
OWN = {"vulkan": "vkCreateBuffer", "opencl": "clCreateBuffer", "cuda": "cuMemcpyHtoD_v2"}
# The launcher makes everything for one launch; the driver keeps memory in pools and frames in a ring. What
# both do for a launch is to make its pipeline and to record its dispatch (docs/decisions/0251).
SHARED = {
    "vulkan": {
        "vkCreateShaderModule",
        "vkDestroyShaderModule",
        "vkCreateDescriptorSetLayout",
        "vkCreatePipelineLayout",
        "vkCreateComputePipelines",
        "vkCmdBindPipeline",
        "vkCmdBindDescriptorSets",
        "vkCmdPushConstants",
        "vkCmdDispatch",
        "vkEndCommandBuffer",
        "vkQueueSubmit",
    },
    "cuda": {
        "cuModuleLoadDataEx",
        "cuModuleGetFunction",
        "cuMemcpyHtoD_v2",
        "cuLaunchKernel",
        "cuStreamSynchronize",
        "cuMemcpyDtoH_v2",
    },
}
# Made current once a launch in C, once a call in Python (driver.py says so).
APART = {"cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2"}
ANSWER = "12 24 36 48 on "


@dataclass
class Bench:
    """One interface behind the shim, and the program built on it."""

    backend: str
    folder: Path
    library: Path
    driver: Driver
    code: Emitted
    program: Path

    @property
    def code_file(self) -> Path:
        path = self.folder / "code"
        path.write_bytes(self.code.code)
        return path

    def c_log(self, launches: int, fail: str = "") -> tuple[list[str], str]:
        """Run the C program; return its calls and what it printed."""
        log = self.folder / "c.log"
        log.unlink(missing_ok=True)
        env = {**os.environ, "SHIM_LOG": str(log), "SHIM_FAIL": fail}
        extra = ("", "80", "") if self.backend == "cuda" else ("", "", "")
        said = programs.run(self.program, self.code_file, str(launches), *extra, env=env)
        return log.read_text().split(), said

    def python_log(
        self, launches: int, monkeypatch: pytest.MonkeyPatch, *, in_place: bool = False
    ) -> list[str]:
        """Launch through the Python driver; return its calls up to the closing of the device."""
        log = self.folder / "python.log"
        log.unlink(missing_ok=True)
        monkeypatch.setenv("SHIM_LOG", str(log))
        device = Device(self.driver.open(0))
        for _ in range(launches):
            saxpy(device, self.code, in_place=in_place)
        calls = log.read_text().split()
        device.free()
        return calls


def saxpy(device: Device, emitted: Emitted, *, in_place: bool = False) -> None:
    """Launch once and check the answer."""
    x, out = np.array([1, 2, 3, 4], np.float32), np.full(4, -1, np.float32)
    y = 10 * x
    out = y if in_place else out
    device.run(emitted, (1,), (64,), {"x": x, "y": y, "out": out, "a": 2.0, "n": 4})
    assert list(out) == [12, 24, 36, 48]


@pytest.fixture(scope="module")
def benches() -> dict[str, Bench]:
    return {}


@pytest.fixture
def bench(
    request: pytest.FixtureRequest,
    benches: dict[str, Bench],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Bench:
    backend: str = request.param
    if backend not in benches:
        folder = tmp_path_factory.mktemp(backend)
        real = fake_cuda(folder) if backend == "cuda" else None
        needs_device(driver(backend, real))
        library = shim.build(backend, folder)
        found = driver(backend, library)
        program = programs.program(found, folder, programs.launcher_object(found, folder, library))
        benches[backend] = Bench(backend, folder, library, found, code(backend, folder), program)
    made = benches[backend]
    monkeypatch.setenv(
        "SHIM_REAL", str(made.folder / "libfakecuda.so") if backend == "cuda" else REAL[backend]
    )
    monkeypatch.delenv("SHIM_FAIL", raising=False)
    return made


def after_opening(calls: list[str], backend: str) -> list[str]:
    opened = calls[calls.index(OPENED[backend]) :]
    shared = SHARED.get(backend)
    return [call for call in opened if call not in APART and (shared is None or call in shared)]


@pytest.mark.parametrize("bench", BACKENDS, indirect=True)
def test_both_sides_make_the_same_calls(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    in_c, said = bench.c_log(2)
    in_python = bench.python_log(2, monkeypatch)
    assert said.count(ANSWER) == 2, said
    assert after_opening(in_c, bench.backend) == after_opening(in_python, bench.backend)
    assert len(after_opening(in_c, bench.backend)) > 12


@pytest.mark.parametrize("bench", BACKENDS, indirect=True)
def test_both_sides_give_memory_that_is_given_twice_one_buffer(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    apart, _ = bench.c_log(1)
    monkeypatch.setenv("IN_PLACE", "1")
    in_c, said = bench.c_log(1)
    assert said.startswith(ANSWER)
    in_python = bench.python_log(1, monkeypatch, in_place=True)
    assert after_opening(in_c, bench.backend) == after_opening(in_python, bench.backend)
    assert len(in_c) < len(apart)
    # Every launch makes its own buffers, whatever both sides keep beside them.
    made = OWN[bench.backend]
    assert in_python.count(made) == in_c.count(made) == apart.count(made) - 1


@pytest.mark.parametrize(
    ("bench", "edit"),
    [
        ("opencl", ("cl_int code = cl.clFinish(cl_state.queue);", "cl_int code = CL_SUCCESS;")),
        ("vulkan", ("vk.vkCmdDispatch(commands, groups[0], groups[1], groups[2]);", "(void)groups;")),
        ("cuda", ("CUresult code = cu.cuStreamSynchronize(NULL);", "CUresult code = CUDA_SUCCESS;")),
    ],
    indirect=["bench"],
)
def test_a_call_left_out_of_the_launcher_is_seen(
    bench: Bench, edit: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = programs.launcher_object(bench.driver, tmp_path, bench.library, edit)
    program = programs.program(bench.driver, tmp_path, made)
    edited = Bench(bench.backend, tmp_path, bench.library, bench.driver, bench.code, program)
    in_c, _ = edited.c_log(1)
    in_python = bench.python_log(1, monkeypatch)
    assert after_opening(in_c, bench.backend) != after_opening(in_python, bench.backend)


def fallible(bench: Bench, calls: list[str]) -> list[str]:
    """Return the functions after opening that return a result, once each."""
    source = (bench.folder / f"shim_{bench.backend}.c").read_text()
    void = {call for call in calls if f"\nvoid {call}(" in source}
    freeing = ("Destroy", "Release", "Free", "Unload", "Unmap", "PopCurrent")
    return [
        call
        for call in dict.fromkeys(calls)
        if call not in void and not any(word in call for word in freeing)
    ]


@pytest.mark.parametrize("bench", BACKENDS, indirect=True)
def test_each_failing_call_in_c_is_named_and_leaves_nothing(bench: Bench) -> None:
    calls, _ = bench.c_log(1)
    tried = fallible(bench, calls)
    assert len(tried) >= 10, tried
    for function in tried:
        log, said = bench.c_log(2, fail=f"{function}:1:-2" if bench.backend != "cuda" else f"{function}:1:2")
        first, second = said.splitlines()
        name = function.removesuffix("_v2")
        if function in LISTING[bench.backend]:
            assert first.startswith(("failed: ", "12 24")), f"{function}: {first}"
        else:
            assert first.startswith("failed: "), f"{function}: {first}"
            assert name in first, f"{function}: {first}"
        if function not in GIVES_UP:
            assert second.startswith(ANSWER), f"{function}: {second}"
            assert shim.unbalanced(log, shim.PAIRS[bench.backend], function) == {}, function
            assert shim.unbalanced(log, shim.KEPT[bench.backend], function, kept=1) == {}, function


# Listing devices passes over what does not answer, so these need not be named.
LISTING = {
    "vulkan": set(),
    "opencl": {"clGetPlatformIDs", "clGetDeviceIDs", "clGetDeviceInfo"},
    "cuda": set(),
}
# After these the work may still run, or the fence says nothing any more: the device is given up.
GIVES_UP = {"vkWaitForFences", "vkResetFences", "vkWaitSemaphores"}
# A block that is refused is asked for at half the size; only when nothing fits is it an error.
ASKED_AGAIN = {"vkAllocateMemory", "cuMemAlloc_v2"}


@pytest.mark.parametrize("bench", BACKENDS, indirect=True)
def test_each_failing_call_in_python_is_named_and_leaves_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = bench.python_log(1, monkeypatch)
    tried = fallible(bench, calls[calls.index(OPENED[bench.backend]) :])
    assert len(tried) >= 8, tried
    log = bench.folder / "fault.log"
    monkeypatch.setenv("SHIM_LOG", str(log))
    for function in tried:
        log.unlink(missing_ok=True)
        monkeypatch.setenv("SHIM_FAIL", f"{function}:1:{FAILED[bench.backend]}")
        opened: list[Device] = []
        if function in ASKED_AGAIN:
            open_and_launch(bench, opened)
            opened[0].free()
            continue
        with pytest.raises(AtollError) as caught:
            open_and_launch(bench, opened)
        assert function.removesuffix("_v2") in str(caught.value), f"{function}: {caught.value}"
        monkeypatch.setenv("SHIM_FAIL", "")
        if not opened or function in GIVES_UP:
            continue
        saxpy(opened[0], bench.code)
        opened[0].free()
        made = log.read_text().split()
        opened_too = shim.OPENED.get(bench.backend, {})
        both = {**shim.PAIRS[bench.backend], **shim.KEPT[bench.backend], **opened_too}
        assert shim.unbalanced(made, both, function) == {}, function


# No room, but in OpenCL, where the number of Vulkan's is a device that is gone.
FAILED = {"vulkan": "-2", "opencl": "-30", "cuda": "2"}


def open_and_launch(bench: Bench, opened: list[Device]) -> None:
    opened.append(Device(bench.driver.open(0)))
    saxpy(opened[0], bench.code)


def test_the_balance_sees_what_is_left() -> None:
    log = ["clCreateBuffer", "clCreateBuffer", "clReleaseMemObject"]
    assert shim.unbalanced(log, shim.PAIRS["opencl"]) == {"clCreateBuffer": 1}
    assert shim.unbalanced(log, shim.PAIRS["opencl"], failed="clCreateBuffer") == {}


@pytest.mark.parametrize("bench", ["vulkan"], indirect=True)
def test_a_lost_device_is_used_no_more(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    log, said = bench.c_log(3, fail="vkWaitForFences:1:-4")
    first, *rest = said.splitlines()
    assert "vkWaitForFences failed with -4" in first
    assert all("was lost by an earlier launch" in line for line in rest)
    assert log.count("vkQueueSubmit") == 1
    monkeypatch.setenv("SHIM_FAIL", "vkWaitSemaphores:1:-4")
    monkeypatch.setenv("SHIM_LOG", str(bench.folder / "lost.log"))
    device = Device(bench.driver.open(0))
    with pytest.raises(DeviceLostError, match="vkWaitSemaphores"):
        saxpy(device, bench.code)
    with pytest.raises(DeviceLostError, match="can no longer be used"):
        saxpy(device, bench.code)
    device.free()
    assert (bench.folder / "lost.log").read_text().split().count("vkQueueSubmit") == 1
