"""How ``for i in range(…)`` is lowered: a counter of its own, so that `i` may be reassigned.

A step of 1 or -1 compares with the end; any other step counts the trips first, in unsigned
arithmetic, so that a range near the type's limit neither overflows nor runs forever.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable

from atoll.diagnostics import Span
from atoll.ir import I32, SCALARS, Scalar, ops
from atoll.ir import nodes as n
from atoll.kernels.environment import resolve
from atoll.kernels.front.convert import coerce, expression
from atoll.kernels.front.expressions import in_order
from atoll.kernels.front.state import State
from atoll.kernels.front.values import Value, Weak, described
from atoll.kernels.promote import promote

LoopBody = Callable[[State, list[ast.stmt]], n.Block]
Finish = Callable[..., None]
AssignName = Callable[..., None]


def lower_for(state: State, stmt: ast.For, body: LoopBody, finish: Finish, assign: AssignName) -> None:
    """Lower a loop over a range."""
    if stmt.orelse:
        raise state.error("ATL0710", "`else` of a loop has no meaning in a kernel", stmt.orelse[0])
    if not isinstance(stmt.target, ast.Name):
        raise state.error("ATL0710", "a loop has one name as its variable", stmt.target)
    start, stop, step, scalar = _range(state, stmt.iter)
    span, unit = state.span(stmt), isinstance(step, n.Const) and step.value in (1, -1)
    counter = state.spill(start, f"{stmt.target.id}_next")
    if unit:
        downward = isinstance(step, n.Const) and step.value == -1
        compare = ops.Compare.GT if downward else ops.Compare.LT
        asked: n.Expr = n.Compare(compare, counter, stop, span)
        trips = None
    else:
        trips = _trips(state, counter, stop, step, scalar, stmt)
        asked = n.Compare(ops.Compare.NE, trips, n.const(trips.type, 0, span), span)
    before = state.defined
    with state.block() as head:
        assign(state, stmt.target, counter, stmt.target)
    inner = body(state, stmt.body)
    after = [n.Assign(counter.name, n.Binary(ops.Binary.ADD_WRAP, counter, step, span), span)]
    if trips is not None:
        one = n.const(trips.type, 1, span)
        after.append(n.Assign(trips.name, n.Binary(ops.Binary.SUB_WRAP, trips, one, span), span))
    state.emit(n.Loop(asked, (*head, *inner), tuple(after), span))
    finish(state, before)


def _range(state: State, node: ast.expr) -> tuple[n.Expr, n.Expr, n.Expr, Scalar]:
    """Return start, stop and step of a range, each kept so that the body cannot change it."""
    if not _is_range(state, node) or not isinstance(node, ast.Call):
        raise state.error("ATL0710", "a loop in a kernel runs over `range(…)`", node)
    if node.keywords or not 1 <= len(node.args) <= 3:
        raise state.error("ATL0725", "`range` takes one to three arguments", node)
    values = in_order(state, node.args)
    for value, item in zip(values, node.args, strict=True):
        if isinstance(value, Weak) and isinstance(value.value, int):
            continue
        if isinstance(value, Weak) or not expression(state, value, item).type.is_integer:
            raise state.error("ATL0713", f"`range` takes integers, this is {described(value)}", item)
    scalar = _common(state, values, node)
    typed = [
        coerce(state, value, scalar, item, "the range") for value, item in zip(values, node.args, strict=True)
    ]
    held = [
        item if isinstance(item, n.Const | n.Param | n.Builtin | n.ViewInfo) else state.spill(item)
        for item in typed
    ]
    if len(held) == 1:
        held = [n.const(scalar, 0, state.span(node)), *held]
    if len(held) == 2:
        held.append(n.const(scalar, 1, state.span(node)))
    if isinstance(held[2], n.Const) and held[2].value == 0:
        raise state.error("ATL0718", "the step of a range is not zero", node.args[2])
    return held[0], held[1], held[2], scalar


def _is_range(state: State, node: ast.expr) -> bool:
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        return False
    name = node.func.id
    if name in state.frame.assigned or name in state.frame.names:
        return False
    return resolve(state.frame.function.function, name) is builtins.range


def _common(state: State, values: list[Value], node: ast.AST) -> Scalar:
    found: Scalar | None = None
    for value in values:
        if isinstance(value, Weak):
            continue
        scalar = expression(state, value, node).type
        common = scalar if found is None else promote(found, scalar)
        if common is None:
            raise state.error("ATL0713", f"a range of {found} and {scalar} has no common type", node)
        found = common
    return found or I32


def _trips(state: State, start: n.Expr, stop: n.Expr, step: n.Expr, scalar: Scalar, node: ast.AST) -> n.Local:
    """Emit the number of trips of a range whose step is not 1 or -1."""
    span, unsigned = state.span(node), SCALARS[f"u{scalar.bits}"]
    trips = state.spill(n.const(unsigned, 0, span), "trips")
    up = _count(start, stop, step, unsigned, span)
    zero = n.const(scalar, 0, span)
    downward = n.Unary(ops.Unary.NEG_WRAP, step, span)
    down = _count(stop, start, downward, unsigned, span)
    count_up = n.If(n.Compare(ops.Compare.LT, start, stop, span), (n.Assign(trips.name, up, span),), (), span)
    count_down = n.If(
        n.Compare(ops.Compare.LT, stop, start, span), (n.Assign(trips.name, down, span),), (), span
    )
    if isinstance(step, n.Const):
        state.emit(count_up if step.value > 0 else count_down)
    elif not scalar.is_signed:
        state.emit(n.If(n.Compare(ops.Compare.NE, step, zero, span), (count_up,), (), span))
    else:
        negative = n.If(n.Compare(ops.Compare.LT, step, zero, span), (count_down,), (), span)
        state.emit(n.If(n.Compare(ops.Compare.GT, step, zero, span), (count_up,), (negative,), span))
    return trips


def _count(low: n.Expr, high: n.Expr, step: n.Expr, unsigned: Scalar, span: Span) -> n.Expr:
    """Return ``(high - low - 1) // step + 1`` in unsigned arithmetic, for low < high and step > 0."""
    distance = n.Binary(ops.Binary.SUB_WRAP, _as(high, unsigned), _as(low, unsigned), span)
    one = n.const(unsigned, 1, span)
    less = n.Binary(ops.Binary.SUB_WRAP, distance, one, span)
    whole = n.Binary(ops.Binary.DIV_TRUNC, less, _as(step, unsigned), span)
    return n.Binary(ops.Binary.ADD_WRAP, whole, one, span)


def _as(expr: n.Expr, unsigned: Scalar) -> n.Expr:
    return expr if expr.type == unsigned else n.Cast(ops.Cast.SIGN, unsigned, expr, expr.span)
