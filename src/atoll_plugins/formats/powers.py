"""What is ``x ** y`` where x is zero, infinite, negative or NaN, on a machine whose own answer is another?

A target computes the power of a positive size; the special cases are C11 annex F.10.4.4, which Python's
``math.pow`` shares.
"""

from __future__ import annotations

import math
from typing import TypeVar

from atoll.ir import BOOL, U32, U64, Scalar
from atoll.ir.ops import Cast, Compare, Math, Unary
from atoll_plugins.formats.core import Core
from atoll_plugins.formats.lowering import Lowering

V = TypeVar("V")


def with_special_cases(out: Lowering[V], scalar: Scalar, x: V, y: V, result: V) -> V:
    """Return x ** y, given the power of |x| that is right where |x| and y are ordinary."""
    result = _zeros_and_infinities(out, scalar, x, y, result)
    result = _signed(out, scalar, x, y, result)
    return _ones_and_nans(out, scalar, x, y, result)


def _zeros_and_infinities(out: Lowering[V], scalar: Scalar, x: V, y: V, result: V) -> V:
    """Return 0 or infinity where the size of the base or of the exponent is one of them."""
    zero, one, infinity = (out.number(scalar, value) for value in (0.0, 1.0, math.inf))
    size = out.float_unary(Unary.FABS, scalar, x)
    grows = out.compare(Compare.GT, scalar, y, zero)
    at_zero = out.compare(Compare.EQ, scalar, size, zero)
    result = out.select(scalar, at_zero, out.select(scalar, grows, zero, infinity), result)
    at_infinity = out.compare(Compare.EQ, scalar, size, infinity)
    result = out.select(scalar, at_infinity, out.select(scalar, grows, infinity, zero), result)
    endless = out.compare(Compare.EQ, scalar, out.float_unary(Unary.FABS, scalar, y), infinity)
    above = out.compare(Compare.GT, scalar, size, one)
    alike = out.compare(Compare.EQ, BOOL, grows, above)
    return out.select(scalar, endless, out.select(scalar, alike, infinity, zero), result)


def _signed(out: Lowering[V], scalar: Scalar, x: V, y: V, result: V) -> V:
    """Return the result of a negative base: odd exponents negate, fractions of a finite base give NaN."""
    word = U64 if scalar.bits == 64 else U32
    bits = out.convert(Cast.BITS, scalar, word, x)
    top = out.core(Core.SHR, word, bits, out.number(word, scalar.bits - 1))
    whole, even = _is_whole(out, scalar, y), _is_whole(out, scalar, _half(out, scalar, y))
    odd = out.core(Core.AND, BOOL, whole, out.not_(even))
    turn = out.core(Core.AND, BOOL, out.differs(word, top, 0), odd)
    result = out.select(scalar, turn, out.float_unary(Unary.FNEG, scalar, result), result)
    below = out.compare(Compare.LT, scalar, x, out.number(scalar, 0.0))
    finite = out.compare(Compare.GT, scalar, x, out.number(scalar, -math.inf))
    fraction = out.core(Core.AND, BOOL, out.core(Core.AND, BOOL, below, finite), out.not_(whole))
    return out.select(scalar, fraction, out.number(scalar, math.nan), result)


def _half(out: Lowering[V], scalar: Scalar, value: V) -> V:
    return out.core(Core.FMUL, scalar, value, out.number(scalar, 0.5))


def _is_whole(out: Lowering[V], scalar: Scalar, value: V) -> V:
    return out.compare(Compare.EQ, scalar, out.function(Math.TRUNC, scalar, value), value)


def _ones_and_nans(out: Lowering[V], scalar: Scalar, x: V, y: V, result: V) -> V:
    """Return 1 for x ** 0, 1 ** y and (-1) ** ±infinity, NaN for any other NaN."""
    nan = out.core(Core.OR, BOOL, *(out.compare(Compare.NE, scalar, value, value) for value in (x, y)))
    result = out.select(scalar, nan, out.number(scalar, math.nan), result)
    ones = out.compare(Compare.EQ, scalar, y, out.number(scalar, 0.0))
    ones = out.core(Core.OR, BOOL, ones, out.compare(Compare.EQ, scalar, x, out.number(scalar, 1.0)))
    length = out.float_unary(Unary.FABS, scalar, y)
    endless = out.compare(Compare.EQ, scalar, length, out.number(scalar, math.inf))
    minus = out.compare(Compare.EQ, scalar, x, out.number(scalar, -1.0))
    ones = out.core(Core.OR, BOOL, ones, out.core(Core.AND, BOOL, endless, minus))
    return out.select(scalar, ones, out.number(scalar, 1.0), result)
