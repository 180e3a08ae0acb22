"""Which loads take the four elements of a row one by one, and could take them at once?

A vector in memory is four neighbours: ``x[i, 0]`` to ``x[i, 3]``. Where all four are read between two
effects, nothing can change them meanwhile, so they are read together, ahead of the first of them, each into a
local; an emitter that knows the row's address to be even makes one access of that. What is read only under a
condition may not exist, and counts for none of the four.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from atoll.ir import nodes as n
from atoll.ir.module import Kernel, LocalVariable, Module
from atoll.ir.unroll import names_of, rebuilt
from atoll.ir.verify import verify
from atoll.ir.walk import expressions, operands
from atoll.ir.widen import LANES

#: A row: the view, and the indices before the last one.
Row = tuple[str, tuple[n.Expr, ...]]


def rows(module: Module) -> Module:
    """Return a verified module whose loads of whole rows stand together; it computes the same to the bit."""
    return verify(Module(kernels=tuple(_Rows(kernel).made() for kernel in module.kernels)))


@dataclass(slots=True)
class _Seen:
    """A row that is read by the statements from `first` until `end`, and its loads by lane."""

    row: Row
    first: int
    end: int
    loads: dict[int, n.Load] = field(default_factory=dict)


class _Rows:
    """One kernel on its way."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.views = {view.name for view in kernel.views}
        self.names = names_of(kernel)
        self.locals: list[LocalVariable] = []

    def made(self) -> Kernel:
        body = self.block(self.kernel.body)
        return replace(self.kernel, body=body, locals=(*self.kernel.locals, *self.locals))

    def block(self, block: n.Block) -> n.Block:
        """Return a block, run by run: assignments, and the store or condition that ends them."""
        found: list[n.Stmt] = []
        run: list[n.Stmt] = []
        for given in block:
            stmt = self._inside(given)
            if isinstance(stmt, n.Assign | n.Store | n.If):
                run.append(stmt)
            if not isinstance(stmt, n.Assign):
                found += self.run(run)
                run = []
            if not isinstance(stmt, n.Assign | n.Store | n.If):
                found.append(stmt)
        return (*found, *self.run(run))

    def _inside(self, stmt: n.Stmt) -> n.Stmt:
        if isinstance(stmt, n.If):
            return replace(stmt, then=self.block(stmt.then), orelse=self.block(stmt.orelse))
        if isinstance(stmt, n.Loop):
            return replace(stmt, body=self.block(stmt.body), step=self.block(stmt.step))
        return stmt

    def run(self, run: Sequence[n.Stmt]) -> list[n.Stmt]:
        """Return statements with the rows that they read whole taken together."""
        whole = [seen for seen in self._seen(run) if len(seen.loads) == LANES]
        whole = [
            seen for seen in whole if not _stand_together(run[seen.first : seen.first + LANES], seen.row)
        ]
        before: dict[int, list[n.Stmt]] = {}
        taken: list[tuple[range, dict[n.Expr, n.Local]]] = []
        for seen in whole:
            instead: dict[n.Expr, n.Local] = {}
            for lane in range(LANES):
                load = seen.loads[lane]
                local = n.Local(self._new(f"{load.base}_row{lane}", load), load.type, load.span)
                instead[load] = local
                before.setdefault(seen.first, []).append(n.Assign(local.name, load, load.span))
            taken.append((range(seen.first, seen.end), instead))
        found: list[n.Stmt] = []
        for at, stmt in enumerate(run):
            found += before.get(at, [])
            here = {load: local for where, instead in taken if at in where for load, local in instead.items()}
            found.append(_with(stmt, here) if here else stmt)
        return found

    def _seen(self, run: Sequence[n.Stmt]) -> list[_Seen]:
        """Return the rows that are read in some part; each until a local that names it changes."""
        found: list[_Seen] = []
        known: dict[Row, _Seen] = {}
        for at, stmt in enumerate(run):
            for load in (part for value in _values(stmt) for part in _certain(value)):
                if isinstance(load, n.Load) and self._counts(load):
                    row = load.base, load.indices[:-1]
                    if row not in known:
                        known[row] = _Seen(row, at, len(run))
                        found.append(known[row])
                    known[row].loads.setdefault(_lane(load), load)
            if isinstance(stmt, n.Assign):
                for row in [row for row in known if stmt.local in _locals_of(row)]:
                    known.pop(row).end = at + 1
        return found

    def _counts(self, load: n.Load) -> bool:
        if load.base not in self.views or not 0 <= _lane(load) < LANES or load.type.bits > 32:
            return False
        return not any(isinstance(part, n.Load) for index in load.indices[:-1] for part in expressions(index))

    def _new(self, wanted: str, load: n.Load) -> str:
        name, number = wanted, 1
        while name in self.names:
            number += 1
            name = f"{wanted}_{number}"
        self.names.add(name)
        self.locals.append(LocalVariable(name, load.type, load.span))
        return name


def _lane(load: n.Load) -> int:
    last = load.indices[-1]
    return int(last.value) if isinstance(last, n.Const) and len(load.indices) > 1 else -1


def _values(stmt: n.Stmt) -> tuple[n.Expr, ...]:
    match stmt:
        case n.Assign():
            return (stmt.value,)
        case n.Store():
            return (*stmt.indices, stmt.value)
        case n.If():
            return (stmt.condition,)
    return ()


def _certain(expr: n.Expr) -> Iterator[n.Expr]:
    """Give what is evaluated whenever an expression is: not the right side of a short circuit."""
    pending = [expr]
    while pending:
        current = pending.pop()
        yield current
        pending += [current.left] if isinstance(current, n.Logical) else operands(current)


def _locals_of(row: Row) -> set[str]:
    parts = (part for index in row[1] for part in expressions(index))
    return {part.name for part in parts if isinstance(part, n.Local)}


def _stand_together(four: Sequence[n.Stmt], row: Row) -> bool:
    """Tell whether the loads of a row stand as this would leave them."""
    for lane, stmt in enumerate(four):
        value = stmt.value if isinstance(stmt, n.Assign) else None
        if not isinstance(value, n.Load) or (value.base, value.indices[:-1]) != row or _lane(value) != lane:
            return False
    return len(four) == LANES


def _with(stmt: n.Stmt, taken: dict[n.Expr, n.Local]) -> n.Stmt:
    def of(expr: n.Expr) -> n.Expr:
        return rebuilt(expr, lambda part: taken.get(part, part))

    match stmt:
        case n.Assign():
            return replace(stmt, value=of(stmt.value))
        case n.Store():
            return replace(stmt, indices=tuple(map(of, stmt.indices)), value=of(stmt.value))
        case n.If():
            return replace(stmt, condition=of(stmt.condition))
    return stmt
