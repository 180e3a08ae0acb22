"""What is a kernel's body as structured SSA? Blocks with arguments; every value is computed once.

Passes run on this form; :mod:`atoll.ir.passes.enter` makes it from statements and
:mod:`atoll.ir.passes.leave` makes statements from it. Control stays structured, so a value reaches what
follows it in its block and in the blocks below that.

Words: an *op* computes a value from others; a *do* is a statement with an effect; a *branch* and a *cycle*
are `if` and `loop`, and what they leave behind is their *results*; what a block hands on stands in its
*end*. A *lazy* block (a loop's condition, the right side of a short circuit) holds ops alone, for it goes
back into one expression. An op's *node* says which operation it is; the operands in it are stale.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cache
from typing import Any, TypeAlias

from atoll.diagnostics import Span
from atoll.ir import nodes as n
from atoll.ir.module import Kernel
from atoll.ir.types import BOOL, Scalar


@dataclass(slots=True, eq=False, kw_only=True)
class Value:
    """What is computed once.

    Attributes:
        home: The local that the source gave it to first, or an empty text; only names it.
        alone: Whether it may share a local with no other value, for it is also what another local was given.
    """

    type: Scalar
    span: Span | None = None
    home: str = ""
    alone: bool = False


class Argument(Value):
    """A value that a block gets from wherever it is entered."""

    __slots__ = ()


class Undefined(Value):
    """What a local holds before it is assigned; never read."""

    __slots__ = ()


@dataclass(slots=True, eq=False, kw_only=True)
class Op(Value):
    """An operation; `right` is the lazy block of a short circuit."""

    node: n.Expr
    args: list[Value] = field(default_factory=list)
    right: Block | None = None


@dataclass(slots=True, eq=False)
class Do:
    """A statement with an effect: a store, an atomic, a barrier."""

    node: n.Stmt
    args: list[Value]
    result: Value | None = None


@dataclass(slots=True, eq=False)
class Branch:
    """One of two blocks; what they hand on are the results."""

    condition: Value
    then: Block
    orelse: Block
    results: list[Argument]
    span: Span | None = None


@dataclass(slots=True, eq=False)
class Carried:
    """What a loop hands from trip to trip for one local.

    Attributes:
        init: Before the first trip.
        head: In condition and body.
        step: In the step, which the body's end and every `continue` reach.
        result: After the loop, from `head` where the condition fails and from every `break`.
    """

    init: Value
    head: Argument
    step: Argument
    result: Argument


@dataclass(slots=True, eq=False)
class Cycle:
    """A loop."""

    carried: list[Carried]
    condition: Block
    body: Block
    step: Block
    span: Span | None = None


class Way(StrEnum):
    """Where the end of a block goes on."""

    NEXT = "next"  # after the branch; to the step; to the head
    BREAK = "break"
    CONTINUE = "continue"
    RETURN = "return"
    NEVER = "never"  # it is not reached


@dataclass(slots=True, eq=False)
class End:
    """The end of a block and what it hands on."""

    way: Way
    values: list[Value] = field(default_factory=list)
    span: Span | None = None


@dataclass(slots=True, eq=False)
class Block:
    """Items in order, then an end."""

    items: list[Item] = field(default_factory=list)
    end: End = field(default_factory=lambda: End(Way.NEXT))
    lazy: bool = False


Item: TypeAlias = "Op | Do | Branch | Cycle"


@dataclass(slots=True, eq=False)
class Flow:
    """A kernel as SSA; `kernel` is where it comes from, its body stale."""

    kernel: Kernel
    body: Block


# --- nodes and their operands ------------------------------------------------------------------


@cache
def _slots(kind: type) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of a node's fields that hold operands, and of those that say what it does."""
    operands = tuple(item.name for item in fields(kind) if "Expr" in str(item.type))
    spoken = tuple(
        item.name
        for item in fields(kind)
        if item.compare and item.name not in operands and item.name != "result"
    )
    return operands, spoken


def _kind(node: object) -> Any:
    return type(node)


