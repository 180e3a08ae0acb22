"""What does nobody need? Values, branches without an effect, old values of atomics. Effects stay.

A load may go: reading has no effect. A loop stays, for whether it ends is not asked.
"""

from __future__ import annotations

from atoll.ir import nodes as n
from atoll.ir.passes.enter import prune
from atoll.ir.passes.rules import Rule, Rules
from atoll.ir.passes.ssa import (
    Block,
    Branch,
    Cycle,
    Do,
    Graph,
    Item,
    Op,
    Value,
    Way,
    acts,
    blocks,
    inner,
    used,
)


def dead(graph: Graph, rules: Rules) -> None:
    """Leave out what nobody needs."""
    prune(graph)
    while True:
        needed = _needed(graph.body)
        if not sum(_sweep(block, needed, rules) for block in blocks(graph.body)):
            return
        prune(graph)


def value(item: Item, needed: set[Value]) -> bool:
    """Tell whether an op gives what nobody needs."""
    return isinstance(item, Op) and item not in needed and not acts(item)


def branch(item: Item, needed: set[Value]) -> bool:
    """Tell whether a branch does nothing, whichever way it goes."""
    if not isinstance(item, Branch) or any(result in needed for result in item.results):
        return False
    return all(_idle(block) for block in (item.then, item.orelse))


def old(item: Do, needed: set[Value]) -> bool:
    """Tell whether nobody needs the old value that an atomic gives."""
    return isinstance(item.node, n.Atomic) and item.result is not None and item.result not in needed


RULES: dict[str, Rule] = {"dead.value": value, "dead.branch": branch, "dead.old": old}


def _idle(block: Block) -> bool:
    return block.end.way is Way.NEXT and all(
        not isinstance(item, Cycle) and not acts(item) and all(_idle(below) for below in inner(item))
        for item in block.items
    )


def _needed(body: Block) -> set[Value]:
    """Return what is used anywhere."""
    found: set[Value] = set()
    for block in blocks(body):
        found.update(block.end.values)
        for item in block.items:
            found.update(used(item))
    return found


def _sweep(block: Block, needed: set[Value], rules: Rules) -> int:
    """Leave out what may go of a block; return how much that was."""
    gone = rules.some("dead.value", "dead.branch")
    kept = [item for item in block.items if not any(rule(item, needed) for rule in gone)]
    count = len(block.items) - len(kept)
    block.items = kept
    old_rule = rules.get("dead.old")
    for item in kept:
        if old_rule is not None and isinstance(item, Do) and old_rule(item, needed):
            item.result = None
            count += 1
    return count
