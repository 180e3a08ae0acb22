"""Typed scalars against NumPy 2, which has the same rules."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.ir import Scalar, View
from atoll.kernels.promote import promote
from atoll.kernels.scalars import CLASSES, Fault, Typed, bool_, f32, i8, i32, i64, u8, u32, view

NUMPY = {
    name: np.dtype(
        name.replace("f", "float").replace("u", "uint").replace("i", "int", 1)
        if name[0] != "u"
        else "uint" + name[1:]
    )
    for name in CLASSES
    if name not in ("bool", "bf16")
}
INTEGERS = [name for name in NUMPY if name[0] in "iu"]
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul,
    "&": operator.and_, "|": operator.or_, "^": operator.xor,
}  # fmt: skip


def typed(name: str, value: Any) -> Typed:
    made = CLASSES[name](value)
    assert isinstance(made, Typed)
    return made


@pytest.mark.parametrize("left", NUMPY)
@pytest.mark.parametrize("right", NUMPY)
def test_two_types_have_numpys_common_type_or_none_where_it_would_round(left: str, right: str) -> None:
    found = promote(CLASSES[left].scalar, CLASSES[right].scalar)
    theirs = np.result_type(NUMPY[left], NUMPY[right])
    mixed = left[0] != right[0] and "f" in (left[0], right[0])
    if mixed or (left[0] != right[0] and "u64" in (left, right) and theirs.kind == "f"):
        assert found is None
    else:
        assert found is not None
        assert NUMPY[found.name] == theirs


@given(st.sampled_from(INTEGERS), st.sampled_from(sorted(OPERATORS)), st.data())
def test_integers_of_one_type_compute_as_numpys(name: str, word: str, data: st.DataObject) -> None:
    info = np.iinfo(NUMPY[name])
    values = st.integers(int(info.min), int(info.max))
    a, b = data.draw(values), data.draw(values)
    with np.errstate(over="ignore"):
        theirs = OPERATORS[word](NUMPY[name].type(a), NUMPY[name].type(b))
    mine = OPERATORS[word](typed(name, a), typed(name, b))
    assert (mine.scalar.name, mine.value) == (name, int(theirs))


@given(
    st.sampled_from(["f16", "f32", "f64"]),
    st.sampled_from(["+", "-", "*", "/"]),
    st.floats(width=64),
    st.floats(width=64),
)
def test_floats_round_after_every_operation_as_numpys(name: str, word: str, a: float, b: float) -> None:
    kind = NUMPY[name].type
    with np.errstate(all="ignore"):
        x, y = kind(a), kind(b)
        theirs = {**OPERATORS, "/": operator.truediv}[word](x, y)
    mine = {**OPERATORS, "/": operator.truediv}[word](_exact(name, float(x)), _exact(name, float(y)))
    assert _same(mine.value, float(theirs)), (mine, theirs)


def _exact(name: str, value: float) -> Typed:
    from atoll.kernels.scalars import make

    return make(CLASSES[name].scalar, value)


def _same(one: float, other: float) -> bool:
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return one == other and math.copysign(1, one) == math.copysign(1, other)


@given(st.integers(-(1 << 31), (1 << 31) - 1), st.integers(-(1 << 31), (1 << 31) - 1))
def test_floor_division_and_modulo_are_pythons(a: int, b: int) -> None:
    if b == 0:
        with pytest.raises(Fault):
            typed("i32", a) // typed("i32", b)
        return
    q, r = typed("i32", a) // typed("i32", b), typed("i32", a) % typed("i32", b)
    assert r.value == a % b
    assert (int(q.value) * b + int(r.value) - a) % (1 << 32) == 0


def test_the_most_negative_integer_over_minus_one_wraps() -> None:
    assert (i32(-(1 << 31)) // -1).value == -(1 << 31)
    assert (i32(-(1 << 31)) % -1).value == 0
    assert abs(i8(-128)).value == -128
    assert (-u8(1)).value == 255


def test_a_literal_takes_the_type_of_what_it_meets_and_has_to_fit() -> None:
    assert (f32(1) + 0.1).scalar.name == "f32"
    assert (2 * i64(3)).scalar.name == "i64"
    assert (1 - u32(0)).value == 1
    acts: list[Callable[[], Any]] = [
        lambda: i8(1) + 128,
        lambda: u32(1) + -1,
        lambda: i32(1) + 1.5,
        lambda: f32(1) + True,
    ]
    for act in acts:
        with pytest.raises(Fault):
            act()


def test_a_condition_is_a_bool() -> None:
    assert (i32(1) < 2) is True
    assert bool_(i32(3)) is True
    with pytest.raises(Fault, match="not bool"):
        bool(i32(1))


@pytest.mark.parametrize(
    ("value", "name", "expected"),
    [
        (3.9, "i32", 3), (-3.9, "i32", -3), (1e20, "i32", (1 << 31) - 1), (-1e20, "i32", -(1 << 31)),
        (math.nan, "i32", 0), (-1.5, "u32", 0), (math.inf, "u8", 255), (-math.inf, "i64", -(1 << 63)),
    ],
)  # fmt: skip
def test_a_float_becomes_an_integer_toward_zero_and_saturates(value: float, name: str, expected: int) -> None:
    assert typed(name, f32(value)).value == expected


def test_shifts_outside_the_width_are_a_fault() -> None:
    assert (i32(-8) >> 1).value == -4
    assert (u32(0x80000000) >> 31).value == 1
    assert (i32(1) << 31).value == -(1 << 31)
    for count in (32, -1):
        with pytest.raises(Fault, match="a shift"):
            i32(1) << count


def test_a_view_is_an_annotation_with_a_rank() -> None:
    annotation: Any = view  # what a type checker sees of it is another class
    assert annotation[f32] == View(f32.scalar, 1)
    assert annotation[f32, 2] == View(f32.scalar, 2)
    assert annotation[f32, Literal[3]] == View(f32.scalar, 3)
    from atoll.errors import LaunchError

    for wrong in (int, (f32, 5), (f32, 0), bool_, (f32, True)):
        with pytest.raises(LaunchError, match="ATL0712"):
            annotation[wrong]


def test_pow_of_floats_is_ieees_and_a_square_is_one_product() -> None:
    assert (f32(0.1) ** 2).value == (f32(0.1) * f32(0.1)).value
    assert (f32(-2) ** 3).value == -8.0
    assert math.isnan((f32(-2) ** 0.5).value)
    assert (f32(0) ** -1).value == math.inf
    assert [(f32(-0.0) ** f32(b)).value for b in (-1, -7, -2, -0.5)] == [
        -math.inf,
        -math.inf,
        math.inf,
        math.inf,
    ]
    assert (f32(1e30) ** 3).value == math.inf
    scalar: Scalar = f32.scalar
    assert scalar.bits == 32
