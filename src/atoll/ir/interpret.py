"""What does a kernel do? KIR run on NumPy arrays: every work-item of many groups at once, under a mask.

This is both the IR's interpreter and the device `cpu (interpreter)`, where there is no compiler.

Work-items run in lockstep: a statement is done by all that reach it, then the next one; so a verified
barrier has nothing left to do. Work-items are numbered as on every device (group after group, dimension 0
fastest); stores of one statement land in that order, atomics are done in it one after another. Groups
run together unless a kernel has a fence or an atomic that orders other memory: then one group after
another, so that a group may wait for an earlier one. Work-items of one group that wait for each other
without a barrier never end, as on many a GPU.

Words: a *lane* is one work-item's place in the arrays; a *mask* says which lanes are here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from atoll.diagnostics import Diagnostic, Span
from atoll.errors import LaunchError
from atoll.ir import nodes as n
from atoll.ir import ops
from atoll.ir import vector as v
from atoll.ir.module import Kernel
from atoll.ir.subgroups import emulated
from atoll.ir.types import Scalar, View
from atoll.ir.vector import Vector
from atoll.ir.walk import operands, statements

Size = tuple[int, int, int]
Number: TypeAlias = bool | int | float
#: About how many work-items run at once.
LANES = 1 << 15


@dataclass(frozen=True, slots=True)
class ViewArgument:
    """A view argument.

    Attributes:
        data: The elements of its buffer, of :func:`atoll.ir.vector.memory_dtype`; changed in place.
        offset: The element with the indices 0.
    """

    data: Vector
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0


def interpret(
    kernel: Kernel,
    arguments: Mapping[str, Number | ViewArgument],
    groups: Size,
    group: Size,
    domain: Size | None = None,
) -> None:
    """Run a verified kernel; what it writes stands in the views' data.

    Args:
        kernel: The kernel.
        arguments: By the name of the parameter.
        groups: How many groups in each dimension.
        group: Work-items of a group in each dimension.
        domain: Work-items outside it do not run; None runs the whole grid.

    Raises:
        LaunchError: Where an index leaves its array, with the array and the index.
    """
    kernel = emulated(kernel, group)
    total, size = groups[0] * groups[1] * groups[2], group[0] * group[1] * group[2]
    ordered = any(_orders(stmt) for stmt in statements(kernel.body))
    many = 1 if ordered else max(1, LANES // size)
    with np.errstate(all="ignore"):
        for first in range(0, total, many):
            ids = _ids(range(first, min(first + many, total)), groups, group)
            run = _Run(kernel, arguments, ids, size)
            mask = _inside(ids, domain, run.lanes)
            if mask.any():
                run.block(kernel.body, mask)


def _orders(stmt: n.Stmt) -> bool:
    """Tell whether a statement orders memory for others: a fence, an atomic that is not relaxed."""
    if isinstance(stmt, n.Atomic):
        return stmt.order is not ops.Order.RELAXED
    return isinstance(stmt, n.Fence)


_Ids = dict[tuple[ops.Id, int], Vector]


def _ids(chunk: range, groups: Size, group: Size) -> _Ids:
    numbers = np.arange(chunk.start, chunk.stop, dtype=np.int64)
    size = group[0] * group[1] * group[2]
    group_ids = (numbers % groups[0], numbers // groups[0] % groups[1], numbers // (groups[0] * groups[1]))
    items = np.arange(size, dtype=np.int64)
    local_ids = (items % group[0], items // group[0] % group[1], items // (group[0] * group[1]))
    found: _Ids = {}
    for axis in range(3):
        mine, local = np.repeat(group_ids[axis], size), np.tile(local_ids[axis], len(chunk))
        found[ops.Id.GROUP_ID, axis] = mine.astype(np.int32)
        found[ops.Id.LOCAL_ID, axis] = local.astype(np.int32)
        found[ops.Id.GLOBAL_ID, axis] = (mine * group[axis] + local).astype(np.int32)
        found[ops.Id.GROUP_SIZE, axis] = np.array([group[axis]], dtype=np.int32)
        found[ops.Id.NUM_GROUPS, axis] = np.array([groups[axis]], dtype=np.int32)
    return found


def _inside(ids: _Ids, domain: Size | None, lanes: int) -> Vector:
    mask = np.ones(lanes, dtype=bool)
    for axis, size in enumerate(domain or ()):
        mask &= ids[ops.Id.GLOBAL_ID, axis].astype(np.int64) < size
    return mask


@dataclass(slots=True)
class _Leaving:
    """The work-items that broke out of a loop, and those that skip to its step."""

    broken: Vector
    skipped: Vector


@dataclass(slots=True)
class _Run:
    """Some groups of a launch."""

    kernel: Kernel
    arguments: Mapping[str, Number | ViewArgument]
    ids: _Ids
    group_items: int
    lanes: int = field(init=False)
    locals: dict[str, Vector] = field(init=False, default_factory=dict)
    params: dict[str, Vector] = field(init=False, default_factory=dict)
    memory: dict[str, _Array] = field(init=False, default_factory=dict)
    loops: list[_Leaving] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.lanes = self.ids[ops.Id.GLOBAL_ID, 0].size
        for param in self.kernel.params:
            given = self.arguments[param.name]
            if isinstance(param.type, View):
                assert isinstance(given, ViewArgument)
                offset = np.array([given.offset], dtype=np.int64)
                self.memory[param.name] = _Array(
                    param.name, param.type.element, given.data, given.sizes, given.strides, offset
                )
            else:
                assert not isinstance(given, ViewArgument)
                self.params[param.name] = v.constant(n.const(param.type, given))
        for item in self.kernel.shared:
            self.memory[item.name] = self._own(item.name, item.element, item.length, self.group_items)

        for array in self.kernel.arrays:
            self.memory[array.name] = self._own(array.name, array.element, array.length, 1)

    def _own(self, name: str, element: Scalar, length: int, sharing: int) -> _Array:
        """Return an array of which every `sharing` lanes have one copy."""
        copies = self.lanes // sharing
        data = np.zeros(copies * length, dtype=v.memory_dtype(element))
        offset = np.repeat(np.arange(copies, dtype=np.int64) * length, sharing)
        return _Array(name, element, data, (length,), (1,), offset)

    # --- statements: each returns the mask of who goes on ---

    def block(self, block: n.Block, mask: Vector) -> Vector:
        for stmt in block:
            if not mask.any():
                break
            mask = self.statement(stmt, mask)
        return mask

    def statement(self, stmt: n.Stmt, mask: Vector) -> Vector:
        match stmt:
            case n.Assign():
                self.assign(stmt.local, self.value(stmt.value, mask), mask)
            case n.Store():
                self.store(stmt, mask)
            case n.If():
                asked = self.value(stmt.condition, mask)
                return self.block(stmt.then, mask & asked) | self.block(stmt.orelse, mask & ~asked)
            case n.Loop():
                return self.loop(stmt, mask)
            case n.Atomic():
                self.atomic(stmt, mask)
            case n.Break():
                self.loops[-1].broken |= mask
                return np.zeros_like(mask)
            case n.Continue():
                self.loops[-1].skipped |= mask
                return np.zeros_like(mask)
            case n.Return():
                return np.zeros_like(mask)
            case n.Barrier():
                pass  # every work-item that reaches it is here: uniform (verified), in lockstep
            case n.Fence():
                pass  # one statement is done by all before the next: memory is always in order
            case n.SubGroup() | n.ExternCall() | n.Inline():
                raise AssertionError(
                    "sub-groups are emulated, externs and inline code refused before a kernel is run"
                )
        return mask

    def assign(self, name: str, value: Vector, mask: Vector) -> None:
        if not mask.all():
            value = np.where(mask, value, self.locals.get(name, np.zeros(1, dtype=value.dtype)))
        self.locals[name] = value

    def store(self, stmt: n.Store, mask: Vector) -> None:
        array = self.memory[stmt.base]
        places = self.places(array, stmt.indices, mask, stmt.span)
        value = v.to_memory(array.element, self.value(stmt.value, mask))
        array.data[self.spread(places)[mask]] = self.spread(value)[mask]

    def loop(self, stmt: n.Loop, mask: Vector) -> Vector:
        done = np.zeros_like(mask)
        while True:
            asked = self.value(stmt.condition, mask)
            done |= mask & ~asked
            mask = mask & asked
            if not mask.any():
                return done
            self.loops.append(_Leaving(np.zeros_like(mask), np.zeros_like(mask)))
            mask = self.block(stmt.body, mask)
            left = self.loops.pop()
            done |= left.broken
            mask = self.block(stmt.step, mask | left.skipped)
            if not mask.any():
                return done

    def atomic(self, stmt: n.Atomic, mask: Vector) -> None:
        array = self.memory[stmt.base]
        places = self.spread(self.places(array, stmt.indices, mask, stmt.span))[mask]
        expected = None if stmt.expected is None else self.spread(self.value(stmt.expected, mask))[mask]
        values = self.spread(self.value(stmt.value, mask))[mask]
        if stmt.result is None and stmt.op in _IN_PLACE:
            _IN_PLACE[stmt.op].at(array.data, places, values)
            return
        old = np.empty_like(values)
        for at, place in enumerate(places.tolist()):
            old[at] = before = array.data[place]
            wanted = None if expected is None else expected[at]
            array.data[place] = _changed(stmt.op, before, values[at], wanted)
        if stmt.result is not None:
            result = np.zeros(self.lanes, dtype=old.dtype)
            result[mask] = old
            self.assign(stmt.result, result, mask)

    # --- expressions ---

    def spread(self, value: Vector) -> Vector:
        """Return a value with one element a lane."""
        return np.broadcast_to(value, (self.lanes,))

    def value(self, expr: n.Expr, mask: Vector) -> Vector:
        """Return the value of an expression in the lanes of a mask, which has one at least."""
        match expr:
            case n.Const():
                return v.constant(expr)
            case n.Param():
                return self.params[expr.name]
            case n.Local():
                return self.locals[expr.name]
            case n.Builtin():
                return self.ids[expr.op, expr.dimension]
            case n.ViewInfo():
                return self.view_info(expr)
            case n.Load():
                return self.load(expr, mask)
            case n.Logical():
                return self.logical(expr, mask)
        return _operation(expr, [self.value(item, mask) for item in operands(expr)])

    def logical(self, expr: n.Logical, mask: Vector) -> Vector:
        """Evaluate the right side only in the lanes that the left one does not decide."""
        left = self.value(expr.left, mask)
        land = expr.op is ops.Logical.LAND
        open_lanes = mask & (left if land else ~left)
        if not open_lanes.any():
            return left
        right = self.value(expr.right, open_lanes)
        return left & right if land else left | right

    def view_info(self, expr: n.ViewInfo) -> Vector:
        given = self.arguments[expr.view]
        assert isinstance(given, ViewArgument)
        number = {
            ops.Extent.SIZE: given.sizes,
            ops.Extent.STRIDE: given.strides,
            ops.Extent.OFFSET: (given.offset,),
        }[expr.op][expr.dimension]
        return np.array([number], dtype=np.int64)

    def load(self, expr: n.Load, mask: Vector) -> Vector:
        array = self.memory[expr.base]
        places = self.places(array, expr.indices, mask, expr.span)
        if places.size == 1 or mask.all():
            return v.from_memory(array.element, array.data[places])
        found = np.zeros(self.lanes, dtype=array.data.dtype)
        found[mask] = array.data[places[mask]]
        return v.from_memory(array.element, found)

    def places(self, array: _Array, indices: tuple[n.Expr, ...], mask: Vector, span: Span | None) -> Vector:
        """Return where elements lie in their data.

        Raises:
            LaunchError: Where an index leaves the array in a lane of the mask.
        """
        place: Vector = array.offset
        values = [self.value(index, mask).astype(np.int64) for index in indices]
        for value, size, stride in zip(values, array.sizes, array.strides, strict=True):
            outside = ((value < 0) | (value >= size)) & mask
            if outside.any():
                raise self.out_of_bounds(array, values, int(np.flatnonzero(outside)[0]), span)
            place = place + value * stride
        return place

    def out_of_bounds(self, array: _Array, values: list[Vector], lane: int, span: Span | None) -> LaunchError:
        def at(op: ops.Id) -> str:
            return ", ".join(str(int(self.spread(self.ids[op, axis])[lane])) for axis in range(3))

        index = ", ".join(str(int(self.spread(value)[lane])) for value in values)
        sizes = " x ".join(map(str, array.sizes))
        return LaunchError(
            Diagnostic(
                code="ATL0750",
                message=f"`{array.name}[{index}]` is out of bounds: it has {sizes} elements",
                span=span,
                notes=(
                    f"work-item ({at(ops.Id.GLOBAL_ID)}), group ({at(ops.Id.GROUP_ID)})",
                    f"kernel: {self.kernel.name}",
                ),
            )
        )


@dataclass(frozen=True, slots=True)
class _Array:
    """Elements that a kernel reaches by one name; `offset` is each lane's element with the indices 0."""

    name: str
    element: Scalar
    data: Vector
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: Vector


