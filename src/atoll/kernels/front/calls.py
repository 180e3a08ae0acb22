"""What a kernel may call, and what each call lowers to."""

from __future__ import annotations

import ast
import builtins
import math
import types
from collections.abc import Callable
from pathlib import Path

from atoll.ir import BOOL, I64, SCALARS, Scalar, SharedArray, ops
from atoll.ir import nodes as n
from atoll.ir.types import MAX_RANK
from atoll.kernels import surface
from atoll.kernels.definition import DeviceFunction, ExternFunction, KernelFunction
from atoll.kernels.front.convert import cast, coerce, expression, note_type, together
from atoll.kernels.front.convert import literal as typed_literal
from atoll.kernels.front.elements import element_place
from atoll.kernels.front.expressions import HANDLERS, in_order, lower, simple
from atoll.kernels.front.inline import inline
from atoll.kernels.front.names import view_size
from atoll.kernels.front.state import State
from atoll.kernels.front.values import (
    Opaque,
    SharedValue,
    StructArray,
    Value,
    ViewValue,
    Weak,
    described,
)
from atoll.kernels.intrinsics.interface import Intrinsic
from atoll.kernels.scalars import CLASSES, FixedType, Typed
from atoll.kernels.structs import struct_of

#: Functions of `math` that a kernel may call; those that give a Python int are refused by name.
_MATH: dict[object, ops.Math] = {
    math.sqrt: ops.Math.SQRT,
    math.exp: ops.Math.EXP,
    math.exp2: ops.Math.EXP2,
    math.log: ops.Math.LOG,
    math.log2: ops.Math.LOG2,
    math.sin: ops.Math.SIN,
    math.cos: ops.Math.COS,
    math.tan: ops.Math.TAN,
    math.tanh: ops.Math.TANH,
    math.pow: ops.Math.POW,
    **({math.fma: ops.Math.FMA} if hasattr(math, "fma") else {}),
}
#: What to write instead of a function that a kernel cannot call.
_INSTEAD: dict[object, str] = {
    math.floor: "use `atoll.floor`, which stays a float",
    math.ceil: "use `atoll.ceil`, which stays a float",
    math.trunc: "use `atoll.trunc`, which stays a float",
    builtins.round: "use `atoll.rint`",
    builtins.int: "name the width: `i32(…)` or `i64(…)`",
    builtins.float: "name the width: `f32(…)` or `f64(…)`",
    builtins.bool: "say what is asked: `x != 0`",
    builtins.range: "`range` stands in a `for` only",
    builtins.sum: "write a loop",
    builtins.pow: "use `**` or `atoll.pow`",
}
MATHS = surface.MATHS | _MATH


def lower_call(state: State, node: ast.Call) -> Value | None:
    """Return what a call gives, or None where it gives nothing (a barrier)."""
    callee = lower(state, node.func)
    if not isinstance(callee, Opaque):
        raise state.error("ATL0711", f"{described(callee)} cannot be called", node.func)
    target, name = callee.object, ".".join(callee.path)
    if isinstance(target, DeviceFunction):
        return inline(state, node, target)
    if isinstance(target, ExternFunction):
        from atoll.kernels.front.externs import lower_extern

        return lower_extern(state, node, target)
    if isinstance(target, Intrinsic):
        from atoll.kernels.front.intrinsics import lower_intrinsic

        return lower_intrinsic(state, node, target)
    if isinstance(target, type) and issubclass(target, Typed) and target is not Typed:
        return _conversion(state, node, target.scalar)
    made = struct_of(target)
    if made is not None:
        from atoll.kernels.front.structures import construct

        return construct(state, node, made)
    if isinstance(target, FixedType):
        raise state.error("ATL0710", "an array stands alone on the right side of an assignment", node)
    handler = _handler(target)
    if handler is None:
        raise _unknown(state, node, target, name)
    state.skipped[name] = "built in"
    return handler(state, node, target)


def _handler(target: object) -> Callable[[State, ast.Call, object], Value | None] | None:
    try:
        if target in surface.IDS:
            return _builtin_id
        if target in MATHS:
            return _math
        if target in surface.ATOMICS:
            return _atomic
        if target in surface.SUBGROUP_IDS or target in surface.TOGETHER or target is surface.fence:
            from atoll.kernels.front.subgroups import lower_subgroup

            return lower_subgroup
        if target in (surface.asm, surface.snippet, surface.operations):
            from atoll.kernels.front.intrinsics import lower_inline

            return lower_inline
        if target is builtins.print:
            from atoll.kernels.front.checks import lower_print

            return lower_print
        return _OTHERS.get(target)
    except TypeError:  # not hashable, so none of ours
        return None


