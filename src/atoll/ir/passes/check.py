"""Is this flow sound? Every value is given before it is used, what blocks hand on fits where they go.

The manager asks after every pass. What a node may hold (types of operands, depth, barriers) is asked once
more of the statements that a flow becomes, by :mod:`atoll.ir.verify`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from atoll.ir.passes.ssa import (
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
    operands_of,
)
from atoll.ir.types import BOOL


class UnsoundError(Exception):
    """A pass made a flow that means nothing."""


def check(flow: Flow) -> None:
    """Return where a flow is sound.

    Raises:
        UnsoundError: Saying the first thing that is wrong.
    """
    _Check().block(flow.body, set(), None)


@dataclass(slots=True)
class _Check:
    loops: list[Cycle] = field(default_factory=list)

    def block(self, block: Block, given: set[Value], into: Sequence[Argument] | None) -> None:
        """Check a block whose end hands on to `into`; None where nothing follows the kernel's body."""
        here = set(given)
        for item in block.items:
            if block.lazy and not isinstance(item, Op):
                raise UnsoundError("a statement stands in an expression")
            self.item(item, here)
        self.end(block, here, into)

    def use(self, values: Sequence[Value], given: set[Value]) -> None:
        for value in values:
            if value not in given and not isinstance(value, Undefined):
                raise UnsoundError(f"a value of type {value.type} is used before it is given")

    def item(self, item: Item, here: set[Value]) -> None:
        match item:
            case Op():
                self.use(item.args, here)
                if item.right is not None:
                    self.block(item.right, here, [Argument(type=BOOL)])
                elif [value.type for value in item.args] != [node.type for node in operands_of(item.node)]:
                    raise UnsoundError(f"the operands of a {type(item.node).__name__} changed their type")
                if item.node.type != item.type or item in here:
                    raise UnsoundError("an op is given twice, or gives another type than it says")
                here.add(item)
            case Do():
                self.use(item.args, here)
                if item.result is not None:
                    here.add(item.result)
            case Branch():
                self.use([item.condition], here)
                self.block(item.then, here, item.results)
                self.block(item.orelse, here, item.results)
                here.update(item.results)
            case Cycle():
                self.cycle(item, here)

    def cycle(self, item: Cycle, here: set[Value]) -> None:
        self.hand([carried.head for carried in item.carried], [c.init for c in item.carried], here)
        inside = here | {carried.head for carried in item.carried}
        self.block(item.condition, inside, [Argument(type=BOOL)])
        self.loops.append(item)
        self.block(item.body, inside, [carried.step for carried in item.carried])
        self.loops.pop()
        # The step also follows a `continue`, so it knows the loop's surroundings and its arguments alone.
        after = here | {carried.step for carried in item.carried}
        self.block(item.step, after, [carried.head for carried in item.carried])
        here.update(carried.result for carried in item.carried)

    def hand(self, into: Sequence[Argument], values: Sequence[Value], here: set[Value]) -> None:
        self.use(values, here)
        if [value.type for value in into] != [value.type for value in values]:
            raise UnsoundError("what a block hands on does not fit where it goes")

    def end(self, block: Block, here: set[Value], into: Sequence[Argument] | None) -> None:
        end: End = block.end
        if end.way is Way.NEXT:
            if into is None:
                raise UnsoundError("nothing follows the body of a kernel")
            self.hand(into, end.values, here)
        elif end.way in (Way.BREAK, Way.CONTINUE):
            if not self.loops:
                raise UnsoundError("a jump stands outside a loop")
            breaks = end.way is Way.BREAK
            carried = self.loops[-1].carried
            self.hand([item.result if breaks else item.step for item in carried], end.values, here)
