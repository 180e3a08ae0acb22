"""A product of tiles by `Target.mma` on a device, beside NumPy with float64; run it where there is a GPU:

PYTHONPATH=src:tests python3 -m mma_reference cuda
"""

from __future__ import annotations

import sys
from typing import Any, Literal

import numpy as np

import atoll
from atoll import Target, device, f32, i32, kernel, ptr, view


@device
def half_of(tile: ptr[f32], left: ptr[f32], right: ptr[f32], half: i32, steps: i32, lane: i32) -> None:
    Target.mma(tile + half, left, right + half, i32(16), i32(20), i32(16), steps, lane)


@kernel(block=64)
def product(
    a: view[f32, Literal[2]], b: view[f32, Literal[2]], out: view[f32, Literal[2]], steps: i32
) -> None:
    left, right = atoll.shared(f32, 24 * 20), atoll.shared(f32, 24 * 16)
    tile = atoll.shared(f32, 16 * 16)
    t = atoll.local_id(0)
    for i in range(t, 8 * steps * 16, 64):
        left[i // 16 * 20 + i % 16] = a[i % 16, i // 16]
        right[i] = b[i // 16, i % 16]
    for i in range(t, 256, 64):
        tile[i] = out[i // 16, i % 16]
    atoll.barrier()
    half_of(tile, left, right, t // 32 * 8, steps, t % 32)
    atoll.barrier()
    for i in range(t, 256, 64):
        out[i // 16, i % 16] = tile[i]


def apart(where: Any, steps: int = 3) -> float:
    """Return how far out += a b, of 16 by 8 `steps` by 16, is from float64; None runs the oracle."""
    random, depth = np.random.default_rng(steps), 8 * steps
    a, b, out = (random.normal(size=size).astype(np.float32) for size in ((16, depth), (depth, 16), (16, 16)))
    wanted = out + a.astype(np.float64) @ b
    if where is None:
        product.python(64)(a, b, out, steps)
    else:
        product.over(64, device=where)(a, b, out, steps)
    return float(np.abs(out - wanted).max())


if __name__ == "__main__":
    found = [apart(sys.argv[1], steps) for steps in (0, 1, 2, 3)]
    print(
        f"mma on {sys.argv[1]}: at most {max(found):.1e} apart, {'right' if max(found) < 2e-2 else 'WRONG'}"
    )
