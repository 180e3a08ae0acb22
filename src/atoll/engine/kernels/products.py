"""Products of matrices. Every variant adds up along K in order, in f32, so all give the same bytes."""

# Kernels are checked by the kernel compiler; to a type checker their numbers are what they are in the oracle.
# mypy: ignore-errors
from __future__ import annotations

from typing import TypeVar

import atoll
from atoll import f32, fixed, i8, i32, kernel, u32, view
from atoll.engine import maths

T = TypeVar("T")
TILE = 16
#: The larger tiles, `DEEP` along K: by variant, how many results by how many a work-item has.
OWN, DEEP = {"wide": 4, "block": 8}, 8
#: How much longer than a tile its rows are in shared memory: stores down a column meet no bank twice.
APART = 4


@kernel
def matmul_plain(x: view[T, 3], y: view[T, 3], out: view[f32, 3]):
    """One result a work-item, no shared memory: for small products, and devices where it gains nothing."""
    n, m, b = atoll.global_id(0), atoll.global_id(1), atoll.global_id(2)
    if n < out.shape[2] and m < out.shape[1]:
        total = f32(0.0)
        for k in range(i32(x.shape[2])):
            total += f32(x[b, m, k]) * f32(y[b, k, n])
        out[b, m, n] = maths.canonical(total)


@kernel(block=(TILE, TILE))
def matmul_tiled(x: view[T, 3], y: view[T, 3], out: view[f32, 3]):
    """One result a work-item, operands in tiles of 16 by 16."""
    left, right = atoll.shared(f32, (TILE, TILE)), atoll.shared(f32, (TILE, TILE + 1))
    i, j, b = atoll.local_id(0), atoll.local_id(1), atoll.group_id(2)
    n, m = atoll.group_id(0) * TILE + i, atoll.group_id(1) * TILE + j
    depth = i32(x.shape[2])
    total = f32(0.0)
    for first in range(0, depth, TILE):
        a, c = f32(0.0), f32(0.0)
        if m < x.shape[1] and first + i < depth:
            a = f32(x[b, m, first + i])
        if n < y.shape[2] and first + j < depth:
            c = f32(y[b, first + j, n])
        left[j, i] = a
        right[j, i] = c
        atoll.barrier()
        for k in range(min(TILE, depth - first)):
            total += left[j, k] * right[k, i]
        atoll.barrier()
    if n < out.shape[2] and m < out.shape[1]:
        out[b, m, n] = maths.canonical(total)


@kernel(block=(TILE, TILE))
def matmul_wide(  # noqa: C901
    x: view[T, 3], y: view[T, 3], out: view[f32, 3], own: atoll.const[int], whole: atoll.const[int]
):
    """`own` by `own` results a work-item, `DEEP` products of each at once: for large products.

    The next tiles are on their way to registers meanwhile. What lies behind K is 0 times 0, which changes no
    sum: one that began at 0 is never -0. `whole` is 1 where every tile is inside.
    """
    left, right = atoll.shared(f32, (DEEP, TILE * own + APART)), atoll.shared(f32, (DEEP, TILE * own + APART))
    sums, rows, cols = fixed[f32, own * own](), fixed[f32, own](), fixed[f32, own]()
    next_left, next_right = fixed[f32, own // 2](), fixed[f32, own // 2]()
    i, j, b = atoll.local_id(0), atoll.local_id(1), atoll.group_id(2)
    lane, side = j * TILE + i, TILE * own
    m0, n0 = atoll.group_id(1) * side, atoll.group_id(0) * side
    depth = i32(x.shape[2])
    for first in range(-DEEP, depth, DEEP):
        if whole == 1:
            for part in range(own // 2):  # the condition inside costs nothing, and fewer registers: 128
                at = lane + part * (TILE * TILE)
                if first + DEEP < depth:
                    next_left[part] = f32(x[b, m0 + at // DEEP, first + DEEP + at % DEEP])
                    next_right[part] = f32(y[b, first + DEEP + at // side, n0 + at % side])
        else:
            for part in range(own // 2):
                at = lane + part * (TILE * TILE)
                m, k = m0 + at // DEEP, first + DEEP + at % DEEP
                next_left[part] = f32(x[b, m, k]) if m < x.shape[1] and k < depth else f32(0.0)
                n, k = n0 + at % side, first + DEEP + at // side
                next_right[part] = f32(y[b, k, n]) if n < y.shape[2] and k < depth else f32(0.0)
        if first >= 0:
            for k in range(DEEP):
                for r in range(own):
                    rows[r], cols[r] = left[k, j + r * TILE], right[k, i + r * TILE]
                for r in range(own):
                    for s in range(own):
                        sums[r * own + s] += rows[r] * cols[s]
        atoll.barrier()
        for part in range(own // 2):
            at = lane + part * (TILE * TILE)
            left[at % DEEP, at // DEEP] = next_left[part]
            right[at // side, at % side] = next_right[part]
        atoll.barrier()
    for r in range(own):
        for s in range(own):
            m, n = m0 + j + r * TILE, n0 + i + s * TILE
            if whole == 1 or (m < out.shape[1] and n < out.shape[2]):
                out[b, m, n] = maths.canonical(sums[r * own + s])


@kernel
def join_parts(x: view[f32, 4], out: view[f32, 3]):
    """Add up the parts of a product that was split along K, in order."""
    n, m, b = atoll.global_id(0), atoll.global_id(1), atoll.global_id(2)
    if n < out.shape[2] and m < out.shape[1]:
        total = x[b, 0, m, n]
        for part in range(1, i32(x.shape[1])):
            total += x[b, part, m, n]
        out[b, m, n] = maths.canonical(total)


@kernel
def matmul_q(x: view[i8, 2], w: view[i8, 2], sx: view[f32], sw: view[f32], out: view[f32, 2]):
    """Multiply whole numbers, the rows of `w` being the columns; the sum is an integer, so it is exact."""
    n, m = atoll.global_id(0), atoll.global_id(1)
    if n < out.shape[1] and m < out.shape[0]:
        total = i32(0)
        for k in range(i32(x.shape[1])):
            total += i32(x[m, k]) * i32(w[n, k])
        out[m, n] = maths.canonical(f32(total) * sx[m] * sw[n])


@kernel
def matmul_ternary(x: view[i8, 2], w: view[u32, 2], sx: view[f32], sw: view[f32], out: view[f32, 2]):
    """As :func:`matmul_q`, of packed numbers of -1, 0, 1: no multiplication at all."""
    n, m = atoll.global_id(0), atoll.global_id(1)
    if n < out.shape[1] and m < out.shape[0]:
        total = i32(0)
        size = i32(x.shape[1])
        for at in range(i32(w.shape[1])):
            word = w[n, at]
            for k in range(16):
                if at * 16 + k < size:
                    code = word & 3
                    v = i32(x[m, at * 16 + k])
                    total += v if code == 2 else (-v if code == 0 else i32(0))
                word = word >> u32(2)
        out[m, n] = maths.canonical(f32(total) * sx[m] * sw[n])


@kernel
def unquantise(q: view[i8, 2], steps: view[f32], out: view[f32, 2]):
    """Return numbers times their row's step."""
    i, row = atoll.global_id(0), atoll.global_id(1)
    if i < out.shape[1] and row < out.shape[0]:
        out[row, i] = f32(q[row, i]) * steps[row]
