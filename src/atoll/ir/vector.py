"""What does each KIR operation give on NumPy arrays? One element a work-item, the semantics of kir.md.

A value is an array of one element (equal for every work-item) or of one a work-item. A bf16 is held in
f32, which has all its values, and rounded after every operation; f16, f32 and f64 are NumPy's own.
Maths functions are computed in f64 and rounded once, as the oracle does. Who runs statements:
:mod:`atoll.ir.interpret`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias, cast

import numpy as np

from atoll.ir import ops
from atoll.ir.nodes import Const
from atoll.ir.types import BF16, BOOL, F32, F64, Kind, Scalar

Vector: TypeAlias = "np.ndarray[Any, Any]"


def dtype_of(scalar: Scalar) -> np.dtype[Any]:
    """Return the dtype that holds values of a type."""
    if scalar == BOOL:
        return np.dtype(np.bool_)
    if scalar == BF16:
        return np.dtype(np.float32)
    return np.dtype({Kind.SIGNED: "i", Kind.UNSIGNED: "u"}.get(scalar.kind, "f") + str(scalar.nbytes))


def memory_dtype(scalar: Scalar) -> np.dtype[Any]:
    """Return the dtype of its elements in memory: a bf16 is sixteen bits there."""
    return np.dtype(np.uint16) if scalar == BF16 else dtype_of(scalar)


def from_memory(scalar: Scalar, elements: Vector) -> Vector:
    """Return elements as values."""
    return _bf16_of(elements) if scalar == BF16 else elements


def to_memory(scalar: Scalar, values: Vector) -> Vector:
    """Return values as elements."""
    return _bf16_bits(values) if scalar == BF16 else values


def _bf16_of(bits: Vector) -> Vector:
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def _bf16_bits(values: Vector) -> Vector:
    return (values.view(np.uint32) >> np.uint32(16)).astype(np.uint16)


def constant(node: Const) -> Vector:
    """Return a constant, every bit of it."""
    if node.type == BOOL:
        return np.array([bool(node.bits)])
    raw = np.array([node.bits], dtype=f"u{node.type.nbytes}")
    return _bf16_of(raw) if node.type == BF16 else raw.view(dtype_of(node.type))


# --- rounding ------------------------------------------------------------------------------------


def _round_bf16(values: Vector) -> Vector:
    """Round f32 values to bf16, half to even."""
    bits = values.view(np.uint32)
    odd = (bits >> np.uint32(16)) & np.uint32(1)
    rounded = (bits + np.uint32(0x7FFF) + odd) & np.uint32(0xFFFF0000)
    quiet = (bits & np.uint32(0x80000000)) | np.uint32(0x7FC00000)
    return np.where(np.isnan(values), quiet, rounded).view(np.float32)


def _odd_f32(values: Vector) -> Vector:
    """Round f64 values to f32 so that a second, narrower rounding is right: an inexact one is odd."""
    near = values.astype(np.float32)
    back = near.astype(np.float64)
    bits = near.view(np.uint32)
    inexact = np.isfinite(near) & (back != values)
    toward_zero = bits - (np.abs(back) > np.abs(values)).astype(np.uint32)
    return np.where(inexact, toward_zero | np.uint32(1), bits).view(np.float32)


def narrowed(scalar: Scalar, values: Vector) -> Vector:
    """Round f64 values once to a float type, half to even."""
    return _round_bf16(_odd_f32(values)) if scalar == BF16 else values.astype(dtype_of(scalar))


# --- integers and floats -------------------------------------------------------------------------


def _divisor(b: Vector, scalar: Scalar) -> tuple[Vector, Vector]:
    """Return a divisor that divides, and where the true one does not (by zero; by -1, done apart)."""
    apart = b == 0
    if scalar.is_signed:
        apart = apart | (b == -1)
    return np.where(apart, np.ones_like(b), b), apart


def _div_floor(a: Vector, b: Vector, scalar: Scalar) -> Vector:
    safe, apart = _divisor(b, scalar)
    special = np.where(b == 0, np.zeros_like(a), -a) if scalar.is_signed else np.zeros_like(a)
    return np.where(apart, special, a // safe)


def _rem_floor(a: Vector, b: Vector, scalar: Scalar) -> Vector:
    return cast("Vector", a - _div_floor(a, b, scalar) * b)


def _div_trunc(a: Vector, b: Vector, scalar: Scalar) -> Vector:
    floor = _div_floor(a, b, scalar)
    if not scalar.is_signed:
        return floor
    up = (b != 0) & (floor * b != a) & ((a < 0) != (b < 0))
    return cast("Vector", floor + up.astype(floor.dtype))


def _rem_trunc(a: Vector, b: Vector, scalar: Scalar) -> Vector:
    return cast("Vector", a - _div_trunc(a, b, scalar) * b)


def _shl(a: Vector, b: Vector, scalar: Scalar) -> Vector:
    fits = (b >= 0) & (b < scalar.bits)
    return np.where(fits, a << np.where(fits, b, np.zeros_like(b)), np.zeros_like(a))


def _shr(a: Vector, b: Vector, scalar: Scalar) -> Vector:
    fits = (b >= 0) & (b < scalar.bits)
    fill = a >> np.full_like(a, scalar.bits - 1) if scalar.is_signed else np.zeros_like(a)
    return np.where(fits, a >> np.where(fits, b, np.zeros_like(b)), fill)


_BINARY: dict[ops.Binary, Callable[[Vector, Vector, Scalar], Any]] = {
    ops.Binary.ADD_WRAP: lambda a, b, _: a + b,
    ops.Binary.SUB_WRAP: lambda a, b, _: a - b,
    ops.Binary.MUL_WRAP: lambda a, b, _: a * b,
    ops.Binary.DIV_FLOOR: _div_floor,
    ops.Binary.REM_FLOOR: _rem_floor,
    ops.Binary.DIV_TRUNC: _div_trunc,
    ops.Binary.REM_TRUNC: _rem_trunc,
    ops.Binary.AND: lambda a, b, _: a & b,
    ops.Binary.OR: lambda a, b, _: a | b,
    ops.Binary.XOR: lambda a, b, _: a ^ b,
    ops.Binary.SHL: _shl,
    ops.Binary.SHR: _shr,
    ops.Binary.MIN: lambda a, b, _: np.where(b < a, b, a),
    ops.Binary.MAX: lambda a, b, _: np.where(b > a, b, a),
    ops.Binary.FADD: lambda a, b, _: a + b,
    ops.Binary.FSUB: lambda a, b, _: a - b,
    ops.Binary.FMUL: lambda a, b, _: a * b,
    ops.Binary.FDIV: lambda a, b, _: a / b,
    ops.Binary.FMIN: lambda a, b, _: np.where(b < a, b, a),
    ops.Binary.FMAX: lambda a, b, _: np.where(b > a, b, a),
}


def binary(op: ops.Binary, a: Vector, b: Vector, scalar: Scalar) -> Vector:
    """Return an operation on two operands of one type."""
    result = cast("Vector", _BINARY[op](a, b, scalar))
    return _round_bf16(result) if scalar == BF16 else result


def unary(op: ops.Unary, a: Vector, scalar: Scalar) -> Vector:
    """Return an operation on one operand."""
    match op:
        case ops.Unary.NEG_WRAP:
            return cast("Vector", np.zeros_like(a) - a)
        case ops.Unary.ABS_WRAP:
            return np.where(a < 0, np.zeros_like(a) - a, a) if scalar.is_signed else a
        case ops.Unary.NOT:
            return ~a
        case ops.Unary.FNEG:
            return cast("Vector", np.negative(a))
        case ops.Unary.FABS:
            return cast("Vector", np.fabs(a))


_COMPARE: dict[ops.Compare, Callable[[Vector, Vector], Any]] = {
    ops.Compare.EQ: np.equal,
    ops.Compare.NE: np.not_equal,
    ops.Compare.LT: np.less,
    ops.Compare.LE: np.less_equal,
    ops.Compare.GT: np.greater,
    ops.Compare.GE: np.greater_equal,
}


def compare(op: ops.Compare, a: Vector, b: Vector) -> Vector:
    """Return a comparison."""
    return cast("Vector", _COMPARE[op](a, b))


# --- casts ---------------------------------------------------------------------------------------


def convert(op: ops.Cast, a: Vector, source: Scalar, target: Scalar) -> Vector:
    """Return a conversion."""
    match op:
        case ops.Cast.SEXT | ops.Cast.ZEXT | ops.Cast.TRUNC | ops.Cast.SIGN:
            return a.astype(dtype_of(target))
        case ops.Cast.BITS:
            return _bits(a, source, target)
        case ops.Cast.SITOF | ops.Cast.UITOF:
            return _to_float(a, target)
        case ops.Cast.FTOSI | ops.Cast.FTOUI:
            return _to_integer(a, target)
        case ops.Cast.FEXT | ops.Cast.FTRUNC:
            return narrowed(target, a.astype(np.float64))


def _bits(a: Vector, source: Scalar, target: Scalar) -> Vector:
    if source == BF16:
        return _bf16_bits(a).view(dtype_of(target))
    if target == BF16:
        return _bf16_of(a.view(np.uint16))
    return a.view(dtype_of(target))


def _to_float(a: Vector, target: Scalar) -> Vector:
    if target in (F32, F64):
        return a.astype(dtype_of(target))
    if a.dtype.itemsize == 8:  # keep the top bits and whether any below is set: exact in f64, rounds alike
        large = (a >= 1 << 40) | ((a < 0) & (a <= -(1 << 40))) if a.dtype.kind == "i" else a >= 1 << 40
        sticky = (a >> 16) | ((a & 0xFFFF) != 0).astype(a.dtype)
        wide = np.where(large, sticky.astype(np.float64) * 65536.0, a.astype(np.float64))
        return narrowed(target, wide)
    return narrowed(target, a.astype(np.float64))


def _to_integer(a: Vector, target: Scalar) -> Vector:
    """Convert toward zero; saturate; NaN gives 0."""
    wide = np.trunc(a.astype(np.float64))
    low, high = target.range
    over, under = wide >= float(high), wide <= float(low)
    plain = np.where(over | under | np.isnan(wide), 0.0, wide)
    kind = dtype_of(target)
    result = plain.astype(kind)
    result = np.where(over, np.array(high, dtype=kind), result)
    return np.where(under, np.array(low, dtype=kind), result)


# --- maths ---------------------------------------------------------------------------------------

_ONE: dict[ops.Math, Callable[[Vector], Any]] = {
    ops.Math.SQRT: np.sqrt,
    ops.Math.RSQRT: lambda x: 1.0 / np.sqrt(x),
    ops.Math.EXP: np.exp,
    ops.Math.EXP2: np.exp2,
    ops.Math.LOG: np.log,
    ops.Math.LOG2: np.log2,
    ops.Math.SIN: np.sin,
    ops.Math.COS: np.cos,
    ops.Math.TAN: np.tan,
    ops.Math.TANH: np.tanh,
    ops.Math.FLOOR: np.floor,
    ops.Math.CEIL: np.ceil,
    ops.Math.TRUNC: np.trunc,
    ops.Math.RINT: np.rint,
}


def maths(op: ops.Math, operands: list[Vector], scalar: Scalar) -> Vector:
    """Return a maths function, computed in f64 and rounded once."""
    wide = [item.astype(np.float64) for item in operands]
    if op is ops.Math.POW:
        return narrowed(scalar, np.power(wide[0], wide[1]))
    if op is ops.Math.FMA:
        return _fused_f64(*wide) if scalar == F64 else narrowed(scalar, _fused(*wide))
    return narrowed(scalar, cast("Vector", _ONE[op](wide[0])))


def _fused(a: Vector, b: Vector, c: Vector) -> Vector:
    """Return a * b + c of narrow floats in f64, an inexact sum rounded to odd: the next rounding is right."""
    product = a * b  # exact: twice 24 bits fit
    total = product + c
    part = total - product
    lost = (product - (total - part)) + (c - part)
    odd = (total.view(np.int64) & 1).astype(bool)
    nudge = np.isfinite(total) & (lost != 0) & ~odd
    toward = np.where(lost > 0, np.inf, -np.inf)
    return np.where(nudge, np.nextafter(total, toward), total)


def _fused_f64(a: Vector, b: Vector, c: Vector) -> Vector:
    triples = zip(*(item.tolist() for item in np.broadcast_arrays(a, b, c)), strict=True)
    return np.array([_one_fused(*triple) for triple in triples], dtype=np.float64)


def _one_fused(a: float, b: float, c: float) -> float:
    if not all(map(math.isfinite, (a, b, c))):
        return a * b + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


__all__ = [
    "Vector",
    "binary",
    "compare",
    "constant",
    "convert",
    "dtype_of",
    "from_memory",
    "maths",
    "memory_dtype",
    "narrowed",
    "to_memory",
    "unary",
]
