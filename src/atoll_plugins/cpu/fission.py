"""Where does a kernel with barriers split, so that one thread can run a whole work-group?

A barrier ends a loop over the work-items of the group. Statements between barriers are a *segment*: one
such loop. A branch or loop that holds a barrier (or leaves a loop that does) cannot stand inside a
segment: it stays outside, its condition evaluated once for the group, which KIR's verifier has shown to
be the same for every work-item. A local that more than one segment sees has a place for each work-item.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set
from dataclasses import dataclass

from atoll.ir import Kernel, nodes
from atoll.ir.module import PrivateArray, SharedArray
from atoll.ir.walk import blocks, expressions, statements, values


@dataclass(frozen=True, slots=True)
class Segment:
    """Statements without a barrier: one loop over the work-items."""

    body: nodes.Block


@dataclass(frozen=True, slots=True)
class GroupIf:
    """A branch that the whole group takes or leaves."""

    condition: nodes.Expr
    then: tuple[Part, ...]
    orelse: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class GroupLoop:
    """A loop that the whole group runs together."""

    condition: nodes.Expr
    body: tuple[Part, ...]
    step: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class GroupLeave:
    """A `break` or `continue` of a loop that the whole group runs."""

    leaves: bool


Part = Segment | GroupIf | GroupLoop | GroupLeave


def split(block: nodes.Block) -> tuple[Part, ...]:
    """Return a body as parts."""
    return tuple(_parts(block, shared_loop=False))


def _parts(block: nodes.Block, *, shared_loop: bool) -> list[Part]:
    """Split a block; `shared_loop` says whether the loop around it is one of the whole group."""
    parts: list[Part] = []
    plain: list[nodes.Stmt] = []
    for stmt in block:
        if not _splits(stmt, shared_loop=shared_loop):
            plain.append(stmt)
            continue
        if plain:
            parts.append(Segment(tuple(plain)))
            plain = []
        parts += _part(stmt, shared_loop=shared_loop)
    if plain:
        parts.append(Segment(tuple(plain)))
    return parts


def _part(stmt: nodes.Stmt, *, shared_loop: bool) -> list[Part]:
    match stmt:
        case nodes.If():
            then, orelse = (tuple(_parts(item, shared_loop=shared_loop)) for item in (stmt.then, stmt.orelse))
            return [GroupIf(stmt.condition, then, orelse)]
        case nodes.Loop():
            body = tuple(_parts(stmt.body, shared_loop=True))
            return [GroupLoop(stmt.condition, body, tuple(_parts(stmt.step, shared_loop=False)))]
        case nodes.Break() | nodes.Continue():
            return [GroupLeave(isinstance(stmt, nodes.Break))]
    return []  # a barrier: the end of one segment and the start of the next


def _splits(stmt: nodes.Stmt, *, shared_loop: bool) -> bool:
    """Tell whether a statement cannot stand in a loop over the work-items."""
    match stmt:
        case nodes.Barrier():
            return True
        case nodes.Break() | nodes.Continue():
            return shared_loop
        case nodes.If():
            return any(_splits(item, shared_loop=shared_loop) for item in (*stmt.then, *stmt.orelse))
        case nodes.Loop():
            return any(isinstance(item, nodes.Barrier) for item in statements(stmt.body))
    return False


def spread(kernel: Kernel, parts: tuple[Part, ...]) -> frozenset[str]:
    """Return the locals and arrays that need a place for each work-item.

    One segment's own locals live inside it, unless a loop of the group runs the segment again and may
    carry a value around.
    """
    seen: Counter[str] = Counter()
    _count(parts, seen, weight=1)
    declared = [item.name for item in kernel.locals] + [item.name for item in kernel.arrays]
    return frozenset(name for name in declared if seen[name] > 1)


def _count(parts: tuple[Part, ...], seen: Counter[str], weight: int) -> None:
    for part in parts:
        match part:
            case Segment():
                seen.update(dict.fromkeys(names(part.body), weight))
            case GroupIf():
                seen.update(dict.fromkeys(_locals(part.condition), 2))
                _count(part.then, seen, weight)
                _count(part.orelse, seen, weight)
            case GroupLoop():
                seen.update(dict.fromkeys(_locals(part.condition), 2))
                _count(part.body, seen, 2)
                _count(part.step, seen, 2)


def names(block: nodes.Block) -> set[str]:
    """Return the locals that statements read or assign, and the arrays they touch."""
    found: set[str] = set()
    for stmt in statements(block):
        if isinstance(stmt, nodes.Assign):
            found.add(stmt.local)
        if isinstance(stmt, nodes.Store):
            found.add(stmt.base)
        if isinstance(stmt, nodes.Atomic) and stmt.result is not None:
            found.add(stmt.result)
        for value in values(stmt):
            found |= _locals(value)
    return found


def _locals(expr: nodes.Expr) -> set[str]:
    found = {item.name for item in expressions(expr) if isinstance(item, nodes.Local)}
    return found | {item.base for item in expressions(expr) if isinstance(item, nodes.Load)}


def returns(block: nodes.Block) -> bool:
    """Tell whether a work-item may end before the last statement."""
    return any(isinstance(stmt, nodes.Return) or any(map(returns, blocks(stmt))) for stmt in block)


def group_bytes(kernel: Kernel, apart: Set[str], items: int) -> int:
    """Return what a group takes of its thread's stack: shared memory, and a place for each work-item.

    Args:
        kernel: The kernel.
        apart: Locals and arrays that have a place for each work-item.
        items: Of a group.
    """
    arrays: list[SharedArray | PrivateArray] = [*kernel.shared, *kernel.arrays]
    sizes = {item.name: -(-item.length * item.element.nbytes // 8) * 8 for item in arrays}
    taken = sum(size * (items if name in apart else 1) for name, size in sizes.items())
    return taken + items * sum(8 for item in kernel.locals if item.name in apart)
