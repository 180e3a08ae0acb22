"""Can one work-item do the work of four neighbours, and take their elements in one access?

A kernel without anything that joins work-items says for each what happens, in no order among them. So four
that are neighbours in dimension 0 may go statement by statement together: what they load from, or store to,
elements that lie side by side then stands side by side in the text, where a target can make one access of it.
Where a condition does not hold for all four, each goes alone. Launch it over a quarter of the domain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from atoll.ir import nodes as n
from atoll.ir import ops
from atoll.ir.module import Kernel, LocalVariable, Module
from atoll.ir.types import BOOL, I32, I64
from atoll.ir.unroll import names_of, rebuilt, rewritten, size
from atoll.ir.verify import verify
from atoll.ir.walk import all_expressions, expressions, statements

#: How many work-items one does the work of.
LANES = 4
#: The largest kernel that is widened, in nodes: each is written nine times.
MOST_NODES = 250
_FIRST = n.Builtin(ops.Id.GLOBAL_ID, 0)


def widen(module: Module, name: str) -> Module | None:
    """Return a verified module whose one kernel does four work-items' work, or None where none can."""
    kernel = module.kernel(name)
    if not _is_free(kernel) or not _gains(kernel):
        return None
    body = _without_returns(_inlined(kernel).body)
    if body is None:
        return None
    work = _Widening(kernel)
    try:
        made = work.together(body)
    except _CannotError:
        return None
    return verify(Module(kernels=(replace(kernel, body=made, locals=work.locals()),)))


def lane(number: int) -> n.Expr:
    """Return the id in dimension 0 of one of the four."""
    first = n.Binary(ops.Binary.MUL_WRAP, _FIRST, n.const(I32, LANES))
    return n.Binary(ops.Binary.ADD_WRAP, first, n.const(I32, number))


def lane_of(index: n.Expr) -> int | None:
    """Return which of four neighbours an index of the last dimension names: by an id, or a constant."""
    if isinstance(index, n.Const) and 0 <= int(index.value) < LANES:
        return int(index.value)
    for number in range(LANES):
        if index == n.Cast(ops.Cast.SEXT, I64, lane(number)):
            return number
    return None


#: What is loaded: a view, the indices but the last, and the last, a number where it is by the four's own.
_Place = tuple[str, tuple[n.Expr, ...], n.Expr | int]


def _place(load: n.Load) -> _Place:
    last = _step(load.indices[-1])
    return load.base, load.indices[:-1], load.indices[-1] if last is None else last


def _step(index: n.Expr) -> int | None:
    """Return how far an index lies behind the first of the four; None where that is not plain.

    An id and a number near it do not wrap, or the index was outside of every array before.
    """
    known = lane_of(index)
    if known is not None and not isinstance(index, n.Const):
        return known
    if not isinstance(index, n.Cast) or index.op is not ops.Cast.SEXT:
        return None
    inner = index.operand
    if not isinstance(inner, n.Binary) or not isinstance(inner.right, n.Const):
        return None
    sign = {ops.Binary.ADD_WRAP: 1, ops.Binary.SUB_WRAP: -1}.get(inner.op)
    for number in range(LANES):
        if sign is not None and inner.left == lane(number):
            return number + sign * int(inner.right.value)
    return None


class _CannotError(Exception):
    """Something in the kernel keeps the four apart."""


def _is_free(kernel: Kernel) -> bool:
    """Tell whether a kernel is straight text over its id, with nothing that joins work-items."""
    if kernel.shared or kernel.arrays or size(kernel.body) > MOST_NODES:
        return False
    plain = n.Assign | n.Store | n.If | n.Return
    if not all(isinstance(stmt, plain) or _computes(stmt) for stmt in statements(kernel.body)):
        return False
    ids = (item for item in all_expressions(kernel.body) if isinstance(item, n.Builtin))
    return all(item.op is ops.Id.GLOBAL_ID for item in ids)


def _computes(stmt: n.Stmt) -> bool:
    """Tell whether a statement is inline code that makes a value of values."""
    return isinstance(stmt, n.Inline) and not stmt.writes and not any(stmt.bases) and stmt.result is not None


def _gains(kernel: Kernel) -> bool:
    """Tell whether an access goes by the id in dimension 0 alone: else there is nothing to take at once."""
    views = {view.name for view in kernel.views}
    index = n.Cast(ops.Cast.SEXT, I64, _FIRST)
    for stmt in statements(_inlined(kernel).body):
        if isinstance(stmt, n.Store) and stmt.base in views and stmt.indices[-1] == index:
            return True
    return False


