"""What does a KIR operation give for Python values? One value at a time, exact, no NumPy.

Integers are Python's, wrapped to their type; floats are computed in 64 bits and rounded to their type
after every operation, which is exact for `+ - * /` and the square root. Used where a constant is folded,
and by the reference that emitters are compared with. The interpreter has its own, on arrays
(:mod:`atoll.ir.vector`), and the oracle its own too: tests compare the three.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from atoll.ir import nodes, ops
from atoll.ir.ops import Binary, Cast, Compare, Math, Unary
from atoll.ir.types import BF16, BOOL, F16, F32, F64, Scalar

Number = bool | int | float


def compare(op: Compare, left: Number, right: Number) -> bool:
    """Apply a comparison."""
    return _COMPARES[op](left, right)


_COMPARES: dict[Compare, Callable[[Any, Any], bool]] = {
    Compare.EQ: lambda a, b: a == b, Compare.NE: lambda a, b: a != b, Compare.LT: lambda a, b: a < b,
    Compare.LE: lambda a, b: a <= b, Compare.GT: lambda a, b: a > b, Compare.GE: lambda a, b: a >= b,
}  # fmt: skip


def rounded(scalar: Scalar, value: Number) -> Number:
    """Return a value as its type holds it: wrapped, or rounded half to even."""
    return nodes.value_of(scalar, nodes.bits_of(scalar, value))


def unary(op: Unary, scalar: Scalar, value: Number) -> Number:
    """Apply an operation on one operand."""
    match op:
        case Unary.NEG_WRAP | Unary.FNEG:
            return rounded(scalar, -value)
        case Unary.ABS_WRAP | Unary.FABS:
            return rounded(scalar, abs(value))
        case Unary.NOT:
            return (not value) if scalar == BOOL else rounded(scalar, ~int(value))


def binary(op: Binary, scalar: Scalar, left: Number, right: Number) -> Number:
    """Apply an operation on two operands."""
    if op in ops.DIVISIONS:
        return rounded(scalar, _divide(op, int(left), int(right)))
    if op in (Binary.SHL, Binary.SHR):
        return rounded(scalar, _shift(op, scalar, int(left), int(right)))
    if op is Binary.FDIV:
        return rounded(scalar, _ratio(float(left), float(right)))
    return rounded(scalar, _BINARY[op](left, right))


_BINARY: dict[Binary, Callable[[Any, Any], Number]] = {
    Binary.ADD_WRAP: lambda a, b: a + b, Binary.SUB_WRAP: lambda a, b: a - b,
    Binary.MUL_WRAP: lambda a, b: a * b, Binary.AND: lambda a, b: a & b, Binary.OR: lambda a, b: a | b,
    Binary.XOR: lambda a, b: a ^ b, Binary.MIN: lambda a, b: b if b < a else a,
    Binary.MAX: lambda a, b: b if b > a else a, Binary.FMIN: lambda a, b: b if b < a else a,
    Binary.FMAX: lambda a, b: b if b > a else a, Binary.FADD: lambda a, b: a + b,
    Binary.FSUB: lambda a, b: a - b, Binary.FMUL: lambda a, b: a * b,
}  # fmt: skip


def _divide(op: Binary, left: int, right: int) -> int:
    quotient_wanted = op in (Binary.DIV_FLOOR, Binary.DIV_TRUNC)
    if right == 0:
        return 0 if quotient_wanted else left
    quotient = left // right
    if op in (Binary.DIV_TRUNC, Binary.REM_TRUNC) and quotient < 0 and left % right:
        quotient += 1
    return quotient if quotient_wanted else left - quotient * right


def _shift(op: Binary, scalar: Scalar, left: int, count: int) -> int:
    if not 0 <= count < scalar.bits:
        return -1 if op is Binary.SHR and left < 0 else 0
    return left << count if op is Binary.SHL else left >> count


def _ratio(left: float, right: float) -> float:
    if right != 0.0:
        return left / right
    if left == 0.0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def cast(op: Cast, source: Scalar, target: Scalar, value: Number) -> Number:
    """Convert a value."""
    match op:
        case Cast.BITS:
            return nodes.value_of(target, nodes.bits_of(source, value))
        case Cast.FTOSI | Cast.FTOUI:
            return _to_integer(target, float(value))
        case Cast.SITOF | Cast.UITOF:
            return round_exactly(target, Fraction(int(value)))
        case Cast.SEXT | Cast.ZEXT | Cast.TRUNC | Cast.SIGN | Cast.FEXT | Cast.FTRUNC:
            return rounded(target, value)


def _to_integer(target: Scalar, value: float) -> int:
    """Return a float toward zero, saturated; NaN gives 0."""
    if math.isnan(value):
        return 0
    least, most = target.range
    if math.isinf(value):
        return most if value > 0 else least
    return max(least, min(most, int(value)))


#: The bits of a float's significand, and the exponent of its least value.
_PRECISION = {F16: (11, -24), BF16: (8, -133), F32: (24, -149), F64: (53, -1074)}


def round_exactly(scalar: Scalar, value: Fraction) -> float:
    """Return a rational number rounded once to a float type, half to even."""
    if value == 0:
        return 0.0
    digits, least = _PRECISION[scalar]
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    step = Fraction(2) ** max(exponent - digits + 1, least)
    whole = round(value / step)  # half to even
    try:
        near = float(rounded(scalar, float(abs(whole) * step)))
    except OverflowError:
        near = math.inf
    return near if value > 0 else -near  # a zero keeps the sign too


def maths(op: Math, scalar: Scalar, operands: list[float]) -> float:
    """Call a maths intrinsic, rounded from 64 bits."""
    if op is Math.FMA and all(map(math.isfinite, operands)):
        exact = Fraction(operands[0]) * Fraction(operands[1]) + Fraction(operands[2])
        if exact == 0:
            return float(rounded(scalar, operands[0] * operands[1] + operands[2]))
        return round_exactly(scalar, exact)
    try:
        return float(rounded(scalar, _MATHS[op](*operands)))
    except ValueError:
        return math.nan
    except OverflowError:
        return math.inf


def _whole(function: Callable[[float], int]) -> Callable[[float], float]:
    """Apply a rounding; infinities, NaN and the sign of zero stay."""
    return lambda value: math.copysign(float(function(value)), value) if math.isfinite(value) else value


def _power(left: float, right: float) -> float:
    """Return C's pow: Python raises where C gives an infinity or NaN."""
    odd = right.is_integer() and right % 2 == 1
    try:
        return math.pow(left, right)
    except OverflowError:
        return -math.inf if left < 0 and odd else math.inf
    except ValueError:
        if left == 0.0:
            return math.copysign(math.inf, left) if odd else math.inf
        return math.nan


_MATHS: dict[Math, Callable[..., float]] = {
    Math.SQRT: math.sqrt, Math.RSQRT: lambda a: _ratio(1.0, math.sqrt(a)), Math.EXP: math.exp,
    Math.EXP2: math.exp2, Math.LOG: lambda a: -math.inf if a == 0.0 else math.log(a),
    Math.LOG2: lambda a: -math.inf if a == 0.0 else math.log2(a), Math.SIN: math.sin, Math.COS: math.cos,
    Math.TAN: math.tan, Math.TANH: math.tanh, Math.FLOOR: _whole(math.floor), Math.CEIL: _whole(math.ceil),
    Math.TRUNC: _whole(math.trunc), Math.RINT: _whole(round), Math.POW: _power,
    Math.FMA: lambda a, b, c: a * b + c,
}  # fmt: skip
