"""Train a tiny GPT-2 on the text of this repository: `python train.py --device vulkan --steps 10`."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from model import Config, Model, random_weights


def batches(text: bytes, batch: int, length: int, seed: int = 0):
    """Give pairs of tokens and what follows each, flat, from random places of a text."""
    data, random = np.frombuffer(text, np.uint8).astype(np.int32), np.random.default_rng(seed)
    while True:
        starts = random.integers(0, len(data) - length - 1, batch)
        rows = np.stack([data[start : start + length + 1] for start in starts])
        yield rows[:, :-1].reshape(-1).copy(), rows[:, 1:].reshape(-1).copy()


def main() -> None:
    """Train and print a line a step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--text", type=Path, default=Path(__file__).with_name("README.md"))
    asked = parser.parse_args()
    config = Config()
    model = Model(config, random_weights(config), asked.batch, asked.device)
    given = batches(asked.text.read_bytes(), asked.batch, config.time)
    for step in range(asked.steps):
        start = time.perf_counter()
        loss = model.train(*next(given))
        print(f"step {step}: loss {loss:.6f} on {model.used}, {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
