"""Grids and particles: five-point stencil, mandelbrot, game of life."""

from __future__ import annotations

from typing import Any

import numpy as np
from case import Case, floats, zeros

import atoll
from atoll import device, f32, i32, kernel, u8, view


@kernel
def stencil(x: view[f32, 2], out: view[f32, 2]):
    """One step of Jacobi: the mean of four neighbours; the border stays."""
    column, row = atoll.global_id(0), atoll.global_id(1)
    height, width = x.shape
    if row >= height or column >= width:
        return
    if row == 0 or column == 0 or row == height - 1 or column == width - 1:
        out[row, column] = x[row, column]
    else:
        around = x[row - 1, column] + x[row + 1, column] + x[row, column - 1] + x[row, column + 1]
        out[row, column] = around * 0.25


def _stencil(x: Any, out: Any) -> None:
    out[:] = x
    out[1:-1, 1:-1] = (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) * np.float32(0.25)


@kernel
def mandelbrot(left: f32, top: f32, step: f32, limit: i32, counts: view[i32, 2]):
    """How many steps until a point leaves the circle."""
    column, row = atoll.global_id(0), atoll.global_id(1)
    if row >= counts.shape[0] or column >= counts.shape[1]:
        return
    real, imaginary = left + f32(column) * step, top + f32(row) * step
    x, y, count = f32(0), f32(0), 0
    while count < limit:
        xx, yy = x * x, y * y
        if xx + yy > 4.0:
            break
        x, y = xx - yy + real, 2.0 * x * y + imaginary
        count += 1
    counts[row, column] = count


def _mandelbrot(left: float, top: float, step: float, limit: int, counts: Any) -> None:
    rows, columns = (np.arange(size, dtype=np.float32) for size in counts.shape)
    real = (np.float32(left) + columns * np.float32(step))[None, :]
    imaginary = (np.float32(top) + rows * np.float32(step))[:, None]
    x, y = np.zeros(counts.shape, np.float32), np.zeros(counts.shape, np.float32)
    inside = np.ones(counts.shape, bool)
    for _ in range(limit):
        xx, yy = x * x, y * y
        inside &= ~(xx + yy > 4)
        counts += inside
        x, y = xx - yy + real, np.float32(2) * x * y + imaginary


@device
def alive(board: view[u8, 2], row: i32, column: i32) -> i32:
    """Return 1 where a cell lives; the board has no edge, so -1 is the last one."""
    return i32(board[row % i32(board.shape[0]), column % i32(board.shape[1])])


@kernel
def life(board: view[u8, 2], out: view[u8, 2]):
    """One generation of Conway's game."""
    column, row = atoll.global_id(0), atoll.global_id(1)
    if row >= out.shape[0] or column >= out.shape[1]:
        return
    count = 0
    for down in range(-1, 2):
        for right in range(-1, 2):
            count += alive(board, row + down, column + right)
    count -= i32(board[row, column])
    lives = count == 3 or (count == 2 and board[row, column] != 0)
    out[row, column] = u8(1) if lives else u8(0)


def _life(board: Any, out: Any) -> None:
    turns = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)]
    count = sum(np.roll(board, turn, axis=(0, 1)).astype(np.int32) for turn in turns)
    out[:] = (count == 3) | ((count == 2) & (board != 0))


CASES = (
    Case(stencil, (16, 16), lambda r: (floats(r, 13, 14), zeros(13, 14)), _stencil),
    Case(mandelbrot, (16, 16), lambda _: (-2.0, -1.25, 0.17, 30, np.zeros((15, 16), np.int32)), _mandelbrot),
    Case(
        life,
        (16, 16),
        lambda r: (r.integers(0, 2, (13, 14)).astype(np.uint8), np.zeros((13, 14), np.uint8)),
        _life,
    ),
)
