"""How many actions may run at once, so that the memory really free is enough?

Actions that need more than their share (free memory divided by jobs) enter one pool. Its depth and the
number of jobs are chosen so that the worst mix of running actions stays within what is free; where one
action alone needs more, it runs alone among the heavy ones with one job, and that is said.
"""

from __future__ import annotations

from collections.abc import Iterable

from atoll._util.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Pools:
    """The bound on what runs at once.

    Attributes:
        jobs: How many actions run at once.
        heavy: Bytes from which an action enters the pool of heavy ones; None where none does.
        depth: How many heavy actions run at once.
        free: The bytes that were free.
        bound: The most bytes that running actions need together, as they state it.
    """

    jobs: int
    heavy: int | None
    depth: int
    free: int
    bound: int

    @property
    def fits(self) -> bool:
        """Tell whether the bound is within what is free."""
        return self.bound <= self.free


def plan(weights: Iterable[int], jobs: int, free: int) -> Pools:
    """Return the bound for actions of these memory weights."""
    sizes = sorted({max(0, weight) for weight in weights}) or [0]
    jobs, most = max(1, jobs), sizes[-1]
    for count in range(jobs, 0, -1):
        light = max((size for size in sizes if size <= free // count), default=0)
        if light == most:
            return Pools(jobs=count, heavy=None, depth=count, free=free, bound=count * most)
        depth = min(count, (free - count * light) // (most - light))
        if depth >= 1:
            heavy = next(size for size in sizes if size > light)
            bound = depth * most + (count - depth) * light
            return Pools(jobs=count, heavy=heavy, depth=depth, free=free, bound=bound)
    return Pools(jobs=1, heavy=None, depth=1, free=free, bound=most)
