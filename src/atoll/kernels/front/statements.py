"""How a statement is lowered; which names have a value where."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from atoll.ir import BOOL, Scalar, ops
from atoll.ir import nodes as n
from atoll.kernels import surface
from atoll.kernels.environment import resolve
from atoll.kernels.front.arrays import assign_fixed, fixed_call
from atoll.kernels.front.calls import lower_call, shared_array
from atoll.kernels.front.convert import coerce, expression, note_type, strong
from atoll.kernels.front.expressions import (
    binary,
    element_place,
    in_order,
    lower,
    lower_condition,
    negated,
    simple,
)
from atoll.kernels.front.inline import set_result
from atoll.kernels.front.loops import lower_for
from atoll.kernels.front.signature import scalar_or_view
from atoll.kernels.front.state import LocalBinding, State, StructBinding, merge
from atoll.kernels.front.structures import assign_struct, field_target, give, held, store_element
from atoll.kernels.front.unsupported import STATEMENTS as UNSUPPORTED
from atoll.kernels.front.values import (
    SharedValue,
    StructArray,
    StructValue,
    TupleValue,
    Value,
    ViewValue,
    Weak,
    described,
)


def lower_block(state: State, block: Sequence[ast.stmt]) -> None:
    """Lower statements up to the first place that is never reached."""
    for index, stmt in enumerate(block):
        if state.defined is None:
            return
        rest = block[index + 1 :]
        if not state.frame.kernel and rest and _returns(stmt):
            if _lower_with_rest(state, stmt, rest):
                return
            continue
        lower_statement(state, stmt)


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
    if isinstance(stmt, ast.If) and _always_returns(stmt.body):
        _if(state, stmt, stmt.body, [*stmt.orelse, *rest])
        return True
    if isinstance(stmt, ast.If) and _always_returns(stmt.orelse):
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


def _returns(stmt: ast.stmt) -> bool:
    return any(isinstance(item, ast.Return) for item in ast.walk(stmt))


def _always_returns(block: Sequence[ast.stmt]) -> bool:
    for stmt in block:
        if isinstance(stmt, ast.Return):
            return True
        if isinstance(stmt, ast.If) and _always_returns(stmt.body) and _always_returns(stmt.orelse):
            return True
    return False


def needs_flag(block: Sequence[ast.stmt]) -> bool:
    """Tell whether a function returns in a way that only a flag can express (see :mod:`inline`)."""
    for index, stmt in enumerate(block):
        rest = block[index + 1 :]
        if isinstance(stmt, ast.Return):
            return False
        if isinstance(stmt, ast.For | ast.While) and _returns(stmt):
            return True
        if isinstance(stmt, ast.If) and _returns(stmt):
            if _always_returns(stmt.body):
                return needs_flag(stmt.body) or needs_flag([*stmt.orelse, *rest])
            if _always_returns(stmt.orelse):
                return needs_flag([*stmt.body, *rest]) or needs_flag(stmt.orelse)
            if rest:
                return True
            return needs_flag(stmt.body) or needs_flag(stmt.orelse)
    return False


def _return(state: State, stmt: ast.Return) -> None:
    frame, span = state.frame, state.span(stmt)
    if frame.kernel:
        if stmt.value is not None and not _is_none(stmt.value):
            raise state.error("ATL0727", "a kernel returns nothing; it writes to its arguments", stmt.value)
        state.emit(n.Return(span))
        state.defined = None
        return
    if stmt.value is not None and not _is_none(stmt.value):
        _return_value(state, stmt.value)
    elif frame.result is not None:
        raise state.error("ATL0727", "this `return` gives no value, another one does", stmt)
    if frame.done is not None:
        state.emit(n.Assign(frame.done, n.const(BOOL, True, span), span))
    if frame.loop_depth:
        state.emit(n.Break(span))
    state.defined = None


def _return_value(state: State, node: ast.expr) -> None:
    frame = state.frame
    value = lower(state, node)
    if isinstance(value, StructValue) or isinstance(frame.result, StructBinding):
        _return_struct(state, value, node)
        return
    scalar = frame.result.type if frame.result else strong(state, value, node).type
    result = set_result(state, frame, scalar, node)
    assert isinstance(result, LocalBinding)
    note_type(state, node, scalar)
    expr = coerce(state, value, scalar, node, f"the result of `{frame.function.name}`")
    state.emit(n.Assign(result.name, expr, state.span(node)))


def _return_struct(state: State, value: Value, node: ast.expr) -> None:
    frame = state.frame
    if isinstance(value, StructValue):
        result = set_result(state, frame, value.struct, node)
        note_type(state, node, value.struct)
        if isinstance(result, StructBinding) and result.struct == value.struct:
            give(state, result, value, state.span(node))
            return
    what = frame.result.struct if isinstance(frame.result, StructBinding) else "number"
    message = f"the result of `{frame.function.name}` is a {what}, this is {described(value)}"
    raise state.error("ATL0713", message, node)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


# --- assignments ---------------------------------------------------------------------------------


def _assign(state: State, stmt: ast.Assign) -> None:
    first = stmt.targets[0]
    if len(stmt.targets) == 1 and isinstance(first, ast.Tuple):
        if _makes_arrays(state, first, stmt.value):
            for target, source in zip(first.elts, stmt.value.elts, strict=True):  # type: ignore[attr-defined]
                _assign_array(state, [target], source, stmt)
            return
        _assign_tuple(state, first, stmt.value, stmt)
        return
    if _makes_array(state, stmt.value):
        _assign_array(state, stmt.targets, stmt.value, stmt)
        return
    value = lower(state, stmt.value)
    if len(stmt.targets) > 1 and isinstance(value, StructValue):
        value = held(state, value)
    elif len(stmt.targets) > 1 and not isinstance(value, Weak):
        value = simple(state, expression(state, value, stmt.value))
    for target in stmt.targets:
        assign(state, target, value, stmt.value)


def assign(state: State, target: ast.expr, value: Value, node: ast.expr) -> None:
    """Give a name or an element a lowered value."""
    if isinstance(target, ast.Name):
        assign_name(state, target, value, node)
    elif isinstance(target, ast.Attribute):
        place, array = field_target(state, target)
        _assign_element(state, array.field(target.attr), place, value, node)
    elif isinstance(target, ast.Subscript):
        base = lower(state, target.value)
        if isinstance(base, StructArray):
            store_element(state, base, target, value, node)
        else:
            _assign_element(state, base, target, value, node)
    else:
        what = "a starred name" if isinstance(target, ast.Starred) else "this"
        raise state.error("ATL0710", f"{what} cannot be assigned in a kernel", target)


def _assign_element(state: State, base: Value, target: ast.Subscript, value: Value, node: ast.expr) -> None:
    with state.block() as late:
        name, indices, element = element_place(state, base, target)
    if late and not isinstance(value, Weak):  # Python evaluates the value before the index
        value = simple(state, expression(state, value, node))
    state.out += late
    _store(state, name, indices, element, value, target, node)


def _store(
    state: State,
    name: str,
    indices: tuple[n.Expr, ...],
    element: Scalar,
    value: Value,
    target: ast.AST,
    node: ast.expr,
) -> None:
    expr = coerce(state, value, element, node, f"an element of `{name}`")
    state.emit(n.Store(name, indices, expr, state.span(target)))


def assign_name(
    state: State, target: ast.Name, value: Value, node: ast.expr, declared: Scalar | None = None
) -> None:
    """Give a local a value; its first assignment gives it its type."""
    state.check_name(target.id, target)
    binding = state.frame.names.get(target.id)
    if isinstance(binding, ViewValue | SharedValue | StructArray):
        raise state.error("ATL0714", f"`{target.id}` is {described(binding)} and cannot be assigned", target)
    if isinstance(value, StructValue) and declared is None:
        assign_struct(state, target, value, node)
        return
    if isinstance(binding, StructBinding):
        raise state.error(
            "ATL0714", f"`{target.id}` is a {binding.struct} and cannot become {described(value)}", target
        )
    if isinstance(value, ViewValue | SharedValue | StructArray | TupleValue):
        raise state.error("ATL0710", f"{described(value)} cannot be given another name", node)
    if not isinstance(binding, LocalBinding):
        binding = _new_binding(state, target, value, node, declared)
    first = binding.first
    note_type(state, node, binding.type)
    if isinstance(value, Weak) and not binding.type.is_float and isinstance(value.value, float):
        raise _changes(state, target, binding, f"the literal {value.value!r}")
    if not isinstance(value, Weak):
        value = expression(state, value, node)
        if value.type != binding.type and not (declared and first == state.span(target)):
            raise _changes(state, target, binding, described(value))
    expr = coerce(state, value, binding.type, node, f"`{target.id}`")
    state.emit(n.Assign(binding.name, expr, state.span(target)))


def _new_binding(
    state: State, target: ast.Name, value: Value, node: ast.expr, declared: Scalar | None
) -> LocalBinding:
    scalar = declared or strong(state, value, node).type
    prefix = "" if state.frame.kernel else f"{state.frame.function.name}_"
    name = state.new_local(prefix + target.id, scalar, state.span(target))
    binding = LocalBinding(name, scalar, state.span(target))
    state.frame.names[target.id] = binding
    return binding


def _changes(state: State, target: ast.Name, binding: LocalBinding, now: str) -> Exception:
    first = binding.first
    return state.error(
        "ATL0714",
        f"`{target.id}` is {binding.type} and cannot become another type",
        target,
        f"it was first assigned at line {first.line}, column {first.column}: {first.text.strip()}",
        f"this assigns {now}",
        hint=f"convert the value, or start `{target.id}` with the type it needs",
    )


def _assign_tuple(state: State, target: ast.Tuple, source: ast.expr, stmt: ast.stmt) -> None:
    """Assign several names at once: every value is taken before any is given."""
    if isinstance(source, ast.Tuple):
        nodes = list(source.elts)
        values = in_order(state, nodes)
    else:
        value = lower(state, source)
        if not isinstance(value, TupleValue):
            raise state.error("ATL0710", f"{described(value)} cannot be taken apart", source)
        values, nodes = list(value.items), [source] * len(value.items)
    if len(values) != len(target.elts):
        raise state.error("ATL0725", f"{len(target.elts)} names take {len(values)} values", stmt)
    taken: list[Value] = []
    for value, node in zip(values, nodes, strict=True):
        if isinstance(value, StructValue):
            taken.append(held(state, value))
            continue
        keep = isinstance(value, Weak | ViewValue | SharedValue | StructArray | TupleValue)
        taken.append(value if keep else _held(state, expression(state, value, node)))
    for item, value, node in zip(target.elts, taken, nodes, strict=True):
        assign(state, item, value, node)


def _held(state: State, expr: n.Expr) -> n.Expr:
    return expr if isinstance(expr, n.Const | n.Param | n.Builtin | n.ViewInfo) else state.spill(expr)


def _is_shared(state: State, node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    path: list[str] = []
    callee = node.func
    while isinstance(callee, ast.Attribute):
        path.insert(0, callee.attr)
        callee = callee.value
    if not isinstance(callee, ast.Name) or callee.id in state.frame.assigned:
        return False
    found = resolve(state.frame.function.function, callee.id)
    for name in path:
        found = getattr(found, name, None)
    return found is surface.shared


def _makes_array(state: State, node: ast.expr) -> bool:
    return _is_shared(state, node) or fixed_call(state, node) is not None


def _makes_arrays(state: State, target: ast.Tuple, source: ast.expr) -> bool:
    if not isinstance(source, ast.Tuple) or len(source.elts) != len(target.elts):
        return False
    return all(_makes_array(state, item) for item in source.elts)


def _assign_array(state: State, targets: list[ast.expr], call: ast.expr, stmt: ast.stmt) -> None:
    """Give a name an array that this call makes."""
    if len(targets) != 1:
        raise state.error("ATL0710", "an array is assigned to one name", stmt)
    made = fixed_call(state, call)
    if made is not None:
        assign_fixed(state, targets[0], call, made)
    else:
        _assign_shared(state, targets, call, stmt)


def _assign_shared(state: State, targets: list[ast.expr], call: ast.expr, stmt: ast.stmt) -> None:
    target = targets[0]
    assert isinstance(call, ast.Call)
    if len(targets) != 1 or not isinstance(target, ast.Name):
        raise state.error("ATL0710", "a shared array is assigned to one name", stmt)
    if target.id in state.frame.names or state.frame.loop_depth:
        raise state.error("ATL0714", f"the shared array `{target.id}` is made once, outside of loops", target)
    state.check_name(target.id, target)
    state.frame.names[target.id] = shared_array(state, call, target.id)


def _annotated(state: State, stmt: ast.AnnAssign) -> None:
    if not isinstance(stmt.target, ast.Name) or stmt.value is None:
        raise state.error("ATL0710", "an annotated assignment gives one name a value", stmt)
    found = lower(state, stmt.annotation)
    scalar = scalar_or_view(getattr(found, "object", None))
    if not isinstance(scalar, Scalar):
        raise state.error("ATL0712", f"`{ast.unparse(stmt.annotation)}` is no scalar type", stmt.annotation)
    binding = state.frame.names.get(stmt.target.id)
    if isinstance(binding, LocalBinding) and binding.type != scalar:
        raise _changes(state, stmt.target, binding, f"an annotation of {scalar}")
    assign_name(state, stmt.target, lower(state, stmt.value), stmt.value, scalar)


def _augmented(state: State, stmt: ast.AugAssign) -> None:
    if isinstance(stmt.target, ast.Name):
        read = ast.copy_location(ast.Name(id=stmt.target.id, ctx=ast.Load()), stmt.target)
        left, right = in_order(state, (read, stmt.value))
        value = binary(state, stmt.op, left, right, stmt, stmt.target, stmt.value)
        at = ast.copy_location(ast.Name(id=stmt.target.id, ctx=ast.Load()), stmt)
        assign_name(state, stmt.target, value, at)
    elif isinstance(stmt.target, ast.Subscript):
        _augmented_element(state, stmt, lower(state, stmt.target.value), stmt.target)
    elif isinstance(stmt.target, ast.Attribute):
        place, array = field_target(state, stmt.target)
        _augmented_element(state, stmt, array.field(stmt.target.attr), place)
    else:
        raise state.error("ATL0710", "this cannot be assigned in a kernel", stmt.target)


def _augmented_element(state: State, stmt: ast.AugAssign, base: Value, target: ast.Subscript) -> None:
    """Lower ``x[i] += v``: the index is evaluated once, the element is read before `v`."""
    name, indices, element = element_place(state, base, target)
    indices = tuple(simple(state, index) for index in indices)
    load: n.Expr = n.Load(name, indices, element, state.span(target))
    with state.block() as late:
        right = lower(state, stmt.value)
    if late:
        load = state.spill(load)
        state.out += late
    value = binary(state, stmt.op, load, right, stmt, target, stmt.value)
    _store(state, name, indices, element, value, target, stmt.value)


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
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.If: _if_statement,
    ast.While: _while,
    ast.For: _for,
    ast.Return: _return,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Pass: _pass,
    ast.Expr: _expression,
}