def _unknown(state: State, node: ast.Call, target: object, name: str) -> Exception:
    if isinstance(target, KernelFunction):
        hint = "move what they share into a function marked with `@atoll.device`"
        return state.error(
            "ATL0711", f"`{name}` is a kernel, which a kernel cannot call", node.func, hint=hint
        )
    if target is surface.shared:
        return state.error("ATL0710", "`shared` stands alone on the right side of an assignment", node)
    if isinstance(target, types.FunctionType) and not target.__module__.startswith("atoll."):
        code = target.__code__
        return state.error(
            "ATL0720",
            f"`{name}` is not marked as a device function",
            node.func,
            f"it is defined at {code.co_filename}:{code.co_firstlineno}",
            hint="write what the kernel needs of it as a function of your own, with `@atoll.device`"
            if _is_installed(code.co_filename)
            else f"put `@atoll.device` above `def {target.__name__}`",
        )
    hashable = type(target).__hash__ is not None
    instead = (_INSTEAD.get(target) if hashable else None) or _like(target)
    return state.error("ATL0711", f"a kernel cannot call `{name}`", node.func, hint=instead)


def _is_installed(file: str) -> bool:
    """Tell whether a file is one of Python's own or of an installed package, which nobody marks."""
    import sysconfig

    path = Path(file)
    own = path.is_relative_to(sysconfig.get_path("stdlib"))
    return own or not {"site-packages", "dist-packages"}.isdisjoint(path.parts)


def _like(target: object) -> str | None:
    """Return a hint at what Atoll has under the name of another library's function."""
    word = getattr(target, "__name__", "")
    if word in ("array", "empty", "zeros"):
        own, groups = "`fixed[f32, 8]()` for an array of a work-item", "`atoll.shared(f32, 64)`"
        return f"write {own}, {groups} for one of its group"
    known = {item.__name__ for item in MATHS if hasattr(item, "__name__")}
    return f"use `atoll.{word}`" if word in known and hasattr(surface, word) else None


def arguments(state: State, node: ast.Call, least: int, most: int | None = None) -> list[ast.expr]:
    """Return the positional arguments of a call that takes no others."""
    most = least if most is None else most
    for item in node.args:
        if isinstance(item, ast.Starred):
            raise state.error("ATL0710", "a starred expression has no meaning in a kernel", item)
    if node.keywords:
        raise state.error("ATL0725", "this function takes no keyword arguments", node.keywords[0].value)
    if not least <= len(node.args) <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        raise state.error("ATL0725", f"this function takes {wanted} arguments, not {len(node.args)}", node)
    return list(node.args)


def _conversion(state: State, node: ast.Call, scalar: Scalar) -> Value:
    (argument,) = arguments(state, node, 1)
    value = lower(state, argument)
    if isinstance(value, Weak):
        if scalar.is_integer and isinstance(value.value, float):
            raise state.error("ATL0718", f"the literal {value.value!r} is no {scalar}", argument)
        if scalar.name == "bool":
            return n.const(scalar, value.value != 0, state.span(node))
        return typed_literal(state, value, scalar, argument)
    return cast(expression(state, value, argument), scalar, state.span(node))


def _builtin_id(state: State, node: ast.Call, target: object) -> Value:
    items = arguments(state, node, 0, 1)
    dimension = 0
    if items:
        value = lower(state, items[0])
        if not (isinstance(value, Weak) and value.value in (0, 1, 2) and isinstance(value.value, int)):
            raise state.error("ATL0725", "a dimension is the literal 0, 1 or 2", items[0])
        dimension = value.value
    return n.Builtin(surface.IDS[target], dimension, state.span(node))


def _bitcast(state: State, node: ast.Call, _target: object) -> Value:
    items = arguments(state, node, 2)
    kind, value = lower(state, items[0]), lower(state, items[1])
    if not isinstance(kind, Opaque) or kind.object not in tuple(CLASSES.values()):
        raise state.error("ATL0725", "the first argument of `bitcast` is a scalar type", items[0])
    if isinstance(value, Weak):
        raise state.error("ATL0713", "a literal alone has no bits", items[1], hint="say which: `f32(2.0)`")
    source, target = expression(state, value, items[1]), kind.object.scalar
    if BOOL in (source.type, target) or source.type.bits != target.bits:
        message = f"`bitcast` keeps the width, {source.type} has not the width of {target}"
        raise state.error("ATL0713", message, node)
    if source.type.is_float and target.is_float and source.type != target:
        word = SCALARS[f"u{target.bits}"]
        source = n.Cast(ops.Cast.BITS, word, source, state.span(node))
    if source.type.is_float == target.is_float:
        return cast(source, target, state.span(node))
    return n.Cast(ops.Cast.BITS, target, source, state.span(node))