def _inlined(kernel: Kernel) -> Kernel:
    """Return a kernel with its locals that are made of ids alone written out where they are read."""
    counts: dict[str, int] = {}
    for stmt in statements(kernel.body):
        if isinstance(stmt, n.Assign):
            counts[stmt.local] = counts.get(stmt.local, 0) + 1
    known: dict[str, n.Expr] = {}

    def written(item: n.Expr) -> n.Expr:
        return known.get(item.name, item) if isinstance(item, n.Local) else item

    for stmt in statements(kernel.body):
        if isinstance(stmt, n.Assign) and counts[stmt.local] == 1:
            value = rebuilt(stmt.value, written)
            if all(isinstance(item, n.Builtin | n.Const | n.Cast | n.Param) for item in expressions(value)):
                known[stmt.local] = value
    return replace(kernel, body=rewritten(kernel.body, written))


def _without_returns(block: n.Block) -> n.Block | None:
    """Return a block with what follows `if c: return` under the opposite; None for other returns."""
    found: list[n.Stmt] = []
    for at, stmt in enumerate(block):
        if isinstance(stmt, n.Return):
            return tuple(found)
        if isinstance(stmt, n.If) and stmt.then == (n.Return(),) and not stmt.orelse:
            rest = _without_returns(block[at + 1 :])
            if rest is None:
                return None
            opposite = n.Unary(ops.Unary.NOT, stmt.condition, stmt.span)
            return (*found, n.If(opposite, rest, (), stmt.span))
        if any(isinstance(item, n.Return) for item in statements((stmt,))):
            return None
        found.append(stmt)
    return tuple(found)


