"""Which element of an array does a subscript name?"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from atoll.errors import LaunchError
from atoll.ir import I32, I64, Scalar, ops
from atoll.ir import nodes as n
from atoll.kernels.front.convert import (
    expression,
    widen,
)
from atoll.kernels.front.convert import literal as typed_literal
from atoll.kernels.front.expressions import HANDLERS, in_order, lower
from atoll.kernels.front.state import State
from atoll.kernels.front.values import (
    Opaque,
    PointerValue,
    SharedValue,
    StructArray,
    StructValue,
    TupleValue,
    Value,
    ViewValue,
    Weak,
    described,
)
from atoll.kernels.promote import promote
from atoll.kernels.scalars import fixed, fixed_type
from atoll.kernels.vectors import vec, vec_type


def _subscript(state: State, node: ast.Subscript) -> Value:
    base = lower(state, node.value)
    if isinstance(base, Opaque) and base.object is fixed:
        return _named(state, base, node, fixed_type, "array")
    if isinstance(base, StructValue):
        from atoll.kernels.front.vectors import component

        return component(state, base, node)
    if isinstance(base, Opaque) and base.object is vec:
        return _named(state, base, node, vec_type, "vector")
    if isinstance(base, StructArray):
        from atoll.kernels.front.structures import element as structure

        return structure(state, base, node)
    if isinstance(base, TupleValue):
        index = lower(state, node.slice)
        size = len(base.items)
        if isinstance(index, Weak) and isinstance(index.value, int) and -size <= index.value < size:
            return base.items[index.value]
        raise state.error("ATL0724", f"a tuple of {size} takes a literal index from 0 to {size - 1}", node)
    name, indices, element = element_place(state, base, node)
    return n.Load(name, base.places(indices), element, state.span(node))  # type: ignore[union-attr]


def _named(
    state: State, base: Opaque, node: ast.Subscript, of: Callable[[tuple[Any, ...]], object], what: str
) -> Opaque:
    """Return the type that ``fixed[f32, 4]`` or ``vec[f32, 4]`` names."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    values = [lower(state, part) for part in parts]
    key = tuple(
        value.value if isinstance(value, Weak) else getattr(value, "object", None) for value in values
    )
    try:
        return Opaque(of(key), base.path)
    except LaunchError as error:
        raise state.error(
            "ATL0712", f"this names no {what} type", node, hint=error.diagnostics[0].hint
        ) from error


def element_place(state: State, base: Value, node: ast.Subscript) -> tuple[str, tuple[n.Expr, ...], Scalar]:
    """Return which element of a view or shared array a subscript names."""
    if isinstance(base, PointerValue):
        return _pointed(state, base, node)
    if not isinstance(base, ViewValue | SharedValue):
        raise state.error("ATL0724", f"{described(base)} has no elements", node)
    parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    rank = base.rank
    for part in parts:
        if isinstance(part, ast.Slice | ast.Starred):
            raise state.error("ATL0724", "a slice is taken outside the kernel", part)
    if len(parts) != rank:
        raise state.error(
            "ATL0724", f"`{base.name}` takes {_count(rank, 'index', 'indices')}, not {len(parts)}", node
        )
    from atoll.kernels.front.checks import within

    values = in_order(state, parts)
    indices = tuple(
        within(state, base, axis, _index(state, base, axis, value, part), part)
        for axis, (value, part) in enumerate(zip(values, parts, strict=True))
    )
    if isinstance(base, ViewValue):
        return base.name, indices, base.type.element
    return base.name, (_row_major(base.sizes, indices),), base.element


def _pointed(state: State, base: PointerValue, node: ast.Subscript) -> tuple[str, tuple[n.Expr, ...], Scalar]:
    from atoll.kernels.front import pointers
    from atoll.kernels.front.checks import within

    if isinstance(node.slice, ast.Slice | ast.Starred | ast.Tuple):
        raise state.error("ATL0724", "a pointer takes one index", node.slice)
    index = pointers.place(state, base, lower(state, node.slice), node.slice)
    return base.name, (within(state, base.array, 0, index, node.slice),), pointers.element(base)


def _row_major(sizes: tuple[int, ...], indices: tuple[n.Expr, ...]) -> n.Expr:
    """Return the place of an element in an array whose rows follow one another."""
    place = indices[0]
    for size, index in zip(sizes[1:], indices[1:], strict=True):
        rows = _scaled(place, size)
        place = n.Binary(ops.Binary.ADD_WRAP, rows, index, index.span)
    return place


def _scaled(index: n.Expr, size: int) -> n.Expr:
    if isinstance(index, n.Const):
        return n.const(I32, int(index.value) * size, index.span)
    return n.Binary(ops.Binary.MUL_WRAP, index, n.const(I32, size, index.span), index.span)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _index(state: State, base: ViewValue | SharedValue, axis: int, value: Value, node: ast.AST) -> n.Expr:
    wanted, span = (I64 if isinstance(base, ViewValue) else I32), state.span(node)
    if isinstance(value, Weak):
        if not isinstance(value.value, int):
            raise state.error("ATL0724", f"an index is an integer, not {value.value!r}", node)
        if value.value < 0:
            return _from_end(state, base, axis, value, node)
        if isinstance(base, SharedValue) and value.value >= base.sizes[axis]:
            raise _too_far(state, base, axis, node)
        return typed_literal(state, value, wanted, node)
    expr = expression(state, value, node)
    if not expr.type.is_integer:
        raise state.error("ATL0724", f"an index is an integer, not {described(expr)}", node)
    if promote(expr.type, wanted) == wanted:
        return widen(expr, wanted, span)
    kind = ops.Cast.TRUNC if expr.type.bits > wanted.bits else ops.Cast.SIGN
    return n.Cast(kind, wanted, expr, span)


def _from_end(state: State, base: ViewValue | SharedValue, axis: int, value: Weak, node: ast.AST) -> n.Expr:
    span = state.span(node)
    if isinstance(base, SharedValue):
        if -value.value > base.sizes[axis]:
            raise _too_far(state, base, axis, node)
        return n.const(I32, base.sizes[axis] + value.value, span)
    size = n.ViewInfo(ops.Extent.SIZE, base.name, axis, span)
    return n.Binary(ops.Binary.ADD_WRAP, size, typed_literal(state, value, I64, node), span)


def _too_far(state: State, base: SharedValue, axis: int, node: ast.AST) -> Exception:
    where = f" in dimension {axis}" if len(base.sizes) > 1 else ""
    return state.error("ATL0724", f"`{base.name}` has {base.sizes[axis]} elements{where}", node)


HANDLERS[ast.Subscript] = _subscript
