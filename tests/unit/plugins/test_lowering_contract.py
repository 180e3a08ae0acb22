"""What the core of a register machine is never asked for: what machines leave undefined.

A software device may answer such a thing rightly; hardware need not. So a machine that refuses it evaluates
every division, shift and conversion at the edges of each type, and the PTX of rounding and comparing is read.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NoReturn

import pytest

from atoll.ir import F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, Scalar, nodes
from atoll.ir.nodes import bits_of, value_of
from atoll.ir.ops import Binary, Cast, Compare
from atoll_plugins.formats.core import Core
from atoll_plugins.formats.lowering import Lowering, wide
from kernel_text import body

Number = int | float | bool
INTEGERS = (I8, I16, I32, I64, U8, U16, U32, U64)


def wrap(scalar: Scalar, value: Number) -> Number:
    return value_of(scalar, bits_of(scalar, value))


def unasked(*_: object) -> NoReturn:
    raise AssertionError("nothing here asks for it")


class Strict(Lowering[Any]):
    """Evaluates at once; what is undefined on some machine is an assertion."""

    def __init__(self, **fields: Number) -> None:
        self.fields = fields

    def constant(self, scalar: Scalar, bits: int) -> Number:
        return value_of(scalar, bits)

    def core(self, op: Core, scalar: Scalar, left: Number, right: Number) -> Number:
        if op is Core.DIV:
            assert right != 0, "a division by zero"
            assert (left, right) != (-(1 << (scalar.bits - 1)), -1), "a division that overflows"
            whole = abs(int(left)) // abs(int(right))
            return wrap(scalar, whole if (left < 0) == (right < 0) else -whole)
        if op in (Core.SHL, Core.SHR):
            assert 0 <= right < scalar.bits, "a shift outside the width"
            return wrap(scalar, int(left) << int(right) if op is Core.SHL else int(left) >> int(right))
        table: dict[Core, Any] = {
            Core.ADD: lambda a, b: a + b, Core.SUB: lambda a, b: a - b, Core.MUL: lambda a, b: a * b,
            Core.AND: lambda a, b: a & b, Core.OR: lambda a, b: a | b, Core.XOR: lambda a, b: a ^ b,
        }  # fmt: skip
        return wrap(scalar, table[op](left, right))

    def compare(self, op: Compare, scalar: Scalar, left: Number, right: Number) -> bool:
        left, right = wrap(scalar, left), wrap(scalar, right)
        return {
            Compare.EQ: left == right, Compare.NE: left != right, Compare.LT: left < right,
            Compare.LE: left <= right, Compare.GT: left > right, Compare.GE: left >= right,
        }[op]  # fmt: skip

    def select(self, scalar: Scalar, condition: Number, yes: Number, no: Number) -> Number:
        return yes if condition else no

    def convert(self, op: Cast, source: Scalar, target: Scalar, value: Number) -> Number:
        if op in (Cast.FTOSI, Cast.FTOUI):
            assert math.isfinite(value), "a conversion of what is no number"
            assert wrap(target, int(value)) == int(value), "a conversion out of range"
            return int(value)
        return wrap(target, value)

    def field(self, path: str) -> Number:
        return self.fields[path]

    float_unary: Any = unasked
    maths: Any = unasked
    logical: Any = unasked
    read_local: Any = unasked
    builtin: Any = unasked
    load: Any = unasked


def edges(scalar: Scalar) -> list[int]:
    least, most = (
        (-(1 << (scalar.bits - 1)), (1 << (scalar.bits - 1)) - 1)
        if scalar.is_signed
        else (0, (1 << scalar.bits) - 1)
    )
    near = {-9, -8, -7, -2, -1, 0, 1, 2, 7, 8, 9, 15, 16, 31, 32, 33, 63, 64, 65}
    return sorted(value for value in near | {least, least + 1, most - 1, most} if least <= value <= most)


def expected(op: Binary, scalar: Scalar, a: int, b: int) -> Number:
    if op in (Binary.SHL, Binary.SHR):
        inside = 0 <= b < scalar.bits
        if op is Binary.SHL:
            return wrap(scalar, a << b) if inside else 0
        return a >> b if inside else (-1 if a < 0 else 0)
    if b == 0:
        return 0 if op in (Binary.DIV_FLOOR, Binary.DIV_TRUNC) else a
    floor = a // b
    trunc = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    quotient = floor if op in (Binary.DIV_FLOOR, Binary.REM_FLOOR) else trunc
    return wrap(scalar, quotient if op in (Binary.DIV_FLOOR, Binary.DIV_TRUNC) else a - quotient * b)


@pytest.mark.parametrize("known", [False, True], ids=["computed", "constant"])
@pytest.mark.parametrize("scalar", INTEGERS, ids=lambda item: item.name)
@pytest.mark.parametrize(
    "op",
    [Binary.DIV_FLOOR, Binary.DIV_TRUNC, Binary.REM_FLOOR, Binary.REM_TRUNC, Binary.SHL, Binary.SHR],
    ids=str,
)
def test_no_machine_is_asked_what_it_leaves_undefined(op: Binary, scalar: Scalar, known: bool) -> None:
    for a, b in itertools.product(edges(scalar), repeat=2):
        right = nodes.const(scalar, b) if known else nodes.Param("b", scalar)
        machine = Strict(a=wrap(wide(scalar), a), b=wrap(wide(scalar), b))
        found = machine.expression(nodes.Binary(op, nodes.Param("a", scalar), right))
        assert found == expected(op, scalar, a, b), (a, b)


@pytest.mark.parametrize("target", INTEGERS, ids=lambda item: item.name)
@pytest.mark.parametrize("source", [F32, F64], ids=lambda item: item.name)
def test_floats_are_converted_within_range_alone(source: Scalar, target: Scalar) -> None:
    least, most = min(edges(target)), max(edges(target))
    near = [
        0.0,
        -0.0,
        0.9,
        -0.9,
        1.5,
        -1.5,
        float(least),
        float(most),
        float(most + 1),
        least - 1.0,
        1e30,
        -1e30,
    ]
    op = Cast.FTOSI if target.is_signed else Cast.FTOUI
    for value in (*near, math.inf, -math.inf, math.nan):
        given = wrap(source, value)
        found = Strict(a=given).expression(nodes.Cast(op, target, nodes.Param("a", source)))
        whole = 0 if math.isnan(given) else max(least, min(most, given))
        assert found == int(whole), value


@pytest.mark.parametrize(
    ("op", "left", "right"),
    [(Core.DIV, 1, 0), (Core.DIV, -(1 << 31), -1), (Core.SHL, 1, 32), (Core.SHR, 1, -1)],
)
def test_the_strict_machine_refuses_an_undefined_operation(op: Core, left: int, right: int) -> None:
    with pytest.raises(AssertionError):
        Strict().core(op, I32, left, right)


@pytest.mark.parametrize("value", [3e9, math.nan, math.inf])
def test_the_strict_machine_refuses_an_undefined_conversion(value: float) -> None:
    with pytest.raises(AssertionError):
        Strict().convert(Cast.FTOSI, F32, I32, value)


@pytest.mark.parametrize(
    ("expression", "word"),
    [
        ("atoll.floor(x[0])", "cvt.rmi.f32.f32"),
        ("atoll.ceil(x[0])", "cvt.rpi.f32.f32"),
        ("atoll.trunc(x[0])", "cvt.rzi.f32.f32"),
        ("atoll.rint(x[0])", "cvt.rni.f32.f32"),
        ("1.0 if x[0] != x[1] else 0.0", "setp.neu.f32"),
        ("1.0 if x[0] == x[1] else 0.0", "setp.eq.f32"),
        ("1.0 if x[0] < x[1] else 0.0", "setp.lt.f32"),
        ("1.0 if i32(x[0]) != i32(x[1]) else 0.0", "setp.ne.s32"),
    ],
)
def test_ptx_rounds_and_compares_by_the_right_word(expression: str, word: str) -> None:
    text = body(f"x[2] = {expression}", "x: view[f32]").show("cuda:sm_80", stage="ptx")
    assert isinstance(text, str)
    assert word in text
