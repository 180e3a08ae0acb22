"""One test for each pitfall of a kernel compiler for Python (notes/kernels.md, C.7), by its number.

A kernel runs in the oracle, in the interpreter and on the processor; all give what Python or NumPy gives.
Pitfalls that refuse are held below tests/refusals; `ELSEWHERE` says where, and a test checks that it is so.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from atoll.errors import AtollError
from atoll_plugins.cpu.driver import CpuDriver
from kernel_text import kernel_from, namespace, refused

TESTS = Path(__file__).parents[2]
#: Where a pitfall that is not below has its test.
ELSEWHERE = {
    15: ("refusals/test_kernel_names.py", "test_a_name_that_may_be_unbound_is_refused_with_both_places"),
    16: ("refusals/test_kernel_names.py", "test_a_name_that_changes_its_type_is_refused_with_the_first"),
    25: ("unit/kernels/test_launch.py", "test_a_captured_number_that_changed_is_compiled_anew"),
    27: ("refusals/test_kernel_names.py", "test_recursion_is_refused_with_the_chain"),
    28: ("unit/kernels/test_launch.py", "test_arrays_that_overlap_are_one_buffer_with_offsets"),
    29: ("unit/ir/test_uniform.py", "def test_"),
    30: ("refusals/test_kernel_types.py", "test_annotations_may_be_strings"),
    31: ("refusals/test_kernel_unsupported_syntax.py", "test_each_is_refused_with_its_own_sentence"),
    37: ("refusals/test_emitter_operation.py", "test_every_place_is_listed_at_once"),
}


def everywhere(text: str, domain: int, *arguments: Any) -> list[Any]:
    """Run the kernel `k` in all three; return its last argument, after checking that they agree on all."""
    found = kernel_from(text)
    answers: list[list[Any]] = []
    for where in ("oracle", CpuDriver({"PATH": "/nowhere"}).open(0), "cpu"):
        given = tuple(item.copy() if isinstance(item, np.ndarray) else item for item in arguments)
        launch = found.python(domain) if where == "oracle" else found.over(domain, device=where)
        launch(*given)
        answers.append([item for item in given if isinstance(item, np.ndarray)])
    for other in answers[1:]:
        for one, same in zip(answers[0], other, strict=True):
            np.testing.assert_array_equal(one, same)
    return list(answers[0][-1].tolist())


def lines(body: str, domain: int, *arguments: Any, params: str) -> list[Any]:
    """Run a body of lines with `i` as the work-item."""
    inside = "".join(f"    {line}\n" for line in body.split("\n"))
    return everywhere(f"@kernel\ndef k({params}):\n    i = atoll.global_id(0)\n{inside}", domain, *arguments)


def integers(*values: int) -> Any:
    return np.array(values, np.int32)


def singles(*values: float) -> Any:
    return np.array(values, np.float32)


XO = "x: view[i32], o: view[i32]"
FO = "x: view[f32], o: view[f32]"
A, B = (7, -7, 7, -7, 6, -1), (3, 3, -3, -3, -2, 5)


def test_01_floor_division_and_modulo_are_pythons_in_folding_too() -> None:
    params = "x: view[i32], y: view[i32], o: view[i32]"
    body = "o[i] = x[i] // y[i] * 1000 + x[i] % y[i] + (-7 // 3) * 100000 + (-7 % 3) * 1000000"
    found = lines(body, 6, integers(*A), integers(*B), np.zeros(6, np.int32), params=params)
    assert found == [a // b * 1000 + a % b - 300000 + 2000000 for a, b in zip(A, B, strict=True)]


def test_02_division_by_zero_has_a_stated_value_on_devices_and_is_a_fault_in_the_oracle() -> None:
    text = "@kernel\ndef k(x: view[i32], o: view[i32]):\n    i = atoll.global_id(0)\n"
    found = kernel_from(text + "    o[i] = 1000 * (x[i] // (x[i] * 0)) + x[i] % (x[i] * 0)\n")
    for device in (CpuDriver({"PATH": "/nowhere"}).open(0), "cpu"):
        out = integers(0, 0)
        found.over(2, device=device)(integers(5, -5), out)
        assert out.tolist() == [5, -5]
    with pytest.raises(AtollError, match="ATL0754"):
        found.python(2)(integers(5, -5), integers(0, 0))
    least = lines("o[i] = x[i] // (x[i] * 0 - 1)", 1, integers(-(1 << 31)), integers(0), params=XO)
    assert least == [-(1 << 31)]


def test_03_a_division_of_integers_is_refused() -> None:
    refused("x[0] = n / n", "ATL0717", "n / n")


def test_04_powers_of_both_kinds() -> None:
    assert lines("o[i] = x[i] ** 3 + 2 ** 5", 2, integers(3, -2), integers(0, 0), params=XO) == [59, 24]
    assert lines("o[i] = x[i] ** 2 + 2.0 ** -1", 1, singles(3), singles(0), params=FO) == [9.5]
    refused("m = n ** n", "ATL0713", "n ** n")


def test_05_integers_wrap() -> None:
    top = (1 << 31) - 1
    assert lines("o[i] = x[i] * 3 + 1", 1, integers(top), integers(0), params=XO) == [(1 << 31) - 2]
    checked = kernel_from("@kernel(debug=True)\ndef k(x: view[i32]):\n    x[0] = x[0] * 3 + 1\n")
    for launch in (checked.python(1), checked.over(1, device="cpu")):
        with pytest.raises(AtollError, match="it wraps"):
            launch(integers(top))


def test_06_a_range_near_the_limit_ends() -> None:
    body = "n = 0\nfor q in range(x[i], 2147483647, 2000000000):\n    n += 1\no[i] = n"
    assert lines(body, 2, integers(5, 2147483646), integers(0, 0), params=XO) == [2, 1]


def test_07_an_index_is_computed_in_sixty_four_bits() -> None:
    body = "o[i] = x[i64(2147483647) * 4 - 8589934585]"
    assert lines(body, 1, integers(1, 2, 3, 4, 5), integers(0), params=XO) == [4]


def test_08_a_literal_is_weak_and_never_a_silent_double() -> None:
    third = np.float32(1) / np.float32(3)
    found = lines("o[i] = x[i] * 0.1 + 1.0 / 3.0", 1, singles(1), singles(0), params=FO)
    assert found == [float(np.float32(np.float32(0.1) + third))]


def test_09_a_launch_scalar_has_its_declared_width_and_range() -> None:
    found = kernel_from("@kernel\ndef k(a: u8, o: view[i32]):\n    o[0] = i32(a) + 1\n")
    out = integers(0)
    found.over(1, device="cpu")(255, out)
    assert out.tolist() == [256]
    with pytest.raises(AtollError, match="not from 0 to 255"):
        found.over(1, device="cpu")(256, out)


def test_10_a_bool_is_no_number_and_a_chain_evaluates_its_middle_once() -> None:
    refused("m = (n > 0) + 1", "ATL0713", "1")
    refused("m = n and 1", "ATL0716", "n")
    body = "c = 0\nif 0 <= atoll.atomic_add(x, 0, 1) < 9:\n    c = 1\no[i] = c * 10 + x[0]"
    assert lines(body, 1, integers(3), integers(0), params=XO) == [14]


def test_11_a_short_circuit_guards_its_load() -> None:
    body = "if i < x.size and x[i] > 0 or i == 3:\n    o[i] = 1"
    assert lines(body, 4, integers(1, 0), integers(0, 0, 0, 0), params=XO) == [1, 0, 0, 1]


def test_12_operands_go_left_to_right_and_an_augmented_index_is_evaluated_once() -> None:
    body = "o[0] = x[0] * 10 + atoll.atomic_add(x, 0, 1) * 100 + x[0]\no[atoll.atomic_add(x, 1, 1)] += 5"
    assert lines(body, 1, integers(2, 1), integers(0, 7, 9), params=XO) == [2 * 10 + 200 + 3, 12, 9]


def test_13_a_loop_variable_keeps_its_last_value_and_may_be_reassigned() -> None:
    body = "q = -5\nn = 0\nfor q in range(4):\n    n += 1\n    q = 100 + q\n"
    body += "for q in range(0):\n    n = 0\no[i] = q * 10 + n"
    assert lines(body, 1, integers(0), integers(0), params=XO) == [103 * 10 + 4]
    refused("for q in range(n):\n    pass\nx[0] = f32(q)", "ATL0715", "q")


def test_14_else_of_a_loop_is_refused() -> None:
    refused("for q in range(n):\n    pass\nelse:\n    x[0] = 1.0", "ATL0710", "x[0] = 1.0")


def test_17_a_literal_negative_index_counts_from_the_end_and_a_run_time_one_is_an_error() -> None:
    assert lines("o[-2] = x[-1]", 1, integers(1, 2, 3), integers(0, 0), params=XO) == [3, 0]
    found = kernel_from("@kernel\ndef k(n: i32, x: view[i32]):\n    x[n] = 1\n")
    for launch in (found.python(1), found.over(1, device=CpuDriver({"PATH": "/nowhere"}).open(0))):
        with pytest.raises(AtollError, match="ATL0750"):
            launch(-1, integers(0, 0))
    checked = kernel_from("@kernel(debug=True)\ndef k(n: i32, x: view[i32]):\n    x[n] = 1\n")
    with pytest.raises(AtollError, match="the index -1 of `x` is out of bounds"):
        checked.over(1, device="cpu")(-1, integers(0, 0))


def test_18_a_shift_outside_the_width_has_a_stated_value_on_devices() -> None:
    text = "@kernel\ndef k(x: view[i32], o: view[i32]):\n    i = atoll.global_id(0)\n"
    found = kernel_from(text + "    o[i] = (x[0] << x[i]) + (x[0] >> x[i])\n")
    for device in (CpuDriver({"PATH": "/nowhere"}).open(0), "cpu"):
        out = integers(0, 0, 0)
        found.over(3, device=device)(integers(-8, 32, -1), out)
        assert out.tolist() == [-1, -1, -1]
    with pytest.raises(AtollError, match="ATL0754"):
        found.python(3)(integers(-8, 32, -1), integers(0, 0, 0))


def test_19_shifts_complement_and_minus_follow_the_sign_of_the_type() -> None:
    params = "x: view[u32], o: view[i64]"
    body = "o[i] = i64(x[i] >> 1) + i64(i32(x[i]) >> 1) + i64(-x[i]) + i64(~x[i])"
    value = 0xFFFFFFF0
    wanted = (value >> 1) + (-16 >> 1) + 16 + 15
    assert lines(body, 1, np.array([value], np.uint32), np.zeros(1, np.int64), params=params) == [wanted]


def test_20_a_float_becomes_an_integer_toward_zero_and_saturates() -> None:
    values = singles(2.9, -2.9, 1e20, -1e20, np.nan)
    found = lines("o[i] = i32(x[i])", 5, values, np.zeros(5, np.int32), params="x: view[f32], o: view[i32]")
    assert found == [2, -2, (1 << 31) - 1, -(1 << 31), 0]


def test_21_rounding_is_half_to_even_and_min_and_max_are_pythons_with_nan() -> None:
    body = "o[i] = atoll.rint(x[i]) * 100.0 + atoll.floor(x[i]) * 10.0 + atoll.ceil(x[i])"
    found = lines(body, 4, singles(0.5, 1.5, -0.5, -2.5), np.zeros(4, np.float32), params=FO)
    assert found == [1.0, 212.0, -10.0, -232.0]
    chosen = lines(
        "o[0] = min(x[0], 1.0)\no[1] = min(1.0, x[0])", 1, singles(np.nan), singles(0, 0), params=FO
    )
    assert np.isnan(chosen[0])
    assert chosen[1] == 1.0


def test_22_nan_compares_and_the_sign_of_zero_are_ieees() -> None:
    body = "y = x[i]\no[i] = (1.0 if y != y else 0.0) + (2.0 if y == 0.0 else 0.0) + 1.0 / y * 0.0"
    found = lines("o[i] = 1.0 / (x[i] * -1.0)", 2, singles(0.0, -0.0), singles(0, 0), params=FO)
    assert found == [-np.inf, np.inf]
    assert np.isnan(lines(body, 1, singles(np.nan), singles(0), params=FO)[0])


def test_23_a_product_and_a_sum_are_two_roundings() -> None:
    x = singles(1 + 2**-12)
    (found,) = lines("o[i] = x[i] * x[i] - 1.0", 1, x, singles(0), params=FO)
    assert found == float(np.float32(x[0] * x[0]) - np.float32(1))
    assert found != float(np.float32(np.float64(x[0]) * np.float64(x[0]) - 1))


def test_24_maths_is_within_the_bound_that_the_specification_states() -> None:
    x = np.linspace(-3, 3, 64).astype(np.float32)
    found = kernel_from(
        "@kernel\ndef k(x: view[f32], o: view[f32]):\n    i = atoll.global_id(0)\n"
        "    o[i] = atoll.sin(x[i]) + atoll.exp(x[i])\n"
    )
    wanted = np.sin(x.astype(np.float64)) + np.exp(x.astype(np.float64))
    for device in (CpuDriver({"PATH": "/nowhere"}).open(0), "cpu"):
        out = np.zeros_like(x)
        found.over(64, device=device)(x, out)
        assert (np.abs(out - wanted) <= 2.0**-18 * np.maximum(1, np.abs(wanted))).all()


def test_26_a_function_that_is_defined_later_is_found() -> None:
    text = "@kernel\ndef k(x: view[i32], o: view[i32]):\n    o[0] = later(x[0])\n"
    text += "@device\ndef later(a: i32) -> i32:\n    return a + BASE\nBASE = 40\n"
    assert everywhere(text, 1, integers(2), integers(0)) == [42]


def test_32_a_narrow_and_a_wide_scalar_lie_where_the_launch_abi_says() -> None:
    text = "@kernel\ndef k(a: i8, b: i64, c: u16, d: f64, e: bool_, o: view[f64]):\n"
    text += "    o[0] = f64(a) + f64(b) * 10.0 + f64(c) * 100.0 + d + (0.5 if e else 0.0)\n"
    assert everywhere(text, 1, -1, 2, 3, 0.25, True, np.zeros(1)) == [-1 + 20 + 300 + 0.75]


def test_32_a_struct_lies_as_c_has_it_and_a_vector_where_its_rows_do() -> None:
    found = namespace("@struct\nclass Body:\n    a: i8\n    b: f64\n    c: u16\n")["Body"]
    assert [found.dtype.fields[name][1] for name in "abc"] == [0, 8, 16]
    assert found.dtype.itemsize == 24
    rows = np.arange(8, dtype=np.float32).reshape(2, 4)  # std430: a vec3 takes 16 bytes in an array
    text = "@kernel\ndef k(x: view[vec[f32, 3]]):\n    x[atoll.global_id(0)] *= 2.0\n"
    kernel_from(text).over(2, device="cpu")(rows[:, :3])
    assert rows.tolist() == [[0, 2, 4, 3], [8, 10, 12, 7]]


def test_33_arrays_are_not_selected_between_and_get_no_second_name() -> None:
    refused("y = x if n > 0 else x", "ATL0713", "x")
    refused("y = x", "ATL0710", "x")
    refused("q = p if n > 0 else r", "ATL0713", "p", "p: ptr[f32], r: ptr[f32], n: i32")


def test_34_a_tuple_assignment_is_simultaneous() -> None:
    body = "a, b, c = 1, 2, x[i]\na, b, c = c, a, b\nx[0], x[1] = x[1], x[0]\n"
    body += "o[i] = a * 1000 + b * 100 + c * 10 + x[0]"
    assert lines(body, 1, integers(3, 4), integers(0), params=XO) == [3124]


@pytest.mark.parametrize("line", ["if n is n:\n    pass", "if n in x:\n    pass"])
def test_35_is_and_in_are_refused(line: str) -> None:
    refused(line, "ATL0710", line[3:9].rstrip(":"))


def test_36_a_docstring_is_nothing_and_a_nested_function_is_refused() -> None:
    body = '"""Say what it does."""\no[i] = x[i]'
    assert lines(body, 1, integers(4), integers(0), params=XO) == [4]
    refused("def inner():\n    pass", "ATL0710", "def inner():")


def test_38_atomics_lose_nothing_at_every_order_and_scope() -> None:
    text = "@kernel\ndef k(f: view[f32], o: view[u64]):\n"
    for number, order in enumerate(("relaxed", "acquire", "release", "acq_rel")):
        text += f'    atoll.atomic_add(o, {number}, u64(1) << 40, order="{order}", scope="device")\n'
    text += "    atoll.atomic_add(f, 0, 1.0)\n"
    assert everywhere(text, 100, singles(0), np.zeros(4, np.uint64)) == [100 << 40] * 4


def test_39_no_work_item_and_a_part_of_a_block_are_domains() -> None:
    text = "@kernel\ndef k(o: view[i32]):\n    o[atoll.global_id(0)] += 1\n"
    assert everywhere(text, 0, integers(0, 0)) == [0, 0]
    assert everywhere(text, 67, np.zeros(70, np.int32)) == [1] * 67 + [0] * 3


def test_40_one_source_gives_a_kernel_for_each_type() -> None:
    for name, kind in (("f32", np.float32), ("i64", np.int64), ("u8", np.uint8)):
        text = f"T = {name}\n@kernel\ndef k(x: view[T], o: view[T]):\n    o[0] = x[0] + T(200)\n"
        wanted = [int(np.array(100).astype(kind) + np.array(200).astype(kind))]
        assert everywhere(text, 1, np.array([100], kind), np.zeros(1, kind)) == wanted


def test_40_one_generic_source_gives_a_kernel_for_each_type() -> None:
    text = "from typing import TypeVar\nT = TypeVar('T')\n@kernel\ndef k(x: view[T]):\n    x[0] += T(1)\n"
    found = namespace(text)
    modules = [found["k"].instance(T=found[name]).module for name in ("f32", "f64", "i32", "u8")]
    assert len({module.kernels[0].params[0].type for module in modules}) == len(modules)
    assert len({module.kernels[0].symbol for module in modules}) == len(modules)


def test_every_pitfall_has_a_test() -> None:
    here = Path(__file__).read_text(encoding="utf-8")
    mine = {int(number) for number in re.findall(r"^def test_(\d\d)_", here, re.MULTILINE)}
    assert mine | ELSEWHERE.keys() == set(range(1, 41))
    for file, name in ELSEWHERE.values():
        assert name in (TESTS / file).read_text(encoding="utf-8"), f"{file} lost {name}"
    assert namespace("")["kernel"]