def _math(state: State, node: ast.Call, target: object) -> Value:
    operation = MATHS[target]
    items = arguments(state, node, ops.MATH_ARITY[operation])
    values = in_order(state, items)
    return n.MathCall(operation, tuple(_floats(state, values, items, node)), state.span(node))


def _floats(state: State, values: list[Value], items: list[ast.expr], node: ast.Call) -> list[n.Expr]:
    typed = [
        expression(state, value, item)
        for value, item in zip(values, items, strict=True)
        if not isinstance(value, Weak)
    ]
    if not typed:
        raise state.error("ATL0713", "a literal alone has no type here", node, hint="say which: `f32(2.0)`")
    scalar = typed[0].type
    for other in typed[1:]:
        if other.type != scalar:
            raise state.error("ATL0713", f"the operands are {scalar} and {other.type}, not of one type", node)
    if not scalar.is_float:
        message = f"maths functions take floats, this is {described(typed[0])}"
        raise state.error("ATL0713", message, node, hint="convert it: `f32(…)`")
    pairs = zip(values, items, strict=True)
    return [coerce(state, value, scalar, item, "an operand") for value, item in pairs]


def _least_most(state: State, node: ast.Call, target: object) -> Value:
    """Lower `min` and `max` as Python defines them: the first of equals, NaN by position."""
    word = "min" if target is builtins.min else "max"
    items = arguments(state, node, 2, 16)
    values = in_order(state, items)
    if all(isinstance(value, Weak) for value in values):
        choose = min if word == "min" else max
        return Weak(choose(value.value for value in values if isinstance(value, Weak)))
    result, at = values[0], items[0]
    for value, item in zip(values[1:], items[1:], strict=True):
        if isinstance(result, Weak) and isinstance(value, Weak):
            choose = min if word == "min" else max
            result = Weak(choose(result.value, value.value))
            continue
        left, right = together(state, result, value, node, f"`{word}`", at, item)
        operation = ops.Binary(("f" if left.type.is_float else "") + word)
        if left.type.name == "bool":
            raise state.error("ATL0713", f"`{word}` does not take bool", node)
        result = n.Binary(operation, left, right, state.span(node))
    note_type(state, node, expression(state, result, node).type)
    return result


def _absolute(state: State, node: ast.Call, _target: object) -> Value:
    (item,) = arguments(state, node, 1)
    value = lower(state, item)
    if isinstance(value, Weak):
        return Weak(abs(value.value))
    expr = expression(state, value, item)
    if expr.type.is_float:
        return n.Unary(ops.Unary.FABS, expr, state.span(node))
    if not expr.type.is_integer:
        raise state.error("ATL0713", f"`abs` does not take {expr.type}", node)
    return n.Unary(ops.Unary.ABS_WRAP, expr, state.span(node)) if expr.type.is_signed else expr


def _length(state: State, node: ast.Call, _target: object) -> Value:
    (item,) = arguments(state, node, 1)
    value = lower(state, item)
    if isinstance(value, StructArray):
        value = value.arrays[0]
    if isinstance(value, ViewValue) and value.rank == 1:
        return view_size(value, node, state)
    if isinstance(value, ViewValue):
        return n.ViewInfo(ops.Extent.SIZE, value.name, 0, state.span(node))
    if isinstance(value, SharedValue):
        return n.const(I64, value.sizes[0], state.span(node))
    raise state.error("ATL0713", f"{described(value)} has no length", node)


def _barrier(state: State, node: ast.Call, _target: object) -> None:
    arguments(state, node, 0)
    state.emit(n.Barrier(span=state.span(node)))


def _atomic(state: State, node: ast.Call, target: object) -> Value:
    operation = surface.ATOMICS[target]
    swap = operation is ops.AtomicOp.COMPARE_EXCHANGE
    order, scope = _order(state, node)
    plain = ast.copy_location(ast.Call(func=node.func, args=node.args, keywords=[]), node)
    items = arguments(state, plain, 4 if swap else 3)
    base = lower(state, items[0])
    place = ast.copy_location(ast.Subscript(value=items[0], slice=items[1], ctx=ast.Load()), node)
    name, indices, element = element_place(state, base, place)
    values = in_order(state, items[2:])
    if isinstance(base, SharedValue) and base.private:
        raise state.error("ATL0725", f"no atomic on `{name}`, which no other work-item sees", items[0])
    typed = [
        coerce(state, value, element, item, f"an element of `{name}`")
        for value, item in zip(values, items[2:], strict=True)
    ]
    floating = element.is_float and operation in (ops.AtomicOp.ADD, ops.AtomicOp.EXCHANGE)
    if element.bits < 32 or not (element.is_integer or floating):
        raise state.error("ATL0713", f"there is no atomic {operation} on {element}", node)
    result = state.new_local("old", element, state.span(node))
    expected = typed[0] if swap else None
    state.emit(
        n.Atomic(operation, name, indices, typed[-1], expected, result, order, scope, state.span(node))
    )
    return n.Local(result, element, state.span(node))


