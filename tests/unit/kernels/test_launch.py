"""Launching from Python: shapes, arguments, memory, what is recompiled, what a driver is asked."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from atoll.accel import DeviceFacts
from atoll.diagnostics import Diagnostic
from atoll.errors import DeviceError, LaunchError
from atoll.kernels.definition import KernelFunction
from atoll.kernels.shapes import Shape, check_grid, fitted, grid_shape, over_shape
from atoll.plugin import Argument, BufferArgument, DeviceInfo, Emitted, ScalarArgument, Target
from atoll.runtime import limits
from emitter_kit import device
from kernel_text import body, kernel_from, namespace
from unit.runtime import fakes

SAXPY = (
    "@kernel\ndef k(a: f32, x: view[f32], y: view[f32], out: view[f32]):\n"
    "    i = atoll.global_id(0)\n    if i < out.size:\n        out[i] = a * x[i] + y[i]\n"
)


class Loaded:
    """Code on the fake device."""

    def __init__(self, entry: str) -> None:
        self.entry = entry


class FakeDevice:
    """A device that keeps buffers in host memory, notes every call, and runs what it is told to run."""

    def __init__(self, run: Any = None, fails: str = "") -> None:
        self.buffers: dict[int, bytearray] = {}
        self.calls: list[str] = []
        self.loads = 0
        self.run, self.fails = run, fails
        self.block = b""
        self.shape: tuple[Any, ...] = ()

    @property
    def info(self) -> DeviceInfo:
        return DeviceInfo(
            driver="cpu", index=0, name="fake", facts=DeviceFacts(backend="cpu"), software=True, limits={}
        )

    def _note(self, call: str) -> None:
        self.calls.append(call)
        if call == self.fails:
            raise DeviceError(Diagnostic(code="ATL0801", message=f"{call} fails"))

    def target(self) -> Target:
        return Target(backend="cpu")

    def load(self, code: Emitted) -> Loaded:
        self.loads += 1
        return Loaded(code.entry)

    def allocate(self, nbytes: int) -> int:
        self._note("allocate")
        handle = len(self.calls)
        self.buffers[handle] = bytearray(b"\xee" * nbytes)
        return handle

    def release(self, handle: int) -> None:
        self.calls.append("release")
        del self.buffers[handle]

    def upload(self, handle: int, data: memoryview, offset: int = 0) -> None:
        self._note("upload")
        self.buffers[handle][offset : offset + len(data)] = data

    def download(self, handle: int, out: memoryview, offset: int = 0) -> None:
        self._note("download")
        out[:] = memoryview(self.buffers[handle])[offset : offset + len(out)]

    def launch(self, executable: Any, groups: Any, group: Any, arguments: tuple[Argument, ...]) -> None:
        self._note("launch")
        self.shape = (groups, group)
        (scalar,) = [item for item in arguments if isinstance(item, ScalarArgument)]
        self.block = scalar.data
        handles = [item.handle for item in arguments if isinstance(item, BufferArgument)]
        if self.run is not None:
            self.run(self, handles)

    def wait(self) -> None:
        self._note("wait")

    def close(self) -> None:
        self.calls.append("close")


def arrays() -> tuple[Any, Any, Any]:
    x = np.array([1, 2, 3, 4], np.float32)
    return x, 10 * x, np.full(4, 7, np.float32)


def test_a_launch_copies_in_runs_waits_copies_back_what_is_written_and_frees() -> None:
    def run(device: FakeDevice, handles: list[int]) -> None:
        device.buffers[handles[2]][:4] = np.float32(5).tobytes()

    x, y, out = arrays()
    device = FakeDevice(run)
    done = kernel_from(SAXPY).over(4, device=device)(2.0, x, y, out)
    assert done.device == "fake"
    assert device.calls == [*["allocate", "upload"] * 3, "launch", "wait", "download", *["release"] * 3]
    assert out.tolist() == [5, 7, 7, 7]  # what the kernel left alone is as it was
    assert not device.buffers
    assert device.shape == ((1, 1, 1), (64, 1, 1))


def test_the_block_holds_the_domain_the_scalars_and_the_shape_of_each_view() -> None:
    x, y, _ = arrays()
    device = FakeDevice()
    out = np.zeros(12, np.float32)
    kernel_from(SAXPY).over(3, device=device, block=2)(2.0, x[1:], y[::-1], out[2::3])
    words = np.frombuffer(device.block, np.uint32)
    assert words[:3].tolist() == [3, 1, 1]
    assert device.block[12:16] == np.float32(2).tobytes()
    assert np.frombuffer(device.block, np.int64)[2:].tolist() == [0, 3, 1, 3, 4, -1, 0, 4, 3]
    assert device.shape == ((2, 1, 1), (2, 1, 1))


def test_arrays_that_overlap_are_one_buffer_with_offsets() -> None:
    device = FakeDevice()
    whole = np.arange(8, dtype=np.float32)
    kernel_from(SAXPY).over(3, device=device)(1.0, whole[:4], whole[2:6], whole[4:])
    assert device.calls.count("allocate") == 1
    offsets = np.frombuffer(device.block, np.int64)[[2, 5, 8]]
    assert offsets.tolist() == [0, 2, 4]


def test_a_launch_that_is_not_waited_for_copies_back_when_it_is() -> None:
    device = FakeDevice()
    done = kernel_from(SAXPY).over(4, device=device, wait=False)(1.0, *arrays())
    assert "wait" not in device.calls
    assert done.wait() is done.wait()
    assert device.calls.count("wait") == device.calls.count("download") == 1
    assert not device.buffers


def test_a_launch_that_nobody_waits_for_frees_its_buffers() -> None:
    device = FakeDevice()
    kernel_from(SAXPY).over(4, device=device, wait=False)(1.0, *arrays())
    gc.collect()
    assert not device.buffers


@pytest.mark.parametrize("call", ["allocate", "upload", "launch", "wait", "download"])
def test_a_call_that_fails_leaves_no_buffer_behind(call: str) -> None:
    device = FakeDevice(fails=call)
    with pytest.raises(DeviceError):
        kernel_from(SAXPY).over(4, device=device)(1.0, *arrays())
    gc.collect()
    assert not device.buffers


def test_an_empty_domain_launches_nothing_and_names_the_device() -> None:
    device = FakeDevice()
    assert kernel_from(SAXPY).over(0, device=device)(1.0, *arrays()).device == "fake"
    assert not device.calls


def test_code_is_loaded_once_a_device_and_block() -> None:
    device, kernel = FakeDevice(), kernel_from(SAXPY)
    for block in (64, 64, 32, 64):
        kernel.over(4, device=device, block=block)(1.0, *arrays())
    assert device.loads == 2


def test_a_device_that_nobody_uses_is_let_go_with_the_code_it_had() -> None:
    kernel = kernel_from(SAXPY)
    for _ in range(3):
        device = FakeDevice()
        kernel.over(4, device=device)(1.0, *arrays())
        assert len(kernel.loaded) == 1
        alive = weakref.ref(device)
        del device
        gc.collect()
        assert alive() is None
        assert not kernel.loaded


def test_a_captured_number_that_changed_is_compiled_anew_and_an_unchanged_one_is_not() -> None:
    names = namespace("K = 2\n@kernel\ndef k(x: view[f32]):\n    x[0] = K * 1.5\n")
    kernel, x, device = names["k"], np.zeros(1, np.float32), FakeDevice()
    assert isinstance(kernel, KernelFunction)
    for value in (2, 2, 3, 3.0, 3.0):
        names["K"] = value
        kernel.python(1)(x)
        assert x[0] == value * 1.5
        kernel.over(1, device=device)(x)
    assert device.loads == 3


def test_a_captured_number_may_come_from_a_closure_and_from_a_module() -> None:
    names = namespace(
        "def make(c):\n    @kernel\n    def k(x: view[f32]):\n        x[0] = c + math.pi\n    return k\n"
    )
    x = np.zeros(1, np.float32)
    for value in (1, 2):
        names["make"](value).python(1)(x)
        assert x[0] == np.float32(value + np.pi)


# --- shapes --------------------------------------------------------------------------------------

BARRIER = "l = atoll.local_id(0)\nt = atoll.shared(f32, 64)\nt[l] = 0.0\natoll.barrier()"


def refusal(act: Any, *arguments: Any) -> Diagnostic:
    with pytest.raises(LaunchError) as caught:
        act(*arguments)
    return caught.value.diagnostics[0]


def test_groups_are_rounded_up_and_the_domain_stays() -> None:
    kernel = body("pass").compiled().kernel
    found = over_shape(kernel, (100, 3), (16, 2))
    assert (found.domain, found.groups, found.block) == ((100, 3, 1), (7, 2, 1), (16, 2, 1))
    found = grid_shape(kernel, (7,), (16,))
    assert (found.domain, found.groups, found.block) == ((112, 1, 1), (7, 1, 1), (16, 1, 1))


def test_a_kernel_with_a_barrier_takes_whole_groups_and_says_both_numbers() -> None:
    found = refusal(body(BARRIER).over, 100)
    assert found.code == "ATL0761"
    assert found.notes == ("the domain: 100 x 1 x 1", "the block: 64 x 1 x 1")


def test_a_contract_on_the_block_is_kept() -> None:
    kernel = kernel_from("@kernel(block=(8, 4))\ndef k(n: i32):\n    pass\n")
    assert kernel.over(100).shape.block == (8, 4, 1)
    assert kernel[(2,), (8, 4)].shape.block == (8, 4, 1)
    found = refusal(lambda: kernel.over(100, block=64))
    assert found.notes == ("the contract: 8 x 4 x 1", "this launch: 64 x 1 x 1")


@pytest.mark.parametrize("shape", [-1, 1 << 31, (1, 2, 3, 4), (), 1.5, "4", None])
def test_a_domain_has_one_to_three_sizes_in_range(shape: Any) -> None:
    assert refusal(body("pass").over, shape).code == "ATL0761"


@pytest.mark.parametrize("key", [4, (4,), (4, 4, "cpu", 4)])
def test_a_grid_has_a_block(key: Any) -> None:
    found = refusal(lambda: body("pass")[key])
    assert "takes a grid, a block" in found.message


def test_a_kernel_is_not_called_and_a_device_is_a_device() -> None:
    assert refusal(body("pass"), 1).hint == "write `k.over(n)(…)` or `k[grid, block](…)`"
    assert "is no device" in refusal(body("pass", "n: i32").over(1, device=3), 1).message


# --- arguments -----------------------------------------------------------------------------------


def f32(*shape: int) -> Any:
    return np.zeros(shape, np.float32)


def readonly() -> Any:
    array = f32(4)
    array.flags.writeable = False
    return array


def record() -> Any:
    return np.zeros(4, [("a", "i1"), ("b", "f4")])["b"]


@pytest.mark.parametrize(
    ("name", "wrong", "said"),
    [
        ("x", f32(4, 1), "an array of 2 dimensions of float32"),
        ("x", np.zeros(4), "an array of 1 dimensions of float64"),
        ("x", np.zeros(4, ">f4"), "an array of 1 dimensions of >f4"),
        ("x", [1.0], "a list"),
        ("x", None, "a NoneType"),
        ("x", readonly(), "an array that may not be written, which the kernel does"),
        ("x", record(), "an array with strides of (5,) bytes, no multiples of 4"),
        ("x", np.broadcast_to(f32(1), 4), "an array that may not be written, which the kernel does"),
        ("x", np.lib.stride_tricks.as_strided(f32(1), (4,), (0,)), "an array that repeats its elements, which the kernel would write"),  # noqa: E501
        ("x", np.zeros(17, np.int8)[1:].view(np.float32), "an array that is not aligned"),
        ("n", 1.0, "the float 1.0"),
        ("n", 1 << 31, "2147483648, which is not from -2147483648 to 2147483647"),
        ("n", True, "True of type bool"),
        ("n", "1", "'1' of type str"),
        ("n", np.float32(1), "the float 1.0"),
        ("u", -1, "-1, which is not from 0 to 255"),
        ("a", 1e39, "1e+39, which is not from -max to max"),
        ("a", 1j, "1j of type complex"),
        ("b", 1, "1 of type int"),
    ],
)  # fmt: skip
def test_an_argument_that_does_not_fit_is_named_with_both_sides(name: str, wrong: Any, said: str) -> None:
    kernel = body("x[n] = a", "x: view[f32], n: i32, u: u8, a: f32, b: bool_")
    device = FakeDevice()
    good = {"x": f32(4), "n": 0, "u": 1, "a": 1.0, "b": True}
    found = refusal(kernel.over(1, device=device), *(good | {name: wrong}).values())
    assert (found.code, found.message) == ("ATL0760", f"the argument `{name}` does not fit its parameter")
    assert found.notes[1] == f"the argument is {said}"
    assert not device.calls


@pytest.mark.parametrize(("kind", "name"), [("f32", "float32"), ("u8", "uint8"), ("i64", "int64")])
def test_an_array_of_another_type_is_told_the_line_to_write(kind: str, name: str) -> None:
    found = refusal(body("x[0] = x[0]", f"x: view[{kind}]").over(1, device=FakeDevice()), np.zeros(4, "f8"))
    assert found.hint == f'pass `x.astype("{name}")`, which copies'


def test_everything_that_does_not_fit_is_said_at_once() -> None:
    with pytest.raises(LaunchError) as caught:
        body("x[n] = 1.0").over(1, device=FakeDevice())(None, 1.5)
    assert len(caught.value.diagnostics) == 2
    assert "takes 2 arguments, not 1" in refusal(body("x[n] = 1.0").over(1), 1).message


def test_numpy_scalars_infinities_and_read_only_inputs_fit() -> None:
    kernel = body("x[n] = a + y[0]", "x: view[f32], y: view[f32], n: i32, a: f32, b: bool_")
    kernel.python(1)(x := f32(4), readonly(), np.int64(2), np.float64("inf"), np.bool_(True))
    assert x[2] == np.inf


def test_memory_that_overlaps_at_a_part_of_an_element_is_one_buffer_too() -> None:
    kernel = body("y[0] = x[0]", "x: view[f32], y: view[f64]")
    raw = np.zeros(24, np.int8)
    start = -raw.__array_interface__["data"][0] % 8
    raw = raw[start : start + 16]
    device = FakeDevice()
    kernel.over(1, device=device)(raw[4:12].view(np.float32), raw[8:].view(np.float64))
    assert device.calls.count("allocate") == 1
    assert np.frombuffer(device.block, np.int64)[[2, 5]].tolist() == [1, 1]  # 4 bytes in, and 8


@pytest.mark.parametrize("shape", [(0, 6), (8, 0), (0, 0)])
def test_an_array_without_elements_is_taken_whatever_its_strides(shape: tuple[int, int]) -> None:
    kernel = body(
        "i, j = atoll.global_id(1), atoll.global_id(0)\n"
        "if i < out.shape[0] and j < out.shape[1]:\n    out[i, j] = 1.0",
        "out: view[f32, 2]",
    )
    kernel.over((4, 4), device="cpu")(np.zeros(shape, np.float32))


def test_an_array_is_no_domain_and_is_not_shown_whole() -> None:
    with pytest.raises(LaunchError) as caught:
        body("pass").over(np.zeros(1000, np.float32), device="cpu")  # type: ignore[arg-type]
    (told,) = caught.value.diagnostics
    assert told.message == "`k` has no domain of ndarray"
    assert told.hint == "write how many work-items run, as `x.size` or `x.shape`"


SEES_NOTHING = "i = atoll.global_id(0)\nif i == 9_000_000:\n    x[0] = 7.0"
FEW = {"group_size": 1024, **limits.stated((65_535, 65_535, 100), (1024, 512, 64))}


def fitting(shape: Any, text: str = SEES_NOTHING, block: Any = None, **stated: int) -> Shape:
    """Return a launch as a device has it that states these limits."""
    known = replace(fakes.info("mem", 0, "Memory"), limits={**FEW, **stated})
    return fitted(over_shape(body(text).compiled().kernel, shape, block), known)


@pytest.mark.parametrize(
    ("shape", "block"),
    [
        (65_535 * 64, (64, 1, 1)),
        (65_535 * 64 + 1, (128, 1, 1)),
        (65_535 * 1024, (1024, 1, 1)),
        ((8, 65_535 * 16 + 1), (16, 32, 1)),
        ((8, 65_535 * 200), (4, 256, 1)),
        ((4, 4, 3000), (4, 8, 32)),
    ],
)
def test_a_long_domain_takes_a_block_of_which_a_device_launches_enough(
    shape: Any, block: tuple[int, int, int]
) -> None:
    found = fitting(shape)
    assert found.block == block
    assert limits.fits(replace(fakes.info("mem", 0, "Memory"), limits=FEW), found.groups, found.block)


def test_a_block_that_is_named_or_seen_stays() -> None:
    assert fitting(10_000_000, block=32).block == (32, 1, 1)
    assert fitting(10_000_000, "x[atoll.local_id(0)] = 1.0").block == (64, 1, 1)
    assert fitting(1 << 20, group_size=256).block == (64, 1, 1)
    assert fitting(10_000_000, group_size=256).block == (256, 1, 1)
    assert fitting(10_000_000, group_size=64).block == (64, 1, 1)


def test_what_a_device_cannot_launch_is_refused_with_both_and_with_what_to_do() -> None:
    with pytest.raises(LaunchError) as caught:
        check_grid(fitting(65_535 * 1024 + 1), replace(fakes.info("mem", 0, "Memory"), limits=FEW))
    assert str(caught.value) == (
        "error[ATL0806]: too many groups for Memory\n"
        "  asked for: (65536, 1, 1)\n"
        "  possible: at most (65535, 65535, 100)\n"
        "  help: launch it in parts, or let each work-item do the work of several"
    )
    with pytest.raises(LaunchError) as caught:
        fitting((8, 8), block=(32, 32), group_size=512)
    assert str(caught.value) == (
        "error[ATL0806]: too many work-items in a group for Memory\n"
        "  asked for: (32, 32, 1), 1024 together\n"
        "  possible: at most (1024, 512, 64), 512 together"
    )


def test_a_device_that_states_nothing_is_asked_nothing() -> None:
    known = fakes.info("mem", 0, "Memory")
    shape = over_shape(body(SEES_NOTHING).compiled().kernel, 1 << 30, None)
    assert fitted(shape, known) is shape
    check_grid(shape, known)


def test_ten_million_work_items_run_on_vulkan() -> None:
    x = np.zeros(1, np.float32)
    last = body("i = atoll.global_id(0)\nif i == 9_999_999:\n    x[0] = 7.0")
    with device("vulkan") as where:
        last.over(10_000_000, device=where)(x, 1)
    assert x[0] == 7


def test_a_profilers_run_asks_for_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Target] = []

    class Noting(FakeDevice):
        def load(self, code: Emitted) -> Loaded:
            seen.append(code.target)
            return super().load(code)

    found, where, x = body("x[0] = 1.0"), Noting(), np.zeros(1, np.float32)
    for asked in ("1", "", "0", "1"):
        monkeypatch.setenv("ATOLL_KERNEL_LINES", asked)
        found.over(1, device=where)(x, 1)
    assert [target.lines for target in seen] == [True, False]


def test_an_array_with_a_mask_is_refused() -> None:
    masked = np.ma.masked_array(np.ones(4, np.float32), mask=[True, False, False, False])
    for launch in (body("x[0] = 1.0").over(4, device="cpu"), body("x[0] = 1.0").python(4)):
        with pytest.raises(LaunchError) as caught:
            launch(masked, 1)
        assert (
            caught.value.diagnostics[0].notes[-1]
            == "the argument is an array with a mask, which no kernel sees"
        )


@pytest.mark.parametrize("backend", ["vulkan", "opencl"])
def test_launches_by_name_open_their_device_and_compile_once(backend: str) -> None:
    from atoll.runtime import open as open_device

    with device(backend) as opened:
        name = f"{opened.info.driver}:{opened.info.index}"
    before = open_device(name)  # tests before this one may have left it open
    before.close()
    users, held = before._users, len(before._loaded) if before._users else 0
    found = kernel_from(SAXPY)
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    for factor in (1, 2):
        found.over(64, device=name)(factor, x, x, out)
        gc.collect()
    kept = open_device(name)
    assert [item[0]() for item in found.loaded.values()] == [kept]
    assert len(kept._loaded) == held + 1
    assert kept._users == users + 3
    assert out.tolist() == (3 * x).tolist()