#: Atomics without a result that NumPy does one after another, in order.
_IN_PLACE: dict[ops.AtomicOp, Any] = {
    ops.AtomicOp.ADD: np.add,
    ops.AtomicOp.MIN: np.minimum,
    ops.AtomicOp.MAX: np.maximum,
    ops.AtomicOp.AND: np.bitwise_and,
    ops.AtomicOp.OR: np.bitwise_or,
    ops.AtomicOp.XOR: np.bitwise_xor,
}


def _operation(
    expr: n.Unary | n.Binary | n.Compare | n.Select | n.Cast | n.MathCall, given: list[Vector]
) -> Vector:
    """Return what an operation gives for its operands."""
    match expr:
        case n.Unary():
            return v.unary(expr.op, given[0], expr.type)
        case n.Binary():
            return v.binary(expr.op, given[0], given[1], expr.type)
        case n.Compare():
            return v.compare(expr.op, given[0], given[1])
        case n.Select():
            return np.where(given[0], given[1], given[2])
        case n.Cast():
            return v.convert(expr.op, given[0], expr.operand.type, expr.type)
        case n.MathCall():
            return v.maths(expr.op, given, expr.type)


def _changed(op: ops.AtomicOp, old: Any, value: Any, expected: Any) -> Any:
    if op is ops.AtomicOp.EXCHANGE:
        return value
    if op is ops.AtomicOp.COMPARE_EXCHANGE:
        return value if old == expected else old
    return _IN_PLACE[op](old, value)
