"""What does a KIR kernel compute? A direct evaluation in Python, one work-item a generator.

It is the reference that emitters are compared with: slow, short, and independent of every emitter.
:mod:`atoll.ir.scalar` says what one operation gives. A barrier suspends a work-item;
the group goes on when every live one waits. Memory is a list of values for each buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from atoll.ir import Kernel, nodes, ops, scalar
from atoll.ir.ops import AtomicOp, Binary
from atoll.ir.subgroups import emulated

Number = bool | int | float
Size = tuple[int, int, int]


@dataclass(slots=True)
class ViewValue:
    """A view argument: the buffer's elements, and where the view lies in them, in elements."""

    data: list[Number]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0


class OutOfBoundsError(Exception):
    """A kernel touched an element outside its view: such a program has no defined result."""


def evaluate(
    kernel: Kernel,
    arguments: Mapping[str, Number | ViewValue],
    groups: Size,
    group: Size,
    domain: Size | None = None,
) -> None:
    """Run a kernel; views are changed in place. Groups run one after another, dimension 0 fastest."""
    kernel = emulated(kernel, group)
    for z, y, x in product(*(range(count) for count in reversed(groups))):
        _run_group(kernel, arguments, groups, group, (x, y, z), domain)


def _run_group(
    kernel: Kernel,
    arguments: Mapping[str, Number | ViewValue],
    groups: Size,
    group: Size,
    at: Size,
    domain: Size | None,
) -> None:
    shared: dict[str, list[Number | None]] = {item.name: [None] * item.length for item in kernel.shared}
    running: list[Generator[None, None, None]] = []
    for z, y, x in product(*(range(count) for count in reversed(group))):
        own: dict[str, list[Number | None]] = {array.name: [None] * array.length for array in kernel.arrays}
        item = _Item(kernel, arguments, shared | own, groups, group, at, (x, y, z))
        place = [item.ids[ops.Id.GLOBAL_ID, axis] for axis in range(3)]
        if domain is None or all(one < limit for one, limit in zip(place, domain, strict=True)):
            running.append(item.block(kernel.body))
    while running:
        running = [item for item in running if _advance(item)]


def _advance(item: Generator[None, None, None]) -> bool:
    """Run a work-item to its next barrier; false where it ended."""
    try:
        next(item)
    except (StopIteration, _Ended):
        return False
    return True


class _Ended(Exception):  # noqa: N818 - a jump, no error
    pass


class _Left(Exception):  # noqa: N818
    pass


class _Skipped(Exception):  # noqa: N818
    pass