def _order(state: State, node: ast.Call) -> tuple[ops.Order, ops.Scope]:
    order, scope = "relaxed", "device"
    for keyword in node.keywords:
        value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
        if keyword.arg == "order" and value in set(ops.Order):
            order = str(value)
        elif keyword.arg == "scope" and value in set(ops.Scope):
            scope = str(value)
        else:
            raise state.error(
                "ATL0725",
                "an atomic takes `order=` and `scope=` as literals",
                keyword.value,
                f"orders: {', '.join(ops.Order)}",
                f"scopes: {', '.join(ops.Scope)}",
            )
    return ops.Order(order), ops.Scope(scope)


def shared_array(state: State, node: ast.Call, name: str) -> SharedValue | StructArray:
    """Declare a shared array: ``tile = atoll.shared(f32, 256)``, ``atoll.shared(f32, (16, 17))``."""
    items = arguments(state, node, 2)
    kind = lower(state, items[0])
    made = struct_of(kind.object) if isinstance(kind, Opaque) else None
    if made is not None:
        sizes = array_sizes(state, items[1], "a shared array")
        return StructArray(
            made,
            tuple(_declared(state, f"{name}_{field}", scalar, sizes, node) for field, scalar in made.fields),
        )
    usable = isinstance(kind, Opaque) and kind.object in tuple(CLASSES.values())
    if not usable or kind.object.scalar.name == "bool":  # type: ignore[union-attr]
        raise state.error("ATL0725", "a shared array has a scalar type other than bool", items[0])
    sizes = array_sizes(state, items[1], "a shared array")
    element: Scalar = kind.object.scalar  # type: ignore[union-attr]
    return _declared(state, name, element, sizes, node)


def _declared(state: State, name: str, element: Scalar, sizes: tuple[int, ...], node: ast.AST) -> SharedValue:
    declared = SharedArray(state.unique(name), element, math.prod(sizes), state.span(node))
    state.shared.append(declared)
    return SharedValue(declared.name, element, sizes)


def array_sizes(state: State, node: ast.expr, what: str) -> tuple[int, ...]:
    """Return the sizes of an array that the kernel makes: one positive literal, or a tuple of up to four."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    sizes: list[int] = []
    for part in parts:
        value = lower(state, part)
        if not (isinstance(value, Weak) and isinstance(value.value, int) and value.value >= 1):
            raise state.error("ATL0725", f"the length of {what} is a positive literal", part)
        sizes.append(value.value)
    if not 1 <= len(sizes) <= MAX_RANK or math.prod(sizes) >= 1 << 31:
        raise state.error(
            "ATL0725", f"{what} has one to {MAX_RANK} sizes, and less than 2**31 elements", node
        )
    return tuple(sizes)


def _classified(state: State, node: ast.Call, target: object) -> Value:
    """Lower ``math.isnan(x)`` and its kin: comparisons, false for an integer's neighbours too."""
    (item,) = arguments(state, node, 1)
    (expr,) = _floats(state, [lower(state, item)], [item], node)
    expr, span = simple(state, expr), state.span(node)
    if target is math.isnan:
        return n.Compare(ops.Compare.NE, expr, expr, span)
    size = n.Unary(ops.Unary.FABS, expr, span)
    order = ops.Compare.EQ if target is math.isinf else ops.Compare.LT
    return n.Compare(order, size, n.const(expr.type, math.inf), span)


def _float_absolute(state: State, node: ast.Call, _target: object) -> Value:
    (item,) = arguments(state, node, 1)
    (expr,) = _floats(state, [lower(state, item)], [item], node)
    return n.Unary(ops.Unary.FABS, expr, state.span(node))


_OTHERS: dict[object, Callable[[State, ast.Call, object], Value | None]] = {
    builtins.min: _least_most,
    builtins.max: _least_most,
    builtins.abs: _absolute,
    math.fabs: _float_absolute,
    math.isnan: _classified,
    math.isinf: _classified,
    math.isfinite: _classified,
    builtins.len: _length,
    surface.barrier: _barrier,
    surface.bitcast: _bitcast,
}


def _call(state: State, node: ast.Call) -> Value:
    found = lower_call(state, node)
    if found is None:
        raise state.error("ATL0727", "this call gives no value", node)
    return found


HANDLERS[ast.Call] = _call
