"""Kernels that move: padded transpose, encoder gather and scatter."""

from __future__ import annotations

from typing import Any

import numpy as np
from case import Case, floats, zeros

import atoll
from atoll import f32, i32, kernel, view

TILE = 32
ROWS = 8


@kernel(block=(TILE, ROWS))
def transpose(x: view[f32, 2], out: view[f32, 2]):
    """Through a tile in shared memory, a column wider than it needs so that its columns meet no conflict.

    `TILE // ROWS` elements a work-item: its column is its id, its row is `TILE // ROWS` times the group's.
    """
    tile = atoll.shared(f32, (TILE, TILE + 1))
    across, down = atoll.local_id(0), atoll.local_id(1)
    left, top = atoll.group_id(0) * TILE, atoll.group_id(1) * TILE
    for part in range(0, TILE, ROWS):
        row = top + part + down
        if row < x.shape[0] and left + across < x.shape[1]:
            tile[part + down, across] = x[row, left + across]
    atoll.barrier()
    for part in range(0, TILE, ROWS):
        row = left + part + down
        if row < out.shape[0] and top + across < out.shape[1]:
            out[row, top + across] = tile[across, part + down]


def _transpose(x: Any, out: Any) -> None:
    out[:] = x.T


@kernel
def encoder_forward(tokens: view[i32, 2], words: view[f32, 2], places: view[f32, 2], out: view[f32, 3]):
    """Gather: the vector of each token plus the one of its place."""
    c, t, b = atoll.global_id(0), atoll.global_id(1), atoll.global_id(2)
    if c < out.shape[2] and t < out.shape[1] and b < out.shape[0]:
        out[b, t, c] = words[tokens[b, t], c] + places[t, c]


def _encoder_forward(tokens: Any, words: Any, places: Any, out: Any) -> None:
    out[:] = words[tokens] + places


@kernel
def encoder_backward(tokens: view[i32, 2], gradient: view[f32, 3], words: view[f32, 2], places: view[f32, 2]):
    """Scatter: gradients of one token meet, in an order that nobody states."""
    c, t, b = atoll.global_id(0), atoll.global_id(1), atoll.global_id(2)
    if c < gradient.shape[2] and t < gradient.shape[1] and b < gradient.shape[0]:
        atoll.atomic_add(words, (tokens[b, t], c), gradient[b, t, c])
        atoll.atomic_add(places, (t, c), gradient[b, t, c])


def _encoder_backward(tokens: Any, gradient: Any, words: Any, places: Any) -> None:
    wide = words.astype(np.float64)
    np.add.at(wide, tokens, gradient.astype(np.float64))
    words[:] = wide
    places += gradient.astype(np.float64).sum(axis=0)


def _tokens(random: np.random.Generator) -> Any:
    return random.integers(0, 9, (2, 5)).astype(np.int32)


CASES = (
    Case(transpose, (64, 16), lambda r: (floats(r, 40, 50), zeros(50, 40)), _transpose),
    Case(transpose, (32, 8), lambda r: (floats(r, 40, 60)[::2, ::2], zeros(20, 30).T), _transpose),
    Case(
        encoder_forward,
        (16, 5, 2),
        lambda r: (_tokens(r), floats(r, 9, 13), floats(r, 5, 13), zeros(2, 5, 13)),
        _encoder_forward,
    ),
    Case(
        encoder_backward,
        (16, 5, 2),
        lambda r: (_tokens(r), floats(r, 2, 5, 13), zeros(9, 13), zeros(5, 13)),
        _encoder_backward,
        bound=2e-6,
    ),
)
