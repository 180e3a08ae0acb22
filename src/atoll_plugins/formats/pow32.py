"""How is ``pow`` on f32 computed where no library is? As exp(y ln |x|) in f64, rounded once.

The series carry about 40 bits where f32 needs 24, so the result is within one unit of its last place.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

from atoll.ir import F32, F64, I64, U64
from atoll.ir.ops import Cast, Compare, Math, Unary
from atoll_plugins.formats.core import Core
from atoll_plugins.formats.powers import with_special_cases

if TYPE_CHECKING:
    from atoll_plugins.formats.lowering import Lowering

V = TypeVar("V")

_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
#: 2 artanh(s) = 2 s (1 + s²/3 + s⁴/5 + …); |s| is at most 0.172, so nine terms leave 2**-47.
_LOG = tuple(1.0 / odd for odd in (17, 15, 13, 11, 9, 7, 5, 3, 1))
#: exp(r) on |r| up to ln(2)/2 by its Taylor series; twelve terms leave 2**-48.
_EXP = tuple(1.0 / math.factorial(n) for n in range(12, -1, -1))


def power(out: Lowering[V], base: V, exponent: V) -> V:
    """Write base ** exponent and return the result."""
    size = out.convert(Cast.FEXT, F32, F64, out.float_unary(Unary.FABS, F32, base))
    turns = out.core(Core.FMUL, F64, out.convert(Cast.FEXT, F32, F64, exponent), _log(out, size))
    result = out.convert(Cast.FTRUNC, F64, F32, _exp(out, turns))
    return with_special_cases(out, F32, base, exponent, result)


def _polynomial(out: Lowering[V], at: V, terms: tuple[float, ...]) -> V:
    result = out.number(F64, terms[0])
    for term in terms[1:]:
        result = out.function(Math.FMA, F64, result, at, out.number(F64, term))
    return result


def _log(out: Lowering[V], size: V) -> V:
    """Return ln of a positive normal f64."""
    bits = out.convert(Cast.BITS, F64, U64, size)
    above = out.core(Core.SUB, I64, bits, out.number(I64, _SQRT_HALF_BITS))
    whole = out.core(Core.SHR, I64, above, out.number(I64, 52))
    place = out.core(Core.SHL, I64, whole, out.number(I64, 52))
    mantissa = out.convert(Cast.BITS, U64, F64, out.core(Core.SUB, I64, bits, place))
    one = out.number(F64, 1.0)
    less, more = out.core(Core.FSUB, F64, mantissa, one), out.core(Core.FADD, F64, mantissa, one)
    ratio = out.core(Core.FDIV, F64, less, more)
    square = out.core(Core.FMUL, F64, ratio, ratio)
    twice = out.core(Core.FADD, F64, ratio, ratio)
    part = out.core(Core.FMUL, F64, twice, _polynomial(out, square, _LOG))
    count = out.convert(Cast.SITOF, I64, F64, whole)
    return out.function(Math.FMA, F64, count, out.number(F64, math.log(2.0)), part)


def _exp(out: Lowering[V], value: V) -> V:
    """Return e ** value, its argument held where an f32 is neither zero nor infinite, and a little beyond."""
    for op, limit in ((Compare.GT, 100.0), (Compare.LT, -120.0)):
        beyond = out.compare(op, F64, value, out.number(F64, limit))
        value = out.select(F64, beyond, out.number(F64, limit), value)
    turns = out.core(Core.FMUL, F64, value, out.number(F64, 1.0 / math.log(2.0)))
    whole = out.function(Math.RINT, F64, turns)
    rest = out.function(Math.FMA, F64, whole, out.number(F64, -math.log(2.0)), value)
    count = out.convert(Cast.FTOSI, F64, I64, whole)
    biased = out.core(Core.ADD, I64, count, out.number(I64, 1023))
    scale = out.convert(Cast.BITS, U64, F64, out.core(Core.SHL, I64, biased, out.number(I64, 52)))
    return out.core(Core.FMUL, F64, _polynomial(out, rest, _EXP), scale)
