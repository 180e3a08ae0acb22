"""How a device function enters a kernel: its body is lowered at the call, each time anew.

`return` becomes an assignment to a result local. Where a function returns out of a loop or in the
middle of a block, a flag says that it did, and the rest of the body stands behind it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from atoll.diagnostics import Diagnostic
from atoll.errors import CompileError
from atoll.ir import BOOL, Scalar, View
from atoll.ir import nodes as n
from atoll.kernels.definition import DeviceFunction
from atoll.kernels.front.convert import coerce, default_type
from atoll.kernels.front.expressions import in_order
from atoll.kernels.front.pointers import entered, taken
from atoll.kernels.front.signature import Signature, annotations_of, assigned_names, signature
from atoll.kernels.front.state import Frame, LocalBinding, State, StructBinding, instance_key
from atoll.kernels.front.structures import declare, give
from atoll.kernels.front.values import (
    EXPRESSIONS,
    Opaque,
    PointerValue,
    SharedValue,
    StructArray,
    StructValue,
    Value,
    ViewValue,
    Weak,
    described,
)
from atoll.kernels.generics import ConstType, is_part, variable_of
from atoll.kernels.pointers import PointerType
from atoll.kernels.scalars import CLASSES, Typed
from atoll.kernels.source import Function, find
from atoll.kernels.structs import StructType, StructView
from atoll.kernels.vectors import VecType, VecView


def inline(state: State, node: ast.Call, device: DeviceFunction) -> Value | None:
    """Lower a call of a device function; return its result, or None where it has none."""
    function = find(device.function)
    chain = (*state.frame.chain, function)
    if any(item.function is device.function for item in state.frame.chain):
        names = [item.name for item in chain]
        raise state.error(
            "ATL0719",
            f"`{function.name}` calls itself",
            node,
            f"the chain: {' -> '.join(names)}",
            hint="write a loop",
        )
    frame = Frame(function, chain, assigned=assigned_names(function.node))
    values, given = _arguments(state, node, function)
    frame.bindings = _bindings(state, function, values, given)
    signed = signature(function, frame.bindings, defaults=True)
    bind_constants(frame, signed, frame.bindings)
    _bind(state, frame, signed, values, given)
    outer, defined, depth = state.frame, state.defined, state.depth
    state.frame = frame
    state.depth += 1
    before = len(state.locals)
    try:
        _body(state, frame, signed, before)
    finally:
        state.frame, state.depth = outer, depth
    state.devices[instance_key(frame)] = frame
    if frame.result is None:
        state.defined = defined
        return None
    if isinstance(frame.result, StructBinding):
        state.defined = (defined or frozenset()) | {item.name for item in frame.result.fields}
        results = (n.Local(item.name, item.type, state.span(node)) for item in frame.result.fields)
        return StructValue(frame.result.struct, tuple(results))
    state.defined = (defined or frozenset()) | {frame.result.name}
    return n.Local(frame.result.name, frame.result.type, state.span(node))


def _body(state: State, frame: Frame, signed: Signature, before: int) -> None:
    from atoll.kernels.front.returns import needs_flag
    from atoll.kernels.front.statements import lower_block

    function = frame.function
    if signed.result is not None:
        frame.result = _result(state, frame, signed.result, function.node)
    flagged = needs_flag(function.node.body)
    if flagged:
        frame.done = state.new_local(f"{function.name}_done", BOOL)
    mark = len(state.out)
    lower_block(state, function.node.body)
    if frame.result is not None and state.defined is not None:
        raise state.error(
            "ATL0727", f"not every way through `{function.name}` returns a value", function.node
        )
    if flagged:  # on the ways behind the flag a local is never read, but it has to have a value
        zeros = [n.Assign(item.name, n.const(item.type, 0), item.span) for item in state.locals[before:]]
        state.out[mark:mark] = zeros


def _result(
    state: State, frame: Frame, scalar: Scalar | StructType, node: ast.AST
) -> LocalBinding | StructBinding:
    if isinstance(scalar, StructType):
        return declare(state, "result", scalar, state.span(node))
    name = state.new_local(f"{frame.function.name}_result", scalar, state.span(node))
    return LocalBinding(name, scalar, state.span(node))


def set_result(
    state: State, frame: Frame, scalar: Scalar | StructType, node: ast.AST
) -> LocalBinding | StructBinding:
    """Return the local that holds a function's result, declared at its first `return`."""
    if frame.result is None:
        frame.result = _result(state, frame, scalar, node)
    return frame.result


