"""What do the work-items of a sub-group give each other in the oracle?

Each waits with what it asks; once all of a sub-group wait at one place, every one gets its answer. One that
waits elsewhere or has ended is a fault with both lines.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from atoll.diagnostics import Diagnostic
from atoll.errors import LaunchError
from atoll.ir import ops
from atoll.ir.ops import SubGroup
from atoll.kernels.oracle.item import Exchange, Item
from atoll.kernels.oracle.memory import line_span
from atoll.kernels.scalars import Fault, Typed, make


def whole(name: str, block: tuple[int, int, int], size: int) -> None:
    """Refuse a size of sub-groups that leaves one of them not full.

    Raises:
        LaunchError: Where it is no size, or does not divide the block.
    """
    items = block[0] * block[1] * block[2]
    if not 1 <= size <= items or size & (size - 1) or items % size:
        raise LaunchError(
            Diagnostic(
                code="ATL0761",
                message=f"`{name}` has no sub-groups of {size} work-items",
                notes=(f"the block: {items} work-items", "a size is a power of two that divides the block"),
            )
        )


def answered(items: list[Item], waiting: list[Item]) -> list[Item]:
    """Answer every sub-group that is complete; return its work-items, which go on.

    Raises:
        LaunchError: Where a sub-group does not wait at one place.
    """
    alive = {id(item) for item in waiting}
    groups: dict[int, list[Item]] = {}
    for item in sorted(items, key=lambda one: one.number):
        groups.setdefault(item.number // item.group.subgroup, []).append(item)
    ready: list[Item] = []
    for members in groups.values():
        asking = next((item for item in members if id(item) in alive and item.asked is not None), None)
        if asking is None:
            continue
        _complete(asking, members, alive)
        _answer([item.asked for item in members if item.asked is not None])
        ready += members
    return ready


def _complete(first: Item, members: list[Item], alive: set[int]) -> None:
    for other in members:
        here = id(other) in alive
        if here and other.asked is not None and other.waiting == first.waiting:
            continue
        assert first.waiting is not None
        where = (
            f"waits at line {other.waiting[1]}" if here and other.waiting else "ended without waiting there"
        )
        raise LaunchError(
            Diagnostic(
                code="ATL0755",
                message="work-items of one sub-group do not reach the same operation",
                span=line_span(first.waiting),
                notes=(
                    f"work-item {first.shown(first.global_ids)} waits at line {first.waiting[1]}",
                    f"work-item {other.shown(other.global_ids)} {where}",
                ),
            )
        )


def _answer(asked: list[Exchange]) -> None:
    values, op = [item.value for item in asked], asked[0].op
    if op in ops.WITH_LANE:
        answers = [values[item.lane] for item in asked]
    elif op in ops.VOTES:
        answers = [all(values) if op is SubGroup.ALL else any(values)] * len(values)
    elif op in ops.SCANS:
        answers = _scanned(op, values)
    else:
        answers = [reduce(lambda left, right: combined(op, left, right), values)] * len(values)
    for item, answer in zip(asked, answers, strict=True):
        item.answer = answer


def _scanned(op: SubGroup, values: list[Any]) -> list[Any]:
    total = make(values[0].scalar, 0)
    found = []
    for value in values:
        before, total = total, total + value
        found.append(before if op is SubGroup.EXCLUSIVE_ADD else total)
    return found


def combined(op: SubGroup, left: Any, right: Any) -> Any:
    """Return what a reduction makes of two values."""
    if not isinstance(left, Typed):
        raise Fault("ATL0713", f"`subgroup_{op}` takes typed numbers")
    match op:
        case SubGroup.ADD:
            return left + right
        case SubGroup.MIN:
            return right if right < left else left
        case SubGroup.MAX:
            return right if right > left else left
        case SubGroup.AND:
            return left & right
        case SubGroup.OR:
            return left | right
    return left ^ right
