"""Which statements of a block access four neighbours of a plain view, so that one access serves them?

Where four work-items were joined in one, or a row of four was taken together, their accesses stand side by
side (:mod:`atoll.ir.widen`, :mod:`atoll.ir.rows`). A plain view (:class:`atoll.plugin.Target`) has such
a four at a multiple of four elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from atoll.ir import Scalar, View, nodes
from atoll.ir.walk import expressions
from atoll.ir.widen import LANES, lane_of
from atoll_plugins.formats.emission import Job

#: The widest element of which four are taken at once, in bits.
WIDEST = 32


class Fours:
    """Finds fours in a kernel's blocks.

    Args:
        elements: The views' elements, by name.
        apart: Whether no view that is written overlaps another.
    """

    def __init__(self, elements: Mapping[str, Scalar], *, apart: bool) -> None:
        self._elements = elements
        self._apart = apart

    def loads(self, block: nodes.Block, at: int) -> list[tuple[str, nodes.Load]]:
        """Return the four loads that stand here, each with the local that takes it; nothing where none do."""
        four = [item for item in block[at : at + LANES] if isinstance(item, nodes.Assign)]
        loads = [item.value for item in four if isinstance(item.value, nodes.Load)]
        names = [item.local for item in four]
        if len(loads) < LANES or len(set(names)) < LANES or not self._are_neighbours(loads):
            return []
        if any(isinstance(part, nodes.Local) and part.name in names for part in expressions(loads[0])):
            return []
        return list(zip(names, loads, strict=True))

    def stores(self, block: nodes.Block, at: int) -> list[nodes.Store]:
        """Return the four stores that stand here; nothing where none do."""
        four = [item for item in block[at : at + LANES] if isinstance(item, nodes.Store)]
        if len(four) < LANES or not self._are_neighbours(four):
            return []
        if any(self._may_see(item.value, four[0].base) for item in four[1:]):
            return []
        return four

    def bases(self, block: nodes.Block) -> set[str]:
        """Return the views that are accessed by fours in a block or in what is below it."""
        found: set[str] = set()
        for inside in _blocks(block):
            for at in range(len(inside)):
                found |= {load.base for _, load in self.loads(inside, at)}
                found |= {store.base for store in self.stores(inside, at)}
        return found

    def _may_see(self, value: nodes.Expr, base: str) -> bool:
        """Tell whether a value may be read from what a store to a view has just written."""
        loads = {part.base for part in expressions(value) if isinstance(part, nodes.Load)}
        loads &= self._elements.keys()
        return base in loads or (bool(loads) and not self._apart)

    def _are_neighbours(self, found: Sequence[nodes.Load | nodes.Store]) -> bool:
        """Tell whether accesses are to the elements of the four work-items of one, side by side."""
        bases, above = set(), set()
        for number, item in enumerate(found):
            if item.base not in self._elements or lane_of(item.indices[-1]) != number:
                return False
            bases.add(item.base)
            above.add(item.indices[:-1])
        parts = (part for indices in above for index in indices for part in expressions(index))
        if len(bases) > 1 or len(above) > 1 or any(isinstance(part, nodes.Load) for part in parts):
            return False
        return self._elements[bases.pop()].bits <= WIDEST


def steps(
    fours: Fours | None, block: nodes.Block
) -> Iterator[tuple[list[tuple[str, nodes.Load]], list[nodes.Store], nodes.Stmt]]:
    """Go through a block: each step is four loads, or four stores, or neither and the one statement."""
    at = 0
    while at < len(block):
        loads = [] if fours is None else fours.loads(block, at)
        stores = [] if fours is None else fours.stores(block, at)
        yield loads, stores, block[at]
        at += LANES if loads or stores else 1


def fours_of(job: Job) -> Fours | None:
    """Return what finds the fours of a kernel; None where its views are not known to be plain."""
    if not job.target.plain:
        return None
    elements = {view.name: view.type.element for view in job.kernel.views if isinstance(view.type, View)}
    return Fours(elements, apart=job.target.apart)


def _blocks(block: nodes.Block) -> Iterator[nodes.Block]:
    """Give a block and every one below it."""
    yield block
    for stmt in block:
        if isinstance(stmt, nodes.If):
            yield from _blocks(stmt.then)
            yield from _blocks(stmt.orelse)
        if isinstance(stmt, nodes.Loop):
            yield from _blocks(stmt.body)
            yield from _blocks(stmt.step)
