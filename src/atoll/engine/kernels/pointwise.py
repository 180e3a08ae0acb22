"""One element a work-item: arithmetic with repeated operands, casts, copies, turned axes, random numbers.

Every array has four dimensions here, the last one along the work-items; one that repeats has the step 0.
"""

# Kernels are checked by the kernel compiler; to a type checker their numbers are what they are in the oracle.
# mypy: ignore-errors
from __future__ import annotations

from typing import TypeVar

import atoll
from atoll import f32, i32, kernel, u32, view
from atoll.engine import maths

T = TypeVar("T")
U = TypeVar("U")

#: What :func:`unary` and :func:`binary` do, by number.
UNARY = ("copy", "neg", "abs", "relu", "exp", "log", "tanh", "sigmoid", "sqrt", "rsqrt", "recip")
BINARY = ("add", "sub", "mul", "div", "min", "max")


@atoll.device
def applied(x: f32, op: atoll.const[int]) -> f32:
    """Return one operation on an element; `op` counts in `UNARY`."""
    v = x
    if op == 1:
        v = -v
    if op == 2:
        v = atoll.bitcast(f32, atoll.bitcast(u32, v) & 0x7FFFFFFF)
    if op == 3:
        v = v if v > 0.0 else f32(0.0)
    if op == 4:
        v = maths.exp(v)
    if op == 5:
        v = maths.log(v)
    if op == 6:
        v = maths.tanh(v)
    if op == 7:
        v = maths.sigmoid(v)
    if op == 8:
        v = maths.sqrt(v)
    if op == 9:
        v = maths.rsqrt(v)
    if op == 10:
        v = maths.recip(v)
    return maths.canonical(v)


@atoll.device
def joined(a: f32, b: f32, op: atoll.const[int]) -> f32:
    """Return one operation on two elements; `op` counts in `BINARY`."""
    v = a
    if op == 0:
        v = a + b
    if op == 1:
        v = a - b
    if op == 2:
        v = a * b
    if op == 3:
        v = maths.divide(a, b)
    if op == 4:
        v = b if b < a else a
    if op == 5:
        v = b if b > a else a
    return maths.canonical(v)


@kernel
def unary(x: view[f32, 4], out: view[f32, 4], op: atoll.const[int]):
    """Do one operation to each element; `op` counts in `UNARY`."""
    i, j, rest = atoll.global_id(0), atoll.global_id(1), atoll.global_id(2)
    if i < out.shape[3] and j < out.shape[2]:
        k, m = rest % i32(out.shape[1]), rest // i32(out.shape[1])
        out[m, k, j, i] = applied(x[m, k, j, i], op)


@kernel
def unary_flat(x: view[f32], out: view[f32], op: atoll.const[int]):
    """As :func:`unary`, where both lie alike in one row."""
    i = atoll.global_id(0)
    if i < out.size:
        out[i] = applied(x[i], op)


@kernel
def binary(x: view[f32, 4], y: view[f32, 4], out: view[f32, 4], op: atoll.const[int]):
    """Join two elements; `op` counts in `BINARY`."""
    i, j, rest = atoll.global_id(0), atoll.global_id(1), atoll.global_id(2)
    if i < out.shape[3] and j < out.shape[2]:
        k, m = rest % i32(out.shape[1]), rest // i32(out.shape[1])
        out[m, k, j, i] = joined(x[m, k, j, i], y[m, k, j, i], op)


@kernel
def binary_flat(x: view[f32], y: view[f32], out: view[f32], op: atoll.const[int]):
    """As :func:`binary`, where all lie alike in one row."""
    i = atoll.global_id(0)
    if i < out.size:
        out[i] = joined(x[i], y[i], op)


@kernel
def binary_int(x: view[i32, 4], y: view[i32, 4], out: view[i32, 4], op: atoll.const[int]):
    """As :func:`binary`, of integers, which wrap."""
    i, j, rest = atoll.global_id(0), atoll.global_id(1), atoll.global_id(2)
    if i < out.shape[3] and j < out.shape[2]:
        k, m = rest % i32(out.shape[1]), rest // i32(out.shape[1])
        a, b = x[m, k, j, i], y[m, k, j, i]
        v = a
        if op == 0:
            v = a + b
        if op == 1:
            v = a - b
        if op == 2:
            v = a * b
        if op == 4:
            v = min(a, b)
        if op == 5:
            v = max(a, b)
        out[m, k, j, i] = v


@kernel
def cast(x: view[T, 4], out: view[U, 4], kind: atoll.const[int]):
    """Convert each element through f32 (kind 0), or between integers (kind 1)."""
    i, j, rest = atoll.global_id(0), atoll.global_id(1), atoll.global_id(2)
    if i < out.shape[3] and j < out.shape[2]:
        k, m = rest % i32(out.shape[1]), rest // i32(out.shape[1])
        if kind == 0:
            out[m, k, j, i] = U(maths.canonical(f32(x[m, k, j, i])))
        if kind == 1:
            out[m, k, j, i] = U(x[m, k, j, i])


