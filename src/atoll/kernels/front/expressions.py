"""How an expression is lowered: Python's semantics, operation by operation."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from atoll.errors import LaunchError
from atoll.ir import BOOL, I32, I64, Scalar, ops
from atoll.ir import nodes as n
from atoll.kernels.environment import MISSING, resolve
from atoll.kernels.front import fold
from atoll.kernels.front.convert import (
    condition,
    expression,
    has_load,
    note_type,
    strong,
    together,
    widen,
)
from atoll.kernels.front.convert import literal as typed_literal
from atoll.kernels.front.state import LocalBinding, State, StructBinding
from atoll.kernels.front.unsupported import EXPRESSIONS as UNSUPPORTED
from atoll.kernels.front.values import (
    Opaque,
    SharedValue,
    StructArray,
    StructValue,
    TupleValue,
    Value,
    ViewValue,
    Weak,
    described,
    is_expression,
)
from atoll.kernels.promote import promote
from atoll.kernels.scalars import Typed, fixed, fixed_type

_BINARY: dict[type[ast.operator], tuple[str, ops.Binary | None, ops.Binary | None]] = {
    ast.Add: ("+", ops.Binary.ADD_WRAP, ops.Binary.FADD),
    ast.Sub: ("-", ops.Binary.SUB_WRAP, ops.Binary.FSUB),
    ast.Mult: ("*", ops.Binary.MUL_WRAP, ops.Binary.FMUL),
    ast.Div: ("/", None, ops.Binary.FDIV),
    ast.FloorDiv: ("//", ops.Binary.DIV_FLOOR, None),
    ast.Mod: ("%", ops.Binary.REM_FLOOR, None),
    ast.BitAnd: ("&", ops.Binary.AND, None),
    ast.BitOr: ("|", ops.Binary.OR, None),
    ast.BitXor: ("^", ops.Binary.XOR, None),
    ast.LShift: ("<<", ops.Binary.SHL, None),
    ast.RShift: (">>", ops.Binary.SHR, None),
}
_COMPARE: dict[type[ast.cmpop], ops.Compare] = {
    ast.Eq: ops.Compare.EQ,
    ast.NotEq: ops.Compare.NE,
    ast.Lt: ops.Compare.LT,
    ast.LtE: ops.Compare.LE,
    ast.Gt: ops.Compare.GT,
    ast.GtE: ops.Compare.GE,
}
_PYTHON_COMPARE: dict[ops.Compare, Callable[[float, float], bool]] = {
    ops.Compare.EQ: lambda a, b: a == b,
    ops.Compare.NE: lambda a, b: a != b,
    ops.Compare.LT: lambda a, b: a < b,
    ops.Compare.LE: lambda a, b: a <= b,
    ops.Compare.GT: lambda a, b: a > b,
    ops.Compare.GE: lambda a, b: a >= b,
}


def lower(state: State, node: ast.expr) -> Value:
    """Return what an expression is; statements it needs (calls, atomics) are emitted before."""
    with state.deeper(node):
        handler = _HANDLERS.get(type(node))
        if handler is None:
            reason = UNSUPPORTED.get(type(node), "this expression has no meaning in a kernel")
            raise state.error("ATL0710", reason, node)
        return handler(state, node)


def in_order(state: State, nodes: Sequence[ast.expr]) -> list[Value]:
    """Lower operands left to right; a load is kept in a local where a later operand runs statements."""
    found: list[Value] = []
    marks: list[int] = []
    for node in nodes:
        found.append(lower(state, node))
        marks.append(len(state.out))
    for index in range(len(found) - 1, -1, -1):
        value = found[index]
        if marks[index] == len(state.out):
            continue
        if is_expression(value) and has_load(value):  # type: ignore[arg-type]
            found[index] = _kept(state, expression(state, value, nodes[index]), marks[index])
        elif isinstance(value, StructValue):
            fields = [_kept(state, expr, marks[index]) if has_load(expr) else expr for expr in value.fields]
            found[index] = StructValue(value.struct, tuple(fields))
    return found


def _kept(state: State, expr: n.Expr, at: int) -> n.Local:
    """Keep a value in a local that is assigned at an earlier place of the output."""
    name = state.new_local("t", expr.type, expr.span)
    state.out.insert(at, n.Assign(name, expr, expr.span))
    state.defined = None if state.defined is None else state.defined | {name}
    return n.Local(name, expr.type, expr.span)


def lower_condition(state: State, node: ast.expr, what: str = "a condition") -> n.Expr:
    """Return an expression that has to be a bool."""
    return condition(state, lower(state, node), node, what)


# --- names and literals ------------------------------------------------------------------------


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
    return _global(state, node, resolve(state.frame.function.function, name), (name,))


def _unbound(state: State, node: ast.Name, line: int, column: int) -> Exception:
    return state.error(
        "ATL0715",
        f"`{node.id}` may be read before it is assigned",
        node,
        f"it is assigned at line {line}, column {column}, which not every way here passes",
        hint=f"assign `{node.id}` before the branch or loop",
    )


def _global(state: State, node: ast.AST, found: object, path: tuple[str, ...]) -> Value:
    """Return what a captured object is to a kernel."""
    if found is MISSING:
        raise state.error("ATL0711", f"`{'.'.join(path)}` is not defined", node)
    if isinstance(found, bool | int | float | Typed) or _is_numpy_scalar(found):
        state.captures.record(state.frame.function.function, path, found)
        return _captured(state, node, found)
    if hasattr(found, "__array_interface__") or hasattr(found, "__dlpack__"):
        raise state.error(
            "ATL0721",
            f"`{'.'.join(path)}` is a captured array",
            node,
            hint="pass it as an argument",
        )
    return Opaque(found, path)


def _is_numpy_scalar(found: object) -> bool:
    return type(found).__module__ == "numpy" and hasattr(found, "dtype") and getattr(found, "ndim", 1) == 0


def _captured(state: State, node: ast.AST, found: object) -> Value:
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
        return _global(state, node, found, (*base.path, node.attr))
    raise state.error("ATL0711", f"{described(base)} has no attribute `{node.attr}` in a kernel", node)


def _view_attribute(state: State, view: ViewValue, node: ast.Attribute) -> Value:
    span, axes = state.span(node), range(view.type.rank)
    if node.attr == "shape":
        return TupleValue(tuple(n.ViewInfo(ops.Extent.SIZE, view.name, axis, span) for axis in axes))
    if node.attr == "strides":
        return TupleValue(tuple(n.ViewInfo(ops.Extent.STRIDE, view.name, axis, span) for axis in axes))
    if node.attr == "ndim":
        return Weak(view.type.rank)
    if node.attr == "size":
        return view_size(view, node, state)
    raise state.error("ATL0711", f"a view has no attribute `{node.attr}` in a kernel", node)


def view_size(view: ViewValue, node: ast.AST, state: State) -> n.Expr:
    """Return the number of elements of a view."""
    span = state.span(node)
    size: n.Expr = n.ViewInfo(ops.Extent.SIZE, view.name, 0, span)
    for axis in range(1, view.type.rank):
        size = n.Binary(ops.Binary.MUL_WRAP, size, n.ViewInfo(ops.Extent.SIZE, view.name, axis, span), span)
    return size


# --- operations --------------------------------------------------------------------------------


def _binary(state: State, node: ast.BinOp) -> Value:
    left, right = in_order(state, (node.left, node.right))
    return binary(state, node.op, left, right, node, node.left, node.right)


def binary(
    state: State,
    operator: ast.operator,
    left: Value,
    right: Value,
    node: ast.AST,
    left_node: ast.AST,
    right_node: ast.AST,
) -> Value:
    """Return an operation on two lowered operands."""
    if isinstance(left, Weak) and isinstance(right, Weak):
        return fold.binary(state, operator, left, right, node)
    if isinstance(operator, ast.Pow):
        return _power(state, left, right, node, left_node, right_node)
    if type(operator) not in _BINARY:
        raise state.error("ATL0710", "matrix multiplication `@` has no meaning in a kernel", node)
    word, integer, floating = _BINARY[type(operator)]
    a, b = together(state, left, right, node, f"`{word}`", left_node, right_node)
    operation = floating if a.type.is_float else integer
    if a.type == BOOL and integer not in ops.BITWISE:
        operation = None
    if operation is None:
        raise _no_operation(state, word, a.type, node)
    return n.Binary(operation, a, b, state.span(node))


def _no_operation(state: State, word: str, scalar: Scalar, node: ast.AST) -> Exception:
    if word == "/" and scalar.is_integer:
        return state.error(
            "ATL0717",
            f"`/` on two {scalar} gives a float in Python",
            node,
            hint="use `//`, or convert first: `f32(a) / f32(b)`",
        )
    hints = {"//": "use `atoll.floor(a / b)`", "%": "use `a - b * atoll.floor(a / b)`"}
    hint = hints.get(word) if scalar.is_float else None
    if scalar == BOOL:
        hint = "a bool is no number here; convert it: `i32(flag)`"
    return state.error("ATL0713", f"`{word}` does not take {scalar}", node, hint=hint)


def _power(
    state: State, left: Value, right: Value, node: ast.AST, left_node: ast.AST, right_node: ast.AST
) -> Value:
    span = state.span(node)
    base = strong(state, left, left_node)
    if isinstance(left, Weak):
        base, exponent = together(state, left, right, node, "`**`", left_node, right_node)
    elif base.type.is_integer:
        return _integer_power(state, base, right, node)
    else:
        base, exponent = together(state, left, right, node, "`**`", left_node, right_node)
    if not base.type.is_float:
        raise state.error("ATL0713", f"`**` of {base.type} takes a literal exponent", node)
    if isinstance(exponent, n.Const) and exponent.value == 2:
        once = simple(state, base)
        return n.Binary(ops.Binary.FMUL, once, once, span)
    return n.MathCall(ops.Math.POW, (base, exponent), span)


def _integer_power(state: State, base: n.Expr, right: Value, node: ast.AST) -> Value:
    """Multiply out a literal exponent; the products wrap, so their order does not matter."""
    if not (isinstance(right, Weak) and isinstance(right.value, int) and 0 <= right.value <= 1024):
        raise state.error("ATL0713", f"`**` of {base.type} takes a literal exponent from 0 to 1024", node)
    result: n.Expr | None = None
    square, exponent = simple(state, base), right.value
    while exponent:
        if exponent & 1:
            result = square if result is None else _times(result, square, node, state)
        exponent >>= 1
        if exponent:
            square = state.spill(_times(square, square, node, state))
    return n.const(base.type, 1, state.span(node)) if result is None else result


def _times(left: n.Expr, right: n.Expr, node: ast.AST, state: State) -> n.Expr:
    return n.Binary(ops.Binary.MUL_WRAP, left, right, state.span(node))


def simple(state: State, expr: n.Expr) -> n.Expr:
    """Return an expression that may stand twice: kept in a local unless it costs nothing."""
    if isinstance(expr, n.Const | n.Param | n.Local | n.Builtin | n.ViewInfo):
        return expr
    return state.spill(expr)


def _unary(state: State, node: ast.UnaryOp) -> Value:
    if isinstance(node.op, ast.Not):
        operand = lower_condition(state, node.operand, "the operand of `not`")
        return negated(operand, node, state)
    value = lower(state, node.operand)
    if isinstance(value, Weak):
        return fold.unary(state, node.op, value, node)
    expr = expression(state, value, node.operand)
    if expr.type == BOOL or (isinstance(node.op, ast.Invert) and expr.type.is_float):
        word = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}[type(node.op)]
        hint = "use `not`" if expr.type == BOOL and word == "~" else None
        raise state.error("ATL0713", f"`{word}` does not take {expr.type}", node, hint=hint)
    if isinstance(node.op, ast.UAdd):
        return expr
    if isinstance(node.op, ast.Invert):
        return n.Unary(ops.Unary.NOT, expr, state.span(node))
    return n.Unary(ops.Unary.FNEG if expr.type.is_float else ops.Unary.NEG_WRAP, expr, state.span(node))


def negated(operand: n.Expr, node: ast.AST, state: State) -> n.Expr:
    """Return the opposite of a bool."""
    if isinstance(operand, n.Const):
        return n.const(BOOL, not operand.bits, state.span(node))
    return n.Unary(ops.Unary.NOT, operand, state.span(node))


def _compare(state: State, node: ast.Compare) -> Value:
    operands = [node.left, *node.comparators]
    for operator in node.ops:
        if type(operator) not in _COMPARE:
            raise state.error("ATL0710", "`is` and `in` have no meaning in a kernel", node)
    if len(operands) == 2:
        left, right = in_order(state, operands)
        return _one_compare(state, node, 0, left, right)
    return _chain(state, node, operands)


def _chain(state: State, node: ast.Compare, operands: list[ast.expr]) -> Value:
    """Lower ``a < b < c``: b once, c only where ``a < b`` holds."""
    left, middle = in_order(state, operands[:2])
    middle = middle if isinstance(middle, Weak) else simple(state, expression(state, middle, operands[1]))
    result = _one_compare(state, node, 0, left, middle)
    for index in range(1, len(node.ops)):
        last = index == len(node.ops) - 1
        held = middle

        def right_side(held: Value = held, index: int = index, last: bool = last) -> n.Expr:
            nonlocal middle
            value = lower(state, operands[index + 1])
            if not last and not isinstance(value, Weak):
                value = simple(state, expression(state, value, operands[index + 1]))
            middle = value
            return _one_compare(state, node, index, held, value)

        result = short_circuit(state, ops.Logical.LAND, result, right_side, node)
    return result


def _one_compare(state: State, node: ast.Compare, index: int, left: Value, right: Value) -> n.Expr:
    operation, span = _COMPARE[type(node.ops[index])], state.span(node)
    if isinstance(left, Weak) and isinstance(right, Weak):
        return n.const(BOOL, _PYTHON_COMPARE[operation](left.value, right.value), span)
    nodes = [node.left, *node.comparators]
    a, b = together(state, left, right, node, "a comparison", nodes[index], nodes[index + 1])
    if a.type == BOOL and operation not in (ops.Compare.EQ, ops.Compare.NE):
        raise state.error("ATL0713", "two bools are compared with `==` and `!=` only", node)
    return n.Compare(operation, a, b, span)


def _logical(state: State, node: ast.BoolOp) -> Value:
    operation = ops.Logical.LAND if isinstance(node.op, ast.And) else ops.Logical.LOR
    what = f"an operand of `{'and' if operation is ops.Logical.LAND else 'or'}`"
    result = lower_condition(state, node.values[0], what)
    for value in node.values[1:]:
        side = partial(lower_condition, state, value, what)
        result = short_circuit(state, operation, result, side, node)
    return result


def short_circuit(
    state: State, operation: ops.Logical, left: n.Expr, right: Callable[[], n.Expr], node: ast.AST
) -> n.Expr:
    """Return a short circuit; where the right side needs statements it becomes an `if`."""
    decisive = operation is ops.Logical.LOR
    if isinstance(left, n.Const):
        return left if bool(left.bits) == decisive else right()
    before = state.defined
    with state.block() as emitted:
        value = right()
        if not emitted:
            return n.Logical(operation, left, value, state.span(node))
    state.defined = before
    held = state.spill(left)
    emitted.append(n.Assign(held.name, value, value.span))
    asked = held if operation is ops.Logical.LAND else n.Unary(ops.Unary.NOT, held, held.span)
    state.emit(n.If(asked, tuple(emitted), (), state.span(node)))
    return held


def _conditional(state: State, node: ast.IfExp) -> Value:
    asked = lower_condition(state, node.test)
    if isinstance(asked, n.Const):
        return lower(state, node.body if asked.bits else node.orelse)
    before = state.defined
    with state.block() as then:
        yes = lower(state, node.body)
    state.defined = before
    with state.block() as orelse:
        no = lower(state, node.orelse)
    state.defined = before
    if isinstance(yes, Weak) and isinstance(no, Weak):
        scalar = strong(state, yes if isinstance(yes.value, float) else no, node).type
        a: n.Expr = typed_literal(state, yes, scalar, node.body)
        b: n.Expr = typed_literal(state, no, scalar, node.orelse)
    else:
        a, b = together(state, yes, no, node, "a conditional expression", node.body, node.orelse)
    note_type(state, node, a.type)
    if not then and not orelse and not has_load(a) and not has_load(b):
        return n.Select(asked, a, b, state.span(node))
    name = state.new_local("t", a.type, state.span(node))
    then.append(n.Assign(name, a, a.span))
    orelse.append(n.Assign(name, b, b.span))
    state.emit(n.If(asked, tuple(then), tuple(orelse), state.span(node)))
    state.defined = None if state.defined is None else state.defined | {name}
    return n.Local(name, a.type, state.span(node))


# --- elements ----------------------------------------------------------------------------------


def _subscript(state: State, node: ast.Subscript) -> Value:
    base = lower(state, node.value)
    if isinstance(base, Opaque) and base.object is fixed:
        return _fixed(state, base, node)
    if isinstance(base, StructArray):
        from atoll.kernels.front.structures import element as structure

        return structure(state, base, node)
    if isinstance(base, TupleValue):
        index = lower(state, node.slice)
        size = len(base.items)
        if isinstance(index, Weak) and isinstance(index.value, int) and -size <= index.value < size:
            return base.items[index.value]
        raise state.error("ATL0724", f"a tuple of {size} takes a literal index from 0 to {size - 1}", node)
    name, indices, element = element_place(state, base, node)
    return n.Load(name, indices, element, state.span(node))


def _fixed(state: State, base: Opaque, node: ast.Subscript) -> Opaque:
    """Return the type that ``fixed[f32, 4]`` names."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    values = [lower(state, part) for part in parts]
    key = tuple(
        value.value if isinstance(value, Weak) else getattr(value, "object", None) for value in values
    )
    try:
        return Opaque(fixed_type(key), base.path)
    except LaunchError as error:
        raise state.error(
            "ATL0712", "this names no array type", node, hint=error.diagnostics[0].hint
        ) from error


