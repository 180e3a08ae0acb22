"""How structs are lowered: each field is a KIR value of its own; of an array, each field an array."""

from __future__ import annotations

import ast

from atoll.diagnostics import Span
from atoll.ir import Parameter, Scalar, View
from atoll.ir import nodes as n
from atoll.kernels.front.convert import coerce, note_type
from atoll.kernels.front.elements import element_place
from atoll.kernels.front.expressions import in_order, lower, simple
from atoll.kernels.front.signature import SignedParameter
from atoll.kernels.front.state import LocalBinding, State, StructBinding
from atoll.kernels.front.values import SharedValue, StructArray, StructValue, Value, ViewValue, described
from atoll.kernels.structs import StructType, StructView
from atoll.kernels.vectors import VecType, VecView


def struct_parameters(state: State, item: SignedParameter, span: Span) -> list[Parameter]:
    """Declare the KIR parameters of a struct, or of an array of them, and bind its name."""
    kind = item.type
    if isinstance(kind, VecView):
        param = Parameter(state.unique(item.name), kind.array, span)
        parts = range(len(kind.vec.fields))
        views = tuple(ViewValue(param.name, kind.array, component) for component in parts)
        state.frame.names[item.name] = StructArray(kind.vec, views)
        return [param]
    assert isinstance(kind, StructType | StructView)
    struct = kind if isinstance(kind, StructType) else kind.struct
    params: list[Parameter] = []
    for name, scalar in struct.fields:
        declared = scalar if isinstance(kind, StructType) else View(scalar, kind.rank)
        params.append(Parameter(state.unique(f"{item.name}_{name}"), declared, span))
    if isinstance(kind, StructView):
        views = tuple(ViewValue(param.name, param.type) for param in params if isinstance(param.type, View))
        state.frame.names[item.name] = StructArray(struct, views)
        return params
    if item.name in state.frame.assigned:
        raise state.error(
            "ATL0714", f"the parameter `{item.name}` is a {struct} and is not assigned", item.node
        )
    fields = tuple(
        n.Param(param.name, param.type, span) for param in params if not isinstance(param.type, View)
    )
    state.frame.names[item.name] = StructValue(struct, fields)
    return params


def construct(state: State, node: ast.Call, struct: StructType) -> StructValue:
    """Lower ``Body(x, y, mass=1.0)``: every field once, by place or by name."""
    names = struct.names
    if isinstance(struct, VecType) and len(node.args) == 1 and not node.keywords:
        from atoll.kernels.front.vectors import construct as vector

        made = vector(state, node, struct, in_order(state, node.args))
        if made is not None:
            return made
    if any(isinstance(item, ast.Starred) for item in node.args) or any(
        item.arg is None for item in node.keywords
    ):
        raise state.error("ATL0710", "a starred expression has no meaning in a kernel", node)
    given = dict(zip(names, node.args, strict=False))
    for keyword in node.keywords:
        if keyword.arg not in names or keyword.arg in given:
            raise state.error("ATL0725", f"`{struct}` takes no field `{keyword.arg}` here", keyword.value)
        given[str(keyword.arg)] = keyword.value
    if len(node.args) > len(names) or len(given) != len(names):
        count = len(node.args) + len(node.keywords)
        raise state.error("ATL0725", f"`{struct}` has {len(names)} fields, not {count}", node)
    values = dict(zip(given, in_order(state, list(given.values())), strict=True))
    fields: list[n.Expr] = []
    for name, member in struct.declared:
        value, at = values[name], given[name]
        if isinstance(member, Scalar):
            fields.append(coerce(state, value, member, at, f"the field `{name}`"))
        elif isinstance(value, StructValue) and value.struct == member:
            fields += value.fields
        else:
            message = f"the field `{name}` is a {member}, this is {described(value)}"
            raise state.error("ATL0713", message, at)
    return StructValue(struct, tuple(fields))


def element(state: State, array: StructArray, node: ast.Subscript) -> StructValue:
    """Return an element of an array of structs; the index is evaluated once."""
    _, indices, _ = element_place(state, array.arrays[0], node)
    return element_of(state, array, tuple(simple(state, index) for index in indices), node)


def element_of(state: State, array: StructArray, indices: tuple[n.Expr, ...], node: ast.AST) -> StructValue:
    """Return the element at indices that cost nothing."""
    loads = tuple(
        n.Load(item.name, item.places(indices), scalar, state.span(node))
        for item, (_, scalar) in zip(array.arrays, array.struct.fields, strict=True)
    )
    return StructValue(array.struct, loads)


def assign_struct(state: State, target: ast.Name, value: StructValue, node: ast.AST) -> None:
    """Give a name a struct: every field is taken before any is given."""
    note_type(state, node, value.struct)
    binding = state.frame.names.get(target.id)
    if binding is None:
        binding = declare(state, target.id, value.struct, state.span(target))
        state.frame.names[target.id] = binding
    if not isinstance(binding, StructBinding) or binding.struct != value.struct:
        raise state.error("ATL0714", f"`{target.id}` cannot become a {value.struct}", target)
    give(state, binding, value, state.span(target))


def declare(state: State, name: str, struct: StructType, span: Span) -> StructBinding:
    """Declare a local for each field."""
    prefix = "" if state.frame.kernel else f"{state.frame.function.name}_"
    fields = tuple(
        LocalBinding(state.new_local(f"{prefix}{name}_{field}", scalar, span), scalar, span)
        for field, scalar in struct.fields
    )
    return StructBinding(struct, fields, span)


def give(state: State, binding: StructBinding, value: StructValue, span: Span) -> None:
    """Assign every field; a value may read what is assigned, so it is taken first."""
    taken = held(state, value)
    for local, expr in zip(binding.fields, taken.fields, strict=True):
        state.emit(n.Assign(local.name, expr, span))


def held(state: State, value: StructValue) -> StructValue:
    """Return a struct whose fields no later statement changes."""
    keep = (n.Const, n.Param, n.Builtin, n.ViewInfo)
    fields = tuple(expr if isinstance(expr, keep) else state.spill(expr) for expr in value.fields)
    return StructValue(value.struct, fields)


def store_element(
    state: State, array: StructArray, target: ast.Subscript, value: Value, node: ast.AST
) -> None:
    """Lower ``bodies[i] = body``."""
    if not isinstance(value, StructValue) or value.struct != array.struct:
        raise state.error("ATL0713", f"an element is a {array.struct}, this is {described(value)}", node)
    note_type(state, node, value.struct)
    taken = held(state, value)
    _, indices, _ = element_place(state, array.arrays[0], target)
    places = tuple(simple(state, index) for index in indices)
    for item, expr in zip(array.arrays, taken.fields, strict=True):
        state.emit(n.Store(item.name, item.places(places), expr, state.span(target)))


def field_target(
    state: State, target: ast.Attribute
) -> tuple[ast.Subscript, ViewValue | SharedValue | StructArray]:
    """Return the place and the array that ``b[i].x`` or ``b[i].at.x`` names where it is assigned."""
    path, inner = [target.attr], target.value
    while isinstance(inner, ast.Attribute):
        path.append(inner.attr)
        inner = inner.value
    if isinstance(inner, ast.Subscript):
        base = lower(state, inner.value)
        while path and isinstance(base, StructArray) and path[-1] in base.struct.names:
            base = base.field(path.pop())
        if not path and isinstance(base, ViewValue | SharedValue | StructArray):
            return inner, base
    raise state.error(
        "ATL0710",
        "this cannot be assigned in a kernel",
        target,
        hint="a struct is a value: make a new one, or assign the field of an element",
    )