def _arguments(
    state: State, node: ast.Call, function: Function
) -> tuple[dict[str, Value], dict[str, ast.expr]]:
    """Lower the arguments of a call; return them, and where they stand, by the names of the parameters."""
    arguments = function.node.args
    names = [item.arg for item in (*arguments.posonlyargs, *arguments.args)]
    left = _defaults(function)
    given = _given(state, node, names, function.name, left)
    values = dict(zip(given, in_order(state, list(given.values())), strict=True))
    for name, default in left.items():
        if name not in given:
            values[name], given[name] = _default(state, name, default, node), node
    return values, given


def _defaults(function: Function) -> dict[str, Any]:
    """Return the defaults of a device function by parameter, as they were when it was defined."""
    code, defaults = function.function.__code__, function.function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    return dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))


def _default(state: State, name: str, default: Any, node: ast.Call) -> Value:
    from atoll.kernels.front.names import captured

    if isinstance(default, bool | int | float | Typed):
        return captured(state, node, default)
    if callable(default):
        return Opaque(default, (name,))
    message = f"the default of the parameter `{name}` is a {type(default).__name__}, no number"
    raise state.error("ATL0712", message, node)


def _bindings(
    state: State, function: Function, values: dict[str, Value], given: dict[str, ast.expr]
) -> dict[str, Any]:
    """Return what a call binds: a type variable by its first argument, constants, functions."""
    found: dict[str, Any] = {}
    for name, annotation in annotations_of(function).items():
        value = values.get(name)
        if value is None:
            continue
        if is_part(annotation):
            found[name] = _constant(state, name, annotation, value, given[name])
            continue
        variable = variable_of(annotation)
        if variable is not None:
            kind = _kind(value, inside=annotation is not variable)
            if kind is None:
                raise state.error(
                    "ATL0713", f"`{variable.__name__}` cannot be {described(value)}", given[name]
                )
            found.setdefault(variable.__name__, kind)
    return found


def _constant(state: State, name: str, annotation: Any, value: Value, node: ast.AST) -> Any:
    if isinstance(annotation, ConstType):
        plain = value.value if isinstance(value, Weak | n.Const) else None
        if annotation.takes(plain):
            return plain
        word = annotation.kind.__name__
        message = f"the parameter `{name}` is a constant {word}, this is {described(value)}"
        raise state.error("ATL0713", message, node)
    if isinstance(value, Opaque) and callable(value.object):
        return value.object
    message = f"the parameter `{name}` is a function, this is {described(value)}"
    raise state.error("ATL0713", message, node)


def _kind(value: Value, *, inside: bool = True) -> Any:
    """Return the class of a value's type, or of an array's elements; `inside` vectors, of a component."""
    if isinstance(value, Weak):
        return CLASSES[default_type(value).name]
    if isinstance(value, ViewValue):
        return CLASSES[value.type.element.name]
    if isinstance(value, PointerValue):
        return _kind(value.array)
    if isinstance(value, SharedValue):
        return CLASSES[value.element.name]
    if isinstance(value, StructValue | StructArray) and isinstance(value.struct, VecType):
        return CLASSES[value.struct.element.name] if inside else value.struct
    if isinstance(value, StructValue | StructArray):
        return value.struct.make
    return CLASSES[value.type.name] if isinstance(value, EXPRESSIONS) else None


