"""`@kernel(debug=True)`: a launch says which check failed, where and for whom, on every executor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from atoll.diagnostics import Diagnostic
from atoll.errors import AtollError
from atoll_plugins.cpu.driver import CpuDriver
from emitter_kit import device
from kernel_text import kernel_from

FAULTS = {
    "an index above": ("x[i + 3] = 1", "ATL0750",
                       "the index 4 of `x` is out of bounds: dimension 0 has 4 elements"),
    "an index below": ("x[i - 3] = 1", "ATL0750",
                       "the index -3 of `x` is out of bounds: dimension 0 has 4 elements"),
    "of shared memory": ("tile[i, i * 2] = x[0]\nx[0] = tile[0, 0]", "ATL0750",
                         "the index 4 of `tile` is out of bounds: dimension 1 has 3 elements"),
    "of an own array": ("own = fixed[i32, 2](1)\nx[0] = own[i]", "ATL0750",
                        "the index 2 of `own` is out of bounds: dimension 0 has 2 elements"),
    "a sum": ("x[0] = (i + n) - n", "ATL0757", "1 + 2147483647 is no i32: it wraps"),
    "a difference": ("x[0] = -1 - n - i", "ATL0757", "-2147483648 - 1 is no i32: it wraps"),
    "a product": ("x[0] = i * n", "ATL0757", "2 * 2147483647 is no i32: it wraps"),
    "a long product": ("x[0] = i32((i64(i) << 62) * 2 >> 62)", "ATL0757",
                       "4611686018427387904 * 2 is no i64: it wraps"),
    "a division": ("x[0] = 7 // (i - 2)", "ATL0754", "an integer is divided by zero"),
    "a shift": ("x[0] = 1 << (i * 16)", "ATL0754", "a shift of i32 by 32"),
    "an assertion": ('assert i < 2, "two at most"', "ATL0756", "an assertion does not hold: two at most"),
}  # fmt: skip
HEAD = "@kernel(debug=True, block=4)\ndef k(x: view[i32], n: i32):\n    i = atoll.global_id(0)\n"
SHARED = "    tile = atoll.shared(i32, (4, 3))\n"
LEAST = 2147483647


def checked(lines: str) -> Any:
    inside = "".join(f"    {line}\n" for line in lines.split("\n"))
    return kernel_from(HEAD + (SHARED if "tile" in lines else "") + inside)


def found(launch: Any, *arguments: Any) -> Diagnostic:
    with pytest.raises(AtollError) as caught:
        launch(*arguments)
    return caught.value.diagnostics[0]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("where", ["interpreter", "cpu"])
def test_a_fault_is_raised_with_its_line_and_work_item(fault: str, where: str) -> None:
    lines, code, message = FAULTS[fault]
    opened = CpuDriver({"PATH": "/nowhere"}).open(0) if where == "interpreter" else where
    said = found(checked(lines).over(4, device=opened), np.zeros(4, np.int32), LEAST)
    assert said.code == code
    if where == "interpreter":  # work-items in order: the first that fails is the one that is told
        assert said.message == message
    assert said.span is not None
    assert said.span.text.strip() == lines.split("\n")[-1 if "own" in lines else 0]
    assert said.notes[0].startswith("work-item (")
    assert said.notes[1].startswith("device: ")


@pytest.mark.parametrize("fault", FAULTS)
def test_the_oracle_says_the_same_kind(fault: str) -> None:
    lines, code, _ = FAULTS[fault]
    assert found(checked(lines).python(4), np.zeros(4, np.int32), LEAST).code == code


@pytest.mark.parametrize("backend", ["vulkan", "opencl"])
@pytest.mark.parametrize("fault", ["an index above", "a sum", "an assertion"])
def test_a_device_reports_too(backend: str, fault: str) -> None:
    lines, code, _ = FAULTS[fault]
    with device(backend) as opened:
        assert found(checked(lines).over(4, device=opened), np.zeros(4, np.int32), LEAST).code == code


RIGHT = """
@kernel(debug=True)
def k(x: view[i32], y: view[f32], n: i64):
    i = atoll.global_id(0)
    assert i >= 0
    x[i] = x[-1 - 0] + i * 2 - 1
    print("item", i, y[i], "x =", x[i], i > 1, n, f64(0.25))
"""


def test_a_right_kernel_does_its_work_and_prints_by_work_item(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        f"({i}, 0, 0) item {i} {y} x = {6 + 2 * i - 1} {i > 1} -5 0.25"
        for i, y in enumerate(("0.5", "1.5", "2.5"))
    ]
    for where in (CpuDriver({"PATH": "/nowhere"}).open(0), "cpu", "oracle"):
        x, y = np.array([0, 0, 0, 6], np.int32), np.array([0.5, 1.5, 2.5, 0], np.float32)
        launch = (
            kernel_from(RIGHT).python(3) if where == "oracle" else kernel_from(RIGHT).over(3, device=where)
        )
        launch(x, y, -5)
        assert x.tolist() == [5, 7, 9, 6]
        assert sorted(capsys.readouterr().out.splitlines()) == lines


def test_without_debug_there_is_no_trace_of_it() -> None:
    lines = "    i = atoll.global_id(0)\n    x[i] = x[-1 - 0] + i * 2 - 1\n"
    bare = kernel_from(f"@kernel\ndef k(x: view[i32], y: view[f32], n: i64):\n{lines}")
    plain = kernel_from(RIGHT.replace("(debug=True)", ""))
    assert plain.module == bare.module


def test_what_does_not_fit_is_refused_without_debug_too() -> None:
    for line, code in (("assert n", "ATL0716"), ("print(x)", "ATL0713"), ("assert n == 0, n", "ATL0710")):
        with pytest.raises(AtollError) as caught:
            kernel_from(f"@kernel\ndef k(x: view[i32], n: i32):\n    {line}\n").compiled()
        assert caught.value.diagnostics[0].code == code


def test_output_that_finds_no_room_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    text = "@kernel(debug=True)\ndef k(x: view[i32]):\n    i = atoll.global_id(0)\n    print(i, i, i, i)\n"
    kernel_from(text).over(8192, device="cpu")(np.zeros(1, np.int32))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == (65536 - 9) // 12 + 1
    assert lines[-1] == f"… {8192 * 12 - (65536 - 9)} words of output found no room"


def test_code_that_is_shipped_has_no_checks() -> None:
    assert len(kernel_from(RIGHT).compiled().kernel.params) == 3
    assert "report" in str(kernel_from(RIGHT).show("cpu", stage="kir"))


def test_a_generic_kernel_is_checked_as_its_instances() -> None:
    text = "@kernel(debug=True)\ndef k(x: view[i32], n: atoll.const[int]):\n    x[n] = 1\n"
    said = found(kernel_from(text).over(1, device="cpu"), np.zeros(3, np.int32), 3)
    assert said.message == "the index 3 of `x` is out of bounds: dimension 0 has 3 elements"
