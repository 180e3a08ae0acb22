"""The device `cpu (interpreter)`: what runs kernels where there is no compiler."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from atoll.errors import DeviceError, LaunchError
from atoll.ir import Module, layout, ops
from atoll.ir import nodes as n
from atoll.ir.parse import parse
from atoll.ir.verify import verify
from atoll.plugin import DriverDevice
from atoll.runtime.pack import pack_block
from atoll.testing.emitters import answers_are_right
from atoll.testing.programs import Program, programs
from atoll.testing.random_kernels import random_program
from atoll_plugins.cpu.driver import CpuDriver
from atoll_plugins.cpu.emitter import CpuEmitter
from kernel_text import kernel_from

SAMPLE, WHOLE = 40, 500


@pytest.fixture
def device() -> Iterator[DriverDevice]:
    opened = CpuDriver({"PATH": "/nowhere"}).open(0)
    yield opened
    opened.close()


def test_its_name_says_what_it_is(device: DriverDevice) -> None:
    assert device.info.name == "cpu (interpreter)"
    assert device.info.software


@pytest.mark.parametrize("program", programs(), ids=lambda program: program.name)
def test_it_computes_what_the_reference_says(device: DriverDevice, program: Program) -> None:
    assert answers_are_right(CpuEmitter(), device, program) is not None


def test_random_kernels_of_kir_agree_with_the_reference(
    device: DriverDevice, whole: bool, tell: Callable[[str], None]
) -> None:
    count = WHOLE if whole else SAMPLE
    for seed in range(count):
        answers_are_right(CpuEmitter(), device, random_program(seed))
    tell(f"interpreter: {count} random kernels of KIR of {WHOLE}")


@pytest.mark.parametrize(
    ("name", "changed"),
    [(ops.Binary.DIV_FLOOR, ops.Binary.DIV_TRUNC), (ops.Binary.SHR, ops.Binary.SHL)],
)
def test_the_comparison_sees_a_changed_operation(
    device: DriverDevice, name: ops.Binary, changed: ops.Binary
) -> None:
    program = next(item for item in programs() if item.name == "ops_i32")
    kernel = program.module.kernels[0]
    body = tuple(
        replace(stmt, value=replace(stmt.value, op=changed))
        if isinstance(stmt, n.Store) and isinstance(stmt.value, n.Binary) and stmt.value.op is name
        else stmt
        for stmt in kernel.body
    )
    assert body != kernel.body
    emitter = CpuEmitter()
    wrong = emitter.emit(
        Module(kernels=(replace(kernel, body=body),)), program.name, device.target(), program.group
    )

    class Planted(CpuEmitter):
        def emit(self, *_: object) -> object:  # type: ignore[override]
            return wrong

    with pytest.raises(AssertionError, match="elements differ"):
        answers_are_right(Planted(), device, program)  # type: ignore[arg-type]


def test_an_index_out_of_bounds_names_the_array_and_the_work_item(device: DriverDevice) -> None:
    found = kernel_from("@kernel\ndef k(x: view[f32]):\n    x[atoll.global_id(0) + 2] = 1.0\n")
    with pytest.raises(LaunchError) as caught:
        found.over(4, device=device)(np.zeros(4, np.float32))
    (said,) = caught.value.diagnostics
    assert said.code == "ATL0750"
    assert said.message == "`x[4]` is out of bounds: it has 4 elements"
    assert said.notes == ("work-item (2, 0, 0), group (0, 0, 0)", "kernel: k")


def test_a_guarded_load_is_not_made(device: DriverDevice) -> None:
    text = (
        "@kernel\ndef k(x: view[f32], y: view[f32]):\n    i = atoll.global_id(0)\n"
        "    if i < x.size and x[i] > 0.0:\n        y[i] = x[i]\n"
    )
    x, y = np.ones(3, np.float32), np.zeros(8, np.float32)
    kernel_from(text).over(8, device=device)(x, y)
    assert y.tolist() == [1, 1, 1, 0, 0, 0, 0, 0]


def test_atomics_are_done_in_the_order_of_the_work_items(device: DriverDevice) -> None:
    text = (
        "@kernel\ndef k(c: view[i32], o: view[i32]):\n    i = atoll.global_id(0)\n"
        "    o[i] = atoll.atomic_add(c, 0, i)\n"
    )
    counter, order = np.zeros(1, np.int32), np.zeros(200, np.int32)
    kernel_from(text).over(200, device=device)(counter, order)
    assert order.tolist() == np.concatenate([[0], np.cumsum(np.arange(199))]).tolist()


def test_groups_that_order_memory_may_wait_for_earlier_ones(device: DriverDevice) -> None:
    """A chained sum over groups: each waits for the flag of the one before it."""
    text = """