def bind_constants(frame: Frame, signed: Signature, bindings: Mapping[str, Any]) -> None:
    """Give the parameters that are no value at run time their meaning."""
    for name in signed.constants:
        if name in frame.assigned:
            span = frame.function.source.span(frame.assigned[name])
            message = f"the constant parameter `{name}` is assigned"
            raise CompileError(Diagnostic(code="ATL0714", message=message, span=span))
        value = bindings[name]
        if isinstance(value, bool):
            frame.names[name] = n.const(BOOL, value)
        elif isinstance(value, int | float):
            frame.names[name] = Weak(value)
        else:
            frame.names[name] = Opaque(value, (name,))


def _bind(
    state: State, frame: Frame, signed: Signature, values: dict[str, Value], given: dict[str, ast.expr]
) -> None:
    for param in signed.params:
        value, at = values[param.name], given[param.name]
        if isinstance(param.type, PointerType):
            start = taken(state, value, param.type, at, param.name)
            entered(state, frame, param.name, start, state.span(at))
            continue
        if isinstance(param.type, View):
            frame.names[param.name] = _view(state, value, param.type, at, param.name)
            continue
        if isinstance(param.type, StructType | StructView | VecView):
            frame.names[param.name] = _struct(state, value, param.type, at, param.name, frame)
            continue
        expr = coerce(state, value, param.type, at, f"the parameter `{param.name}`")
        local = state.new_local(f"{frame.function.name}_{param.name}", param.type, expr.span)
        state.emit(n.Assign(local, expr, expr.span))
        frame.names[param.name] = LocalBinding(local, param.type, frame.function.source.span(param.node))


def _given(
    state: State, node: ast.Call, names: list[str], called: str, optional: Mapping[str, Any]
) -> dict[str, ast.expr]:
    if any(isinstance(item, ast.Starred) for item in node.args) or any(
        item.arg is None for item in node.keywords
    ):
        raise state.error("ATL0710", "a starred expression has no meaning in a kernel", node)
    given = dict(zip(names, node.args, strict=False))
    for keyword in node.keywords:
        if keyword.arg not in names or keyword.arg in given:
            raise state.error("ATL0725", f"`{called}` takes no argument `{keyword.arg}` here", keyword.value)
        given[str(keyword.arg)] = keyword.value
    if len(node.args) > len(names) or any(name not in given and name not in optional for name in names):
        count = len(node.args) + len(node.keywords)
        least = len(names) - len(optional)
        takes = f"{least} to {len(names)}" if optional else f"{len(names)}"
        raise state.error("ATL0725", f"`{called}` takes {takes} arguments, not {count}", node)
    return given


def _struct(
    state: State,
    value: Value,
    wanted: StructType | StructView | VecView,
    node: ast.AST,
    name: str,
    frame: Frame,
) -> StructBinding | StructArray:
    if isinstance(wanted, StructView | VecView) and isinstance(value, StructArray):
        struct = wanted.struct if isinstance(wanted, StructView) else wanted.vec
        if value.struct == struct and value.arrays[0].rank == wanted.rank:
            return value
    if isinstance(value, StructValue) and value.struct == wanted:
        binding = declare(state, f"{frame.function.name}_{name}", value.struct, state.span(node))
        give(state, binding, value, state.span(node))
        return binding
    raise state.error("ATL0713", f"the parameter `{name}` is a {wanted}, this is {described(value)}", node)


def _view(state: State, value: Value, wanted: View, node: ast.AST, name: str) -> ViewValue | SharedValue:
    if isinstance(value, ViewValue) and value.type == wanted:
        return value
    if isinstance(value, SharedValue) and View(value.element, len(value.sizes)) == wanted:
        return value
    raise state.error("ATL0713", f"the parameter `{name}` is a {wanted}, this is {described(value)}", node)