@kernel
def cast_flat(x: view[T], out: view[U], kind: atoll.const[int]):
    """As :func:`cast`, where both lie alike in one row."""
    i = atoll.global_id(0)
    if i < out.size:
        if kind == 0:
            out[i] = U(maths.canonical(f32(x[i])))
        if kind == 1:
            out[i] = U(x[i])


@kernel
def fill(value: T, out: view[T, 4]):
    """Give every element one value."""
    i, j, rest = atoll.global_id(0), atoll.global_id(1), atoll.global_id(2)
    if i < out.shape[3] and j < out.shape[2]:
        out[rest // i32(out.shape[1]), rest % i32(out.shape[1]), j, i] = value


#: The side of a tile, and how many rows of it a group moves at once.
TILE, STEP = 32, 8


@kernel(block=(TILE, STEP))
def transpose(x: view[T, 3], out: view[T, 3], whole: atoll.const[int]):
    """Turn the last two axes, in tiles, so that both sides are read and written along their rows.

    `whole` is 1 where every tile is inside.
    """
    tile = atoll.shared(T, (TILE, TILE + 1))
    li, lj, m = atoll.local_id(0), atoll.local_id(1), atoll.group_id(2)
    i, first = atoll.group_id(0) * TILE + li, atoll.group_id(1) * TILE + lj
    for k in range(TILE // STEP):
        if whole == 1 or (i < x.shape[2] and first + k * STEP < x.shape[1]):
            tile[lj + k * STEP, li] = x[m, first + k * STEP, i]
    atoll.barrier()
    i, first = atoll.group_id(1) * TILE + li, atoll.group_id(0) * TILE + lj
    for k in range(TILE // STEP):
        if whole == 1 or (i < out.shape[2] and first + k * STEP < out.shape[1]):
            out[m, first + k * STEP, i] = tile[li, lj + k * STEP]


@kernel
def gather(x: view[T, 2], index: view[i32], out: view[T, 2]):
    """Take rows by number; one that does not exist gives zeros."""
    i, j = atoll.global_id(0), atoll.global_id(1)
    if i < out.shape[1] and j < out.shape[0]:
        row = index[j]
        v = T(0)
        if row >= 0 and row < x.shape[0]:
            v = x[row, i]
        out[j, i] = v


@kernel
def scatter_add(x: view[f32, 2], order: view[i32], starts: view[i32], out: view[f32, 2]):
    """Add to each row of `out` the rows of `x` that go there, in their order; no atomics."""
    i, j = atoll.global_id(0), atoll.global_id(1)
    if i < out.shape[1] and j < out.shape[0]:
        total = out[j, i]
        for at in range(starts[j], starts[j + 1]):
            total += x[order[at], i]
        out[j, i] = maths.canonical(total)


@atoll.device
def high_part(a: u32, b: u32) -> u32:
    """Return the upper 32 bits of a product, of 16-bit parts: not every device has 64 bits."""
    al, ah, bl, bh = a & 0xFFFF, a >> u32(16), b & 0xFFFF, b >> u32(16)
    low, m1, m2 = al * bl, ah * bl, al * bh
    middle = (low >> u32(16)) + (m1 & 0xFFFF) + (m2 & 0xFFFF)
    return ah * bh + (m1 >> u32(16)) + (m2 >> u32(16)) + (middle >> u32(16))


@kernel
def philox(seed: u32, stream: u32, out: view[u32]):
    """Philox4x32-10 (Salmon et al., SC'11): counter (i, 0, stream, 0), key (seed, 0); four words each."""
    i = atoll.global_id(0)
    if i * 4 < out.size:
        a, b, c, d = u32(i), u32(0), stream, u32(0)
        k0, k1 = seed, u32(0)
        for _ in range(10):
            h0, l0 = high_part(u32(0xD2511F53), a), u32(0xD2511F53) * a
            h1, l1 = high_part(u32(0xCD9E8D57), c), u32(0xCD9E8D57) * c
            a, b, c, d = h1 ^ b ^ k0, l1, h0 ^ d ^ k1, l0
            k0 += u32(0x9E3779B9)
            k1 += u32(0xBB67AE85)
        out[i * 4] = a
        if i * 4 + 1 < out.size:
            out[i * 4 + 1] = b
        if i * 4 + 2 < out.size:
            out[i * 4 + 2] = c
        if i * 4 + 3 < out.size:
            out[i * 4 + 3] = d


@kernel
def uniform(bits: view[u32], out: view[f32]):
    """Return numbers from 0 to 1, without 1: the upper 24 bits, exactly."""
    i = atoll.global_id(0)
    if i < out.size:
        out[i] = f32(bits[i] >> u32(8)) * 5.9604644775390625e-08


@kernel
def normal(bits: view[u32], out: view[f32]):
    """Return normally distributed numbers (Box and Muller) of two words each."""
    i = atoll.global_id(0)
    if i < out.size:
        u = f32((bits[2 * i] >> u32(8)) + u32(1)) * 5.9604644775390625e-08
        turn = f32(bits[2 * i + 1] >> u32(8)) * 5.9604644775390625e-08
        out[i] = maths.canonical(maths.sqrt(-2.0 * maths.log(u)) * maths.cos_turns(turn))