@kernel(block=8)
def k(flag: view[i32], total: view[i32]):
    g = atoll.group_id(0)
    if atoll.local_id(0) == 0:
        seen = 1 if g == 0 else 0
        while seen == 0:
            seen = atoll.atomic_add(flag, g - 1, 0, order="acquire")
        before = 0
        if g > 0:
            before = total[g - 1]
        total[g] = before + g
        atoll.atomic_exchange(flag, g, 1, order="release")
"""
    flag, total = np.zeros(9, np.int32), np.zeros(9, np.int32)
    kernel_from(text).over(72, device=device)(flag, total)
    assert total.tolist() == np.cumsum(np.arange(9)).tolist()


def test_a_launch_of_many_chunks_is_one_launch(device: DriverDevice) -> None:
    text = "@kernel\ndef k(x: view[i32]):\n    i = atoll.global_id(0)\n    x[i] = i\n"
    x = np.zeros(100_000, np.int32)
    kernel_from(text).over(x.size, device=device)(x)
    assert np.array_equal(x, np.arange(x.size))


@pytest.mark.parametrize(
    "code", [b"", b"kir 1\n", b"\xff\x00", b"kir 1\n\nkernel other() group(0, 0, 0) {\n}\n"]
)
def test_what_is_no_kir_of_the_kernel_is_refused(device: DriverDevice, code: bytes) -> None:
    program = programs()[0]
    emitted = CpuEmitter().emit(program.module, program.name, device.target(), program.group)
    with pytest.raises(DeviceError) as caught:
        device.load(replace(emitted, code=code))
    assert caught.value.diagnostics[0].code == "ATL0804"


def test_the_parameter_block_reads_back_as_it_was_packed(device: DriverDevice) -> None:
    text = "kir 1\n\nkernel k(a: i8, b: bf16, c: f64, d: u16, o: view<f64, 1>) group(0, 0, 0) {\n"
    text += "  o[i64:0] = sitof.f64($a)\n  o[i64:1] = fext.f64($b)\n"
    text += "  o[i64:2] = $c\n  o[i64:3] = uitof.f64($d)\n}\n"
    kernel = verify(parse(text)).kernel("k")
    assert layout(kernel).block_bytes == len(pack_block(layout(kernel), _fields()))
    from atoll.plugin import BufferArgument, ScalarArgument

    code = CpuEmitter().emit(Module(kernels=(kernel,)), "k", device.target(), (0, 0, 0))
    handle = device.allocate(32)
    block = ScalarArgument(pack_block(code.layout, _fields()), 8)
    device.launch(device.load(code), (1, 1, 1), (1, 1, 1), (BufferArgument(handle, "write"), block))
    out = np.zeros(4)
    device.download(handle, memoryview(out.data))
    assert out.tolist() == [-3.0, -1.5, 0.1, 65535.0]


def _fields() -> dict[str, float | int]:
    return {"a": -3, "b": -1.5, "c": 0.1, "d": 65535, "o.offset": 0, "o.size.0": 4, "o.stride.0": 1}
