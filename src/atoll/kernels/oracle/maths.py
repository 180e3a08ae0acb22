"""What the maths functions give in the oracle: computed in double or exactly, rounded once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from atoll.ir import F64, Scalar, ops
from atoll.kernels.scalars import Fault, Typed, make, power, typed


def _safe(function: Callable[[float], float], at_zero: float = math.nan) -> Callable[[float], float]:
    """Return a function that gives IEEE's values where `math` raises."""

    def safe(x: float) -> float:
        try:
            return function(x)
        except OverflowError:
            return math.inf
        except ValueError:
            return at_zero if x == 0 else math.nan

    return safe


def _whole(function: Callable[[float], float]) -> Callable[[float], float]:
    """Return a rounding that keeps infinities, NaN, and the sign of zero."""

    def whole(x: float) -> float:
        return math.copysign(function(x), x) if math.isfinite(x) else x

    return whole


def _rsqrt(x: float) -> float:
    return math.copysign(math.inf, x) if x == 0 else 1 / _safe(math.sqrt)(x)


_ONE: dict[ops.Math, Callable[[float], float]] = {
    ops.Math.SQRT: _safe(math.sqrt),
    ops.Math.RSQRT: _rsqrt,
    ops.Math.EXP: _safe(math.exp),
    ops.Math.EXP2: _safe(math.exp2),
    ops.Math.LOG: _safe(math.log, -math.inf),
    ops.Math.LOG2: _safe(math.log2, -math.inf),
    ops.Math.SIN: _safe(math.sin),
    ops.Math.COS: _safe(math.cos),
    ops.Math.TAN: _safe(math.tan),
    ops.Math.TANH: _safe(math.tanh),
    ops.Math.FLOOR: _whole(math.floor),
    ops.Math.CEIL: _whole(math.ceil),
    ops.Math.TRUNC: _whole(math.trunc),
    ops.Math.RINT: _whole(round),
}


def apply(op: ops.Math, operands: Sequence[Any]) -> Typed:
    """Return what a maths function gives for typed floats (a literal takes their type)."""
    scalar = next((item.scalar for item in operands if isinstance(item, Typed)), None)
    if scalar is None or not scalar.is_float:
        raise Fault("ATL0713", "maths functions take typed floats")
    values = [float(typed(item, scalar)) for item in operands]
    if op is ops.Math.FMA:
        return make(scalar, fused(scalar, *values))
    if op is ops.Math.POW:
        return make(scalar, float(power(values[0], values[1])))
    return make(scalar, _ONE[op](values[0]))


def fused(scalar: Scalar, a: float, b: float, c: float) -> float:
    """Return a * b + c such that rounding it to the type rounds the exact value once."""
    if not all(map(math.isfinite, (a, b, c))):
        return a * b + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c
    try:
        near = float(exact)
    except OverflowError:
        return math.copysign(math.inf, exact)
    if scalar == F64 or math.isinf(near) or Fraction(near) == exact:
        return near
    # Round to odd: the double then says on which side of a tie of the narrower type the value lies.
    mantissa = math.frexp(near)[0] * (1 << 53)
    if int(mantissa) % 2:
        return near
    return math.nextafter(near, math.inf if exact > Fraction(near) else -math.inf)
