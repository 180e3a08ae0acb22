"""What is computed twice? A value that is there already serves again, so does a load of unchanged memory.

A value is there where its block is entered below the one that gave it. A load is there until something may
have changed its memory: a store, an atomic, a barrier. Two views may be one array, so what writes one view
ends the loads of all; an array of the group or of the work-item is its own memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from atoll.ir import nodes as n
from atoll.ir.module import Kernel
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
    inner,
    is_leaf,
    is_pure,
    meaning,
)

#: Stands for every view: two may be one array.
VIEWS = ""
_Key = tuple[Any, ...]


def cse(flow: Flow, rules: Rules) -> None:
    """Compute once what is computed twice."""
    _Cse(rules, *own_memory(flow.kernel)).block(flow.body, {}, {})


def own_memory(kernel: Kernel) -> tuple[frozenset[str], frozenset[str]]:
    """Return the arrays that a kernel has for itself, and those of them that one work-item has."""
    private = frozenset(item.name for item in kernel.arrays)
    return private | {item.name for item in kernel.shared}, private


def space(base: str, own: frozenset[str]) -> str:
    """Return the name of the memory that a base lies in: its own, or that of all views."""
    return base if base in own else VIEWS


def changes(item: Do, own: frozenset[str], private: frozenset[str]) -> frozenset[str]:
    """Return which memory an effect may change, as one work-item sees it.

    A store changes what it names. Whatever orders memory or waits may show what other work-items wrote: all
    but a work-item's own arrays. Inline code that only reads changes nothing.
    """
    if isinstance(item.node, n.Inline) and not item.node.writes:
        return frozenset()
    if isinstance(item.node, n.Store):
        return frozenset((space(item.node.base, own),))
    return frozenset((*own, VIEWS)) - private


def changes_all(_: Do, own: frozenset[str], _private: frozenset[str]) -> frozenset[str]:
    """Return every memory: what holds where nobody asks what an effect changes."""
    return frozenset((*own, VIEWS))


def changed_in(
    items: Iterable[Item], rules: Rules, own: frozenset[str], private: frozenset[str]
) -> frozenset[str]:
    """Return which memory some items, and what is below them, may change."""
    rule = rules.get("cse.changes") or changes_all
    found: set[str] = set()
    pending = list(items)
    while pending:
        item = pending.pop()
        if isinstance(item, Do):
            found |= rule(item, own, private)
        pending.extend(below for block in inner(item) for below in block.items)
    return frozenset(found)


def pure(op: Op) -> _Key | None:
    """Return what makes two ops give one value: the operation and its operands."""
    return (*meaning(op), *op.args) if is_pure(op) else None


def load(op: Op, state: int) -> _Key | None:
    """Return what makes two loads give one value: the place, and the state of the memory."""
    return (*meaning(op), state, *op.args) if isinstance(op.node, n.Load) else None


RULES: dict[str, Rule] = {"cse.pure": pure, "cse.load": load, "cse.changes": changes}


@dataclass(slots=True)
class _Cse:
    rules: Rules
    own: frozenset[str]
    private: frozenset[str]
    instead: dict[Value, Value] = field(default_factory=dict)
    #: Numbers the states of memory.
    states: int = 0

    def now(self, values: list[Value]) -> list[Value]:
        return [self.instead.get(value, value) for value in values]

    def block(self, block: Block, known: dict[_Key, Op], memory: dict[str, int]) -> None:
        """Visit a block; `known` and `memory` are its own to change."""
        block.items = [item for item in block.items if self.item(item, known, memory, lazy=block.lazy)]
        block.end.values = self.now(block.end.values)

    def item(self, item: Item, known: dict[_Key, Op], memory: dict[str, int], *, lazy: bool) -> bool:
        """Visit an item; false where another one serves in its place."""
        match item:
            case Op():
                return self.op(item, known, memory, lazy=lazy)
            case Do():
                item.args = self.now(item.args)
                self.change(changed_in([item], self.rules, self.own, self.private), memory)
            case Branch():
                item.condition = self.instead.get(item.condition, item.condition)
                for side in (item.then, item.orelse):
                    self.block(side, dict(known), dict(memory))
                self.change(changed_in([item], self.rules, self.own, self.private), memory)
            case Cycle():
                for carried in item.carried:
                    carried.init = self.instead.get(carried.init, carried.init)
                changed = changed_in([item], self.rules, self.own, self.private)
                self.change(changed, memory)  # a later trip sees what an earlier one wrote
                for part in (item.condition, item.body, item.step):
                    self.block(part, dict(known), dict(memory))
                    self.change(changed, memory)
        return True

    def change(self, spaces: frozenset[str], memory: dict[str, int]) -> None:
        for name in spaces:
            self.states += 1
            memory[name] = self.states

    def op(self, op: Op, known: dict[_Key, Op], memory: dict[str, int], *, lazy: bool) -> bool:
        op.args = self.now(op.args)
        if op.right is not None:
            self.block(op.right, dict(known), dict(memory))
            return True
        key = self.key(op, memory)
        if key is None:
            return True
        before = known.get(key)
        if before is None:
            if not lazy or is_leaf(op):  # what an expression computes cannot be kept for another one
                known[key] = op
            return True
        if lazy and is_leaf(op) and not is_leaf(before):
            return True
        self.instead[op] = before
        if before.home != op.home:
            before.home = before.home or op.home
            before.alone = True  # it is no longer one local of the source
        return False

    def key(self, op: Op, memory: dict[str, int]) -> _Key | None:
        if isinstance(op.node, n.Load):
            rule = self.rules.get("cse.load")
            return None if rule is None else rule(op, memory.get(space(op.node.base, self.own), 0))
        rule = self.rules.get("cse.pure")
        return None if rule is None else rule(op)
