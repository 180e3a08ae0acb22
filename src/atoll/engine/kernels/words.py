"""Products of whole numbers of few bits: tiles for many rows, a work-group for some results for few.

A word has four numbers of eight bits, or sixteen of two. The sums are integers, so every order gives the same
bytes; what scales them is the same in each kernel.
"""

# Kernels are checked by the kernel compiler; to a type checker their numbers are what they are in the oracle.
# mypy: ignore-errors
from __future__ import annotations

import atoll
from atoll import Target, f32, fixed, i32, kernel, u32, view
from atoll.engine import maths

#: The work-items of a group along each side, the results of each along each side, and the words of a step.
SIDE, OWN, DEEP = 16, 4, 16
TILE = SIDE * OWN
#: The work-items that share some results, and how many.
LANES, ROWS = 128, 4
#: What the low bits of each byte are, and what -1 is where the codes 0, 1, 2 mean -1, 0, 1.
CODES, ONES = 0x03030303, 0x01010101


@kernel(block=(SIDE, SIDE))
def matmul_words(x: view[u32, 2], w: view[u32, 2], sx: view[f32], sw: view[f32], out: view[f32, 2]):
    """Multiply rows of words of four numbers, the rows of `w` being the columns: tiles of 64 by 64."""
    left, right = atoll.shared(u32, (DEEP, TILE + 1)), atoll.shared(u32, (DEEP, TILE + 1))
    sums, rows, cols = fixed[i32, OWN * OWN](), fixed[u32, OWN](), fixed[u32, OWN]()
    i, j = atoll.local_id(0), atoll.local_id(1)
    m0, n0 = atoll.group_id(1) * TILE, atoll.group_id(0) * TILE
    words = i32(x.shape[1])
    for first in range(0, words, DEEP):
        for part in range(OWN):
            row = j + part * SIDE
            inside = first + i < words
            left[i, row] = x[m0 + row, first + i] if inside and m0 + row < x.shape[0] else u32(0)
            right[i, row] = w[n0 + row, first + i] if inside and n0 + row < w.shape[0] else u32(0)
        atoll.barrier()
        for k in range(DEEP):
            for r in range(OWN):
                rows[r], cols[r] = left[k, j + r * SIDE], right[k, i + r * SIDE]
            for r in range(OWN):
                for s in range(OWN):
                    sums[r * OWN + s] = Target.dot4(rows[r], cols[s], sums[r * OWN + s])
        atoll.barrier()
    for r in range(OWN):
        for s in range(OWN):
            m, n = m0 + j + r * SIDE, n0 + i + s * SIDE
            if m < out.shape[0] and n < out.shape[1]:
                out[m, n] = maths.canonical(f32(sums[r * OWN + s]) * sx[m] * sw[n])


@kernel(block=LANES)
def row_words(x: view[u32, 2], w: view[u32, 2], sx: view[f32], sw: view[f32], out: view[f32, 2]):
    """As :func:`matmul_words`, a group for `ROWS` results of a row: for few rows of `x`."""
    part, sums = atoll.shared(i32, (ROWS, LANES)), fixed[i32, ROWS]()
    lane, first, m = atoll.local_id(0), atoll.group_id(0) * ROWS, atoll.group_id(1)
    for at in range(lane, i32(w.shape[1]), LANES):
        four = x[m, at]
        for r in range(ROWS):
            if first + r < w.shape[0]:
                sums[r] = Target.dot4(four, w[first + r, at], sums[r])
    for r in range(ROWS):
        part[r, lane] = sums[r]
    atoll.barrier()
    width = LANES // 2
    while width > 0:
        if lane < width:
            for r in range(ROWS):
                part[r, lane] += part[r, lane + width]
        atoll.barrier()
        width //= 2
    if lane < ROWS and first + lane < w.shape[0]:
        out[m, first + lane] = maths.canonical(f32(part[lane, 0]) * sx[m] * sw[first + lane])


@kernel(block=LANES)
def row_ternary(x: view[u32, 3], w: view[u32, 2], sx: view[f32], sw: view[f32], out: view[f32, 2]):
    """As :func:`row_words`, of packed numbers of -1, 0, 1, four words of `x` beside each of `w`.

    The numbers of a word, each 1 higher, come out of it four at a time, in every fourth place; so the bytes
    of `x` are turned to stand like them, once for all rows of `w`.
    """
    part, sums = atoll.shared(i32, (ROWS, LANES)), fixed[i32, ROWS]()
    turned = fixed[u32, 4]()
    lane, first, m = atoll.local_id(0), atoll.group_id(0) * ROWS, atoll.group_id(1)
    extra = i32(0)
    for at in range(lane, i32(w.shape[1]), LANES):
        a, b, c, d = x[m, at, 0], x[m, at, 1], x[m, at, 2], x[m, at, 3]
        for k in range(4):
            shift = u32(8 * k)
            low = ((a >> shift) & 255) | (((b >> shift) & 255) << 8)
            high = ((c >> shift) & 255) | (((d >> shift) & 255) << 8)
            turned[k] = low | (high << 16)
            extra = Target.dot4(turned[k], u32(ONES), extra)
        for r in range(ROWS):
            if first + r < w.shape[0]:
                codes = w[first + r, at]
                for k in range(4):
                    sums[r] = Target.dot4(turned[k], (codes >> u32(2 * k)) & CODES, sums[r])
    for r in range(ROWS):
        part[r, lane] = sums[r] - extra
    atoll.barrier()
    width = LANES // 2
    while width > 0:
        if lane < width:
            for r in range(ROWS):
                part[r, lane] += part[r, lane + width]
        atoll.barrier()
        width //= 2
    if lane < ROWS and first + lane < w.shape[0]:
        out[m, first + lane] = maths.canonical(f32(part[lane, 0]) * sx[m] * sw[first + lane])


@kernel
def scaled(sums: view[i32, 2], sx: view[f32], sw: view[f32], out: view[f32, 2]):
    """Give sums that a library made their scale; `out` may lie where they do."""
    n, m = atoll.global_id(0), atoll.global_id(1)
    if n < out.shape[1] and m < out.shape[0]:
        out[m, n] = maths.canonical(f32(sums[m, n]) * sx[m] * sw[n])
