"""What does an assignment become? Names take one type, elements are stored, arrays are declared."""

from __future__ import annotations

import ast

from atoll.ir import Scalar
from atoll.ir import nodes as n
from atoll.kernels import surface
from atoll.kernels.environment import resolve
from atoll.kernels.front.arrays import assign_fixed, fixed_call
from atoll.kernels.front.calls import shared_array
from atoll.kernels.front.convert import coerce, expression, note_type, strong
from atoll.kernels.front.elements import element_place
from atoll.kernels.front.expressions import in_order, lower, simple
from atoll.kernels.front.operations import binary
from atoll.kernels.front.signature import scalar_or_view
from atoll.kernels.front.state import LocalBinding, PointerBinding, State, StructBinding
from atoll.kernels.front.structures import assign_struct, field_target, held, store_element
from atoll.kernels.front.values import (
    PointerValue,
    SharedValue,
    StructArray,
    StructValue,
    TupleValue,
    Value,
    ViewValue,
    Weak,
    described,
)


def lower_assign(state: State, stmt: ast.Assign) -> None:
    """Lower ``a = b = value`` and ``a, b = b, a``."""
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
        if isinstance(array, StructArray):
            store_element(state, array, place, value, node)
        else:
            _assign_element(state, array, place, value, node)
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
        indices = base.places(indices)  # type: ignore[union-attr]
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
    if isinstance(value, PointerValue) and declared is None:
        from atoll.kernels.front import pointers

        pointers.assign(state, target, value)
        return
    if isinstance(binding, PointerBinding | PointerValue):
        raise state.error(
            "ATL0714", f"`{target.id}` is a pointer and cannot become {described(value)}", target
        )
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
        if isinstance(value, PointerValue):
            at = None if value.offset is None else state.spill(value.offset)
            taken.append(PointerValue(value.array, at))
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


def lower_annotated(state: State, stmt: ast.AnnAssign) -> None:
    """Lower ``a: f32 = value``."""
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


def lower_augmented(state: State, stmt: ast.AugAssign) -> None:
    """Lower ``a += value``."""
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
        _augmented_element(state, stmt, array, place)
    else:
        raise state.error("ATL0710", "this cannot be assigned in a kernel", stmt.target)


def _augmented_element(state: State, stmt: ast.AugAssign, base: Value, target: ast.Subscript) -> None:
    """Lower ``x[i] += v``: the index is evaluated once, the element is read before `v`."""
    if isinstance(base, StructArray):
        from atoll.kernels.front.vectors import augmented

        augmented(state, stmt, base, target)
        return
    name, indices, element = element_place(state, base, target)
    indices = base.places(tuple(simple(state, index) for index in indices))  # type: ignore[union-attr]
    load: n.Expr = n.Load(name, indices, element, state.span(target))
    with state.block() as late:
        right = lower(state, stmt.value)
    if late:
        load = state.spill(load)
        state.out += late
    value = binary(state, stmt.op, load, right, stmt, target, stmt.value)
    _store(state, name, indices, element, value, target, stmt.value)
