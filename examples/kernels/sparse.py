"""Irregular work: a sparse matrix times a vector, and random numbers by counter."""

from __future__ import annotations

from typing import Any

import numpy as np
from case import Case, floats, zeros

import atoll
from atoll import device, f32, i32, i64, kernel, u32, u64, view


@kernel
def spmv(offsets: view[i64], columns: view[i32], values: view[f32], x: view[f32], out: view[f32]):
    """CSR: one row a work-item; stored zeros are skipped."""
    row = atoll.global_id(0)
    if row < out.size:
        total = f32(0)
        for at in range(offsets[row], offsets[row + 1]):
            value = values[at]
            if value == 0.0:
                continue
            total += value * x[columns[at]]
        out[row] = total


def _spmv(offsets: Any, columns: Any, values: Any, x: Any, out: Any) -> None:
    for row in range(out.size):
        part = slice(int(offsets[row]), int(offsets[row + 1]))
        out[row] = (values[part].astype(np.float64) * x[columns[part]]).sum()


def _spmv_arguments(random: np.random.Generator) -> tuple[Any, ...]:
    counts = random.integers(0, 9, 60)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    values = floats(random, int(offsets[-1]))
    values[::5] = 0
    columns = random.integers(0, 40, values.size).astype(np.int32)
    return offsets, columns, values, floats(random, 40), zeros(60)


@device
def high(a: u32, b: u32) -> u32:
    """Return the upper half of a product."""
    return u32((u64(a) * u64(b)) >> 32)


@kernel
def philox(key0: u32, key1: u32, out: view[u32, 2]):
    """Philox 4x32-10 (Salmon et al., 2011): four random words from the number of the work-item."""
    i = atoll.global_id(0)
    if i >= out.shape[0]:
        return
    a, b, c, d = u32(i), u32(0), u32(0), u32(0)
    left, right = key0, key1
    for _ in range(10):
        a, b, c, d = (
            high(u32(0xCD9E8D57), c) ^ b ^ left,
            u32(0xCD9E8D57) * c,
            high(u32(0xD2511F53), a) ^ d ^ right,
            u32(0xD2511F53) * a,
        )
        left += 0x9E3779B9
        right += 0xBB67AE85
    out[i, 0], out[i, 1], out[i, 2], out[i, 3] = a, b, c, d


def _philox(key0: int, key1: int, out: Any) -> None:
    mask = 0xFFFFFFFF
    for i in range(out.shape[0]):
        counter, left, right = (i, 0, 0, 0), key0, key1
        for _ in range(10):
            low, wide = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
            counter = (
                (wide >> 32) ^ counter[1] ^ left,
                wide & mask,
                (low >> 32) ^ counter[3] ^ right,
                low & mask,
            )
            left, right = (left + 0x9E3779B9) & mask, (right + 0xBB67AE85) & mask
        out[i] = counter


CASES = (
    Case(spmv, 64, _spmv_arguments, _spmv, bound=2e-6),
    Case(philox, 64, lambda _: (0xA4093822, 0x299F31D0, np.zeros((50, 4), np.uint32)), _philox),
)
