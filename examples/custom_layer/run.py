"""Run the layer fused, compare it with NumPy, and ship its kernel: `python run.py [DEVICE…]`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from layer import fused

import atoll
from atoll.engine import fused as f

WORLD = Path(__file__).with_name("layer.json")


def operands(batch: int, length: int, width: int) -> list[np.ndarray]:
    """Return an input, a gate, a weight, and the cosines and sines of each position."""
    random = np.random.default_rng(0)
    angles = np.arange(length)[:, None] / 100.0 ** (np.arange(width // 2) / (width // 2))
    angles = np.concatenate([angles, angles], 1)
    shapes = (batch, length, width), (batch, length, width), (width,)
    return [
        *(random.standard_normal(s).astype("f4") for s in shapes),
        np.cos(angles).astype("f4"),
        np.sin(angles).astype("f4"),
    ]


def in_numpy(x, gate, weight, cos, sin, epsilon):
    """Return what the layer means, in double precision."""
    x, gate = x.astype("f8"), gate.astype("f8")
    y = x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight * gate / (1 + np.exp(-gate))
    half = y.shape[-1] // 2
    return y * cos + np.concatenate([-y[..., half:], y[..., :half]], -1) * sin


def main(names: list[str]) -> None:
    # The dry run: one kernel, whatever the shapes.
    with f.record() as world:
        for shape in ((2, 5, 8), (1, 7, 64), (3, 4, 300)):
            given = operands(*shape)
            found = fused(*(atoll.array(x, device=names[0]) for x in given), 1e-6).numpy()
            assert np.abs(found - in_numpy(*given, 1e-6)).max() < 1e-4
    assert len(world.records) == 1
    world.save(WORLD)
    # What is shipped: a closed world, on every device the same bytes.
    given, answers = operands(2, 6, 32), []
    with f.load(WORLD).use():
        for name in names:
            out = fused(*(atoll.array(x, device=name) for x in given), 1e-6)
            answers.append(out.numpy().tobytes())
            print(f"{len(world.records)} kernel, {np.abs(out.numpy()).sum():.4f} on {out.device.name}")
    assert len(set(answers)) == 1


if __name__ == "__main__":
    main(sys.argv[1:] or ["cpu"])
