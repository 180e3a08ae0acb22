"""What computations of literals give: Python's own result, within bounds that keep compiling fast."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from atoll.kernels.front.state import State
from atoll.kernels.front.values import Weak

#: The widest integer that a computation of literals may give.
MAX_BITS = 4096

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.Pow: operator.pow,
}


def binary(state: State, op: ast.operator, left: Weak, right: Weak, node: ast.AST) -> Weak:
    """Return what Python gives for two literals."""
    a, b = left.value, right.value
    if isinstance(op, ast.Pow | ast.LShift) and isinstance(a, int) and isinstance(b, int):
        grown = b if isinstance(op, ast.LShift) else b * max(1, abs(a).bit_length())
        if grown > MAX_BITS:
            raise state.error("ATL0718", f"a literal of more than {MAX_BITS} bits", node)
    if type(op) not in _OPERATORS:
        raise state.error("ATL0710", "matrix multiplication `@` has no meaning in a kernel", node)
    try:
        result = _OPERATORS[type(op)](a, b)
    except (ArithmeticError, ValueError, TypeError) as error:
        raise state.error("ATL0718", f"Python gives no number here: {error}", node) from error
    return _bounded(state, result, node)


def unary(state: State, op: ast.unaryop, operand: Weak, node: ast.AST) -> Weak:
    """Return what Python gives for a literal."""
    if isinstance(op, ast.Invert):
        if not isinstance(operand.value, int):
            raise state.error("ATL0713", "`~` does not take a float", node)
        return Weak(~operand.value)
    return Weak(-operand.value) if isinstance(op, ast.USub) else operand


def _bounded(state: State, result: object, node: ast.AST) -> Weak:
    if not isinstance(result, int | float):
        raise state.error("ATL0718", f"Python gives {type(result).__name__} here, not a number", node)
    if isinstance(result, int) and result.bit_length() > MAX_BITS:
        raise state.error("ATL0718", f"a literal of more than {MAX_BITS} bits", node)
    return Weak(result)
