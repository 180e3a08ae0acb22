"""Does each work-item of a kernel run on its own element, so that a loop over them is a loop over a row?

Then the loop may be vectorised: each access is at the work-item's own id, and nothing in it can be taken for
consecutive that is not (docs/decisions/0278). Where all of the kernel stands
under `id < size`, the loop ends there, and no work-item asks.
"""

from __future__ import annotations

from dataclasses import dataclass

from atoll.ir import I64, Kernel, nodes, ops
from atoll.ir.walk import all_expressions, statements
from atoll.plugin import Target

_ID = nodes.Cast(ops.Cast.SEXT, I64, nodes.Builtin(ops.Id.GLOBAL_ID, 0))


@dataclass(frozen=True, slots=True)
class Flat:
    """The work of one work-item, and the size that its id is below; None where it is not asked."""

    body: nodes.Block
    below: nodes.ViewInfo | None


def flat(kernel: Kernel, target: Target) -> Flat | None:
    """Return a kernel of plain rows as a loop's body, or None where it is no such kernel."""
    if not target.plain or kernel.shared or kernel.arrays:
        return None
    ids = _names_of_id(kernel.body)
    if ids is None or not all(_is_own(item, ids) for item in _accesses(kernel.body)):
        return None
    if any(isinstance(item, nodes.Builtin) and item != _ID.operand for item in all_expressions(kernel.body)):
        return None
    return _hoisted(kernel.body, ids)


def _names_of_id(body: nodes.Block) -> frozenset[str] | None:
    """Return the locals that are the id and nothing else; None where there is more than values and stores."""
    made: dict[str, list[nodes.Expr]] = {}
    for stmt in statements(body):
        if isinstance(stmt, nodes.Assign):
            made.setdefault(stmt.local, []).append(stmt.value)
        elif not isinstance(stmt, nodes.Store | nodes.If):
            return None
    return frozenset(name for name, given in made.items() if given == [_ID])


def _accesses(body: nodes.Block) -> list[nodes.Load | nodes.Store]:
    loads = [item for item in all_expressions(body) if isinstance(item, nodes.Load)]
    return [*loads, *(stmt for stmt in statements(body) if isinstance(stmt, nodes.Store))]


def _is_own(item: nodes.Load | nodes.Store, ids: frozenset[str]) -> bool:
    """Tell whether an access of a row is at the id."""
    return len(item.indices) == 1 and _is_id(item.indices[0], ids)


def _is_id(expr: nodes.Expr, ids: frozenset[str]) -> bool:
    return expr == _ID or (isinstance(expr, nodes.Local) and expr.name in ids)


def _hoisted(body: nodes.Block, ids: frozenset[str]) -> Flat:
    *before, last = body
    if (
        all(isinstance(stmt, nodes.Assign) and stmt.local in ids for stmt in before)
        and isinstance(last, nodes.If)
        and not last.orelse
        and isinstance(last.condition, nodes.Compare)
        and last.condition.op is ops.Compare.LT
        and _is_id(last.condition.left, ids)
        and isinstance(last.condition.right, nodes.ViewInfo)
    ):
        return Flat((*before, *last.then), last.condition.right)
    return Flat(body, None)
