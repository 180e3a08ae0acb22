"""How are pointers lowered? As an array and how many elements from its start, which is a local of its own."""

from __future__ import annotations

import ast

from atoll.diagnostics import Span
from atoll.ir import I32, I64, Scalar, ops
from atoll.ir import nodes as n
from atoll.kernels.front.convert import coerce, expression
from atoll.kernels.front.expressions import simple
from atoll.kernels.front.state import Frame, LocalBinding, PointerBinding, State
from atoll.kernels.front.values import PointerValue, SharedValue, Value, ViewValue, Weak, described
from atoll.kernels.pointers import PointerType


def width(pointer: PointerValue) -> Scalar:
    """Return the type that an index of its array has."""
    return I64 if isinstance(pointer.array, ViewValue) else I32


def element(pointer: PointerValue) -> Scalar:
    """Return the type that it points to."""
    array = pointer.array
    return array.type.element if isinstance(array, ViewValue) else array.element


def distance(state: State, pointer: PointerValue, value: Value, node: ast.AST) -> n.Expr:
    """Return a number of elements in the type of the array's index."""
    wanted = width(pointer)
    if isinstance(value, Weak):
        return coerce(state, value, wanted, node, "a distance")
    expr = expression(state, value, node)
    if not expr.type.is_integer:
        raise state.error("ATL0724", f"a distance is an integer, not {described(expr)}", node)
    if expr.type.bits > wanted.bits:
        return n.Cast(ops.Cast.TRUNC, wanted, expr, expr.span)
    if expr.type.bits == wanted.bits and expr.type != wanted:
        return n.Cast(ops.Cast.SIGN, wanted, expr, expr.span)
    return coerce(state, expr, wanted, node, "a distance")


def moved(
    state: State, operator: ast.operator, left: Value, right: Value, node: ast.AST, left_node: ast.AST,
    right_node: ast.AST,
) -> PointerValue:  # fmt: skip
    """Lower ``p + k``, ``k + p`` and ``p - k``."""
    turned = not isinstance(left, PointerValue)
    pointer, other, at = (right, left, left_node) if turned else (left, right, right_node)
    usable = isinstance(operator, ast.Add) or (isinstance(operator, ast.Sub) and not turned)
    if not isinstance(pointer, PointerValue) or isinstance(other, PointerValue) or not usable:
        raise state.error("ATL0713", "a pointer takes `+` and `-` with a number of elements", node)
    by = distance(state, pointer, other, at)
    op = ops.Binary.ADD_WRAP if isinstance(operator, ast.Add) else ops.Binary.SUB_WRAP
    return PointerValue(pointer.array, n.Binary(op, offset(pointer), by, state.span(node)))


def offset(pointer: PointerValue) -> n.Expr:
    """Return how many elements from the start it points."""
    return n.const(width(pointer), 0) if pointer.offset is None else pointer.offset


def place(state: State, pointer: PointerValue, value: Value, node: ast.AST) -> n.Expr:
    """Return the index in its array of the element that ``p[i]`` names."""
    by = distance(state, pointer, value, node)
    if pointer.offset is None:
        return by
    return n.Binary(ops.Binary.ADD_WRAP, pointer.offset, by, state.span(node))


def taken(state: State, value: Value, wanted: PointerType, node: ast.AST, name: str) -> PointerValue:
    """Return an argument as the pointer that a device function takes."""
    if isinstance(value, ViewValue) and value.type == wanted.array and value.component is None:
        return PointerValue(value, None)
    if isinstance(value, SharedValue) and value.element == wanted.element and len(value.sizes) == 1:
        return PointerValue(value, None)
    if isinstance(value, PointerValue) and element(value) == wanted.element:
        return PointerValue(value.array, None if value.offset is None else simple(state, value.offset))
    raise state.error("ATL0713", f"the parameter `{name}` is a {wanted}, this is {described(value)}", node)


def assign(state: State, target: ast.Name, value: PointerValue) -> None:
    """Give a name a pointer; it keeps to its array."""
    binding, span = state.frame.names.get(target.id), state.span(target)
    if isinstance(binding, PointerBinding) and binding.array != value.array:
        message = (
            f"`{target.id}` points into `{binding.array.name}` and cannot point into `{value.array.name}`"
        )
        raise state.error("ATL0714", message, target, hint="a pointer keeps to its array; use a second name")
    if not isinstance(binding, PointerBinding):
        if binding is not None and not isinstance(binding, PointerValue):
            raise state.error("ATL0714", f"`{target.id}` is already something else", target)
        local = LocalBinding(state.new_local(f"{target.id}_at", width(value), span), width(value), span)
        binding = PointerBinding(value.array, local)
        state.frame.names[target.id] = binding
    state.emit(n.Assign(binding.at.name, offset(value), span))


def entered(state: State, frame: Frame, name: str, value: PointerValue, span: Span) -> None:
    """Bind a parameter that is a pointer; one that the function assigns has a local from the start."""
    frame.names[name] = value
    if name in frame.assigned:
        scalar = width(value)
        local = LocalBinding(state.new_local(f"{name}_at", scalar, span), scalar, span)
        state.emit(n.Assign(local.name, offset(value), span))
        frame.names[name] = PointerBinding(value.array, local)
