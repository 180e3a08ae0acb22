"""What does `return` become? It ends a work-item; of an inlined function it assigns the result."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from atoll.ir import BOOL
from atoll.ir import nodes as n
from atoll.kernels.front.convert import coerce, note_type, strong
from atoll.kernels.front.expressions import lower
from atoll.kernels.front.inline import set_result
from atoll.kernels.front.state import LocalBinding, State, StructBinding
from atoll.kernels.front.structures import give
from atoll.kernels.front.values import (
    StructValue,
    Value,
    described,
)


def returns(stmt: ast.stmt) -> bool:
    """Tell whether a statement may return."""
    return any(isinstance(item, ast.Return) for item in ast.walk(stmt))


def always_returns(block: Sequence[ast.stmt]) -> bool:
    """Tell whether every way through a block returns."""
    for stmt in block:
        if isinstance(stmt, ast.Return):
            return True
        if isinstance(stmt, ast.If) and always_returns(stmt.body) and always_returns(stmt.orelse):
            return True
    return False


def needs_flag(block: Sequence[ast.stmt]) -> bool:
    """Tell whether a function returns in a way that only a flag can express (see :mod:`inline`)."""
    for index, stmt in enumerate(block):
        rest = block[index + 1 :]
        if isinstance(stmt, ast.Return):
            return False
        if isinstance(stmt, ast.For | ast.While) and returns(stmt):
            return True
        if isinstance(stmt, ast.If) and returns(stmt):
            if always_returns(stmt.body):
                return needs_flag(stmt.body) or needs_flag([*stmt.orelse, *rest])
            if always_returns(stmt.orelse):
                return needs_flag([*stmt.body, *rest]) or needs_flag(stmt.orelse)
            if rest:
                return True
            return needs_flag(stmt.body) or needs_flag(stmt.orelse)
    return False


def lower_return(state: State, stmt: ast.Return) -> None:
    """Lower the end of a kernel, or of an inlined function, whose result goes to a local."""
    frame, span = state.frame, state.span(stmt)
    if frame.kernel:
        if stmt.value is not None and not _is_none(stmt.value):
            raise state.error("ATL0727", "a kernel returns nothing; it writes to its arguments", stmt.value)
        state.emit(n.Return(span))
        state.defined = None
        return
    if stmt.value is not None and not _is_none(stmt.value):
        _return_value(state, stmt.value)
    elif frame.result is not None:
        raise state.error("ATL0727", "this `return` gives no value, another one does", stmt)
    if frame.done is not None:
        state.emit(n.Assign(frame.done, n.const(BOOL, True, span), span))
    if frame.loop_depth:
        state.emit(n.Break(span))
    state.defined = None


def _return_value(state: State, node: ast.expr) -> None:
    frame = state.frame
    value = lower(state, node)
    if isinstance(value, StructValue) or isinstance(frame.result, StructBinding):
        _return_struct(state, value, node)
        return
    scalar = frame.result.type if frame.result else strong(state, value, node).type
    result = set_result(state, frame, scalar, node)
    assert isinstance(result, LocalBinding)
    note_type(state, node, scalar)
    expr = coerce(state, value, scalar, node, f"the result of `{frame.function.name}`")
    state.emit(n.Assign(result.name, expr, state.span(node)))


def _return_struct(state: State, value: Value, node: ast.expr) -> None:
    frame = state.frame
    if isinstance(value, StructValue):
        result = set_result(state, frame, value.struct, node)
        note_type(state, node, value.struct)
        if isinstance(result, StructBinding) and result.struct == value.struct:
            give(state, result, value, state.span(node))
            return
    what = frame.result.struct if isinstance(frame.result, StructBinding) else "number"
    message = f"the result of `{frame.function.name}` is a {what}, this is {described(value)}"
    raise state.error("ATL0713", message, node)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
