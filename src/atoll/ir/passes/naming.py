"""Which values share a local, and what is it called? Those that came from one, and never live at once.

A loop's head, step and result of one local are one variable: none of the three lives where another one
does. Beyond them a value joins the variable it is handed to where both came from the same local of the
source, and no two values of the variable are needed at the same time. The same local only: a value from
elsewhere could make a variable vary that decides about a barrier.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from atoll.ir.passes.needs import ends_of
from atoll.ir.passes.ssa import (
    Block,
    Branch,
    Cycle,
    Do,
    Flow,
    Op,
    Value,
    Way,
    blocks,
    inner,
    used,
)
from atoll.ir.types import Scalar


@dataclass(slots=True)
class Naming:
    """Names of locals.

    Attributes:
        locals: Every local with its type, in the order in which values need them.
    """

    names: dict[Value, str]
    locals: dict[str, Scalar]
    taken: set[str]

    def of(self, value: Value) -> str | None:
        """Return the local that holds a value, or None."""
        return self.names.get(value)

    def fresh(self, wanted: str) -> str:
        """Return a name that nothing has, and take it."""
        name, number = wanted, 1
        while name in self.taken:
            number += 1
            name = f"{wanted}_{number}"
        self.taken.add(name)
        return name


def named(flow: Flow, bound: set[Value]) -> Naming:
    """Name every argument, every result of an effect and every op of `bound`."""
    held = _holders(flow, bound)
    live = _Live(held)
    live.block(flow.body, frozenset(), frozenset(), frozenset())
    classes = _Classes(live.apart)
    _join(flow, classes, held)
    kernel = flow.kernel
    taken = {kernel.name} | {item.name for item in kernel.params}
    taken |= {item.name for item in kernel.shared} | {item.name for item in kernel.arrays}
    naming = Naming({}, {}, taken)
    for value in held:
        root = classes.root(value)
        if root not in naming.names:
            naming.names[root] = name = naming.fresh(root.home or "t")
            naming.locals[name] = root.type
        naming.names[value] = naming.names[root]
    return naming


def _holders(flow: Flow, bound: set[Value]) -> dict[Value, None]:
    """Return the values that need a local, in the order of the text."""
    found: dict[Value, None] = {}
    pending: list[Block] = [flow.body]
    while pending:
        block = pending.pop()
        for item in block.items:
            if item in bound:
                assert isinstance(item, Op)
                found[item] = None
            if isinstance(item, Do) and item.result is not None:
                found[item.result] = None
            elif isinstance(item, Branch):
                found |= dict.fromkeys(item.results)
            elif isinstance(item, Cycle):
                for carried in item.carried:
                    found |= dict.fromkeys((carried.head, carried.step, carried.result))
        pending.extend(below for item in reversed(block.items) for below in reversed(inner(item)))
    return found


# --- what is needed at the same time -------------------------------------------------------------

_Set = frozenset[Value]


@dataclass(slots=True)
class _Live:
    """Finds for each value that has a local the others that are needed where it is given."""

    held: dict[Value, None]
    apart: dict[Value, set[Value]] = field(default_factory=dict)
    _reads: dict[Value, _Set] = field(default_factory=dict)

    def reads(self, value: Value) -> _Set:
        """Return the locals that the expression of a value reads."""
        if value in self.held:
            return frozenset((value,))
        if not isinstance(value, Op):
            return frozenset()
        known = self._reads.get(value)
        if known is None:
            below = [*value.args, *(() if value.right is None else value.right.end.values)]
            known = self._reads[value] = self.all(below)
        return known

    def all(self, values: Iterable[Value]) -> _Set:
        found: set[Value] = set()
        for value in values:
            found |= self.reads(value)
        return frozenset(found)

    def given(self, values: Iterable[Value], live: set[Value]) -> None:
        """Note that values are given where `live` is needed; only those of one home may ever join."""
        together = list(values)
        for value in together:
            for other in (*live, *together):
                if other.home == value.home and other is not value:
                    self.apart.setdefault(value, set()).add(other)
                    self.apart.setdefault(other, set()).add(value)

    def block(self, block: Block, following: _Set, skipping: _Set, broken: _Set) -> set[Value]:
        """Return what is needed where a block begins.

        Args:
            block: The block.
            following: What is needed where it goes on.
            skipping: The same for a `continue`.
            broken: The same for a `break`.
        """
        ways = {Way.NEXT: following, Way.CONTINUE: skipping, Way.BREAK: broken}
        live = set(ways.get(block.end.way, frozenset())) | self.all(block.end.values)
        for item in reversed(block.items):
            match item:
                case Op():
                    if item in self.held:
                        live.discard(item)
                        self.given((item,), live)
                        live |= self.all([*item.args, *(item.right.end.values if item.right else ())])
                case Do():
                    if item.result is not None:
                        live.discard(item.result)
                        self.given((item.result,), live)
                    live |= self.all(item.args)
                case Branch():
                    live -= set(item.results)
                    self.given(item.results, live)
                    after = frozenset(live)
                    live = self.block(item.then, after, skipping, broken)
                    live |= self.block(item.orelse, after, skipping, broken)
                    live |= self.reads(item.condition)
                case Cycle():
                    live = self.cycle(item, live)
        return live

    def cycle(self, item: Cycle, live: set[Value]) -> set[Value]:
        results = [carried.result for carried in item.carried]
        heads = {carried.head for carried in item.carried}
        steps = [carried.step for carried in item.carried]
        after = frozenset(live - set(results))
        self.given(results, set(after))
        around = after | (self.inside(item) - set(results) - heads - set(steps))
        step = self.block(item.step, frozenset(around), frozenset(), frozenset())
        self.given(steps, step - set(steps))
        to_step = frozenset(step - set(steps)) | around
        body = self.block(item.body, to_step, to_step, after)
        head = body | around | self.all(item.condition.end.values)
        self.given([carried.head for carried in item.carried], head - heads)
        return (head - heads) | self.all(carried.init for carried in item.carried)

    def inside(self, cycle: Cycle) -> set[Value]:
        """Return the locals that a loop reads and does not give itself."""
        read: set[Value] = set()
        made: set[Value] = set()
        for part in (cycle.condition, cycle.body, cycle.step):
            for block in blocks(part):
                read |= self.all(block.end.values)
                for item in block.items:
                    read |= self.all(used(item))
                    made |= _made(item)
        return read - made


def _made(item: object) -> set[Value]:
    match item:
        case Op():
            return {item}
        case Do():
            return set() if item.result is None else {item.result}
        case Branch():
            return set(item.results)
        case Cycle():
            return {value for one in item.carried for value in (one.head, one.step, one.result)}
    return set()


# --- classes -------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Classes:
    apart: dict[Value, set[Value]]
    parent: dict[Value, Value] = field(default_factory=dict)
    members: dict[Value, set[Value]] = field(default_factory=dict)

    def root(self, value: Value) -> Value:
        while value in self.parent:
            value = self.parent[value]
        return value

    def join(self, one: Value, other: Value) -> None:
        """Put two values into one local, where none of the one's is needed along with one of the other's."""
        one, other = self.root(one), self.root(other)
        if one is other:
            return
        mine = self.members.setdefault(one, {one})
        theirs = self.members.setdefault(other, {other})
        small, large = (mine, theirs) if len(mine) < len(theirs) else (theirs, mine)
        if any(not self.apart.get(value, set()).isdisjoint(large) for value in small):
            return
        self.parent[other] = one
        mine |= theirs


def _join(flow: Flow, classes: _Classes, held: dict[Value, None]) -> None:
    handed: list[tuple[Value, Value]] = []
    for block in blocks(flow.body):
        for item in block.items:
            if isinstance(item, Cycle):
                for carried in item.carried:
                    classes.join(carried.head, carried.step)
                    classes.join(carried.head, carried.result)
                handed += _handed_by_cycle(item)
            elif isinstance(item, Branch):
                for end in (item.then.end, item.orelse.end):
                    if end.way is Way.NEXT:
                        handed += zip(item.results, end.values, strict=True)
    for target, value in handed:
        if value in held and value.home == target.home and not value.alone:
            classes.join(target, value)


def _handed_by_cycle(cycle: Cycle) -> list[tuple[Value, Value]]:
    found: list[tuple[Value, Value]] = []
    for at, item in enumerate(cycle.carried):
        found += [(item.head, item.init), (item.head, cycle.step.end.values[at])]
        found += [
            (item.result if end.way is Way.BREAK else item.step, end.values[at]) for end in ends_of(cycle)
        ]
    return found
