"""How is a call of an intrinsic lowered? Looked up for the target, its body inlined; inline code as it is.

Where the target has no implementation the refusal is noted and lowering goes on, so that one compile names
every missing intrinsic. What stands in its place is inline code that no target takes.
"""

from __future__ import annotations

import ast
import dataclasses

from atoll.ir import BOOL, Scalar, ops
from atoll.ir import nodes as n
from atoll.ir.verify import inline_fault
from atoll.kernels import surface
from atoll.kernels.front.convert import strong
from atoll.kernels.front.expressions import in_order, lower, simple
from atoll.kernels.front.inline import inline
from atoll.kernels.front.pointers import offset
from atoll.kernels.front.signature import signature
from atoll.kernels.front.state import State
from atoll.kernels.front.values import (
    EXPRESSIONS,
    PointerValue,
    SharedValue,
    Value,
    ViewValue,
    Weak,
    described,
)
from atoll.kernels.intrinsics.interface import Intrinsic, is_implementation
from atoll.kernels.intrinsics.lookup import look_up, missing
from atoll.kernels.source import find


def lower_intrinsic(state: State, node: ast.Call, target: Intrinsic) -> Value | None:
    """Lower a call of an intrinsic by the body that serves the target."""
    found = look_up(target, state.target)
    if found is None:
        return _missing(state, node, target)
    state.looked[target.name] = found.how
    state.skipped[target.name] = f"an intrinsic, {found.how}"
    return inline(state, node, found.device)


def _missing(state: State, node: ast.Call, target: Intrinsic) -> Value | None:
    state.looked[target.name] = "missing"
    state.skipped[target.name] = f"an intrinsic, not implemented for {state.target}"
    calls = [function.name for function in state.frame.chain]
    chain = (f"inlined by: {' -> '.join(calls)}",) if len(calls) > 1 else ()
    state.missing.append(missing(target, state.target, state.span(node), *chain))
    items = [*node.args, *(item.value for item in node.keywords)]
    for value, item in zip(in_order(state, items), items, strict=True):
        if isinstance(value, (*EXPRESSIONS, Weak)):
            strong(state, value, item)
    result = signature(find(target.device.function)).result
    span = state.span(node)
    if not isinstance(result, Scalar):
        state.emit(n.Inline(ops.Inline.MISSING, target.name, "", (), (), None, span))
        return None
    name = state.new_local(target.device.__name__, result, span)
    state.emit(n.Inline(ops.Inline.MISSING, target.name, "", (), (), name, span))
    return n.Local(name, result, span)


LANGUAGES: dict[object, ops.Inline] = {
    surface.asm: ops.Inline.ASM,
    surface.snippet: ops.Inline.SNIPPET,
    surface.operations: ops.Inline.OPERATIONS,
}


def lower_inline(state: State, node: ast.Call, target: object) -> Value | None:
    """Lower ``asm(text, constraints, *operands)`` and its kin; the result has the function's own type."""
    word = getattr(target, "__name__", "")
    function = state.frame.function
    if not is_implementation(function.function):
        raise state.error(
            "ATL0774",
            f"`{word}` stands outside an implementation of an intrinsic",
            node.func,
            hint="put it in a class marked with `@atoll.implements`, so that other platforms have theirs",
        )
    texts = [item.value if isinstance(item, ast.Constant) else _text(state, item) for item in node.args[:2]]
    if node.keywords or len(texts) < 2 or not all(isinstance(item, str) for item in texts):
        raise state.error(
            "ATL0774", f"`{word}` takes a text and constraints, as literals, then operands", node
        )
    items = node.args[2:]
    pairs = [_operand(state, value, item) for value, item in zip(in_order(state, items), items, strict=True)]
    constraints = str(texts[1]).replace(" ", "")
    made = n.Inline(
        LANGUAGES[target], str(texts[0]), constraints,
        tuple(operand for operand, _ in pairs), tuple(base for _, base in pairs), None, state.span(node),
    )  # fmt: skip
    if made.output is None:
        _emitted(state, node, made)
        return None
    result = signature(function).result
    if not isinstance(result, Scalar) or result.bits < 32:
        what = "nothing" if result is None else f"a {result}"
        message = f"`{word}` has a result, and `{function.name}` returns {what}"
        raise state.error("ATL0774", message, node, hint="a result is a scalar of 32 or 64 bits")
    name = state.new_local(f"{function.name}_{word}", result, state.span(node))
    _emitted(state, node, dataclasses.replace(made, result=name))
    return n.Local(name, result, state.span(node))


def _text(state: State, node: ast.expr) -> object:
    value = lower(state, node)
    return getattr(value, "object", None)


def _emitted(state: State, node: ast.Call, made: n.Inline) -> None:
    reason = inline_fault(made)
    if reason is not None:
        raise state.error("ATL0774", reason, node, f"text: {made.text}", f"constraints: {made.constraints}")
    state.emit(made)


def _operand(state: State, value: Value, node: ast.expr) -> tuple[n.Expr, str]:
    """Return an operand and the base of which it is an index, or no base for a value."""
    if isinstance(value, ViewValue) and value.rank == 1 and value.component is None:
        value = PointerValue(value, None)
    if isinstance(value, SharedValue) and len(value.sizes) == 1:
        value = PointerValue(value, None)
    if isinstance(value, PointerValue):
        array = value.array
        if isinstance(array, SharedValue) and array.private:
            raise state.error("ATL0774", f"`{array.name}` is a work-item's own and has no address", node)
        return simple(state, offset(value)), array.name
    expr = strong(state, value, node)
    if expr.type == BOOL or expr.type.bits < 32:
        message = f"an operand of inline code has 32 or 64 bits, this is {described(expr)}"
        raise state.error("ATL0774", message, node, hint="convert it: `u32(…)`")
    return simple(state, expr), ""
