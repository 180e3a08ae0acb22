"""What does a checked kernel hold besides its work? Each check is a branch that reports to a buffer.

A check is ordinary KIR, so every executor does it: the first work-item that fails one writes which check it
was, who it is and two numbers (:mod:`atoll.kernels.checked` reads them). The kernel goes on, an index outside
its array as 0; the launch then raises. `print` appends a record to the same buffer while there is room.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from atoll.diagnostics import Span
from atoll.ir import BOOL, F64, I32, I64, SCALARS, U32, U64, Scalar, View, ops
from atoll.ir import nodes as n
from atoll.kernels.front.convert import condition, expression, strong
from atoll.kernels.front.expressions import in_order, lower, lower_condition, simple
from atoll.kernels.front.operations import negated
from atoll.kernels.front.state import State
from atoll.kernels.front.values import SharedValue, Value, ViewValue, described, is_expression

#: Words of the buffer: the check that failed, three ids, two numbers, the end of what is printed.
WHO, NUMBERS, PRINTED, RECORDS = 1, 4, 8, 9
#: Words of a record before its values: which `print`, three ids.
HEAD = 4
BUFFER = View(U32)


@dataclass(frozen=True, slots=True)
class Check:
    """A check, or a `print`, of a source: `code` says what fails there, `parts` what is printed."""

    code: str
    message: str
    span: Span
    parts: tuple[str | Scalar, ...] = ()


@dataclass(slots=True)
class Checks:
    """The checks of a kernel, in order, and the buffer that they report to."""

    buffer: str
    capacity: int
    found: list[Check] = field(default_factory=list)


def require(
    state: State, asked: n.Expr, code: str, message: str, node: ast.AST, numbers: Sequence[n.Expr] = ()
) -> None:
    """Emit a check: where `asked` does not hold, this work-item reports. Only in a checked kernel."""
    checks, span = state.checks, state.span(node)
    if checks is None:
        return
    checks.found.append(Check(code, message, span))
    with state.block() as failed:
        first = state.new_local("first", U32)
        place = (n.const(I64, 0),)
        claim = n.const(U32, len(checks.found))
        swap = ops.AtomicOp.COMPARE_EXCHANGE
        state.emit(n.Atomic(swap, checks.buffer, place, claim, n.const(U32, 0), first, span=span))
        with state.block() as mine:
            _ids(state, checks, n.const(I64, WHO), span)
            for at, number in enumerate(numbers):
                _words(state, checks, n.const(I64, NUMBERS + 2 * at), number, span)
        alone = n.Compare(ops.Compare.EQ, n.Local(first, U32), n.const(U32, 0), span)
        state.emit(n.If(alone, tuple(mine), (), span))
    before = state.defined
    state.emit(n.If(negated(asked, node, state), tuple(failed), (), span))
    state.defined = before


def _ids(state: State, checks: Checks, at: n.Expr, span: Span) -> None:
    for axis in range(3):
        own = n.Cast(ops.Cast.SIGN, U32, n.Builtin(ops.Id.GLOBAL_ID, axis), span)
        state.emit(n.Store(checks.buffer, (_plus(at, axis),), own, span))


def _words(state: State, checks: Checks, at: n.Expr, value: n.Expr, span: Span) -> None:
    word = state.spill(_bits(value))
    low = n.Cast(ops.Cast.TRUNC, U32, word)
    high = n.Cast(ops.Cast.TRUNC, U32, n.Binary(ops.Binary.SHR, word, n.const(U64, 32)))
    state.emit(n.Store(checks.buffer, (at,), low, span))
    state.emit(n.Store(checks.buffer, (_plus(at, 1),), high, span))


def _plus(at: n.Expr, distance: int) -> n.Expr:
    if isinstance(at, n.Const):
        return n.const(I64, int(at.value) + distance)
    return n.Binary(ops.Binary.ADD_WRAP, at, n.const(I64, distance)) if distance else at


def _bits(value: n.Expr) -> n.Expr:
    """Return a value as 64 bits: integers extended, floats up to 32 bits as an f32."""
    scalar = value.type
    if scalar == BOOL:
        return n.Cast(ops.Cast.ZEXT, U64, value)
    if scalar.is_float:
        if scalar.bits == 16:
            value = n.Cast(ops.Cast.FEXT, SCALARS["f32"], value)
        word = n.Cast(ops.Cast.BITS, U64 if scalar == F64 else U32, value)
        return word if scalar == F64 else n.Cast(ops.Cast.ZEXT, U64, word)
    if scalar.bits == 64:
        return value if scalar == U64 else n.Cast(ops.Cast.SIGN, U64, value)
    if scalar.is_signed:
        return n.Cast(ops.Cast.SIGN, U64, n.Cast(ops.Cast.SEXT, I64, value))
    return n.Cast(ops.Cast.ZEXT, U64, value)


# --- what is checked ------------------------------------------------------------------------------


def within(state: State, base: ViewValue | SharedValue, axis: int, index: n.Expr, node: ast.AST) -> n.Expr:
    """Check an index of one dimension; return it, or 0 where it leaves the array."""
    if state.checks is None or (isinstance(base, SharedValue) and isinstance(index, n.Const)):
        return index
    index = simple(state, index)
    size: n.Expr = n.ViewInfo(ops.Extent.SIZE, base.name, axis)
    if isinstance(base, SharedValue):
        size = n.const(I32, base.sizes[axis])
    least = n.Compare(ops.Compare.GE, index, n.const(index.type, 0))
    inside = state.spill(n.Binary(ops.Binary.AND, least, n.Compare(ops.Compare.LT, index, size)), "inside")
    message = f"the index {{0}} of `{base.name}` is out of bounds: dimension {axis} has {{1}} elements"
    require(state, inside, "ATL0750", message, node, (index, size))
    return state.spill(n.Select(inside, index, n.const(index.type, 0)), "index")


def arithmetic(state: State, expr: n.Binary, node: ast.AST) -> n.Expr:
    """Check an operation on integers: that a signed one does not wrap, a divisor, the count of a shift."""
    if state.checks is None or not expr.type.is_integer:
        return expr
    left, right = simple(state, expr.left), simple(state, expr.right)
    result = n.Binary(expr.op, left, right, expr.span)
    scalar = expr.type
    if expr.op in ops.DIVISIONS:
        divides = n.Compare(ops.Compare.NE, right, n.const(scalar, 0))
        require(state, divides, "ATL0754", "an integer is divided by zero", node)
        return result
    if expr.op in (ops.Binary.SHL, ops.Binary.SHR):
        least = n.Compare(ops.Compare.GE, right, n.const(scalar, 0))
        most = n.Compare(ops.Compare.LT, right, n.const(scalar, scalar.bits))
        message = f"a shift of {scalar} by {{0}}"
        require(state, n.Binary(ops.Binary.AND, least, most), "ATL0754", message, node, (right,))
        return result
    if scalar.is_signed and expr.op in _EXACT:
        word = _EXACT[expr.op]
        message = f"{{0}} {word} {{1}} is no {scalar}: it wraps"
        require(state, _exact(state, expr.op, left, right), "ATL0757", message, node, (left, right))
    return result


_EXACT = {ops.Binary.ADD_WRAP: "+", ops.Binary.SUB_WRAP: "-", ops.Binary.MUL_WRAP: "*"}


def _exact(state: State, op: ops.Binary, a: n.Expr, b: n.Expr) -> n.Expr:
    """Return whether an operation on signed integers does not wrap."""
    scalar, zero = a.type, n.const(a.type, 0)
    result = state.spill(n.Binary(op, a, b))
    if op is ops.Binary.MUL_WRAP:
        if scalar.bits < 64:
            wide = [n.Cast(ops.Cast.SEXT, I64, item) for item in (a, b, result)]
            return n.Compare(ops.Compare.EQ, n.Binary(op, wide[0], wide[1]), wide[2])
        back = n.Compare(ops.Compare.EQ, n.Binary(ops.Binary.DIV_TRUNC, result, b), a)
        least = n.const(scalar, -(1 << (scalar.bits - 1)))
        turned = n.Binary(
            ops.Binary.AND,
            n.Compare(ops.Compare.EQ, b, n.const(scalar, -1)),
            n.Compare(ops.Compare.EQ, a, least),
        )
        none = n.Compare(ops.Compare.EQ, b, zero)
        return n.Binary(ops.Binary.OR, none, n.Binary(ops.Binary.AND, back, n.Unary(ops.Unary.NOT, turned)))
    # The sign is wrong where both operands have the other one (of a difference: a, and not b).
    second = b if op is ops.Binary.ADD_WRAP else n.Unary(ops.Unary.NOT, b)
    first, other = (n.Binary(ops.Binary.XOR, item, result) for item in (a, second))
    return n.Compare(ops.Compare.GE, n.Binary(ops.Binary.AND, first, other), zero)


# --- assert and print -----------------------------------------------------------------------------


def lower_assert(state: State, stmt: ast.Assert) -> None:
    """Lower ``assert condition, "text"``: a check, or nothing where the kernel is not checked."""
    text = ""
    if stmt.msg is not None:
        if not (isinstance(stmt.msg, ast.Constant) and isinstance(stmt.msg.value, str)):
            raise state.error("ATL0710", "the message of an `assert` is a literal text", stmt.msg)
        text = f": {stmt.msg.value}"
    if state.checks is None:
        with state.dropped():
            lower_condition(state, stmt.test)
        return
    asked = condition(state, lower(state, stmt.test), stmt.test)
    require(state, asked, "ATL0756", f"an assertion does not hold{text}".replace("{", "{{"), stmt)


def lower_print(state: State, node: ast.Call, _target: object) -> None:
    """Lower ``print("x", x[i])``: a record, or nothing where the kernel is not checked."""
    if node.keywords:
        raise state.error("ATL0725", "`print` takes no keyword arguments here", node.keywords[0].value)
    if state.checks is None:
        with state.dropped():
            _printed(state, node)
        return
    parts, values = _printed(state, node)
    checks, span = state.checks, state.span(node)
    checks.found.append(Check("", "", span, tuple(parts)))
    length = HEAD + 2 * len(values)
    start = state.new_local("start", U32)
    place = (n.const(I64, PRINTED),)
    state.emit(n.Atomic(ops.AtomicOp.ADD, checks.buffer, place, n.const(U32, length), None, start, span=span))
    at = state.spill(n.Cast(ops.Cast.ZEXT, I64, n.Local(start, U32)), "record")
    with state.block() as written:
        first = _plus(at, RECORDS)
        state.emit(n.Store(checks.buffer, (first,), n.const(U32, len(checks.found)), span))
        _ids(state, checks, _plus(at, RECORDS + 1), span)
        for number, value in enumerate(values):
            _words(state, checks, _plus(at, RECORDS + HEAD + 2 * number), value, span)
    room = n.Compare(ops.Compare.LE, at, n.const(I64, checks.capacity - RECORDS - length), span)
    before = state.defined
    state.emit(n.If(room, tuple(written), (), span))
    state.defined = before


def _printed(state: State, node: ast.Call) -> tuple[list[str | Scalar], list[n.Expr]]:
    """Return what is printed, texts and types in order, and the values."""
    parts: list[str | Scalar] = []
    shown = [item for item in node.args if not _is_text(item)]
    values: list[n.Expr] = []
    taken = iter(in_order(state, shown))
    for item in node.args:
        if isinstance(item, ast.Constant) and isinstance(item.value, str):
            parts.append(item.value)
            continue
        value: Value = next(taken)
        typed = strong(state, value, item) if not is_expression(value) else expression(state, value, item)
        if not isinstance(typed.type, Scalar):
            raise state.error("ATL0713", f"`print` does not show {described(value)}", item)
        parts.append(typed.type)
        values.append(simple(state, typed))
    return parts, values


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
