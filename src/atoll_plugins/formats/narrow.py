"""How does a register machine compute with f16 and bf16? As bits, widened to f32 and rounded back.

A narrow float is held as its bits in 32. Every operation is done in f32 and rounded once: for `+ - * /` and
the square root two roundings from 24 bits to 11 or 8 are one (S. Figueroa, "When is double rounding
innocuous?", 1995). Where they would not be (from f64, from wide integers, in a fused multiply-add) the first
rounding is to odd, which keeps what the second needs (S. Boldo, G. Melquiond, 2008).

The conversions are integer operations that every machine has (the method for f16 is F. Giesen's); a machine
with instructions for them overrides :meth:`Lowering.widen` and :meth:`Lowering.narrow`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from atoll.ir import BF16, BOOL, F16, F32, F64, U32, Scalar, nodes
from atoll.ir.ops import Binary, Cast, Compare, Math, Unary
from atoll_plugins.formats.core import DIRECT, Core

if TYPE_CHECKING:
    from atoll_plugins.formats.lowering import Lowering

V = TypeVar("V")

_SIGN = 0x8000
_EXACT_INTEGERS = 24


def is_narrow_float(scalar: Scalar) -> bool:
    """Tell whether a type is f16 or bf16."""
    return scalar in (F16, BF16)


# --- the conversions, in integer operations -----------------------------------------------------


def widen(out: Lowering[V], scalar: Scalar, value: V) -> V:
    """Return the f32 of a narrow float's bits, exactly."""
    if scalar == BF16:
        return _float(out, _shifted(out, value, left=16))
    sign = _shifted(out, _masked(out, value, _SIGN), left=16)
    size = _masked(out, value, 0x7FFF)
    moved = _shifted(out, size, left=13)
    normal = _plus(out, moved, 112 << 23)
    endless = _plus(out, moved, 224 << 23)
    tiny = _bits(out, _sum(out, _float(out, _plus(out, moved, 113 << 23)), -(2.0**-14)))
    found = out.select(U32, _below(out, size, 0x7C00), normal, endless)
    found = out.select(U32, _below(out, size, 0x0400), tiny, found)
    return _float(out, _either(out, found, sign))


def narrow(out: Lowering[V], scalar: Scalar, value: V) -> V:
    """Return the bits of the narrow float nearest to an f32, half to even."""
    bits = _bits(out, value)
    sign = _masked(out, _shifted(out, bits, right=16), _SIGN)
    size = _masked(out, bits, 0x7FFFFFFF)
    if scalar == BF16:
        odd = _masked(out, _shifted(out, size, right=16), 1)
        near = _shifted(out, _added(out, _plus(out, size, 0x7FFF), odd), right=16)
        number = _below(out, size, 0x7F800001)
        return _either(out, out.select(U32, number, near, out.number(U32, 0x7FC0)), sign)
    odd = _masked(out, _shifted(out, size, right=13), 1)
    near = _shifted(out, _added(out, _plus(out, size, 0xC8000FFF), odd), right=13)
    tiny = _plus(out, _bits(out, _sum(out, _float(out, size), 0.5)), -0x3F000000)
    number = _below(out, size, 0x7F800001)
    beyond = out.select(U32, number, out.number(U32, 0x7C00), out.number(U32, 0x7E00))
    found = out.select(U32, _below(out, size, 0x47800000), near, beyond)
    return _either(out, out.select(U32, _below(out, size, 0x38800000), tiny, found), sign)


def _bits(out: Lowering[V], value: V) -> V:
    return out.convert(Cast.BITS, F32, U32, value)


def _float(out: Lowering[V], value: V) -> V:
    return out.convert(Cast.BITS, U32, F32, value)


def _masked(out: Lowering[V], value: V, mask: int) -> V:
    return out.core(Core.AND, U32, value, out.number(U32, mask))


def _either(out: Lowering[V], left: V, right: V) -> V:
    return out.core(Core.OR, U32, left, right)


def _shifted(out: Lowering[V], value: V, *, left: int = 0, right: int = 0) -> V:
    op = Core.SHL if left else Core.SHR
    return out.core(op, U32, value, out.number(U32, left or right))


def _added(out: Lowering[V], left: V, right: V) -> V:
    return out.core(Core.ADD, U32, left, right)


def _plus(out: Lowering[V], value: V, number: int) -> V:
    return _added(out, value, out.number(U32, number))


def _sum(out: Lowering[V], value: V, number: float) -> V:
    return out.core(Core.FADD, F32, value, out.number(F32, number))


def _below(out: Lowering[V], value: V, limit: int) -> V:
    return out.compare(Compare.LT, U32, value, out.number(U32, limit))


# --- rounding to odd ----------------------------------------------------------------------------


