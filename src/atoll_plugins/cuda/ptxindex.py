"""What is an index, or a factor, made of? So the writer of PTX knows when to take one again."""

from __future__ import annotations

from atoll.ir import Scalar, nodes, ops
from atoll.ir.ops import Cast
from atoll.ir.walk import expressions

#: What an address was made from: the view, the indices but the last, and the last without its constant.
Place = tuple[str, tuple[nodes.Expr, ...], nodes.Expr | None]
#: The largest constant, in elements, that stands beside an address.
MOST_BESIDE = 1 << 20


def factor(expr: nodes.Expr, cast: Cast, narrow: Scalar) -> nodes.Expr | None:
    """Return the narrow value that a wide one is an extension of, or None."""
    if isinstance(expr, nodes.Cast) and expr.op is cast and expr.operand.type == narrow:
        return expr.operand
    if isinstance(expr, nodes.Const) and expr.type.is_integer:
        shown = nodes.const(narrow, expr.value)
        return shown if shown.value == expr.value else None
    return None


def apart(index: nodes.Expr) -> tuple[nodes.Expr | None, int]:
    """Return an index of 64 bits as a part that varies and a constant; addresses wrap as it does."""
    match index:
        case nodes.Const() if abs(int(index.value)) < MOST_BESIDE:
            return None, int(index.value)
        case nodes.Binary(op=ops.Binary.ADD_WRAP, left=left, right=nodes.Const() as right):
            if abs(int(right.value)) < MOST_BESIDE:
                return left, int(right.value)
    return index, 0


def locals_of(key: Place) -> set[str]:
    """Return the locals that an address was made from."""
    return names_of(parts_of(*key[1], *([] if key[2] is None else [key[2]])))


def parts_of(*listed: nodes.Expr) -> list[nodes.Expr]:
    """Return every expression in some, and themselves."""
    return [part for item in listed for part in expressions(item)]


def names_of(parts: list[nodes.Expr]) -> set[str]:
    """Return the names of the locals among some expressions."""
    return {item.name for item in parts if isinstance(item, nodes.Local)}


def changes(index: nodes.Expr) -> bool:
    """Tell whether an index has locals, which a loop may change."""
    return any(isinstance(item, nodes.Local) for item in expressions(index))