def element_place(state: State, base: Value, node: ast.Subscript) -> tuple[str, tuple[n.Expr, ...], Scalar]:
    """Return which element of a view or shared array a subscript names."""
    if not isinstance(base, ViewValue | SharedValue):
        raise state.error("ATL0724", f"{described(base)} has no elements", node)
    parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    rank = base.type.rank if isinstance(base, ViewValue) else len(base.sizes)
    for part in parts:
        if isinstance(part, ast.Slice | ast.Starred):
            raise state.error("ATL0724", "a slice is taken outside the kernel", part)
    if len(parts) != rank:
        raise state.error(
            "ATL0724", f"`{base.name}` takes {_count(rank, 'index', 'indices')}, not {len(parts)}", node
        )
    values = in_order(state, parts)
    indices = tuple(
        _index(state, base, axis, value, part)
        for axis, (value, part) in enumerate(zip(values, parts, strict=True))
    )
    if isinstance(base, ViewValue):
        return base.name, indices, base.type.element
    return base.name, (_row_major(base.sizes, indices),), base.element


def _row_major(sizes: tuple[int, ...], indices: tuple[n.Expr, ...]) -> n.Expr:
    """Return the place of an element in an array whose rows follow one another."""
    place = indices[0]
    for size, index in zip(sizes[1:], indices[1:], strict=True):
        rows = _scaled(place, size)
        place = n.Binary(ops.Binary.ADD_WRAP, rows, index, index.span)
    return place


