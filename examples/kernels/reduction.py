"""Work-items that work together: block sums, histogram, prefix scan, bitonic sort."""

from __future__ import annotations

from typing import Any

import numpy as np
from case import Case, floats, zeros

import atoll
from atoll import f32, i32, kernel, view

BLOCK = 64


@kernel(block=BLOCK)
def block_sum(x: view[f32], sums: view[f32]):
    """The sum of each block, as a tree: any length."""
    part = atoll.shared(f32, BLOCK)
    i, lane = atoll.global_id(0), atoll.local_id(0)
    part[lane] = x[i] if i < x.size else 0.0
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
    padded = np.zeros(sums.size * BLOCK, np.float32)
    padded[: x.size] = x
    tree = padded.reshape(-1, BLOCK)
    while tree.shape[1] > 1:
        half = tree.shape[1] // 2
        tree = tree[:, :half] + tree[:, half:]
    sums[:] = tree[:, 0]


BINS = 16


@kernel(block=BLOCK)
def histogram(x: view[i32], counts: view[i32]):
    """Count values modulo the number of bins, negative ones too; in shared memory first."""
    mine = atoll.shared(i32, BINS)
    i, lane = atoll.global_id(0), atoll.local_id(0)
    if lane < BINS:
        mine[lane] = 0
    atoll.barrier()
    if i < x.size:
        atoll.atomic_add(mine, x[i] % BINS, 1, scope="work_group")
    atoll.barrier()
    if lane < BINS:
        atoll.atomic_add(counts, lane, mine[lane])


def _histogram(x: Any, counts: Any) -> None:
    counts += np.bincount(x % BINS, minlength=BINS).astype(np.int32)


@kernel(block=BLOCK)
def exclusive_scan(x: view[i32], out: view[i32], sums: view[i32]):
    """Blelloch's scan of each block of twice as many elements; the totals go to `sums`."""
    tree = atoll.shared(i32, 2 * BLOCK)
    lane, first = atoll.local_id(0), atoll.group_id(0) * (2 * BLOCK)
    for part in range(2):
        at = lane + part * BLOCK
        tree[at] = x[first + at] if first + at < x.size else 0
    step = 1
    while step <= BLOCK:  # up: sums of ever larger parts
        atoll.barrier()
        if lane < BLOCK // step:
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
        if lane < BLOCK // step:
            right = (2 * lane + 2) * step - 1
            left = tree[right - step]
            tree[right - step] = tree[right]
            tree[right] += left
    atoll.barrier()
    for part in range(2):
        at = lane + part * BLOCK
        if first + at < out.size:
            out[first + at] = tree[at]


def _exclusive_scan(x: Any, out: Any, sums: Any) -> None:
    for block in range(sums.size):
        part = x[block * 2 * BLOCK : (block + 1) * 2 * BLOCK]
        total = np.cumsum(part, dtype=np.int32)
        out[block * 2 * BLOCK : (block + 1) * 2 * BLOCK] = total - part
        sums[block] = total[-1]


@kernel
def add_offsets(out: view[i32], offsets: view[i32]):
    """The second half of a long scan: add what stands before each block."""
    i = atoll.global_id(0)
    if i < out.size:
        out[i] += offsets[i // (2 * BLOCK)]


def _add_offsets(out: Any, offsets: Any) -> None:
    out += np.repeat(offsets, 2 * BLOCK)[: out.size]


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
    Case(block_sum, 256, lambda r: (floats(r, 231), zeros(4)), _block_sum),
    Case(histogram, 256, lambda r: (_integers(r, 250), np.zeros(BINS, np.int32)), _histogram),
    Case(
        exclusive_scan,
        128,
        lambda r: (_integers(r, 230), np.zeros(230, np.int32), np.zeros(2, np.int32)),
        _exclusive_scan,
    ),
    Case(add_offsets, 250, lambda r: (_integers(r, 230), _integers(r, 2)), _add_offsets),
    Case(bitonic_sort, 128, lambda r: (_integers(r, 119, -9, 9), np.zeros(119, np.int32)), _bitonic_sort),
)