def odd_of_double(out: Lowering[V], value: V) -> V:
    """Return an f64 as an f32, rounded to odd."""
    near = out.convert(Cast.FTRUNC, F64, F32, value)
    back = out.convert(Cast.FEXT, F32, F64, near)
    sizes = [out.float_unary(Unary.FABS, F64, item) for item in (back, value)]
    return _odd(out, near, F64, (back, value), out.compare(Compare.GT, F64, *sizes))


def odd_of_integer(out: Lowering[V], scalar: Scalar, value: V) -> V:
    """Return an integer of 32 or 64 bits as an f32, rounded to odd."""
    near = out.convert(Cast.SITOF if scalar.is_signed else Cast.UITOF, scalar, F32, value)
    back = out.cast(Cast.FTOSI if scalar.is_signed else Cast.FTOUI, F32, scalar, near)
    beyond = out.compare(Compare.GT, scalar, back, value)
    if scalar.is_signed:
        below = out.compare(Compare.LT, scalar, back, value)
        negative = out.compare(Compare.LT, scalar, value, out.number(scalar, 0))
        beyond = out.select(BOOL, negative, below, beyond)
    return _odd(out, near, scalar, (back, value), beyond)


def _odd(out: Lowering[V], near: V, scalar: Scalar, pair: tuple[V, V], beyond: V) -> V:
    bits = _bits(out, near)
    bits_toward_zero = out.select(U32, beyond, _plus(out, bits, -1), bits)
    odd = _either(out, bits_toward_zero, out.number(U32, 1))
    exact = out.compare(Compare.EQ, scalar, *pair)
    return _float(out, out.select(U32, exact, bits, odd))


# --- operations ---------------------------------------------------------------------------------


def unary(out: Lowering[V], op: Unary, value: V) -> V:
    """Negate, or take the absolute value, by the sign bit."""
    if op is Unary.FABS:
        return _masked(out, value, 0x7FFF)
    return out.core(Core.XOR, U32, value, out.number(U32, _SIGN))


def binary(out: Lowering[V], expr: nodes.Binary, left: V, right: V) -> V:
    """Apply an operation on two narrow floats; the extremes choose among the operands themselves."""
    scalar = expr.type
    wide = [out.widen(scalar, item) for item in (left, right)]
    if expr.op in (Binary.FMIN, Binary.FMAX):
        order = Compare.LT if expr.op is Binary.FMIN else Compare.GT
        return out.select(U32, out.compare(order, F32, wide[1], wide[0]), right, left)
    return out.narrow(scalar, out.core(DIRECT[expr.op], F32, *wide))


def maths(out: Lowering[V], expr: nodes.MathCall, operands: list[V]) -> V:
    """Call a function in f32; a fused multiply-add in f64, where the product is exact."""
    scalar = expr.type
    wide = [out.widen(scalar, item) for item in operands]
    if expr.op is Math.FMA:
        first, second, third = (out.convert(Cast.FEXT, F32, F64, item) for item in wide)
        product = out.core(Core.FMUL, F64, first, second)
        return out.narrow(scalar, odd_of_double(out, out.core(Core.FADD, F64, product, third)))
    return out.narrow(scalar, out.function(expr.op, F32, *wide))


def to_narrow(out: Lowering[V], op: Cast, source: Scalar, target: Scalar, value: V) -> V:
    """Convert to a narrow float, rounded once."""
    if op is Cast.BITS:
        return _masked(out, value, 0xFFFF)
    if is_narrow_float(source):
        return out.narrow(target, out.widen(source, value))
    if source == F64:
        return out.narrow(target, odd_of_double(out, value))
    if source == F32:
        return out.narrow(target, value)
    if source == BOOL:
        return out.select(U32, value, out.number(target, 1.0), out.number(target, 0.0))
    return out.narrow(target, _from_integer(out, op, source, target, value))


def _from_integer(out: Lowering[V], op: Cast, source: Scalar, target: Scalar, value: V) -> V:
    """Return an integer as an f32 from which rounding to `target` is rounding once.

    An f16 has no finite value beyond 2**16, and every integer up to 2**24 is exact in f32.
    """
    if source.bits > _EXACT_INTEGERS and target == BF16:
        return odd_of_integer(out, source, value)
    return out.cast(op, source, F32, value)


def from_narrow(out: Lowering[V], op: Cast, source: Scalar, target: Scalar, value: V) -> V:
    """Convert a narrow float to something else."""
    if op is Cast.BITS:
        return out.fit(target, value)
    wide = out.widen(source, value)
    return wide if target == F32 else out.cast(op, F32, target, wide)


__all__ = [
    "binary", "from_narrow", "is_narrow_float", "maths", "narrow", "odd_of_double", "odd_of_integer",
    "to_narrow", "unary", "widen",
]  # fmt: skip
