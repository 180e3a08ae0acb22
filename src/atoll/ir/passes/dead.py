"""What does nobody need? Values, branches without an effect, old values of atomics. Effects stay.

A load may go: reading has no effect. A loop stays, for whether it ends is not asked.
"""

from __future__ import annotations

from atoll.ir import nodes as n
from atoll.ir.passes.needs import leave_out, needed
from atoll.ir.passes.rules import Rule, Rules
from atoll.ir.passes.ssa import (
    Block,
    Branch,
    Cycle,
    Do,
    Flow,
    Item,
    Op,
    Value,
    Way,
    acts,
    blocks,
    inner,
)


def dead(flow: Flow, rules: Rules) -> None:
    """Leave out what nobody needs."""
    gone = rules.some("dead.value", "dead.branch")
    old_rule = rules.get("dead.old")
    wanted = needed(
        flow,
        all_ops=rules.get("dead.value") is None,
        all_branches=rules.get("dead.branch") is None,
    )
    leave_out(flow.body, wanted)
    for block in blocks(flow.body):
        block.items = [item for item in block.items if not any(rule(item, wanted) for rule in gone)]
        for item in block.items:
            if old_rule is not None and isinstance(item, Do) and old_rule(item, wanted):
                item.result = None


def value(item: Item, wanted: set[Value]) -> bool:
    """Tell whether an op gives what nobody needs."""
    return isinstance(item, Op) and item not in wanted and not acts(item)


def branch(item: Item, wanted: set[Value]) -> bool:
    """Tell whether a branch does nothing, whichever way it goes."""
    if not isinstance(item, Branch) or any(result in wanted for result in item.results):
        return False
    return all(_idle(block) for block in (item.then, item.orelse))


def old(item: Do, wanted: set[Value]) -> bool:
    """Tell whether nobody needs the old value that an atomic gives."""
    return isinstance(item.node, n.Atomic) and item.result is not None and item.result not in wanted


RULES: dict[str, Rule] = {"dead.value": value, "dead.branch": branch, "dead.old": old}


def _idle(block: Block) -> bool:
    return block.end.way is Way.NEXT and all(
        not isinstance(item, Cycle) and not acts(item) and all(_idle(below) for below in inner(item))
        for item in block.items
    )
