"""How are vectors lowered? As structs of their components, an operation as one for each of them."""

from __future__ import annotations

import ast

from atoll.ir import Scalar
from atoll.ir import nodes as n
from atoll.kernels.front.convert import cast, coerce, expression
from atoll.kernels.front.elements import element_place
from atoll.kernels.front.expressions import lower, simple
from atoll.kernels.front.operations import binary, invert, negative
from atoll.kernels.front.state import State
from atoll.kernels.front.structures import element_of, held
from atoll.kernels.front.values import StructArray, StructValue, Value, Weak, described
from atoll.kernels.vectors import VecType


def elementwise(
    state: State,
    operator: ast.operator,
    left: Value,
    right: Value,
    node: ast.AST,
    left_node: ast.AST,
    right_node: ast.AST,
) -> StructValue:
    """Lower an operation of which one side at least is a vector; a number goes with every component."""
    sizes = {len(item.fields) for item in (left, right) if isinstance(item, StructValue)}
    for side, at in ((left, left_node), (right, right_node)):
        if isinstance(side, StructValue) and not isinstance(side.struct, VecType):
            raise state.error("ATL0713", f"this is {described(side)}, not a number", at)
    if len(sizes) != 1:
        message = f"the operands are {described(left)} and {described(right)}"
        raise state.error("ATL0713", message, node)
    (size,) = sizes
    first, second = (_parts(state, side, at, size) for side, at in ((left, left_node), (right, right_node)))
    found = [
        expression(state, binary(state, operator, a, b, node, left_node, right_node), node)
        for a, b in zip(first, second, strict=True)
    ]
    return of(found)


def _parts(state: State, value: Value, node: ast.AST, size: int) -> list[Value]:
    if isinstance(value, StructValue):
        return list(held(state, value).fields)
    if isinstance(value, Weak):
        return [value] * size
    return [simple(state, expression(state, value, node))] * size


def of(fields: list[n.Expr]) -> StructValue:
    """Return a vector of components of one type."""
    return StructValue(VecType.of(fields[0].type, len(fields)), tuple(fields))


def unary(state: State, operator: ast.unaryop, value: StructValue, node: ast.AST) -> StructValue:
    """Lower ``-v``, ``+v`` and ``~v``."""
    if not isinstance(value.struct, VecType):
        raise state.error("ATL0713", f"this is {described(value)}, not a number", node)
    if isinstance(operator, ast.UAdd):
        return value
    change = invert if isinstance(operator, ast.Invert) else negative
    return of([change(state, field, node) for field in value.fields])


def construct(state: State, node: ast.Call, vec: VecType, values: list[Value]) -> StructValue | None:
    """Lower ``vec[f32, 4](0.0)`` and the conversion of another vector; None for every other call."""
    if len(values) != 1 or node.keywords:
        return None
    value, at = values[0], node.args[0]
    if isinstance(value, StructValue):
        if not isinstance(value.struct, VecType) or len(value.fields) != len(vec.fields):
            raise state.error("ATL0713", f"{described(value)} is no {vec}", at)
        parts = tuple(cast(field, vec.element, state.span(node)) for field in value.fields)
        return StructValue(vec, parts)
    one = simple(state, coerce(state, value, vec.element, at, "a component"))
    return StructValue(vec, (one,) * len(vec.fields))


def component(state: State, value: StructValue, node: ast.Subscript) -> n.Expr:
    """Lower ``v[2]``: a literal index, which may count from the end."""
    index, size = lower(state, node.slice), len(value.fields)
    usable = isinstance(index, Weak) and isinstance(index.value, int) and not isinstance(index.value, bool)
    if not isinstance(value.struct, VecType) or not usable or not -size <= index.value < size:  # type: ignore[union-attr]
        message = f"{described(value)} takes a literal index from 0 to {size - 1}"
        if not isinstance(value.struct, VecType):
            message = f"{described(value)} has no elements"
        raise state.error("ATL0724", message, node)
    return value.fields[int(index.value)]  # type: ignore[union-attr]


def augmented(state: State, stmt: ast.AugAssign, array: StructArray, target: ast.Subscript) -> None:
    """Lower ``x[i] += v`` on vectors: the index is evaluated once, the element read before `v`."""
    _, indices, _ = element_place(state, array.arrays[0], target)
    places = tuple(simple(state, index) for index in indices)
    left = held(state, element_of(state, array, places, target))
    right = lower(state, stmt.value)
    value = elementwise(state, stmt.op, left, right, stmt, target, stmt.value)
    element: Scalar = array.struct.fields[0][1]
    for item, field in zip(array.arrays, held(state, value).fields, strict=True):
        typed = coerce(state, field, element, stmt, "a component")
        state.emit(n.Store(item.name, item.places(places), typed, state.span(target)))
