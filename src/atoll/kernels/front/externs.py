"""How is a call of a function lowered that another source defines? It is declared once, and called."""

from __future__ import annotations

import ast

from atoll.ir import Scalar
from atoll.ir import nodes as n
from atoll.ir.module import LINK, Extern
from atoll.kernels.definition import ExternFunction
from atoll.kernels.front.calls import arguments
from atoll.kernels.front.convert import coerce
from atoll.kernels.front.expressions import in_order, simple
from atoll.kernels.front.signature import signature
from atoll.kernels.front.state import State
from atoll.kernels.source import Function, find


def lower_extern(state: State, node: ast.Call, target: ExternFunction) -> n.Expr | None:
    """Lower a call; every argument and the result are scalars of 32 or 64 bits."""
    declared = _declared(state, node, target)
    items = arguments(state, node, len(declared.params))
    values = in_order(state, items)
    typed = tuple(
        simple(state, coerce(state, value, scalar, item, f"an argument of `{declared.name}`"))
        for value, scalar, item in zip(values, declared.params, items, strict=True)
    )
    state.skipped[declared.name] = f"defined by {declared.link}"
    span = state.span(node)
    if declared.result is None:
        state.emit(n.ExternCall(declared.name, typed, None, span))
        return None
    result = state.new_local(f"{declared.name}_result", declared.result, span)
    state.emit(n.ExternCall(declared.name, typed, result, span))
    return n.Local(result, declared.result, span)


def _declared(state: State, node: ast.Call, target: ExternFunction) -> Extern:
    function = find(target.function)
    _bodyless(state, node, function)
    signed = signature(function)
    params = [item.type for item in signed.params]
    for scalar in (*params, *(() if signed.result is None else (signed.result,))):
        if not isinstance(scalar, Scalar) or scalar.bits < 32:
            message = f"`{function.name}` is an extern with a {scalar}, which is no scalar of 32 or 64 bits"
            raise state.error("ATL0712", message, node)
    if not LINK.fullmatch(target.link):
        raise state.error("ATL0725", f"`{function.name}` cannot be linked from {target.link!r}", node)
    span = function.source.span(function.node)
    plain = tuple(item for item in params if isinstance(item, Scalar))
    result = signed.result if isinstance(signed.result, Scalar) else None
    made = Extern(function.name, plain, result, target.link, span)
    known = next((item for item in state.externs if item.name == made.name), None)
    if known is None:
        state.externs.append(made)
    elif known != made:
        raise state.error("ATL0725", f"two externs are called `{made.name}`", node)
    return made


def _bodyless(state: State, node: ast.Call, function: Function) -> None:
    """Refuse an extern with a body: nobody would run it."""
    for stmt in function.node.body:
        value = stmt.value if isinstance(stmt, ast.Expr) else None
        if not isinstance(value, ast.Constant) and not isinstance(stmt, ast.Pass):
            message = f"the extern `{function.name}` has a body, which nobody would run"
            raise state.error("ATL0710", message, node, hint="leave `...` as its body")
