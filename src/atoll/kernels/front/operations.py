"""How are operators lowered? Python's semantics, operation by operation."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial

from atoll.ir import BOOL, Scalar, ops
from atoll.ir import nodes as n
from atoll.kernels.front import fold
from atoll.kernels.front.convert import (
    expression,
    has_load,
    note_type,
    strong,
    together,
)
from atoll.kernels.front.convert import literal as typed_literal
from atoll.kernels.front.expressions import HANDLERS, in_order, lower, lower_condition, simple
from atoll.kernels.front.state import State
from atoll.kernels.front.values import (
    PointerValue,
    StructValue,
    Value,
    Weak,
)

_BINARY: dict[type[ast.operator], tuple[str, ops.Binary | None, ops.Binary | None]] = {
    ast.Add: ("+", ops.Binary.ADD_WRAP, ops.Binary.FADD),
    ast.Sub: ("-", ops.Binary.SUB_WRAP, ops.Binary.FSUB),
    ast.Mult: ("*", ops.Binary.MUL_WRAP, ops.Binary.FMUL),
    ast.Div: ("/", None, ops.Binary.FDIV),
    ast.FloorDiv: ("//", ops.Binary.DIV_FLOOR, None),
    ast.Mod: ("%", ops.Binary.REM_FLOOR, None),
    ast.BitAnd: ("&", ops.Binary.AND, None),
    ast.BitOr: ("|", ops.Binary.OR, None),
    ast.BitXor: ("^", ops.Binary.XOR, None),
    ast.LShift: ("<<", ops.Binary.SHL, None),
    ast.RShift: (">>", ops.Binary.SHR, None),
}
_COMPARE: dict[type[ast.cmpop], ops.Compare] = {
    ast.Eq: ops.Compare.EQ,
    ast.NotEq: ops.Compare.NE,
    ast.Lt: ops.Compare.LT,
    ast.LtE: ops.Compare.LE,
    ast.Gt: ops.Compare.GT,
    ast.GtE: ops.Compare.GE,
}
_PYTHON_COMPARE: dict[ops.Compare, Callable[[float, float], bool]] = {
    ops.Compare.EQ: lambda a, b: a == b,
    ops.Compare.NE: lambda a, b: a != b,
    ops.Compare.LT: lambda a, b: a < b,
    ops.Compare.LE: lambda a, b: a <= b,
    ops.Compare.GT: lambda a, b: a > b,
    ops.Compare.GE: lambda a, b: a >= b,
}


def _binary(state: State, node: ast.BinOp) -> Value:
    left, right = in_order(state, (node.left, node.right))
    return binary(state, node.op, left, right, node, node.left, node.right)


def binary(
    state: State,
    operator: ast.operator,
    left: Value,
    right: Value,
    node: ast.AST,
    left_node: ast.AST,
    right_node: ast.AST,
) -> Value:
    """Return an operation on two lowered operands."""
    if isinstance(left, PointerValue) or isinstance(right, PointerValue):
        from atoll.kernels.front.pointers import moved

        return moved(state, operator, left, right, node, left_node, right_node)
    if isinstance(left, StructValue) or isinstance(right, StructValue):
        from atoll.kernels.front.vectors import elementwise

        return elementwise(state, operator, left, right, node, left_node, right_node)
    if isinstance(left, Weak) and isinstance(right, Weak):
        return fold.binary(state, operator, left, right, node)
    if isinstance(operator, ast.Pow):
        return _power(state, left, right, node, left_node, right_node)
    if type(operator) not in _BINARY:
        raise state.error("ATL0710", "matrix multiplication `@` has no meaning in a kernel", node)
    word, integer, floating = _BINARY[type(operator)]
    a, b = together(state, left, right, node, f"`{word}`", left_node, right_node)
    operation = floating if a.type.is_float else integer
    if a.type == BOOL and integer not in ops.BITWISE:
        operation = None
    if operation is None:
        raise _no_operation(state, word, a.type, node)
    from atoll.kernels.front.checks import arithmetic

    return arithmetic(state, n.Binary(operation, a, b, state.span(node)), node)


def _no_operation(state: State, word: str, scalar: Scalar, node: ast.AST) -> Exception:
    if word == "/" and scalar.is_integer:
        return state.error(
            "ATL0717",
            f"`/` on two {scalar} gives a float in Python",
            node,
            hint="use `//`, or convert first: `f32(a) / f32(b)`",
        )
    hints = {"//": "use `atoll.floor(a / b)`", "%": "use `a - b * atoll.floor(a / b)`"}
    hint = hints.get(word) if scalar.is_float else None
    if scalar == BOOL:
        hint = "a bool is no number here; convert it: `i32(flag)`"
    return state.error("ATL0713", f"`{word}` does not take {scalar}", node, hint=hint)


def _power(
    state: State, left: Value, right: Value, node: ast.AST, left_node: ast.AST, right_node: ast.AST
) -> Value:
    span = state.span(node)
    base = strong(state, left, left_node)
    if isinstance(left, Weak):
        base, exponent = together(state, left, right, node, "`**`", left_node, right_node)
    elif base.type.is_integer:
        return _integer_power(state, base, right, node)
    else:
        base, exponent = together(state, left, right, node, "`**`", left_node, right_node)
    if not base.type.is_float:
        raise state.error("ATL0713", f"`**` of {base.type} takes a literal exponent", node)
    if isinstance(exponent, n.Const) and exponent.value == 2:
        once = simple(state, base)
        return n.Binary(ops.Binary.FMUL, once, once, span)
    return n.MathCall(ops.Math.POW, (base, exponent), span)


def _integer_power(state: State, base: n.Expr, right: Value, node: ast.AST) -> Value:
    """Multiply out a literal exponent; the products wrap, so their order does not matter."""
    if not (isinstance(right, Weak) and isinstance(right.value, int) and 0 <= right.value <= 1024):
        raise state.error("ATL0713", f"`**` of {base.type} takes a literal exponent from 0 to 1024", node)
    result: n.Expr | None = None
    square, exponent = simple(state, base), right.value
    while exponent:
        if exponent & 1:
            result = square if result is None else _times(result, square, node, state)
        exponent >>= 1
        if exponent:
            square = state.spill(_times(square, square, node, state))
    return n.const(base.type, 1, state.span(node)) if result is None else result


def _times(left: n.Expr, right: n.Expr, node: ast.AST, state: State) -> n.Expr:
    return n.Binary(ops.Binary.MUL_WRAP, left, right, state.span(node))


def _unary(state: State, node: ast.UnaryOp) -> Value:
    if isinstance(node.op, ast.Not):
        operand = lower_condition(state, node.operand, "the operand of `not`")
        return negated(operand, node, state)
    value = lower(state, node.operand)
    if isinstance(value, Weak):
        return fold.unary(state, node.op, value, node)
    if isinstance(value, StructValue):
        from atoll.kernels.front.vectors import unary

        return unary(state, node.op, value, node)
    expr = expression(state, value, node.operand)
    if expr.type == BOOL or (isinstance(node.op, ast.Invert) and expr.type.is_float):
        word = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}[type(node.op)]
        hint = "use `not`" if expr.type == BOOL and word == "~" else None
        raise state.error("ATL0713", f"`{word}` does not take {expr.type}", node, hint=hint)
    if isinstance(node.op, ast.UAdd):
        return expr
    return invert(state, expr, node) if isinstance(node.op, ast.Invert) else negative(state, expr, node)


def invert(state: State, expr: n.Expr, node: ast.AST) -> n.Expr:
    """Return ``~x``."""
    if not expr.type.is_integer:
        raise state.error("ATL0713", f"`~` does not take {expr.type}", node)
    return n.Unary(ops.Unary.NOT, expr, state.span(node))


def negative(state: State, expr: n.Expr, node: ast.AST) -> n.Expr:
    """Return ``-x``."""
    return n.Unary(ops.Unary.FNEG if expr.type.is_float else ops.Unary.NEG_WRAP, expr, state.span(node))


def negated(operand: n.Expr, node: ast.AST, state: State) -> n.Expr:
    """Return the opposite of a bool."""
    if isinstance(operand, n.Const):
        return n.const(BOOL, not operand.bits, state.span(node))
    return n.Unary(ops.Unary.NOT, operand, state.span(node))


def _compare(state: State, node: ast.Compare) -> Value:
    operands = [node.left, *node.comparators]
    for operator in node.ops:
        if type(operator) not in _COMPARE:
            raise state.error("ATL0710", "`is` and `in` have no meaning in a kernel", node)
    if len(operands) == 2:
        left, right = in_order(state, operands)
        return _one_compare(state, node, 0, left, right)
    return _chain(state, node, operands)


def _chain(state: State, node: ast.Compare, operands: list[ast.expr]) -> Value:
    """Lower ``a < b < c``: b once, c only where ``a < b`` holds."""
    left, middle = in_order(state, operands[:2])
    middle = middle if isinstance(middle, Weak) else simple(state, expression(state, middle, operands[1]))
    result = _one_compare(state, node, 0, left, middle)
    for index in range(1, len(node.ops)):
        last = index == len(node.ops) - 1
        held = middle

        def right_side(held: Value = held, index: int = index, last: bool = last) -> n.Expr:
            nonlocal middle
            value = lower(state, operands[index + 1])
            if not last and not isinstance(value, Weak):
                value = simple(state, expression(state, value, operands[index + 1]))
            middle = value
            return _one_compare(state, node, index, held, value)

        result = short_circuit(state, ops.Logical.LAND, result, right_side, node)
    return result


def _one_compare(state: State, node: ast.Compare, index: int, left: Value, right: Value) -> n.Expr:
    operation, span = _COMPARE[type(node.ops[index])], state.span(node)
    if isinstance(left, Weak) and isinstance(right, Weak):
        return n.const(BOOL, _PYTHON_COMPARE[operation](left.value, right.value), span)
    nodes = [node.left, *node.comparators]
    a, b = together(state, left, right, node, "a comparison", nodes[index], nodes[index + 1])
    if a.type == BOOL and operation not in (ops.Compare.EQ, ops.Compare.NE):
        raise state.error("ATL0713", "two bools are compared with `==` and `!=` only", node)
    return n.Compare(operation, a, b, span)


def _logical(state: State, node: ast.BoolOp) -> Value:
    operation = ops.Logical.LAND if isinstance(node.op, ast.And) else ops.Logical.LOR
    what = f"an operand of `{'and' if operation is ops.Logical.LAND else 'or'}`"
    result = lower_condition(state, node.values[0], what)
    for value in node.values[1:]:
        side = partial(lower_condition, state, value, what)
        result = short_circuit(state, operation, result, side, node)
    return result


def short_circuit(
    state: State, operation: ops.Logical, left: n.Expr, right: Callable[[], n.Expr], node: ast.AST
) -> n.Expr:
    """Return a short circuit; where the right side needs statements it becomes an `if`."""
    decisive = operation is ops.Logical.LOR
    if isinstance(left, n.Const):
        return left if bool(left.bits) == decisive else right()
    before = state.defined
    with state.block() as emitted:
        value = right()
        if not emitted:
            return n.Logical(operation, left, value, state.span(node))
    state.defined = before
    held = state.spill(left)
    emitted.append(n.Assign(held.name, value, value.span))
    asked = held if operation is ops.Logical.LAND else n.Unary(ops.Unary.NOT, held, held.span)
    state.emit(n.If(asked, tuple(emitted), (), state.span(node)))
    return held


def _conditional(state: State, node: ast.IfExp) -> Value:
    asked = lower_condition(state, node.test)
    if isinstance(asked, n.Const):
        return lower(state, node.body if asked.bits else node.orelse)
    before = state.defined
    with state.block() as then:
        yes = lower(state, node.body)
    state.defined = before
    with state.block() as orelse:
        no = lower(state, node.orelse)
    state.defined = before
    if isinstance(yes, Weak) and isinstance(no, Weak):
        scalar = strong(state, yes if isinstance(yes.value, float) else no, node).type
        a: n.Expr = typed_literal(state, yes, scalar, node.body)
        b: n.Expr = typed_literal(state, no, scalar, node.orelse)
    else:
        a, b = together(state, yes, no, node, "a conditional expression", node.body, node.orelse)
    note_type(state, node, a.type)
    if not then and not orelse and not has_load(a) and not has_load(b):
        return n.Select(asked, a, b, state.span(node))
    name = state.new_local("t", a.type, state.span(node))
    then.append(n.Assign(name, a, a.span))
    orelse.append(n.Assign(name, b, b.span))
    state.emit(n.If(asked, tuple(then), tuple(orelse), state.span(node)))
    state.defined = None if state.defined is None else state.defined | {name}
    return n.Local(name, a.type, state.span(node))


HANDLERS.update(
    {
        ast.BinOp: _binary,
        ast.UnaryOp: _unary,
        ast.Compare: _compare,
        ast.BoolOp: _logical,
        ast.IfExp: _conditional,
    }
)
