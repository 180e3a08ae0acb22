"""What does a name, a literal or an attribute mean to a kernel?"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable

from atoll._util.near import nearest
from atoll.ir import BOOL, I64, ops
from atoll.ir import nodes as n
from atoll.kernels.definition import DeviceFunction
from atoll.kernels.environment import MISSING, resolve
from atoll.kernels.front.expressions import HANDLERS, lower
from atoll.kernels.front.state import LocalBinding, PointerBinding, State, StructBinding
from atoll.kernels.front.values import (
    Opaque,
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
from atoll.kernels.generics import is_variable
from atoll.kernels.intrinsics.interface import Intrinsic
from atoll.kernels.scalars import Typed
from atoll.kernels.structs import struct_of


def _constant(state: State, node: ast.Constant) -> Value:
    if isinstance(node.value, bool):
        return n.const(BOOL, node.value, state.span(node))
    if isinstance(node.value, int | float):
        return Weak(node.value)
    kind = {str: "text", bytes: "bytes", complex: "a complex number"}.get(type(node.value), "this value")
    if node.value is None:
        kind = "`None`"
    raise state.error("ATL0710", f"{kind} has no meaning in a kernel", node)


def _name(state: State, node: ast.Name) -> Value:
    name = node.id
    binding = state.frame.names.get(name)
    if isinstance(binding, LocalBinding):
        if state.defined is not None and binding.name not in state.defined:
            raise _unbound(state, node, binding.first.line, binding.first.column)
        return n.Local(binding.name, binding.type, state.span(node))
    if isinstance(binding, PointerBinding):
        at = binding.at
        if state.defined is not None and at.name not in state.defined:
            raise _unbound(state, node, at.first.line, at.first.column)
        return PointerValue(binding.array, n.Local(at.name, at.type, state.span(node)))
    if isinstance(binding, n.Param):
        return n.Param(binding.name, binding.type, state.span(node))
    if isinstance(binding, StructBinding):
        if state.defined is not None and binding.fields[0].name not in state.defined:
            raise _unbound(state, node, binding.first.line, binding.first.column)
        locals_ = (n.Local(item.name, item.type, state.span(node)) for item in binding.fields)
        return StructValue(binding.struct, tuple(locals_))
    if isinstance(binding, SharedValue) and binding.private:
        first = state.span(state.frame.assigned.get(name, node))
        if state.defined is not None and binding.name not in state.defined:
            raise _unbound(state, node, first.line, first.column)
    if binding is not None:
        return binding
    if name in state.frame.assigned:
        first = state.span(state.frame.assigned[name])
        raise _unbound(state, node, first.line, first.column)
    function = state.frame.function.function
    found = resolve(function, name)
    return _global(state, node, found, (name,), lambda: (*function.__globals__, *state.frame.names))


def _unbound(state: State, node: ast.Name, line: int, column: int) -> Exception:
    return state.error(
        "ATL0715",
        f"`{node.id}` may be read before it is assigned",
        node,
        f"it is assigned at line {line}, column {column}, which not every way here passes",
        hint=f"assign `{node.id}` before the branch or loop",
    )


def _undefined(state: State, node: ast.AST, path: tuple[str, ...], known: Iterable[str]) -> Exception:
    near = nearest(path[-1], (name for name in known if not name.startswith("_")))
    hint = f"did you mean `{'.'.join((*path[:-1], near))}`?" if near else None
    return state.error("ATL0711", f"`{'.'.join(path)}` is not defined", node, hint=hint)


def _global(
    state: State, node: ast.AST, found: object, path: tuple[str, ...], known: Callable[[], Iterable[str]]
) -> Value:
    """Return what a captured object is to a kernel; `known` is what else could have been meant."""
    if found is MISSING:
        raise _undefined(state, node, path, known())
    if isinstance(found, bool | int | float | Typed) or _is_numpy_scalar(found):
        state.captures.record(state.frame.function.function, path, found)
        return captured(state, node, found)
    if is_variable(found):
        kind = state.frame.bindings.get(found.__name__)  # type: ignore[attr-defined]
        if kind is None:
            raise state.error(
                "ATL0711", f"`{'.'.join(path)}` is a type variable that nothing binds here", node
            )
        return Opaque(kind, path)
    if hasattr(found, "__array_interface__") or hasattr(found, "__dlpack__"):
        raise state.error(
            "ATL0721",
            f"`{'.'.join(path)}` is a captured array",
            node,
            hint="pass it as an argument",
        )
    if isinstance(found, DeviceFunction | Intrinsic) or struct_of(found) is not None:
        state.captures.record(state.frame.function.function, path, found)
    return Opaque(found, path)


def _is_numpy_scalar(found: object) -> bool:
    return type(found).__module__ == "numpy" and hasattr(found, "dtype") and getattr(found, "ndim", 1) == 0


def captured(state: State, node: ast.AST, found: object) -> Value:
    """Return what a number from outside is to a kernel."""
    span = state.span(node)
    if isinstance(found, bool):
        return n.const(BOOL, found, span)
    if isinstance(found, Typed):
        return n.const(found.scalar, found.value, span)
    if isinstance(found, int | float) and type(found).__module__ != "numpy":
        return Weak(found)
    from atoll.kernels.arguments import scalar_of_dtype

    scalar = scalar_of_dtype(found.dtype)  # type: ignore[attr-defined]
    if scalar is None:
        raise state.error("ATL0721", f"a captured {type(found).__name__} cannot enter a kernel", node)
    return n.const(scalar, found.item(), span)  # type: ignore[attr-defined]


def _attribute(state: State, node: ast.Attribute) -> Value:
    base = lower(state, node.value)
    if isinstance(base, ViewValue):
        return _view_attribute(state, base, node)
    if isinstance(base, StructValue) and node.attr in base.struct.names:
        return base.field(node.attr)
    if isinstance(base, StructArray) and node.attr in ("size", "shape", "ndim"):
        base = base.arrays[0]
        if isinstance(base, ViewValue):
            return _view_attribute(state, base, node)
    if isinstance(base, SharedValue) and node.attr == "size":
        return n.const(I64, math.prod(base.sizes), state.span(node))
    if isinstance(base, SharedValue) and node.attr == "shape":
        return TupleValue(tuple(n.const(I64, size, state.span(node)) for size in base.sizes))
    if isinstance(base, Opaque):
        found = getattr(base.object, node.attr, MISSING)
        owner = base.object
        path = (*base.path, node.attr)
        return _global(state, node, found, path, lambda: getattr(owner, "__all__", None) or dir(owner))
    raise state.error("ATL0711", f"{described(base)} has no attribute `{node.attr}` in a kernel", node)


def _view_attribute(state: State, view: ViewValue, node: ast.Attribute) -> Value:
    span, axes = state.span(node), range(view.rank)
    if node.attr == "shape":
        return TupleValue(tuple(n.ViewInfo(ops.Extent.SIZE, view.name, axis, span) for axis in axes))
    if node.attr == "strides":
        return TupleValue(tuple(n.ViewInfo(ops.Extent.STRIDE, view.name, axis, span) for axis in axes))
    if node.attr == "ndim":
        return Weak(view.rank)
    if node.attr == "size":
        return view_size(view, node, state)
    raise state.error("ATL0711", f"a view has no attribute `{node.attr}` in a kernel", node)


def view_size(view: ViewValue, node: ast.AST, state: State) -> n.Expr:
    """Return the number of elements of a view."""
    span = state.span(node)
    size: n.Expr = n.ViewInfo(ops.Extent.SIZE, view.name, 0, span)
    for axis in range(1, view.rank):
        size = n.Binary(ops.Binary.MUL_WRAP, size, n.ViewInfo(ops.Extent.SIZE, view.name, axis, span), span)
    return size


HANDLERS.update({ast.Constant: _constant, ast.Name: _name, ast.Attribute: _attribute})
