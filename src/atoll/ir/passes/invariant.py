"""What does a loop compute anew on every trip, always alike? It is computed once, before the loop.

Only what may run where it would not have run: a value that depends on its operands alone. A load may not,
for an index may be right only behind the loop's condition; but the condition itself is evaluated at least
once, so a load that stands in it openly moves where nothing in the loop may change its memory.
"""

from __future__ import annotations

from atoll.ir import nodes as n
from atoll.ir.passes.cse import changed_in, own_memory, space
from atoll.ir.passes.rules import Rule, Rules
from atoll.ir.passes.ssa import Block, Branch, Cycle, Do, Flow, Item, Op, Value, inner, is_leaf, is_pure


def invariant(flow: Flow, rules: Rules) -> None:
    """Move what does not change out of loops, the innermost first."""
    _Invariant(rules, *own_memory(flow.kernel)).block(flow.body)


def pure(op: Op) -> bool:
    """Tell whether an op may run where no trip would have reached it."""
    return is_pure(op)


def load(op: Op, changed: frozenset[str], own: frozenset[str], *, asked: bool) -> bool:
    """Tell whether a load may run before the loop: it stands in the condition, and its memory stays."""
    return asked and isinstance(op.node, n.Load) and space(op.node.base, own) not in changed


RULES: dict[str, Rule] = {"invariant.pure": pure, "invariant.load": load}


class _Invariant:
    def __init__(self, rules: Rules, own: frozenset[str], private: frozenset[str]) -> None:
        self.rules, self.own, self.private = rules, own, private
        self.pure, self.load = rules.get("invariant.pure"), rules.get("invariant.load")

    def block(self, block: Block) -> None:
        made: list[Item] = []
        for item in block.items:
            for below in inner(item):
                self.block(below)
            if isinstance(item, Cycle):
                made += self.cycle(item)
            made.append(item)
        block.items = made

    def cycle(self, item: Cycle) -> list[Op]:
        """Return the ops that moved out of a loop, in order."""
        inside: set[Value] = _given(item)
        changed = changed_in([item], self.rules, self.own, self.private)
        moved: list[Op] = []
        for part in (item.condition, item.body, item.step):
            self.part(part, inside, changed, moved, asked=part is item.condition)
        return moved

    def part(
        self, block: Block, inside: set[Value], changed: frozenset[str], moved: list[Op], *, asked: bool
    ) -> None:
        kept: list[Item] = []
        for item in block.items:
            if not isinstance(item, Op) or not self.moves(item, inside, changed, asked=asked):
                kept.append(item)
                continue
            item.args = [_outside(value, inside, moved) for value in item.args]
            inside.discard(item)
            moved.append(item)
        block.items = kept

    def moves(self, op: Op, inside: set[Value], changed: frozenset[str], *, asked: bool) -> bool:
        """Tell whether an op moves; a leaf does not, for it is repeated wherever it is used."""
        if op.right is not None or is_leaf(op):
            return False
        if any(value in inside and not is_leaf(value) for value in op.args):
            return False
        if self.pure is not None and self.pure(op):
            return True
        return self.load is not None and bool(self.load(op, changed, self.own, asked=asked))


def _outside(value: Value, inside: set[Value], moved: list[Op]) -> Value:
    """Return a value that is given before the loop: a leaf of the loop once more."""
    if value not in inside or not isinstance(value, Op):
        return value
    made = Op(type=value.type, span=value.span, home=value.home, node=value.node)
    moved.append(made)
    return made


def _given(cycle: Cycle) -> set[Value]:
    """Return every value that a loop gives, its arguments too."""
    found: set[Value] = set()
    pending: list[Item] = [cycle]
    while pending:
        item = pending.pop()
        match item:
            case Op():
                found.add(item)
            case Do() if item.result is not None:
                found.add(item.result)
            case Branch():
                found.update(item.results)
            case Cycle():
                for one in item.carried:
                    found.update((one.head, one.step, one.result))
        pending.extend(below for block in inner(item) for below in block.items)
    return found
