"""Matrix products: naive, in tiles, in tiles with blocks in registers."""

from __future__ import annotations

from typing import Any

import numpy as np
from case import Case, floats, zeros

import atoll
from atoll import f32, fixed, kernel, view

TILE = 8


@kernel
def matmul_naive(a: view[f32, 2], b: view[f32, 2], out: view[f32, 2]):
    """One element a work-item, straight from memory."""
    column, row = atoll.global_id(0), atoll.global_id(1)
    if row < out.shape[0] and column < out.shape[1]:
        total = f32(0)
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, column]
        out[row, column] = total


@kernel(block=(TILE, TILE))
def matmul_tiled(a: view[f32, 2], b: view[f32, 2], out: view[f32, 2]):
    """Tiles of both matrices in shared memory; sizes need not be multiples."""
    left, right = atoll.shared(f32, (TILE, TILE)), atoll.shared(f32, (TILE, TILE))
    x, y = atoll.local_id(0), atoll.local_id(1)
    column, row = atoll.global_id(0), atoll.global_id(1)
    total = f32(0)
    for first in range(0, a.shape[1], TILE):
        left[y, x] = a[row, first + x] if row < a.shape[0] and first + x < a.shape[1] else 0.0
        right[y, x] = b[first + y, column] if first + y < b.shape[0] and column < b.shape[1] else 0.0
        atoll.barrier()
        for k in range(TILE):
            total += left[y, k] * right[k, x]
        atoll.barrier()
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = total


EACH = 2


@kernel(block=(TILE, TILE))
def matmul_blocked(a: view[f32, 2], b: view[f32, 2], out: view[f32, 2]):
    """Tiles in shared memory, and a block of `EACH` by `EACH` results in each work-item's registers."""
    left, right = atoll.shared(f32, (TILE * EACH, TILE)), atoll.shared(f32, (TILE, TILE * EACH))
    x, y = atoll.local_id(0), atoll.local_id(1)
    first_row, first_column = atoll.group_id(1) * TILE * EACH, atoll.group_id(0) * TILE * EACH
    block = fixed[f32, EACH, EACH]()
    down, across = fixed[f32, EACH](), fixed[f32, EACH]()
    for first in range(0, a.shape[1], TILE):
        for part in range(EACH):
            row, column = first_row + part * TILE + y, first_column + part * TILE + x
            left[part * TILE + y, x] = (
                a[row, first + x] if row < a.shape[0] and first + x < a.shape[1] else 0.0
            )
            right[y, part * TILE + x] = (
                b[first + y, column] if first + y < b.shape[0] and column < b.shape[1] else 0.0
            )
        atoll.barrier()
        for k in range(TILE):
            for i in range(EACH):
                down[i], across[i] = left[i * TILE + y, k], right[k, i * TILE + x]
            for i in range(EACH):
                for j in range(EACH):
                    block[i, j] += down[i] * across[j]
        atoll.barrier()
    for i in range(EACH):
        for j in range(EACH):
            row, column = first_row + i * TILE + y, first_column + j * TILE + x
            if row < out.shape[0] and column < out.shape[1]:
                out[row, column] = block[i, j]


def _matmul(a: Any, b: Any, out: Any) -> None:
    out[:] = a.astype(np.float64) @ b.astype(np.float64)


def _arguments(random: np.random.Generator) -> tuple[Any, ...]:
    return floats(random, 13, 19), floats(random, 19, 15), zeros(13, 15)


def _large(random: np.random.Generator) -> tuple[Any, ...]:
    return floats(random, 13, 19), floats(random, 19, 27), zeros(13, 27)


CASES = (
    Case(matmul_naive, (16, 16), _arguments, _matmul, bound=2e-6),
    Case(matmul_tiled, (16, 16), _arguments, _matmul, bound=2e-6),
    Case(matmul_blocked, (16, 8), _large, _matmul, bound=2e-6),
)
