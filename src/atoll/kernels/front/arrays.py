"""How ``acc = fixed[f32, 4]()`` becomes an array of each work-item, and what fills it."""

from __future__ import annotations

import ast
import math

from atoll.ir import I32, PrivateArray, Scalar, ops
from atoll.ir import nodes as n
from atoll.ir.verify import MAX_PRIVATE
from atoll.kernels.environment import resolve
from atoll.kernels.front.calls import arguments
from atoll.kernels.front.convert import coerce
from atoll.kernels.front.expressions import in_order, lower, simple
from atoll.kernels.front.state import State
from atoll.kernels.front.values import Opaque, SharedValue
from atoll.kernels.scalars import FixedType, fixed

#: Up to how many elements are filled one by one; more are filled by a loop.
ONE_BY_ONE = 16


def fixed_call(state: State, node: ast.expr) -> FixedType | None:
    """Return the array type that a call makes, or None for any other expression."""
    if not isinstance(node, ast.Call):
        return None
    root = node.func.value if isinstance(node.func, ast.Subscript) else node.func
    path: list[str] = []
    while isinstance(root, ast.Attribute):
        path.insert(0, root.attr)
        root = root.value
    if not isinstance(root, ast.Name) or root.id in state.frame.assigned or root.id in state.frame.names:
        return None
    found = resolve(state.frame.function.function, root.id)
    for name in path:
        found = getattr(found, name, None)
    if isinstance(found, FixedType) and not isinstance(node.func, ast.Subscript):
        return found
    if found is not fixed or not isinstance(node.func, ast.Subscript):
        return None
    named = lower(state, node.func)
    return named.object if isinstance(named, Opaque) and isinstance(named.object, FixedType) else None


def assign_fixed(state: State, target: ast.expr, call: ast.expr, made: FixedType) -> None:
    """Declare the array of a name, once, and fill it here."""
    assert isinstance(call, ast.Call)
    if not isinstance(target, ast.Name):
        raise state.error("ATL0710", "an array is assigned to one name", target)
    state.check_name(target.id, target)
    known = state.frame.names.get(target.id)
    if known is not None and not (
        isinstance(known, SharedValue)
        and known.private
        and (known.element, known.sizes) == (made.element, made.sizes)
    ):
        raise state.error("ATL0714", f"`{target.id}` is already something else", target)
    value = known if isinstance(known, SharedValue) else _declare(state, target, made)
    _fill(state, value, call)
    state.frame.names[target.id] = value
    if state.defined is not None:
        state.defined |= {value.name}


def _declare(state: State, target: ast.Name, made: FixedType) -> SharedValue:
    declared = PrivateArray(state.unique(target.id), made.element, math.prod(made.sizes), state.span(target))
    state.arrays.append(declared)
    if sum(item.length * item.element.nbytes for item in state.arrays) > MAX_PRIVATE:
        raise state.error("ATL0725", f"the arrays of a work-item take more than {MAX_PRIVATE} bytes", target)
    return SharedValue(declared.name, made.element, made.sizes, private=True)


def _fill(state: State, array: SharedValue, call: ast.Call) -> None:
    length = math.prod(array.sizes)
    if len(call.args) > 1:
        items = arguments(state, call, length)
        values = in_order(state, items)
        exprs = [
            coerce(state, value, array.element, item, f"an element of `{array.name}`")
            for value, item in zip(values, items, strict=True)
        ]
        held = [simple(state, expr) for expr in exprs]
        for index, expr in enumerate(held):
            _store(state, array, n.const(I32, index), expr, call)
        return
    items = arguments(state, call, 0, 1)
    what = f"an element of `{array.name}`"
    value: n.Expr = n.const(array.element, 0, state.span(call))
    if items:
        value = simple(state, coerce(state, lower(state, items[0]), array.element, items[0], what))
    if length <= ONE_BY_ONE:
        for index in range(length):
            _store(state, array, n.const(I32, index), value, call)
        return
    counter, span = state.spill(n.const(I32, 0), f"{array.name}_next"), state.span(call)
    with state.block() as body:
        _store(state, array, counter, value, call)
    with state.block() as step:
        state.emit(n.Assign(counter.name, _next(counter, I32), span))
    asked = n.Compare(ops.Compare.LT, counter, n.const(I32, length), span)
    state.emit(n.Loop(asked, tuple(body), tuple(step), span))


def _next(counter: n.Expr, scalar: Scalar) -> n.Expr:
    return n.Binary(ops.Binary.ADD_WRAP, counter, n.const(scalar, 1))


def _store(state: State, array: SharedValue, index: n.Expr, value: n.Expr, call: ast.Call) -> None:
    state.emit(n.Store(array.name, (index,), value, state.span(call)))