@dataclass(slots=True)
class _Item:
    kernel: Kernel
    arguments: Mapping[str, Number | ViewValue]
    shared: dict[str, list[Number | None]]
    groups: Size
    group: Size
    at: Size
    local: Size
    locals: dict[str, Number] = field(default_factory=dict)
    ids: dict[tuple[ops.Id, int], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for axis in range(3):
            self.ids[ops.Id.LOCAL_ID, axis] = self.local[axis]
            self.ids[ops.Id.GROUP_ID, axis] = self.at[axis]
            self.ids[ops.Id.GROUP_SIZE, axis] = self.group[axis]
            self.ids[ops.Id.NUM_GROUPS, axis] = self.groups[axis]
            self.ids[ops.Id.GLOBAL_ID, axis] = self.at[axis] * self.group[axis] + self.local[axis]

    # --- statements ---

    def block(self, block: nodes.Block) -> Generator[None, None, None]:
        for stmt in block:
            yield from self.statement(stmt)

    def statement(self, stmt: nodes.Stmt) -> Generator[None, None, None]:
        match stmt:
            case nodes.Assign():
                self.locals[stmt.local] = self.value(stmt.value)
            case nodes.Store():
                memory, place = self.place(stmt.base, stmt.indices)
                memory[place] = self.value(stmt.value)
            case nodes.If():
                yield from self.block(stmt.then if self.value(stmt.condition) else stmt.orelse)
            case nodes.Loop():
                yield from self.loop(stmt)
            case nodes.Break():
                raise _Left
            case nodes.Continue():
                raise _Skipped
            case nodes.Return():
                raise _Ended
            case nodes.Barrier():
                yield
            case nodes.Atomic():
                self.atomic(stmt)

    def loop(self, stmt: nodes.Loop) -> Generator[None, None, None]:
        while self.value(stmt.condition):
            try:
                yield from self.block(stmt.body)
            except _Left:
                return
            except _Skipped:
                pass
            yield from self.block(stmt.step)

    def atomic(self, stmt: nodes.Atomic) -> None:
        memory, place = self.place(stmt.base, stmt.indices)
        old, value = memory[place], self.value(stmt.value)
        assert old is not None
        if stmt.op is AtomicOp.COMPARE_EXCHANGE:
            assert stmt.expected is not None
            memory[place] = value if old == self.value(stmt.expected) else old
        elif stmt.op is AtomicOp.EXCHANGE:
            memory[place] = value
        else:
            name = "fadd" if stmt.value.type.is_float else _ATOMIC[stmt.op]
            memory[place] = scalar.binary(Binary(name), stmt.value.type, old, value)
        if stmt.result is not None:
            self.locals[stmt.result] = old

    def place(self, base: str, indices: tuple[nodes.Expr, ...]) -> tuple[list[Any], int]:
        at = [int(self.value(index)) for index in indices]
        if base in self.shared:
            memory: list[Any] = self.shared[base]
            if not 0 <= at[0] < len(memory):
                raise OutOfBoundsError(f"{base}[{at[0]}]")
            return memory, at[0]
        view = self.arguments[base]
        assert isinstance(view, ViewValue)
        if not all(0 <= index < size for index, size in zip(at, view.shape, strict=True)):
            raise OutOfBoundsError(f"{base}{at}")
        return view.data, view.offset + sum(i * step for i, step in zip(at, view.strides, strict=True))

    # --- expressions ---

    def value(self, expr: nodes.Expr) -> Number:
        return _VALUES[type(expr)](self, expr)

    def _load(self, expr: nodes.Load) -> Number:
        memory, place = self.place(expr.base, expr.indices)
        found: Number | None = memory[place]
        if found is None:
            raise OutOfBoundsError(f"{expr.base}[{place}] was never written")
        return found

    def _logical(self, expr: nodes.Logical) -> Number:
        left = bool(self.value(expr.left))
        decided = left is (expr.op is ops.Logical.LOR)
        return left if decided else bool(self.value(expr.right))

    def _info(self, expr: nodes.ViewInfo) -> Number:
        view = self.arguments[expr.view]
        assert isinstance(view, ViewValue)
        if expr.op is ops.Extent.OFFSET:
            return view.offset
        return (view.shape if expr.op is ops.Extent.SIZE else view.strides)[expr.dimension]

    def _select(self, expr: nodes.Select) -> Number:
        condition, yes, no = (self.value(item) for item in (expr.condition, expr.yes, expr.no))
        return yes if condition else no

    def _parameter(self, expr: nodes.Param) -> Number:
        found = self.arguments[expr.name]
        assert not isinstance(found, ViewValue)
        return found


_VALUES: dict[type, Callable[[_Item, Any], Number]] = {
    nodes.Const: lambda _, expr: expr.value,
    nodes.Param: _Item._parameter,
    nodes.Local: lambda item, expr: item.locals[expr.name],
    nodes.Unary: lambda item, expr: scalar.unary(expr.op, expr.type, item.value(expr.operand)),
    nodes.Binary: lambda item, expr: scalar.binary(
        expr.op, expr.type, item.value(expr.left), item.value(expr.right)
    ),
    nodes.Compare: lambda item, expr: scalar.compare(expr.op, item.value(expr.left), item.value(expr.right)),
    nodes.Logical: _Item._logical,
    nodes.Select: _Item._select,
    nodes.Cast: lambda item, expr: scalar.cast(
        expr.op, expr.operand.type, expr.type, item.value(expr.operand)
    ),
    nodes.Builtin: lambda item, expr: item.ids[expr.op, expr.dimension],
    nodes.ViewInfo: _Item._info,
    nodes.Load: _Item._load,
    nodes.MathCall: lambda item, expr: scalar.maths(
        expr.op, expr.type, [float(item.value(operand)) for operand in expr.operands]
    ),
}
_ATOMIC = {
    AtomicOp.ADD: "add_wrap", AtomicOp.MIN: "min", AtomicOp.MAX: "max",
    AtomicOp.AND: "and", AtomicOp.OR: "or", AtomicOp.XOR: "xor",
}  # fmt: skip