def operands_of(node: n.Expr | n.Stmt) -> tuple[n.Expr, ...]:
    """Return the operands of a node in the order of its fields."""
    found: list[n.Expr] = []
    for name in _slots(_kind(node))[0]:
        held = getattr(node, name)
        found += held if isinstance(held, tuple) else () if held is None else (held,)
    return tuple(found)


def with_operands(node: Any, operands: Sequence[n.Expr], **changed: Any) -> Any:
    """Return a node with other operands, as many as it had."""
    given = iter(operands)
    for name in _slots(_kind(node))[0]:
        held = getattr(node, name)
        if isinstance(held, tuple):
            changed[name] = tuple(next(given) for _ in held)
        elif held is not None:
            changed[name] = next(given)
    kept = {item.name: getattr(node, item.name) for item in fields(node) if item.name not in changed}
    return type(node)(**kept, **changed)


def meaning(op: Op) -> tuple[Any, ...]:
    """Return what an op does: equal for two ops that give one value for the same operands."""
    node = op.node
    return (type(node), *(getattr(node, name) for name in _slots(_kind(node))[1]))


# --- kinds of ops ------------------------------------------------------------------------------

TRUE = n.Const(BOOL, 1)
#: Free to repeat at every use.
LEAVES = (n.Const, n.Param, n.Builtin, n.ViewInfo)
#: Their value depends on their operands alone, and nothing else does: no trap, no memory, no other lane.
PURE = (*LEAVES, n.Unary, n.Binary, n.Compare, n.Select, n.Cast, n.MathCall)


def is_leaf(value: Value) -> bool:
    """Tell whether an expression repeats this value wherever it is used."""
    return isinstance(value, Op) and isinstance(value.node, LEAVES)


def is_pure(op: Op) -> bool:
    """Tell whether an op may run anywhere, any number of times."""
    return isinstance(op.node, PURE)


def reads(op: Op) -> bool:
    """Tell whether an op reads memory, itself or in its lazy block."""
    if op.right is not None:
        return any(reads(item) for item in op.right.items if isinstance(item, Op))
    return isinstance(op.node, n.Load)


def constant(scalar: Scalar, value: bool | int | float, span: Span | None = None) -> Op:
    """Return a constant."""
    return Op(type=scalar, span=span, node=n.const(scalar, value, span))


def constant_of(value: Value) -> n.Const | None:
    """Return the constant that a value is, or None."""
    return value.node if isinstance(value, Op) and isinstance(value.node, n.Const) else None


def truth_of(value: Value) -> bool | None:
    """Return the truth of a constant bool, or None."""
    node = constant_of(value)
    return bool(node.bits) if node is not None and node.type == BOOL else None


# --- visits ------------------------------------------------------------------------------------


def inner(item: Item) -> tuple[Block, ...]:
    """Return the blocks of an item, in the order they run."""
    match item:
        case Branch():
            return (item.then, item.orelse)
        case Cycle():
            return (item.condition, item.body, item.step)
        case Op() if item.right is not None:
            return (item.right,)
    return ()


def used(item: Item) -> list[Value]:
    """Return what an item itself uses, not its blocks."""
    match item:
        case Branch():
            return [item.condition]
        case Cycle():
            return [carried.init for carried in item.carried]
    return item.args


def blocks(block: Block) -> Iterator[Block]:
    """Give a block and every block below it."""
    pending = [block]
    while pending:
        current = pending.pop()
        yield current
        for item in reversed(current.items):
            pending.extend(reversed(inner(item)))


def items(block: Block) -> Iterator[Item]:
    """Give every item of a block and of the blocks below it."""
    for found in blocks(block):
        yield from found.items


def acts(item: Item) -> bool:
    """Tell whether an item has an effect that a load must not cross."""
    if isinstance(item, Do):
        return not isinstance(item.node, n.Inline) or item.node.writes
    if isinstance(item, Op):
        return item.right is None and not isinstance(item.node, (*PURE, n.Load, n.Logical))
    return any(acts(below) for block in inner(item) for below in block.items)


def breaks(body: Block) -> bool:
    """Tell whether a loop's body breaks out of that loop."""
    return body.end.way is Way.BREAK or any(
        breaks(block) for item in body.items if isinstance(item, Branch) for block in (item.then, item.orelse)
    )
