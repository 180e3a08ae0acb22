"""How does a kernel run where there are no sub-groups? Memory of the work-group takes their place.

:func:`emulated` is what every executor without sub-groups of its own runs: the processor, the interpreter,
OpenCL without its extension. A sub-group is then `WIDTH` work-items that follow one another, or the greatest
power of two below it that divides the group; an operation is a store, a barrier, loads. Where an operation is
reached by some sub-groups of a group only, a barrier cannot stand, and a sub-group is one work-item.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from atoll.ir import nodes as n
from atoll.ir import ops
from atoll.ir.module import Kernel, LocalVariable, Module, SharedArray
from atoll.ir.passes import optimise
from atoll.ir.types import BOOL, I32, U32, Scalar
from atoll.ir.uniform import divergent_barriers
from atoll.ir.unroll import rewritten
from atoll.ir.verify import verify
from atoll.ir.walk import has_subgroups

Group = tuple[int, int, int]
#: The most work-items of an emulated sub-group.
WIDTH = 8
_REDUCE = {
    ops.SubGroup.ADD: ("add_wrap", "fadd"), ops.SubGroup.INCLUSIVE_ADD: ("add_wrap", "fadd"),
    ops.SubGroup.EXCLUSIVE_ADD: ("add_wrap", "fadd"),
    ops.SubGroup.MIN: ("min", "fmin"), ops.SubGroup.MAX: ("max", "fmax"),
    ops.SubGroup.AND: ("and", "and"), ops.SubGroup.OR: ("or", "or"), ops.SubGroup.XOR: ("xor", "xor"),
    ops.SubGroup.ALL: ("and", "and"), ops.SubGroup.ANY: ("or", "or"),
}  # fmt: skip


def combine(op: ops.SubGroup, scalar: Scalar) -> ops.Binary:
    """Return the operation on two values that a reduction or scan repeats."""
    return ops.Binary(_REDUCE[op][scalar.is_float])


def width_of(group: Group) -> int:
    """Return how many work-items an emulated sub-group of a group has, where barriers can stand."""
    items, width = group[0] * group[1] * group[2], WIDTH
    while items % width:
        width //= 2
    return width


def emulated(kernel: Kernel, group: Group) -> Kernel:
    """Return a kernel that knows no sub-groups and does the same in groups of this size."""
    if not has_subgroups(kernel):
        return kernel
    wide = _Emulation(kernel, group, width_of(group)).run()
    return _Emulation(kernel, group, 1).run() if divergent_barriers(wide) else wide


def sized(kernel: Kernel, width: int) -> Kernel:
    """Return a kernel for sub-groups that all have so many work-items: what follows from that is computed."""
    size = n.const(I32, width)

    def known(item: n.Expr) -> n.Expr:
        return size if isinstance(item, n.Builtin) and item.op is ops.Id.SUBGROUP_SIZE else item

    body = rewritten(kernel.body, known)
    if body == kernel.body:
        return kernel
    return optimise(verify(Module(kernels=(replace(kernel, body=body),)))).kernels[0]


@dataclass(slots=True)
class _Emulation:
    kernel: Kernel
    group: Group
    width: int
    taken: set[str] = field(init=False)
    locals: list[LocalVariable] = field(init=False)
    shared: dict[Scalar, SharedArray] = field(default_factory=dict)
    ids: dict[ops.Id, n.Expr] = field(default_factory=dict)
    item: n.Expr = field(init=False)
    first: n.Expr = field(init=False)

    def __post_init__(self) -> None:
        kernel = self.kernel
        self.taken = {item.name for item in kernel.params} | {item.name for item in kernel.locals}
        self.taken |= {item.name for item in kernel.shared} | {item.name for item in kernel.arrays}
        self.locals = list(kernel.locals)

    def run(self) -> Kernel:
        head = self.head()
        body = (*head, *self.block(self.kernel.body))
        shared = (*self.kernel.shared, *self.shared.values())
        return replace(self.kernel, locals=tuple(self.locals), shared=shared, body=body, group=self.group)

    def local(self, wanted: str, scalar: Scalar) -> n.Local:
        name = self.name(wanted)
        self.locals.append(LocalVariable(name, scalar))
        return n.Local(name, scalar)

    def name(self, wanted: str) -> str:
        name, count = wanted, 1
        while name in self.taken:
            count += 1
            name = f"{wanted}_{count}"
        self.taken.add(name)
        return name

    def head(self) -> list[n.Stmt]:
        """Return what numbers the work-items of the group, dimension 0 fastest."""
        item, lane, first = (self.local(f"subgroup_{word}", I32) for word in ("item", "lane", "first"))
        place: n.Expr = n.Builtin(ops.Id.LOCAL_ID, 2)
        for axis in (1, 0):
            rows = _wrap(ops.Binary.MUL_WRAP, place, _number(self.group[axis]))
            place = _wrap(ops.Binary.ADD_WRAP, rows, n.Builtin(ops.Id.LOCAL_ID, axis))
        width = _number(self.width)
        self.item, self.first = item, first
        self.ids = {
            ops.Id.LANE_ID: lane,
            ops.Id.SUBGROUP_ID: _wrap(ops.Binary.DIV_TRUNC, item, width),
            ops.Id.SUBGROUP_SIZE: width,
        }
        return [
            n.Assign(item.name, place),
            n.Assign(lane.name, _wrap(ops.Binary.REM_TRUNC, item, width)),
            n.Assign(first.name, _wrap(ops.Binary.SUB_WRAP, item, lane)),
        ]

    # --- statements ---

    def block(self, block: n.Block) -> tuple[n.Stmt, ...]:
        return tuple(made for stmt in block for made in self.statement(stmt))

    def statement(self, stmt: n.Stmt) -> list[n.Stmt]:
        match stmt:
            case n.Assign():
                return [replace(stmt, value=self.value(stmt.value))]
            case n.Store():
                return [replace(stmt, indices=self.values(stmt.indices), value=self.value(stmt.value))]
            case n.Atomic():
                expected = None if stmt.expected is None else self.value(stmt.expected)
                indices, value = self.values(stmt.indices), self.value(stmt.value)
                return [replace(stmt, indices=indices, value=value, expected=expected)]
            case n.If():
                condition = self.value(stmt.condition)
                then, orelse = self.block(stmt.then), self.block(stmt.orelse)
                return [replace(stmt, condition=condition, then=then, orelse=orelse)]
            case n.Loop():
                condition, body = self.value(stmt.condition), self.block(stmt.body)
                return [replace(stmt, condition=condition, body=body, step=self.block(stmt.step))]
            case n.ExternCall():
                return [replace(stmt, arguments=self.values(stmt.arguments))]
            case n.Inline():
                return [replace(stmt, operands=self.values(stmt.operands))]
            case n.SubGroup():
                return self.alone(stmt) if self.width == 1 else self.together(stmt)
        return [stmt]

    def alone(self, stmt: n.SubGroup) -> list[n.Stmt]:
        """Do an operation of a sub-group of one work-item."""
        value = self.value(stmt.value)
        if stmt.op is ops.SubGroup.EXCLUSIVE_ADD:
            value = n.const(value.type, 0)
        return [n.Assign(stmt.result, value, stmt.span)]

    def together(self, stmt: n.SubGroup) -> list[n.Stmt]:
        """Write every value, wait, read: the first barrier keeps what others still read."""
        scalar = stmt.value.type
        held = U32 if scalar == BOOL else scalar
        array = self.array(held)
        value = self.value(stmt.value)
        if scalar == BOOL:
            value = n.Select(value, n.const(U32, 1), n.const(U32, 0))
        wait = n.Barrier(span=stmt.span)
        # The operands are taken before anything waits: they may read what others change.
        kept = self.local("subgroup_value", held)
        write = n.Store(array.name, (self.item,), kept, stmt.span)
        head: list[n.Stmt] = [n.Assign(kept.name, value, stmt.span)]
        if stmt.lane is not None:
            lane = self.local("subgroup_from", I32)
            head.append(n.Assign(lane.name, self.value(stmt.lane), stmt.span))
            place = _wrap(ops.Binary.ADD_WRAP, self.first, lane)
            found: list[n.Stmt] = [n.Assign(stmt.result, n.Load(array.name, (place,), held), stmt.span)]
        else:
            found = self.reduced(stmt, array, held)
        return [*head, wait, write, wait, *found]

    def reduced(self, stmt: n.SubGroup, array: SharedArray, held: Scalar) -> list[n.Stmt]:
        """Combine the values of the sub-group one after another; of a scan, those up to one's own."""
        operation = combine(stmt.op, held)
        scan, counter = stmt.op in ops.SCANS, self.local("subgroup_next", I32)
        total = self.local("subgroup_total", held)
        load = n.Load(array.name, (_wrap(ops.Binary.ADD_WRAP, self.first, counter),), held)
        start: n.Expr = n.Load(array.name, (self.first,), held)
        if stmt.op is ops.SubGroup.EXCLUSIVE_ADD:
            start = n.const(held, 0)
        end: n.Expr = self.ids[ops.Id.LANE_ID] if scan else _number(self.width)
        order = ops.Compare.LE if stmt.op is ops.SubGroup.INCLUSIVE_ADD else ops.Compare.LT
        first = 0 if stmt.op is ops.SubGroup.EXCLUSIVE_ADD else 1
        result: n.Expr = total
        if stmt.value.type == BOOL:
            result = n.Compare(ops.Compare.NE, total, n.const(held, 0))
        return [
            n.Assign(total.name, start, stmt.span),
            n.Assign(counter.name, _number(first), stmt.span),
            n.Loop(
                n.Compare(order, counter, end),
                (n.Assign(total.name, n.Binary(operation, total, load), stmt.span),),
                (n.Assign(counter.name, _wrap(ops.Binary.ADD_WRAP, counter, _number(1)), stmt.span),),
                stmt.span,
            ),
            n.Assign(stmt.result, result, stmt.span),
        ]

    def array(self, scalar: Scalar) -> SharedArray:
        """Return the group's memory for values of a type, one element a work-item."""
        if scalar not in self.shared:
            items = self.group[0] * self.group[1] * self.group[2]
            self.shared[scalar] = SharedArray(self.name(f"subgroup_{scalar}"), scalar, items)
        return self.shared[scalar]

    # --- expressions ---

    def values(self, exprs: tuple[n.Expr, ...]) -> tuple[n.Expr, ...]:
        return tuple(self.value(expr) for expr in exprs)

    def value(self, expr: n.Expr) -> n.Expr:
        if isinstance(expr, n.Builtin):
            return self.ids.get(expr.op, expr)
        return rebuilt(expr, self.value)


def rebuilt(expr: n.Expr, change: Callable[[n.Expr], n.Expr]) -> n.Expr:
    """Return an expression whose operands were changed."""
    match expr:
        case n.Unary() | n.Cast():
            return replace(expr, operand=change(expr.operand))
        case n.Binary() | n.Compare() | n.Logical():
            return replace(expr, left=change(expr.left), right=change(expr.right))
        case n.Select():
            return replace(expr, condition=change(expr.condition), yes=change(expr.yes), no=change(expr.no))
        case n.Load():
            return replace(expr, indices=tuple(map(change, expr.indices)))
        case n.MathCall():
            return replace(expr, operands=tuple(map(change, expr.operands)))
    return expr


def _number(value: int) -> n.Const:
    return n.const(I32, value)


def _wrap(op: ops.Binary, left: n.Expr, right: n.Expr) -> n.Expr:
    return n.Binary(op, left, right)
