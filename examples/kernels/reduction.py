"""Work-items that work together: block sums, histogram, prefix scan, bitonic sort."""

from __future__ import annotations

from typing import Any

import numpy as np
from case import Case, floats, zeros

import atoll
from atoll import f32, fixed, i32, kernel, view

BLOCK = 64


EACH = 16


@kernel(block=BLOCK)
def block_sum(x: view[f32], sums: view[f32]):
    """The sum of each `EACH` blocks, as a tree: any length. A work-item begins with `EACH` elements."""
    part, mine = atoll.shared(f32, BLOCK), fixed[f32, EACH]()
    lane, first = atoll.local_id(0), atoll.group_id(0) * (EACH * BLOCK)
    for k in range(EACH):
        at = first + k * BLOCK + lane
        mine[k] = x[at] if at < x.size else 0.0
    for k in range(8):
        mine[k] += mine[k + 8]
    for k in range(4):
        mine[k] += mine[k + 4]
    part[lane] = (mine[0] + mine[2]) + (mine[1] + mine[3])
    atoll.barrier()
    width = BLOCK // 2
    while width > 0:
        if lane < width:
            part[lane] += part[lane + width]
        atoll.barrier()
        width //= 2
    if lane == 0:
        sums[atoll.group_id(0)] = part[0]


def _block_sum(x: Any, sums: Any) -> None:
    padded = np.zeros(sums.size * EACH * BLOCK, np.float32)
    padded[: x.size] = x
    tree = padded.reshape(-1, EACH * BLOCK)
    while tree.shape[1] > 1:
        half = tree.shape[1] // 2
        tree = tree[:, :half] + tree[:, half:]
    sums[:] = tree[:, 0]


BINS = 16
COPIES = 32
TURNS = 32


@kernel(block=BLOCK)
def histogram(x: view[i32], counts: view[i32]):
    """Count values modulo the number of bins, negative ones too.

    `TURNS` values a work-item; neighbours count in copies of their own, so that none waits for another.
    """
    mine = atoll.shared(i32, (BINS, COPIES))
    lane, first = atoll.local_id(0), atoll.group_id(0) * (TURNS * BLOCK)
    for at in range(lane, BINS * COPIES, BLOCK):
        mine[at // COPIES, at % COPIES] = 0
    atoll.barrier()
    for turn in range(TURNS):
        at = first + turn * BLOCK + lane
        if at < x.size:
            atoll.atomic_add(mine, (x[at] % BINS, lane % COPIES), 1, scope="work_group")
    atoll.barrier()
    if lane < BINS:
        total = 0
        for copy in range(COPIES):
            total += mine[lane, copy]
        atoll.atomic_add(counts, lane, total)


def _histogram(x: Any, counts: Any) -> None:
    counts += np.bincount(x % BINS, minlength=BINS).astype(np.int32)


RUN = 16


@kernel(block=BLOCK)
def exclusive_scan(x: view[i32], out: view[i32], sums: view[i32]):
    """Blelloch's scan of each block, `RUN` elements a work-item; the totals go to `sums`.

    A work-item adds up its own elements, the tree works on those sums, and each adds what stands before it.
    """
    tree, own = atoll.shared(i32, BLOCK), fixed[i32, RUN]()
    tile = atoll.shared(i32, RUN * BLOCK + RUN * BLOCK // 32)  # a gap every 32, so that runs meet no conflict
    lane, first = atoll.local_id(0), atoll.group_id(0) * (RUN * BLOCK)
    for k in range(RUN):
        at = k * BLOCK + lane
        tile[at + at // 32] = x[first + at] if first + at < x.size else 0
    atoll.barrier()
    total = 0
    for k in range(RUN):
        at = lane * RUN + k
        own[k] = total
        total += tile[at + at // 32]
    tree[lane] = total
    step = 1
    while step < BLOCK:  # up: sums of ever larger parts
        atoll.barrier()
        if lane < BLOCK // (2 * step):
            right = (2 * lane + 2) * step - 1
            tree[right] += tree[right - step]
        step *= 2
    atoll.barrier()
    if lane == 0:
        sums[atoll.group_id(0)] = tree[-1]
        tree[-1] = 0
    while step > 1:  # down: what stands before each part
        step //= 2
        atoll.barrier()
        if lane < BLOCK // (2 * step):
            right = (2 * lane + 2) * step - 1
            left = tree[right - step]
            tree[right - step] = tree[right]
            tree[right] += left
    atoll.barrier()
    before = tree[lane]
    for k in range(RUN):
        at = lane * RUN + k
        tile[at + at // 32] = before + own[k]
    atoll.barrier()
    for k in range(RUN):
        at = k * BLOCK + lane
        if first + at < out.size:
            out[first + at] = tile[at + at // 32]


def _exclusive_scan(x: Any, out: Any, sums: Any) -> None:
    for block in range(sums.size):
        part = x[block * RUN * BLOCK : (block + 1) * RUN * BLOCK]
        total = np.cumsum(part, dtype=np.int32)
        out[block * RUN * BLOCK : (block + 1) * RUN * BLOCK] = total - part
        sums[block] = total[-1]


@kernel
def add_offsets(out: view[i32], offsets: view[i32]):
    """The second half of a long scan: add what stands before each block."""
    i = atoll.global_id(0)
    if i < out.size:
        out[i] += offsets[i // (RUN * BLOCK)]


def _add_offsets(out: Any, offsets: Any) -> None:
    out += np.repeat(offsets, RUN * BLOCK)[: out.size]


@kernel(block=BLOCK)
def bitonic_sort(x: view[i32], out: view[i32]):
    """Sort each block: partners differ in one bit, a barrier after every round."""
    row = atoll.shared(i32, BLOCK)
    i, lane = atoll.global_id(0), atoll.local_id(0)
    row[lane] = x[i] if i < x.size else 0x7FFFFFFF
    size = 2
    while size <= BLOCK:
        distance = size // 2
        while distance > 0:
            atoll.barrier()
            partner = lane ^ distance
            if partner > lane:
                mine, other = row[lane], row[partner]
                if (mine > other) == (lane & size == 0):
                    row[lane], row[partner] = other, mine
            distance //= 2
        size *= 2
    atoll.barrier()
    if i < out.size:
        out[i] = row[lane]


def _bitonic_sort(x: Any, out: Any) -> None:
    for first in range(0, x.size, BLOCK):
        out[first : first + BLOCK] = np.sort(x[first : first + BLOCK])


def _integers(random: np.random.Generator, size: int, least: int = -1000, most: int = 1000) -> Any:
    return random.integers(least, most, size).astype(np.int32)


CASES = (
    Case(block_sum, 128, lambda r: (floats(r, 1931), zeros(2)), _block_sum),
    Case(histogram, 128, lambda r: (_integers(r, 2500), np.zeros(BINS, np.int32)), _histogram),
    Case(
        exclusive_scan,
        128,
        lambda r: (_integers(r, 1930), np.zeros(1930, np.int32), np.zeros(2, np.int32)),
        _exclusive_scan,
    ),
    Case(add_offsets, 1950, lambda r: (_integers(r, 1930), _integers(r, 2)), _add_offsets),
    Case(bitonic_sort, 128, lambda r: (_integers(r, 119, -9, 9), np.zeros(119, np.int32)), _bitonic_sort),
)
