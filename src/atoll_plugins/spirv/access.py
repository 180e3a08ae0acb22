"""How does a shader reach an element of a view, and four neighbours at once?

A storage buffer has fewer than 2**32 bytes on every device (`maxStorageBufferRange` has 32 bits), so the
lower half of an index is all of it where an element has two bytes or more; what the upper half was made of
does not matter, since sums and products wrap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from atoll.ir import I64, U32, Scalar, nodes, ops
from atoll.ir.widen import LANES
from atoll_plugins.formats.core import Core
from atoll_plugins.formats.lowering import wide
from atoll_plugins.spirv.opcodes import Op

if TYPE_CHECKING:
    from atoll_plugins.spirv.function import Function
    from atoll_plugins.spirv.resources import Array

_HALVES = {
    ops.Binary.ADD_WRAP: Core.ADD,
    ops.Binary.SUB_WRAP: Core.SUB,
    ops.Binary.MUL_WRAP: Core.MUL,
}
_EXTENSIONS = frozenset({ops.Cast.SEXT, ops.Cast.ZEXT})
_MASK = (1 << 32) - 1


def _low(out: Function, expr: nodes.Expr) -> int:
    """Return the lower half of an index of 64 bits."""
    match expr:
        case nodes.Const():
            return out.types.word(int(expr.value) & _MASK)
        case nodes.Cast() if expr.op in _EXTENSIONS and expr.operand.type.bits == 32:
            return out.expression(expr.operand)
        case nodes.Binary() if expr.op in _HALVES:
            return out.core(_HALVES[expr.op], U32, _low(out, expr.left), _low(out, expr.right))
    return out.convert(ops.Cast.TRUNC, I64, U32, out.expression(expr))


def element(out: Function, array: Array, base: str, indices: tuple[nodes.Expr, ...]) -> tuple[int, Scalar]:
    """Return which element of the buffer an element of a view is, and the type that this is counted in."""
    halves = array.bits > 8
    kind = U32 if halves else I64

    def given(value: int) -> int:
        return out.convert(ops.Cast.TRUNC, I64, U32, value) if halves else value

    at = given(out.field(f"{base}.offset"))
    for axis, expr in enumerate(indices):
        step = _low(out, expr) if halves else out.expression(expr)
        if not out.job.target.plain or axis < len(indices) - 1:
            step = out.core(Core.MUL, kind, step, given(out.field(f"{base}.stride.{axis}")))
        at = out.core(Core.ADD, kind, at, step)
    return at, kind


def _four(out: Function, base: str, indices: tuple[nodes.Expr, ...]) -> tuple[Array, int]:
    """Return the place of four neighbours of a view that is plain, so that the first is a whole four."""
    array = out.fours_at[base]
    at, kind = element(out, array, base, indices)
    at = out.core(Core.SHR, U32 if kind == U32 else I64, at, out.number(kind, 2))
    pointer = out.out.pointer(array.storage, array.held)
    return array, out.out.value(Op.AccessChain, pointer, array.variable, out.types.word(0), at)


def _values(out: Function, array: Array) -> int:
    """Return the type of four values of a view's element, wide."""
    return out.out.type(Op.TypeVector, out.types.scalar(wide(array.element)), LANES)


def four_loads(out: Function, four: list[tuple[str, nodes.Load]]) -> None:
    """Write four loads of neighbours as one."""
    first = four[0][1]
    array, place = _four(out, first.base, first.indices)
    row = out.out.value(Op.Load, array.held, place)
    if array.as_words:
        row = out.out.value(Op.Bitcast, _values(out, array), row)
    elif array.bits < 32:
        row = out.out.value(Op.SConvert if array.element.is_signed else Op.UConvert, _values(out, array), row)
    kind = out.types.scalar(wide(array.element))
    for number, (name, _) in enumerate(four):
        out.out.emit(Op.Store, out.locals[name], out.out.value(Op.CompositeExtract, kind, row, number))


def four_stores(out: Function, four: list[nodes.Store]) -> None:
    """Write four stores to neighbours as one."""
    array, place = _four(out, four[0].base, four[0].indices)
    values = [out.expression(item.value) for item in four]
    row = out.out.value(Op.CompositeConstruct, _values(out, array), *values)
    if array.as_words or array.bits < 32:
        row = out.out.value(Op.Bitcast if array.as_words else Op.UConvert, array.held, row)
    out.out.emit(Op.Store, place, row)
