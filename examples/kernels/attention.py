"""Attention of one head: naive, in tiles that never hold the scores (flash), causal or not."""

from __future__ import annotations

from typing import Any

import numpy as np
from case import Case, floats, zeros

import atoll
from atoll import bool_, f32, fixed, i32, kernel, view

WIDTH = 16
TILE = 8
LOWEST = -3.0e38


@kernel
def attention_naive(
    causal: bool_, scale: f32, q: view[f32, 2], k: view[f32, 2], v: view[f32, 2], out: view[f32, 2]
):
    """One row a work-item: the peak, then the sum, then the values; any width."""
    row = atoll.global_id(0)
    if row >= out.shape[0]:
        return
    length = i32(k.shape[0])
    if causal:
        length = row + 1
    peak, total = f32(LOWEST), f32(0)
    for other in range(length):
        score = f32(0)
        for c in range(q.shape[1]):
            score += q[row, c] * k[other, c]
        score *= scale
        if score > peak:
            total *= atoll.exp(peak - score)
            peak = score
        total += atoll.exp(score - peak)
    for c in range(out.shape[1]):
        out[row, c] = 0.0
    for other in range(length):
        score = f32(0)
        for c in range(q.shape[1]):
            score += q[row, c] * k[other, c]
        share = atoll.exp(score * scale - peak) / total
        for c in range(out.shape[1]):
            out[row, c] += share * v[other, c]


@kernel(block=TILE)
def attention_flash(
    causal: bool_, scale: f32, q: view[f32, 2], k: view[f32, 2], v: view[f32, 2], out: view[f32, 2]
):
    """A tile of keys and values at a time in shared memory; a row's query and sums in its own arrays."""
    keys, values = atoll.shared(f32, (TILE, WIDTH)), atoll.shared(f32, (TILE, WIDTH))
    row, lane = atoll.global_id(0), atoll.local_id(0)
    rows, length = i32(q.shape[0]), i32(k.shape[0])
    query, sums = fixed[f32, WIDTH](), fixed[f32, WIDTH]()
    for c in range(WIDTH):
        query[c] = q[row, c] * scale if row < rows else 0.0
    peak, total = f32(LOWEST), f32(0)
    for first in range(0, length, TILE):
        for c in range(WIDTH):
            keys[lane, c] = k[first + lane, c] if first + lane < length else 0.0
            values[lane, c] = v[first + lane, c] if first + lane < length else 0.0
        atoll.barrier()
        for other in range(TILE):
            if first + other < length and (not causal or first + other <= row):
                score = f32(0)
                for c in range(WIDTH):
                    score += query[c] * keys[other, c]
                top = max(peak, score)
                kept, share = atoll.exp(peak - top), atoll.exp(score - top)
                total = total * kept + share
                for c in range(WIDTH):
                    sums[c] = sums[c] * kept + share * values[other, c]
                peak = top
        atoll.barrier()
    if row < rows:
        for c in range(WIDTH):
            out[row, c] = sums[c] / total


def _attention(causal: bool, scale: float, q: Any, k: Any, v: Any, out: Any) -> None:
    scores = q.astype(np.float64) @ k.astype(np.float64).T * scale
    if causal:
        scores[np.triu_indices_from(scores, 1)] = -np.inf
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    out[:] = shares / shares.sum(axis=1, keepdims=True) @ v.astype(np.float64)


def _arguments(causal: bool) -> Any:
    return lambda r: (causal, 0.25, *(floats(r, 21, WIDTH) for _ in range(3)), zeros(21, WIDTH))


CASES = tuple(
    Case(kernel, 24, _arguments(causal), _attention, bound=2e-6)
    for kernel in (attention_naive, attention_flash)
    for causal in (False, True)
)
