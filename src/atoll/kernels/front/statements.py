"""How a statement is lowered; which names have a value where."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from atoll.diagnostics import Diagnostic
from atoll.errors import CompileError
from atoll.ir import BOOL, ops
from atoll.ir import nodes as n
from atoll.kernels.front.assignments import assign_name, lower_annotated, lower_assign, lower_augmented
from atoll.kernels.front.calls import lower_call
from atoll.kernels.front.checks import lower_assert
from atoll.kernels.front.expressions import lower, lower_condition
from atoll.kernels.front.loops import lower_for
from atoll.kernels.front.operations import negated
from atoll.kernels.front.returns import always_returns, lower_return, returns
from atoll.kernels.front.state import State, merge
from atoll.kernels.front.unsupported import STATEMENTS as UNSUPPORTED

#: The most faults of one kernel that are told.
MOST_FAULTS = 20


def lower_block(state: State, block: Sequence[ast.stmt]) -> None:
    """Lower statements up to the first place that is never reached."""
    for index, stmt in enumerate(block):
        if state.defined is None:
            return
        rest = block[index + 1 :]
        if not state.frame.kernel and rest and returns(stmt):
            if _lower_with_rest(state, stmt, rest):
                return
            continue
        lower_statement(state, stmt)


def lower_body(state: State, block: Sequence[ast.stmt]) -> None:
    """Lower a kernel's own statements; what is wrong with them is told together.

    A statement that has to do with a name which a wrong one assigns is passed over: it would be refused for
    that name.

    Raises:
        CompileError: With the first fault of every statement.
    """
    found: dict[Diagnostic, None] = {}
    spoilt: set[str] = set()
    for stmt in block:
        if state.defined is None or len(found) >= MOST_FAULTS:
            break
        names = [item for item in ast.walk(stmt) if isinstance(item, ast.Name)]
        if spoilt.isdisjoint(item.id for item in names):
            faults = _faults(state, stmt)
            found.update(dict.fromkeys(faults))
            if not faults:
                continue
        spoilt.update(item.id for item in names if isinstance(item.ctx, ast.Store))
    if found:
        raise CompileError(*found)


def _faults(state: State, stmt: ast.stmt) -> tuple[Diagnostic, ...]:
    """Lower a statement; return why it cannot be, with everything as it was before."""
    frame, out, defined, depth = state.frame, state.out, state.defined, state.depth
    length, breaks, loops = len(out), len(state.breaks), frame.loop_depth
    try:
        lower_statement(state, stmt)
    except CompileError as error:
        state.frame, state.out, state.defined, state.depth = frame, out, defined, depth
        frame.loop_depth = loops
        del out[length:], state.breaks[breaks:]
        return error.diagnostics
    return ()


def lower_statement(state: State, stmt: ast.stmt) -> None:
    """Lower one statement."""
    with state.deeper(stmt):
        handler = _HANDLERS.get(type(stmt))
        if handler is None:
            reason = UNSUPPORTED.get(type(stmt), "this statement has no meaning in a kernel")
            raise state.error("ATL0710", reason, stmt)
        handler(state, stmt)


# --- returns of inlined functions ----------------------------------------------------------------


def _lower_with_rest(state: State, stmt: ast.stmt, rest: Sequence[ast.stmt]) -> bool:
    """Lower a statement that may return, and what follows it; tell whether `rest` is done."""
    frame = state.frame
    if frame.loop_depth:
        lower_statement(state, stmt)
        if isinstance(stmt, ast.For | ast.While) and state.defined is not None:
            state.emit(n.If(_done(state), (n.Break(state.span(stmt)),), (), state.span(stmt)))
        return False
    if isinstance(stmt, ast.If) and always_returns(stmt.body):
        _if(state, stmt, stmt.body, [*stmt.orelse, *rest])
        return True
    if isinstance(stmt, ast.If) and always_returns(stmt.orelse):
        _if(state, stmt, [*stmt.body, *rest], stmt.orelse)
        return True
    lower_statement(state, stmt)
    if state.defined is not None:
        with state.block() as guarded:
            lower_block(state, rest)
        asked = n.Unary(ops.Unary.NOT, _done(state), state.span(stmt))
        state.emit(n.If(asked, tuple(guarded), (), state.span(stmt)))
    return True


def _done(state: State) -> n.Local:
    assert state.frame.done is not None
    return n.Local(state.frame.done, BOOL)


# --- control -------------------------------------------------------------------------------------


def _if_statement(state: State, stmt: ast.If) -> None:
    _if(state, stmt, stmt.body, stmt.orelse)


def _if(state: State, stmt: ast.If, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None:
    asked = lower_condition(state, stmt.test)
    if isinstance(asked, n.Const):
        lower_block(state, body if asked.bits else orelse)
        return
    before = state.defined
    with state.block() as then_block:
        lower_block(state, body)
    after = state.defined
    state.defined = before
    with state.block() as else_block:
        lower_block(state, orelse)
    state.emit(n.If(asked, tuple(then_block), tuple(else_block), state.span(stmt)))
    state.defined = merge(after, state.defined)


def _while(state: State, stmt: ast.While) -> None:
    if stmt.orelse:
        raise state.error("ATL0710", "`else` of a loop has no meaning in a kernel", stmt.orelse[0])
    before = state.defined
    with state.block() as head:
        asked = lower_condition(state, stmt.test)
        body = loop_body(state, stmt.body)
    endless = isinstance(asked, n.Const) and bool(asked.bits)
    if isinstance(asked, n.Const) and not asked.bits:
        state.defined = before
        state.breaks.pop()
        return
    if head:
        leave = n.If(negated(asked, stmt.test, state), (n.Break(state.span(stmt.test)),))
        body = (*head, leave, *body)
        asked = n.const(BOOL, True, state.span(stmt.test))
    state.emit(n.Loop(asked, body, (), state.span(stmt)))
    finish_loop(state, before, endless=endless)


def loop_body(state: State, body: Sequence[ast.stmt]) -> n.Block:
    """Lower a loop's body; `finish_loop` has to follow."""
    state.breaks.append([])
    state.frame.loop_depth += 1
    with state.block() as block:
        lower_block(state, body)
    state.frame.loop_depth -= 1
    return tuple(block)