def _scaled(index: n.Expr, size: int) -> n.Expr:
    if isinstance(index, n.Const):
        return n.const(I32, int(index.value) * size, index.span)
    return n.Binary(ops.Binary.MUL_WRAP, index, n.const(I32, size, index.span), index.span)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _index(state: State, base: ViewValue | SharedValue, axis: int, value: Value, node: ast.AST) -> n.Expr:
    wanted, span = (I64 if isinstance(base, ViewValue) else I32), state.span(node)
    if isinstance(value, Weak):
        if not isinstance(value.value, int):
            raise state.error("ATL0724", f"an index is an integer, not {value.value!r}", node)
        if value.value < 0:
            return _from_end(state, base, axis, value, node)
        if isinstance(base, SharedValue) and value.value >= base.sizes[axis]:
            raise _too_far(state, base, axis, node)
        return typed_literal(state, value, wanted, node)
    expr = expression(state, value, node)
    if not expr.type.is_integer:
        raise state.error("ATL0724", f"an index is an integer, not {described(expr)}", node)
    if promote(expr.type, wanted) == wanted:
        return widen(expr, wanted, span)
    kind = ops.Cast.TRUNC if expr.type.bits > wanted.bits else ops.Cast.SIGN
    return n.Cast(kind, wanted, expr, span)


def _from_end(state: State, base: ViewValue | SharedValue, axis: int, value: Weak, node: ast.AST) -> n.Expr:
    span = state.span(node)
    if isinstance(base, SharedValue):
        if -value.value > base.sizes[axis]:
            raise _too_far(state, base, axis, node)
        return n.const(I32, base.sizes[axis] + value.value, span)
    size = n.ViewInfo(ops.Extent.SIZE, base.name, axis, span)
    return n.Binary(ops.Binary.ADD_WRAP, size, typed_literal(state, value, I64, node), span)


def _too_far(state: State, base: SharedValue, axis: int, node: ast.AST) -> Exception:
    where = f" in dimension {axis}" if len(base.sizes) > 1 else ""
    return state.error("ATL0724", f"`{base.name}` has {base.sizes[axis]} elements{where}", node)


def _call(state: State, node: ast.Call) -> Value:
    from atoll.kernels.front.calls import lower_call

    found = lower_call(state, node)
    if found is None:
        raise state.error("ATL0727", "this call gives no value", node)
    return found


_HANDLERS: dict[type[ast.expr], Callable[[State, Any], Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _logical,
    ast.IfExp: _conditional,
    ast.Subscript: _subscript,
    ast.Call: _call,
}
