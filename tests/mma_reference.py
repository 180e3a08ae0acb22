"""A product of tiles by `Target.mma` on a device, beside NumPy with float64; run it where there is a GPU:

PYTHONPATH=src:tests python3 -m mma_reference cuda
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from kernel_text import kernel_from

TEXT = """
@device
def half_of(tile: ptr[f32], left: ptr[f32], right: ptr[f32], half: i32, steps: i32, lane: i32):
    atoll.Target.mma(tile + half, left, right + half, 16, 20, 16, steps, lane)

@kernel(block=64)
def k(a: view[f32, 2], b: view[f32, 2], out: view[f32, 2], steps: i32):
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
"""


def apart(device: Any, steps: int = 3) -> float:
    """Return how far out += a b, of 16 by 8 `steps` by 16, is from float64; None runs the oracle."""
    random, depth = np.random.default_rng(steps), 8 * steps
    a, b, out = (random.normal(size=size).astype(np.float32) for size in ((16, depth), (depth, 16), (16, 16)))
    wanted = out + a.astype(np.float64) @ b
    kernel = kernel_from(TEXT)
    if device is None:
        kernel.python(64)(a, b, out, steps)
    else:
        kernel.over(64, device=device)(a, b, out, steps)
    return float(np.abs(out - wanted).max())


if __name__ == "__main__":
    found = [apart(sys.argv[1], steps) for steps in (0, 1, 2, 3)]
    print(
        f"mma on {sys.argv[1]}: at most {max(found):.1e} apart, {'right' if max(found) < 2e-2 else 'WRONG'}"
    )