@dataclass(slots=True)
class _Widening:
    """One kernel on its way: which locals each of the four has."""

    kernel: Kernel
    made: dict[str, LocalVariable] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    names: dict[tuple[str, int], str] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        kernel = self.kernel
        self.taken = names_of(kernel)
        for item in kernel.locals:
            for number in range(LANES):
                self.names[item.name, number] = self._local(f"{item.name}_{number}", item.type)

    def locals(self) -> tuple[LocalVariable, ...]:
        """Return the locals of the four."""
        return tuple(self.made.values())

    def _local(self, name: str, kind: object) -> str:
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        self.made[name] = LocalVariable(name, kind)  # type: ignore[arg-type]
        return name

    def _own(self, number: int) -> Callable[[n.Expr], n.Expr]:
        """Return what makes an expression one of the four's own."""

        def change(item: n.Expr) -> n.Expr:
            if item == _FIRST:
                return lane(number)
            if isinstance(item, n.Local) and item.name not in self.shared:
                return replace(item, name=self.names[item.name, number])
            return item

        return change

    def alone(self, block: n.Block, number: int) -> n.Block:
        """Return a block for one of the four."""

        def named(item: n.Stmt) -> n.Stmt:
            if isinstance(item, n.Assign):
                return replace(item, local=self.names[item.local, number])
            if isinstance(item, n.Inline):
                return replace(item, result=self._result(item, number))
            return item

        return rewritten(block, self._own(number), named)

    def _result(self, stmt: n.Inline, number: int) -> str | None:
        return None if stmt.result is None else self.names[stmt.result, number]

    def together(self, block: n.Block) -> n.Block:
        """Return a block for the four, statement by statement."""
        found: list[n.Stmt] = []
        for stmt in block:
            match stmt:
                case n.Assign():
                    values = yield_from(found, self._loaded(stmt.value))
                    found += [
                        n.Assign(self.names[stmt.local, number], value, stmt.span)
                        for number, value in enumerate(values)
                    ]
                case n.Store():
                    indices = [yield_from(found, self._loaded(item)) for item in stmt.indices]
                    values = yield_from(found, self._loaded(stmt.value))
                    found += [
                        n.Store(stmt.base, tuple(item[number] for item in indices), value, stmt.span)
                        for number, value in enumerate(values)
                    ]
                case n.Inline():
                    given = [yield_from(found, self._loaded(item)) for item in stmt.operands]
                    for number in range(LANES):
                        operands = tuple(item[number] for item in given)
                        found.append(replace(stmt, operands=operands, result=self._result(stmt, number)))
                case n.If():
                    found += self._branch(stmt, found)
                case _:
                    raise AssertionError("a statement was accepted that cannot be widened")
        return tuple(found)

    def _branch(self, stmt: n.If, found: list[n.Stmt]) -> n.Block:
        conditions = []
        for number, value in enumerate(yield_from(found, self._loaded(stmt.condition))):
            name = self._local(f"holds_{len(self.made)}", BOOL)
            found.append(n.Assign(name, value, stmt.span))
            conditions.append(n.Local(name, BOOL))
            assert number == len(conditions) - 1
        every: n.Expr = conditions[0]
        for item in conditions[1:]:
            every = n.Logical(ops.Logical.LAND, every, item)
        each = tuple(
            n.If(item, self.alone(stmt.then, number), self.alone(stmt.orelse, number), stmt.span)
            for number, item in enumerate(conditions)
        )
        if stmt.orelse:
            some: n.Expr = conditions[0]
            for item in conditions[1:]:
                some = n.Logical(ops.Logical.LOR, some, item)
            none = n.Unary(ops.Unary.NOT, some)
            each = (n.If(none, self.together(stmt.orelse), each, stmt.span),)
        return (n.If(every, self.together(stmt.then), each, stmt.span),)

    def _loaded(self, expr: n.Expr) -> tuple[list[n.Stmt], list[n.Expr]]:
        """Return an expression of each of the four, and before them its loads, four in a row."""
        for item in expressions(expr):
            if isinstance(item, n.Logical) and any(isinstance(e, n.Load) for e in expressions(item.right)):
                raise _CannotError
        before: list[n.Stmt] = []
        expr = rebuilt(expr, self._shared(before))
        own = [rebuilt(expr, self._own(number)) for number in range(LANES)]
        known = self._rows(own, before)
        lists = [list(_loads(item)) for item in own]
        while lists[0]:
            here = [loads[0] for loads in lists]
            names = self._taken(here, known, before)
            for number, (load, name) in enumerate(zip(here, names, strict=True)):
                own[number] = rebuilt(own[number], _replaced(load, n.Local(name, load.type)))
            lists = [list(_loads(item)) for item in own]
        return before, own

    def _taken(self, loads: list[n.Load], known: dict[_Place, str], before: list[n.Stmt]) -> list[str]:
        """Return the locals that hold the loads of the four; what one has loaded serves the others."""
        in_row = all(lane_of(load.indices[-1]) == number for number, load in enumerate(loads))
        places = [_place(load) for load in loads]
        if in_row and any(place not in known for place in places):
            for place in places:
                known.pop(place, None)
        for place, load in zip(places, loads, strict=True):
            if place not in known:
                known[place] = self._local(f"taken_{len(self.made)}", load.type)
                before.append(n.Assign(known[place], load, load.span))
        return [known[place] for place in places]

    def _rows(self, own: list[n.Expr], before: list[n.Stmt]) -> dict[_Place, str]:
        """Load what the four need together of their own elements, where they reach it by other ways only.

        As the neighbours on both sides of each: the four have all of their own elements among them.
        """
        known: dict[_Place, str] = {}
        found = {_place(load): load for item in own for load in _loads(item)}
        for (base, above, last), load in found.items():
            places = [(base, above, number) for number in range(LANES)]
            if last in range(LANES) and places[0] not in known and all(item in found for item in places):
                row = [
                    replace(load, indices=(*load.indices[:-1], n.Cast(ops.Cast.SEXT, I64, lane(number))))
                    for number in range(LANES)
                ]
                self._taken(row, known, before)
        return known

    def _shared(self, before: list[n.Stmt]) -> Callable[[n.Expr], n.Expr]:
        """Return what takes out of an expression what is the same for all four and costs something."""

        def change(item: n.Expr) -> n.Expr:
            if not isinstance(item, n.MathCall | n.Load) or _differs(item, self.shared):
                return item
            name = self._local(f"shared_{len(self.made)}", item.type)
            self.shared.add(name)
            before.append(n.Assign(name, item, item.span))
            return n.Local(name, item.type, item.span)

        return change


def _differs(expr: n.Expr, shared: set[str]) -> bool:
    """Tell whether an expression may differ among the four."""
    for item in expressions(expr):
        if item == _FIRST or (isinstance(item, n.Local) and item.name not in shared):
            return True
    return False


def _replaced(load: n.Load, by: n.Local) -> Callable[[n.Expr], n.Expr]:
    return lambda item: by if item == load else item


def yield_from(found: list[n.Stmt], given: tuple[list[n.Stmt], list[n.Expr]]) -> list[n.Expr]:
    """Add the statements that come first, and return the four expressions."""
    found += given[0]
    return given[1]


def _loads(expr: n.Expr) -> Iterator[n.Load]:
    """Give the loads of an expression that hold no other load, in order."""
    for item in expressions(expr):
        if isinstance(item, n.Load):
            inner = (part for index in item.indices for part in expressions(index))
            if not any(isinstance(part, n.Load) for part in inner):
                yield item
