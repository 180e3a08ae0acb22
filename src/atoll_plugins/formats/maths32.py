"""How are the maths functions of f32 computed on a machine that has no near enough instruction for them?

The machine gives exp2 and the fused multiply-add, and what it has for a small exponent and for one over a
value (`Lowering.small_power`, `Lowering.inverse`). Roundings are slow on some, so exponents are taken as
integers. The others here are reductions and polynomials in f32 (Cephes single precision, S. Moshier), which
keep the relative error where PTX's `lg2.approx`, `sin.approx` and `tanh.approx` lose it; its `ex2.approx` is
within 2 ulp. With it `exp` is within 3.4 ulp and `tanh` within 2.3. Angles are reduced in f64: right for |x|
up to about 1e15.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

from atoll.ir import F32, F64, I32, I64, U32
from atoll.ir.ops import Cast, Compare, Math, Unary
from atoll_plugins.formats.core import Core
from atoll_plugins.formats.pow32 import power

if TYPE_CHECKING:
    from atoll_plugins.formats.lowering import Lowering

V = TypeVar("V")

#: What is computed here, on f32 only.
OFFERED = frozenset(
    {Math.EXP, Math.EXP2, Math.LOG, Math.LOG2, Math.SIN, Math.COS, Math.TAN, Math.TANH, Math.POW}
)

_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440e-4
_LOG = (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
_SIN = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_TANH = (-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)
_HALF_PI_HIGH = math.pi / 2
#: 1.5 * 2**23, and its bits.
_LARGE, _LARGE_BITS = 12582912.0, 0x4B400000
_HALF_PI_LOW = 6.123233995736766e-17


def call(out: Lowering[V], op: Math, operands: list[V]) -> V:
    """Write the sequence of a function on f32 and return its result."""
    value = operands[0]
    match op:
        case Math.EXP:
            return _exp(out, value)
        case Math.LOG:
            exponent, mantissa = _split(out, value)
            return _log_specials(out, value, _log(out, exponent, mantissa))
        case Math.LOG2:
            exponent, mantissa = _split(out, value)
            part = _log(out, out.number(F32, 0.0), mantissa)
            result = _fma(out, part, 1.0 / math.log(2.0), exponent)
            return _log_specials(out, value, result)
        case Math.SIN | Math.COS | Math.TAN:
            return _angle(out, op, value)
        case Math.TANH:
            return _tanh(out, value)
        case Math.POW:
            return power(out, value, operands[1])
    raise AssertionError(f"{op} is refused before")


def _fma(out: Lowering[V], left: V, right: V | float, addend: V | float) -> V:
    operands = [out.number(F32, item) if isinstance(item, float) else item for item in (left, right, addend)]
    return out.function(Math.FMA, F32, *operands)


def _polynomial(out: Lowering[V], at: V, terms: tuple[float, ...]) -> V:
    result = out.number(F32, terms[0])
    for term in terms[1:]:
        result = _fma(out, result, at, term)
    return result


def _exp(out: Lowering[V], value: V) -> V:
    """Return 2**t * 2**r of x = (t + r) ln 2; the two halves of 2**t keep every step in range."""
    for op, limit in ((Compare.GT, 90.0), (Compare.LT, -105.0)):
        beyond = out.compare(op, F32, value, out.number(F32, limit))
        value = out.select(F32, beyond, out.number(F32, limit), value)
    count, power = _reduced(out, value)
    half = out.core(Core.SHR, I32, count, out.number(I32, 1))
    other = out.core(Core.SUB, I32, count, half)
    power = out.core(Core.FMUL, F32, power, _two_to(out, half))
    return out.core(Core.FMUL, F32, power, _two_to(out, other))


def _reduced(out: Lowering[V], value: V) -> tuple[V, V]:
    """Return t as an integer and 2**r of x = (t + r) ln 2, |x| up to about 100.

    A float of this size has no fraction: adding it rounds to t, half to even, and leaves t in its low bits.
    """
    log2_e, large = out.number(F32, 1.0 / math.log(2.0)), out.number(F32, _LARGE)
    rounded = out.function(Math.FMA, F32, value, log2_e, large)
    whole = out.core(Core.FSUB, F32, rounded, large)
    bits = out.convert(Cast.BITS, F32, U32, rounded)
    count = out.core(Core.SUB, I32, bits, out.number(I32, _LARGE_BITS))
    rest = _fma(out, whole, -_LN2_LOW, _fma(out, whole, -_LN2_HIGH, value))
    return count, out.small_power(out.core(Core.FMUL, F32, rest, log2_e))


def _two_to(out: Lowering[V], count: V) -> V:
    """Return 2**t of an integer in the range of the exponents of f32."""
    biased = out.core(Core.ADD, I32, count, out.number(I32, 127))
    return out.convert(Cast.BITS, U32, F32, out.core(Core.SHL, I32, biased, out.number(I32, 23)))


def _split(out: Lowering[V], value: V) -> tuple[V, V]:
    """Return the exponent as a float and the mantissa in sqrt(1/2) … sqrt(2); denormals are scaled up."""
    small = out.compare(Compare.LT, F32, value, out.number(F32, 2.0**-126))
    scaled = out.core(Core.FMUL, F32, value, out.number(F32, 2.0**23))
    bits = out.convert(Cast.BITS, F32, U32, out.select(F32, small, scaled, value))
    above = out.core(Core.SUB, I32, bits, out.number(I32, 0x3F3504F3))
    exponent = out.core(Core.SHR, I32, above, out.number(I32, 23))
    place = out.core(Core.SHL, I32, exponent, out.number(I32, 23))
    mantissa = out.convert(Cast.BITS, U32, F32, out.core(Core.SUB, I32, bits, place))
    whole = out.convert(Cast.SITOF, I32, F32, exponent)
    shift = out.select(F32, small, out.number(F32, -23.0), out.number(F32, 0.0))
    return out.core(Core.FADD, F32, whole, shift), mantissa


def _log(out: Lowering[V], exponent: V, mantissa: V) -> V:
    """Return exponent * ln 2 + ln mantissa."""
    above = out.core(Core.FSUB, F32, mantissa, out.number(F32, 1.0))
    square = out.core(Core.FMUL, F32, above, above)
    cubic = out.core(Core.FMUL, F32, out.core(Core.FMUL, F32, above, square), _polynomial(out, above, _LOG))
    rest = _fma(out, square, -0.5, _fma(out, exponent, _LN2_LOW, cubic))
    return _fma(out, exponent, _LN2_HIGH, out.core(Core.FADD, F32, above, rest))


def _log_specials(out: Lowering[V], value: V, result: V) -> V:
    """Return NaN below zero, -inf at zero, and inf and NaN themselves."""
    infinity = out.number(F32, math.inf)
    positive = out.compare(Compare.GT, F32, value, out.number(F32, 0.0))
    zero = out.compare(Compare.EQ, F32, value, out.number(F32, 0.0))
    other = out.select(F32, zero, out.number(F32, -math.inf), out.number(F32, math.nan))
    finite = out.compare(Compare.LT, F32, value, infinity)
    return out.select(F32, positive, out.select(F32, finite, result, infinity), other)


def _angle(out: Lowering[V], op: Math, value: V) -> V:
    """Return sine, cosine or tangent: x = k pi/2 + r, |r| up to pi/4, the quadrant from k."""
    wide = out.convert(Cast.FEXT, F32, F64, value)
    turns = out.core(Core.FMUL, F64, wide, out.number(F64, 2.0 / math.pi))
    whole = out.function(Math.RINT, F64, turns)
    rest = out.function(Math.FMA, F64, whole, out.number(F64, -_HALF_PI_HIGH), wide)
    rest = out.function(Math.FMA, F64, whole, out.number(F64, -_HALF_PI_LOW), rest)
    quadrant = out.convert(Cast.TRUNC, I64, I32, out.convert(Cast.FTOSI, F64, I64, whole))
    angle = out.convert(Cast.FTRUNC, F64, F32, rest)
    square = out.core(Core.FMUL, F32, angle, angle)
    cubic = out.core(Core.FMUL, F32, angle, square)
    sine = _fma(out, cubic, _polynomial(out, square, _SIN), angle)
    fourth = out.core(Core.FMUL, F32, square, square)
    one = _fma(out, square, -0.5, 1.0)
    cosine = _fma(out, fourth, _polynomial(out, square, _COS), one)
    odd = out.differs(U32, out.core(Core.AND, U32, quadrant, out.number(U32, 1)), 0)
    if op is Math.TAN:
        ratio = out.core(Core.FDIV, F32, sine, cosine)
        turned = out.core(Core.FDIV, F32, out.core(Core.FSUB, F32, out.number(F32, 0.0), cosine), sine)
        return out.select(F32, odd, turned, ratio)
    result = out.select(F32, odd, *((cosine, sine) if op is Math.SIN else (sine, cosine)))
    shifted = quadrant if op is Math.SIN else out.core(Core.ADD, U32, quadrant, out.number(U32, 1))
    negative = out.differs(U32, out.core(Core.AND, U32, shifted, out.number(U32, 2)), 0)
    return out.select(F32, negative, out.float_unary(Unary.FNEG, F32, result), result)


def _tanh(out: Lowering[V], value: V) -> V:
    """Return |x| + |x|**3 p(x**2) near zero, else 1 - 2 / (exp(2 |x|) + 1), with the sign of x."""
    size = out.float_unary(Unary.FABS, F32, value)
    square = out.core(Core.FMUL, F32, value, value)
    cubic = out.core(Core.FMUL, F32, out.core(Core.FMUL, F32, square, size), _polynomial(out, square, _TANH))
    near = out.core(Core.FADD, F32, cubic, size)
    beyond = out.compare(Compare.GT, F32, size, out.number(F32, 15.0))
    held = out.select(F32, beyond, out.number(F32, 15.0), size)
    count, power = _reduced(out, out.core(Core.FADD, F32, held, held))
    power = out.core(Core.FMUL, F32, power, _two_to(out, count))
    part = out.inverse(out.core(Core.FADD, F32, power, out.number(F32, 1.0)))
    small = out.compare(Compare.LT, F32, size, out.number(F32, 0.625))
    return _with_sign(out, value, out.select(F32, small, near, _fma(out, part, -2.0, 1.0)))


def _with_sign(out: Lowering[V], sign: V, size: V) -> V:
    """Return a value that is not negative with the sign of another one."""
    bits = out.core(Core.AND, U32, out.convert(Cast.BITS, F32, U32, sign), out.number(U32, 1 << 31))
    return out.convert(
        Cast.BITS, U32, F32, out.core(Core.OR, U32, out.convert(Cast.BITS, F32, U32, size), bits)
    )
