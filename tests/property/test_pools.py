"""Pools and rings under random traces: nothing overlaps, holes merge, budgets hold, counters are right."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atoll.runtime.storage import Budget, NoRoomError, Piece, Pool, Ring

KIB = 1 << 10
BLOCK = 64 * KIB


class Memory:
    """What a driver would have: blocks that are alive."""

    def __init__(self, most: int | None = None) -> None:
        self.alive: dict[int, int] = {}
        self.most, self.asked = most, 0

    def make(self, size: int) -> int:
        self.asked += 1
        if self.most is not None and sum(self.alive.values()) + size > self.most:
            raise NoRoomError("the driver is full")
        self.alive[self.asked] = size
        return self.asked

    def drop(self, block: int) -> None:
        del self.alive[block]


STEPS = st.lists(st.tuples(st.booleans(), st.integers(1, 40 * KIB), st.integers(0, 1 << 16)), max_size=80)


def check(pool: Pool[int], memory: Memory, budget: Budget, live: list[Piece[int]], asked: list[int]) -> None:
    spans = sorted((piece.memory, piece.offset, piece.offset + piece.size) for piece in live)
    for (one, _, end), (other, start, _) in pairwise(spans):
        assert one != other or end <= start, "two pieces overlap"
    for piece, nbytes in zip(live, asked, strict=True):
        assert piece.size >= nbytes
        assert piece.offset % 256 == 0
        assert piece.offset + piece.size <= memory.alive[piece.memory]
    found = pool.statistics()
    assert found.used == sum(piece.size for piece in live)
    assert found.pieces == len(live)
    assert found.reserved == sum(memory.alive.values()) == budget.taken
    assert budget.limit is None or budget.taken <= budget.limit
    # What is held beside usual blocks is in use, at most an eighth of it wasted, or is spare.
    own = {piece.memory: piece.size for piece in live if piece.block.own}
    assert all(8 * (memory.alive[block] - size) <= memory.alive[block] for block, size in own.items())
    assert sum(block.size for block in pool._blocks if block.own and not block.used) <= pool._keep_bytes


@settings(max_examples=60)
@given(
    steps=STEPS,
    limit=st.sampled_from([None, 96 * KIB, 256 * KIB]),
    most=st.sampled_from([None, 200 * KIB]),
    keep=st.sampled_from([0, 64 * KIB, 1 << 30]),
)
def test_a_pool_keeps_its_promises(
    steps: list[tuple[bool, int, int]], limit: int | None, most: int | None, keep: int
) -> None:
    memory, budget = Memory(most), Budget(limit)
    pool: Pool[int] = Pool(memory.make, memory.drop, budget, block_bytes=BLOCK, keep_bytes=keep)
    live: list[Piece[int]] = []
    asked: list[int] = []
    for takes, nbytes, which in steps:
        if takes or not live:
            try:
                piece = pool.allocate(nbytes)
            except NoRoomError:
                assert limit is not None or most is not None
            else:
                live.append(piece)
                asked.append(nbytes)
        else:
            pool.release(live.pop(which % len(asked)))
            del asked[which % (len(live) + 1)]
        check(pool, memory, budget, live, asked)
    while live:
        pool.release(live.pop())
    # Every hole has merged: a block is one hole, and an empty pool gives everything back.
    assert pool.statistics().largest in (0, max(memory.alive.values(), default=0))
    pool.trim()
    assert memory.alive == {}
    assert budget.taken == 0


def test_a_steady_state_asks_the_driver_for_nothing() -> None:
    memory = Memory()
    pool: Pool[int] = Pool(memory.make, memory.drop, Budget(), block_bytes=BLOCK)
    kept = pool.allocate(100)
    for _ in range(50):
        pieces = [pool.allocate(size) for size in (300, 4 * KIB, 9 * KIB)]
        for piece in pieces:
            pool.release(piece)
    assert memory.asked == 1
    pool.release(kept)


def test_a_steady_state_of_large_buffers_asks_the_driver_for_nothing() -> None:
    memory = Memory()
    pool: Pool[int] = Pool(memory.make, memory.drop, Budget(), block_bytes=BLOCK, keep_bytes=256 * KIB)
    for size in (100, 98, 100, 90, 100):
        pieces = [pool.allocate(size * KIB) for _ in range(2)]
        for piece in pieces:
            pool.release(piece)
    assert memory.asked == 2
    pool.allocate(50 * KIB)
    assert memory.asked == 3, "half of a block would have been wasted"


def test_spare_blocks_give_way_to_what_is_asked_for() -> None:
    memory, budget = Memory(), Budget(256 * KIB)
    pool: Pool[int] = Pool(memory.make, memory.drop, budget, block_bytes=BLOCK, keep_bytes=256 * KIB)
    for size in (100, 60):
        pool.release(pool.allocate(size * KIB))
    pool.allocate(256 * KIB)
    assert list(memory.alive.values()) == [256 * KIB]


@pytest.mark.parametrize("limit", [8 << 20, 32 << 20, 128 << 20])
def test_a_pool_reaches_its_own_limit(limit: int) -> None:
    """As rmm#1957 and cupy#7678 do not: small buffers fill 95 % of the budget."""
    memory, budget = Memory(), Budget(limit)
    pool: Pool[int] = Pool(memory.make, memory.drop, budget)
    room = True
    while room:
        try:
            pool.allocate(200 * KIB)
        except NoRoomError:
            room = False
    assert pool.statistics().used >= 0.95 * limit


def test_a_block_that_the_driver_refuses_is_asked_for_at_half_the_size() -> None:
    memory = Memory(most=20 * KIB)
    pool: Pool[int] = Pool(memory.make, memory.drop, Budget(), block_bytes=BLOCK)
    pool.allocate(KIB)
    assert list(memory.alive.values()) == [16 * KIB]


@settings(max_examples=60)
@given(steps=st.lists(st.tuples(st.integers(1, 3000), st.booleans()), max_size=60))
def test_a_ring_hands_out_no_byte_twice(steps: list[tuple[int, bool]]) -> None:
    ring = Ring(4096)
    live: list[tuple[int, int, int]] = []
    for ticket, (nbytes, retires) in enumerate(steps):
        offset = ring.take(nbytes, ticket)
        if offset is None:
            assert live
        else:
            assert offset + nbytes <= 4096
            assert all(offset + nbytes <= low or high <= offset for _, low, high in live)
            live.append((ticket, offset, offset + nbytes))
        if (retires or offset is None) and live:
            assert ring.oldest() == live[0][0]
            ring.retire(live.pop(0)[0])
    for ticket, _, _ in live:
        ring.retire(ticket)
    assert ring.oldest() is None
    assert ring.take(4096, 1 << 20) is not None
