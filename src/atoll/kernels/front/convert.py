"""How values become typed expressions, and what conversions exist."""

from __future__ import annotations

import ast
from typing import cast as cast_type

from atoll.diagnostics import Span
from atoll.ir import BOOL, F32, I32, Kind, Scalar, ops
from atoll.ir import nodes as n
from atoll.kernels.front.state import State, place
from atoll.kernels.front.values import EXPRESSIONS, Value, Weak, described
from atoll.kernels.promote import literal_fits, promote, widens
from atoll.kernels.structs import StructType


def default_type(weak: Weak) -> Scalar:
    """Return the declared default of a literal that meets no type: i32 or f32, never a silent f64."""
    return I32 if isinstance(weak.value, int) else F32


def strong(state: State, value: Value, node: ast.AST) -> n.Expr:
    """Return a typed expression; a literal takes its default type."""
    if isinstance(value, Weak):
        return literal(state, value, default_type(value), node)
    return expression(state, value, node)


def expression(state: State, value: Value, node: ast.AST) -> n.Expr:
    """Return a value that has to be a typed expression."""
    if isinstance(value, EXPRESSIONS):
        return cast_value(value)
    raise state.error("ATL0713", f"this is {described(value)}, not a number", node)


def literal(state: State, weak: Weak, scalar: Scalar, node: ast.AST) -> n.Const:
    """Return a literal as a constant of a type it has to fit."""
    if literal_fits(weak.value, scalar):
        return n.const(scalar, weak.value, state.span(node))
    if scalar.is_integer and isinstance(weak.value, float):
        raise state.error(
            "ATL0713",
            f"the literal {weak.value!r} meets an {scalar}"
            if scalar.is_signed
            else f"the literal {weak.value!r} meets a {scalar}",
            node,
            hint="convert the integer first: `f32(…)`, or write an integer literal",
        )
    if scalar.kind is Kind.BOOL:
        raise state.error("ATL0713", f"the literal {weak.value!r} is no bool", node)
    shown = repr(weak.value) if abs(weak.value) < 1 << 128 else "with this many digits"
    raise state.error("ATL0718", f"the literal {shown} does not fit {scalar}", node)


def coerce(
    state: State, value: Value, scalar: Scalar, node: ast.AST, what: str, code: str = "ATL0713"
) -> n.Expr:
    """Return a value as this type: a literal that fits, a value of it, or one that widens to it exactly."""
    if isinstance(value, Weak):
        return literal(state, value, scalar, node)
    expr = expression(state, value, node)
    if expr.type == scalar:
        return expr
    if widens(expr.type, scalar):
        return widen(expr, scalar, state.span(node))
    raise state.error(
        code, f"{what} is {scalar}, this is {described(expr)}", node, hint=f"convert it: `{_word(scalar)}(…)`"
    )


def _word(scalar: Scalar) -> str:
    return "bool_" if scalar == BOOL else scalar.name


def _likely(first: Scalar, second: Scalar) -> Scalar:
    """Return which of two types both are mostly meant to be: the one with a fraction, else the right one."""
    return first if first.is_float and not second.is_float else second


def together(
    state: State, left: Value, right: Value, node: ast.AST, what: str, left_node: ast.AST, right_node: ast.AST
) -> tuple[n.Expr, n.Expr]:
    """Return two operands with their common type; at least one of them is typed."""
    if isinstance(left, Weak):
        typed = expression(state, right, right_node)
        return literal(state, left, typed.type, left_node), typed
    if isinstance(right, Weak):
        typed = expression(state, left, left_node)
        return typed, literal(state, right, typed.type, right_node)
    first, second = expression(state, left, left_node), expression(state, right, right_node)
    common = promote(first.type, second.type)
    if common is None:
        raise state.error(
            "ATL0713",
            f"{what} takes two values of types that go together",
            node,
            f"the left one is {described(first)}",
            f"the right one is {described(second)}",
            hint=f"convert one of them, as in `{_word(_likely(first.type, second.type))}(…)`",
        )
    return widen(first, common, first.span), widen(second, common, second.span)


def widen(expr: n.Expr, scalar: Scalar, span: Span | None) -> n.Expr:
    """Return a value in a type that holds all values of its own."""
    if expr.type == scalar:
        return expr
    if expr.type.is_float:
        return n.Cast(ops.Cast.FEXT, scalar, expr, span)
    return n.Cast(ops.Cast.SEXT if expr.type.is_signed else ops.Cast.ZEXT, scalar, expr, span)


def cast(expr: n.Expr, scalar: Scalar, span: Span | None) -> n.Expr:
    """Return an explicit conversion, as ``i32(x)`` asks for."""
    source = expr.type
    if source == scalar:
        return expr
    if scalar == BOOL:
        return n.Compare(ops.Compare.NE, expr, n.const(source, 0, span), span)
    return n.Cast(_cast_kind(source, scalar), scalar, expr, span)


def _cast_kind(source: Scalar, scalar: Scalar) -> ops.Cast:
    if source.is_float and scalar.is_float:
        return ops.Cast.FEXT if scalar.bits > source.bits else ops.Cast.FTRUNC
    if source.is_float:
        return ops.Cast.FTOSI if scalar.is_signed else ops.Cast.FTOUI
    if scalar.is_float:
        return ops.Cast.SITOF if source.is_signed else ops.Cast.UITOF
    if source.bits == scalar.bits:
        return ops.Cast.SIGN
    if scalar.bits < source.bits:
        return ops.Cast.TRUNC
    return ops.Cast.SEXT if source.is_signed else ops.Cast.ZEXT


def condition(state: State, value: Value, node: ast.AST, what: str = "a condition") -> n.Expr:
    """Return a value that has to be a bool."""
    if isinstance(value, EXPRESSIONS) and value.type == BOOL:
        return cast_value(value)
    number = isinstance(value, (Weak, *EXPRESSIONS))
    raise state.error(
        "ATL0716",
        f"{what} is a bool, this is {described(value)}",
        node,
        hint="say what is asked, as in `n != 0`" if number else None,
    )


def cast_value(value: object) -> n.Expr:
    """Return a value that was seen to be an expression, for the type checker."""
    return cast_type("n.Expr", value)


def note_type(state: State, node: ast.AST, scalar: Scalar | StructType) -> None:
    """Remember that a literal here takes this type, so that the oracle does the same."""
    state.frame.typed[place(node)] = scalar


def has_load(expr: n.Expr) -> bool:
    """Tell whether evaluating this reads memory."""
    from atoll.ir.walk import expressions

    return any(isinstance(item, n.Load) for item in expressions(expr))
