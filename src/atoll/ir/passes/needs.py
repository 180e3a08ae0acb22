"""What is needed of a flow, and by what? Effects need; values need what they are made of.

An argument needs what every way hands on to it, and the conditions that choose among them. A loop is always
needed, for whether it ends is not asked; a branch is where something in it is, or one of its results.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from atoll.ir.passes.ssa import (
    TRUE,
    Argument,
    Block,
    Branch,
    Cycle,
    Do,
    End,
    Flow,
    Item,
    Op,
    Undefined,
    Value,
    Way,
    acts,
    blocks,
)


def prune(flow: Flow) -> None:
    """Leave out what blocks hand on and nobody needs."""
    leave_out(flow.body, needed(flow, all_ops=True, all_branches=True))


def needed(flow: Flow, *, all_ops: bool, all_branches: bool) -> set[Value]:
    """Return the values that are needed.

    Args:
        flow: The flow.
        all_ops: Take every op as needed; else those that something needs.
        all_branches: The same for the condition of every branch.
    """
    found = _Needs(all_ops, all_branches)
    found.block(flow.body)
    found.finish()
    return found.needed


@dataclass(slots=True)
class _Needs:
    all_ops: bool
    all_branches: bool
    needed: set[Value] = field(default_factory=set)
    pending: list[Value] = field(default_factory=list)
    #: For an argument what every way hands on, and the condition of its branch.
    sources: dict[Value, list[Value]] = field(default_factory=dict)

    def block(self, block: Block) -> bool:
        """Note what a block needs whoever needs it; tell whether it does nothing but compute."""
        idle = block.end.way is Way.NEXT
        for item in block.items:
            idle = self.item(item) and idle
        return idle

    def item(self, item: Item) -> bool:
        match item:
            case Op():
                if item.right is not None:
                    self.block(item.right)
                acting = acts(item)
                if self.all_ops or acting:
                    self.pending.append(item)
                return not acting
            case Do():
                self.pending += item.args
                return False
            case Branch():
                return self.branch(item)
            case Cycle():
                self.cycle(item)
                return False

    def branch(self, item: Branch) -> bool:
        idle = all([self.block(item.then), self.block(item.orelse)])
        if self.all_branches or not idle:
            self.pending.append(item.condition)
        for at, result in enumerate(item.results):
            ends = [end for end in (item.then.end, item.orelse.end) if end.way is Way.NEXT]
            self.sources[result] = [item.condition, *(end.values[at] for end in ends)]
        return idle

    def cycle(self, item: Cycle) -> None:
        for block in (item.condition, item.body, item.step):
            self.block(block)
        (asked,) = item.condition.end.values
        self.pending.append(asked)
        endless = isinstance(asked, Op) and asked.node == TRUE
        for at, carried in enumerate(item.carried):
            self.sources[carried.head] = [carried.init, item.step.end.values[at]]
            self.sources[carried.step] = []
            self.sources[carried.result] = [] if endless else [carried.head]
        for end in ends_of(item):
            for carried, value in zip(item.carried, end.values, strict=True):
                self.sources[carried.result if end.way is Way.BREAK else carried.step].append(value)

    def finish(self) -> None:
        while self.pending:
            value = self.pending.pop()
            if value in self.needed:
                continue
            self.needed.add(value)
            if isinstance(value, Op):
                self.pending += value.args
                if value.right is not None:
                    self.pending += value.right.end.values
            else:
                self.pending += self.sources.get(value, ())


def ends_of(cycle: Cycle) -> list[End]:
    """Return every end that leaves a loop's body for its step or for what follows."""
    found: list[End] = []
    pending = [cycle.body]
    while pending:
        block = pending.pop()
        if block.end.way in (Way.BREAK, Way.CONTINUE) or (block is cycle.body and block.end.way is Way.NEXT):
            found.append(block.end)
        for item in block.items:
            if isinstance(item, Branch):
                pending += (item.then, item.orelse)
    return found


def leave_out(body: Block, wanted: set[Value]) -> None:
    """Leave out what blocks hand on and is not wanted."""
    for found in blocks(body):
        for item in found.items:
            if isinstance(item, Branch):
                kept = [at for at, result in enumerate(item.results) if result in wanted]
                for end in (item.then.end, item.orelse.end):
                    if end.way is Way.NEXT:
                        end.values = [end.values[at] for at in kept]
                item.results = [item.results[at] for at in kept]
            elif isinstance(item, Cycle):
                _prune_cycle(item, wanted)


def _prune_cycle(cycle: Cycle, wanted: set[Value]) -> None:
    kept = [
        at
        for at, item in enumerate(cycle.carried)
        if item.head in wanted or item.step in wanted or item.result in wanted
    ]

    def left(values: list[Value], into: list[Argument]) -> list[Value]:
        return [
            values[at] if argument in wanted else Undefined(type=argument.type)
            for at, argument in zip(kept, into, strict=True)
        ]

    items = [cycle.carried[at] for at in kept]
    for end in ends_of(cycle):
        breaks = end.way is Way.BREAK
        end.values = left(end.values, [item.result if breaks else item.step for item in items])
    cycle.step.end.values = left(cycle.step.end.values, [item.head for item in items])
    for item in items:
        if item.head not in wanted:
            item.init = Undefined(type=item.head.type)
    cycle.carried = items
