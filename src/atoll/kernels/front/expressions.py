"""How is an expression of the source lowered? By its kind, and operands left to right.

What each kind becomes is :mod:`names`, :mod:`operations`, :mod:`elements` and :mod:`calls`, which enter their
handlers here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from atoll.ir import nodes as n
from atoll.kernels.front.convert import (
    condition,
    expression,
    has_load,
)
from atoll.kernels.front.state import State
from atoll.kernels.front.unsupported import EXPRESSIONS as UNSUPPORTED
from atoll.kernels.front.values import (
    StructValue,
    Value,
    is_expression,
)

#: The handler of each kind of expression that a kernel may hold.
HANDLERS: dict[type[ast.expr], Callable[[State, Any], Value]] = {}


def lower(state: State, node: ast.expr) -> Value:
    """Return what an expression is; statements it needs (calls, atomics) are emitted before."""
    with state.deeper(node):
        handler = HANDLERS.get(type(node))
        if handler is None:
            reason = UNSUPPORTED.get(type(node), "this expression has no meaning in a kernel")
            raise state.error("ATL0710", reason, node)
        return handler(state, node)


def in_order(state: State, nodes: Sequence[ast.expr]) -> list[Value]:
    """Lower operands left to right; a load is kept in a local where a later operand runs statements."""
    found: list[Value] = []
    marks: list[int] = []
    for node in nodes:
        found.append(lower(state, node))
        marks.append(len(state.out))
    for index in range(len(found) - 1, -1, -1):
        value = found[index]
        if marks[index] == len(state.out):
            continue
        if is_expression(value) and has_load(value):  # type: ignore[arg-type]
            found[index] = _kept(state, expression(state, value, nodes[index]), marks[index])
        elif isinstance(value, StructValue):
            fields = [_kept(state, expr, marks[index]) if has_load(expr) else expr for expr in value.fields]
            found[index] = StructValue(value.struct, tuple(fields))
    return found


def _kept(state: State, expr: n.Expr, at: int) -> n.Local:
    """Keep a value in a local that is assigned at an earlier place of the output."""
    name = state.new_local("t", expr.type, expr.span)
    state.out.insert(at, n.Assign(name, expr, expr.span))
    state.defined = None if state.defined is None else state.defined | {name}
    return n.Local(name, expr.type, expr.span)


def lower_condition(state: State, node: ast.expr, what: str = "a condition") -> n.Expr:
    """Return an expression that has to be a bool."""
    return condition(state, lower(state, node), node, what)


def simple(state: State, expr: n.Expr) -> n.Expr:
    """Return an expression that may stand twice: kept in a local unless it costs nothing."""
    if isinstance(expr, n.Const | n.Param | n.Local | n.Builtin | n.ViewInfo):
        return expr
    return state.spill(expr)
