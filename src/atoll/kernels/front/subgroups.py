"""How the operations of a sub-group are lowered, and a fence.

A shuffle that names no lane of the sub-group gives the work-item its own value on every target: the lane is
checked here, so KIR's own operation never sees another one.
"""

from __future__ import annotations

import ast

from atoll.ir import BOOL, I32, ops
from atoll.ir import nodes as n
from atoll.kernels import surface
from atoll.kernels.front.calls import arguments
from atoll.kernels.front.convert import coerce, condition, note_type, strong
from atoll.kernels.front.expressions import in_order, lower, simple
from atoll.kernels.front.state import State
from atoll.kernels.front.values import Value

#: How a shuffle names its lane: from the work-item's own one and its second argument.
_LANES = {
    surface.shuffle_xor: ops.Binary.XOR,
    surface.shuffle_up: ops.Binary.SUB_WRAP,
    surface.shuffle_down: ops.Binary.ADD_WRAP,
}


def lower_subgroup(state: State, node: ast.Call, target: object) -> Value | None:
    """Lower a call that concerns a sub-group."""
    if target is surface.fence:
        state.emit(n.Fence(_scope(state, node), state.span(node)))
        return None
    if target in surface.SUBGROUP_IDS:
        arguments(state, node, 0)
        return n.Builtin(surface.SUBGROUP_IDS[target], 0, state.span(node))
    operation = surface.TOGETHER[target]
    least = 1 if target is surface.subgroup_broadcast or operation not in ops.WITH_LANE else 2
    items = arguments(state, node, least, 2 if operation in ops.WITH_LANE else 1)
    if operation in ops.VOTES:
        value = condition(state, lower(state, items[0]), items[0], f"the operand of `subgroup_{operation}`")
        return _emitted(state, node, operation, value, None)
    values = in_order(state, items)
    value = strong(state, values[0], items[0])
    note_type(state, items[0], value.type)
    integers = operation in (ops.SubGroup.AND, ops.SubGroup.OR, ops.SubGroup.XOR)
    if value.type.bits < 32 or (integers and not value.type.is_integer):
        word = "integers" if integers else "numbers"
        message = f"sub-groups exchange {word} of 32 and 64 bits, this is {value.type}"
        raise state.error("ATL0713", message, items[0], hint="convert it, as in `i32(…)`")
    lane: n.Expr | None = None
    if operation in ops.WITH_LANE:
        given = n.const(I32, 0)
        lane = given if len(items) == 1 else coerce(state, values[1], I32, items[1], "a lane")
        if operation is ops.SubGroup.SHUFFLE:
            value = simple(state, value)
            lane = _lane(state, target, lane)
    return _emitted(state, node, operation, value, lane)


def _emitted(
    state: State, node: ast.Call, operation: ops.SubGroup, value: n.Expr, lane: n.Expr | None
) -> n.Local:
    span = state.span(node)
    result = state.new_local(f"subgroup_{operation}", value.type, span)
    state.emit(n.SubGroup(operation, value, result, lane, span))
    return n.Local(result, value.type, span)


def _lane(state: State, target: object, given: n.Expr) -> n.Expr:
    """Return the lane that a shuffle names, or one's own where there is none such."""
    own = n.Builtin(ops.Id.LANE_ID, 0)
    wanted = simple(state, n.Binary(_LANES[target], own, given) if target in _LANES else given)
    least = n.Compare(ops.Compare.GE, wanted, n.const(I32, 0))
    most = n.Compare(ops.Compare.LT, wanted, n.Builtin(ops.Id.SUBGROUP_SIZE, 0))
    inside = n.Binary(ops.Binary.AND, least, most)
    assert inside.type == BOOL
    return n.Select(inside, wanted, own)


def _scope(state: State, node: ast.Call) -> ops.Scope:
    plain = ast.copy_location(ast.Call(func=node.func, args=node.args, keywords=[]), node)
    arguments(state, plain, 0)
    scope = "device"
    for keyword in node.keywords:
        value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
        if keyword.arg != "scope" or value not in set(ops.Scope):
            message = "a fence takes `scope=` as a literal"
            raise state.error("ATL0725", message, keyword.value, f"scopes: {', '.join(ops.Scope)}")
        scope = str(value)
    return ops.Scope(scope)
