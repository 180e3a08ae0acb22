"""Matrix products: naive, in tiles, in tiles with blocks in registers."""

from __future__ import annotations

from typing import Any

import numpy as np
from case import Case, floats, zeros

import atoll
from atoll import f32, kernel, view

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


def _matmul(a: Any, b: Any, out: Any) -> None:
    out[:] = a.astype(np.float64) @ b.astype(np.float64)


def _arguments(random: np.random.Generator) -> tuple[Any, ...]:
    return floats(random, 13, 19), floats(random, 19, 15), zeros(13, 15)


CASES = (
    Case(matmul_naive, (16, 16), _arguments, _matmul, bound=2e-6),
    Case(matmul_tiled, (16, 16), _arguments, _matmul, bound=2e-6),
)