def finish_loop(state: State, before: frozenset[str] | None, *, endless: bool = False) -> None:
    """Say what is defined after a loop: what was before it; of an endless one, what its breaks agree on."""
    breaks = state.breaks.pop()
    state.defined = before
    if endless:
        state.defined = None
        for defined in breaks:
            state.defined = merge(state.defined, defined)


def _for(state: State, stmt: ast.For) -> None:
    lower_for(state, stmt, loop_body, finish_loop, assign_name)


def _break(state: State, stmt: ast.Break) -> None:
    if state.defined is not None:
        state.breaks[-1].append(state.defined)
    state.emit(n.Break(state.span(stmt)))
    state.defined = None


def _continue(state: State, stmt: ast.Continue) -> None:
    state.emit(n.Continue(state.span(stmt)))
    state.defined = None


def _pass(_state: State, _stmt: ast.Pass) -> None:
    return


def _expression(state: State, stmt: ast.Expr) -> None:
    if isinstance(stmt.value, ast.Constant) and isinstance(stmt.value.value, str):
        return  # a docstring, or a comment in its place
    if isinstance(stmt.value, ast.Call):
        lower_call(state, stmt.value)
        return
    lower(state, stmt.value)


_HANDLERS: dict[type[ast.stmt], Callable[[State, Any], None]] = {
    ast.Assign: lower_assign,
    ast.AnnAssign: lower_annotated,
    ast.AugAssign: lower_augmented,
    ast.If: _if_statement,
    ast.While: _while,
    ast.For: _for,
    ast.Return: lower_return,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Pass: _pass,
    ast.Expr: _expression,
    ast.Assert: lower_assert,
}
