"""A work-group for each row: reductions, scans, softmax, layer norm, quantisation. Every tree is fixed.

A row's elements go to `LANES` work-items in turn, each folds its own in order, then the halves are joined;
the order depends on the length of the row and on nothing else.
"""

# Kernels are checked by the kernel compiler; to a type checker their numbers are what they are in the oracle.
# mypy: ignore-errors
from __future__ import annotations

from collections.abc import Callable

import atoll
from atoll import device, f32, fixed, i8, i32, kernel, u32, view
from atoll.engine import maths

LANES = 128
#: How many elements of a row a work-item may hold, where a row is read once and is not as many for each.
HELD = (4, 8, 16, 32)
#: What :func:`reduce` does, by number.
REDUCE = ("sum", "max", "min", "abs_sum", "abs_max", "square_sum")
#: The elements that :func:`scan` does in one work-group, and each work-item.
CHUNK, RUN = 512, 4


@device
def add(a: f32, b: f32) -> f32:
    """Return the sum."""
    return a + b


@device
def larger(a: f32, b: f32) -> f32:
    """Return the larger one; NaN where one is NaN."""
    return a if maths.is_nan(a) or a > b else b


@device
def smaller(a: f32, b: f32) -> f32:
    """Return the smaller one; NaN where one is NaN."""
    return a if maths.is_nan(a) or a < b else b


@kernel(block=LANES)
def reduce(  # noqa: C901
    x: view[f32, 2], out: view[f32], op: atoll.const[int]
):
    """Fold each row of at least one element; `op` counts in `REDUCE`."""
    part = atoll.shared(f32, LANES)
    lane, row = atoll.local_id(0), atoll.group_id(0)
    size = i32(x.shape[1])
    mine = f32(0.0)
    if op == 1:
        mine = f32(-3.4028234663852886e38)
    if op == 2:
        mine = f32(3.4028234663852886e38)
    if op == 1 or op == 2:
        mine = x[row, 0]
    for at in range(lane, size, LANES):
        v = x[row, at]
        if op == 0:
            mine += v
        if op == 1:
            mine = larger(mine, v)
        if op == 2:
            mine = smaller(mine, v)
        if op == 3:
            mine += abs(v)
        if op == 4:
            mine = larger(mine, abs(v))
        if op == 5:
            mine += v * v
    part[lane] = mine
    atoll.barrier()
    width = LANES // 2
    while width > 0:
        if lane < width:
            a, b = part[lane], part[lane + width]
            if op == 1 or op == 4:
                part[lane] = larger(a, b)
            elif op == 2:
                part[lane] = smaller(a, b)
            else:
                part[lane] = a + b
        atoll.barrier()
        width //= 2
    if lane == 0:
        out[row] = maths.canonical(part[0])


@kernel(block=LANES)
def reduce_int(x: view[i32, 2], out: view[i32], op: atoll.const[int]):
    """As :func:`reduce`, of integers, which wrap; sum, max, min."""
    part = atoll.shared(i32, LANES)
    lane, row = atoll.local_id(0), atoll.group_id(0)
    mine = i32(0)
    if op != 0:
        mine = x[row, 0]
    for at in range(lane, i32(x.shape[1]), LANES):
        if op == 0:
            mine += x[row, at]
        if op == 1:
            mine = max(mine, x[row, at])
        if op == 2:
            mine = min(mine, x[row, at])
    part[lane] = mine
    atoll.barrier()
    width = LANES // 2
    while width > 0:
        if lane < width:
            a, b = part[lane], part[lane + width]
            if op == 0:
                part[lane] = a + b
            if op == 1:
                part[lane] = max(a, b)
            if op == 2:
                part[lane] = min(a, b)
        atoll.barrier()
        width //= 2
    if lane == 0:
        out[row] = part[0]


@kernel(block=CHUNK // RUN)
def scan(x: view[f32, 2], out: view[f32, 2], sums: view[f32, 2]):
    """Add up each chunk of a row: runs of `RUN` in order, their sums in doubling steps; totals to `sums`."""
    a, b = atoll.shared(f32, CHUNK // RUN), atoll.shared(f32, CHUNK // RUN)
    lane, chunk, row = atoll.local_id(0), atoll.group_id(0), atoll.group_id(1)
    first = chunk * CHUNK + lane * RUN
    size = i32(x.shape[1])
    total = f32(0.0)
    for k in range(RUN):
        if first + k < size:
            total += x[row, first + k]
    a[lane] = total
    atoll.barrier()
    step = 1
    while step < CHUNK // RUN:
        v = a[lane]
        if lane >= step:
            v = a[lane - step] + v
        b[lane] = v
        atoll.barrier()
        a[lane] = b[lane]
        atoll.barrier()
        step *= 2
    before = f32(0.0)
    if lane > 0:
        before = a[lane - 1]
    for k in range(RUN):
        if first + k < size:
            before += x[row, first + k]
            out[row, first + k] = maths.canonical(before)
    if lane == 0:
        sums[row, chunk] = maths.canonical(a[CHUNK // RUN - 1])


@kernel
def scan_join(sums: view[f32, 2], out: view[f32, 2]):
    """Add to each chunk what all chunks before it add up to."""
    i, row = atoll.global_id(0), atoll.global_id(1)
    if i < out.shape[1] and row < out.shape[0] and i >= CHUNK:
        out[row, i] = maths.canonical(sums[row, i // CHUNK - 1] + out[row, i])


@device
def folded(part: f32, together: Callable) -> f32:
    """Return what a work-group's values fold to, for all of them."""
    shared = atoll.shared(f32, LANES)
    lane = atoll.local_id(0)
    atoll.barrier()
    shared[lane] = part
    atoll.barrier()
    width = LANES // 2
    while width > 0:
        if lane < width:
            shared[lane] = together(shared[lane], shared[lane + width])
        atoll.barrier()
        width //= 2
    return shared[0]


@kernel(block=LANES)
def softmax(x: view[f32, 2], out: view[f32, 2]):
    """Return exp(x - max) over its sum, row by row."""
    lane, row = atoll.local_id(0), atoll.group_id(0)
    size = i32(x.shape[1])
    peak = x[row, 0]
    for at in range(lane, size, LANES):
        peak = larger(peak, x[row, at])
    peak = folded(peak, larger)
    total = f32(0.0)
    for at in range(lane, size, LANES):
        total += maths.exp(x[row, at] - peak)
    share = maths.recip(folded(total, add))
    for at in range(lane, size, LANES):
        out[row, at] = maths.canonical(maths.exp(x[row, at] - peak) * share)


@kernel(block=LANES)
def softmax_held(x: view[f32, 2], out: view[f32, 2], each: atoll.const[int], whole: atoll.const[int]):
    """As :func:`softmax`, of at most `each` elements a work-item (exactly, where `whole` is 1).

    They are read once, and their powers made once.
    """
    held = fixed[f32, each]()
    lane, row = atoll.local_id(0), atoll.group_id(0)
    size = i32(x.shape[1])
    for k in range(each):
        if whole == 1 or lane + k * LANES < size:
            held[k] = x[row, lane + k * LANES]
    peak = x[row, 0]
    for k in range(each):
        if whole == 1 or lane + k * LANES < size:
            peak = larger(peak, held[k])
    peak = folded(peak, larger)
    total = f32(0.0)
    for k in range(each):
        if whole == 1 or lane + k * LANES < size:
            held[k] = maths.exp(held[k] - peak)
            total += held[k]
    share = maths.recip(folded(total, add))
    for k in range(each):
        if whole == 1 or lane + k * LANES < size:
            out[row, lane + k * LANES] = maths.canonical(held[k] * share)


@kernel(block=LANES)
def layer_norm(x: view[f32, 2], scale: view[f32], shift: view[f32], epsilon: f32, out: view[f32, 2]):
    """Return (x - mean) / sqrt(variance + epsilon) * scale + shift, row by row."""
    lane, row = atoll.local_id(0), atoll.group_id(0)
    size = i32(x.shape[1])
    per = maths.recip(f32(size))
    total = f32(0.0)
    for at in range(lane, size, LANES):
        total += x[row, at]
    mean = folded(total, add) * per
    total = f32(0.0)
    for at in range(lane, size, LANES):
        d = x[row, at] - mean
        total += d * d
    by = maths.rsqrt(folded(total, add) * per + epsilon)
    for at in range(lane, size, LANES):
        out[row, at] = maths.canonical((x[row, at] - mean) * by * scale[at] + shift[at])


@kernel(block=LANES)
def layer_norm_held(
    x: view[f32, 2],
    scale: view[f32],
    shift: view[f32],
    epsilon: f32,
    out: view[f32, 2],
    each: atoll.const[int],
    whole: atoll.const[int],
):
    """As :func:`layer_norm`, of at most `each` elements a work-item, read once; `whole` as in softmax."""
    held = fixed[f32, each]()
    lane, row = atoll.local_id(0), atoll.group_id(0)
    size = i32(x.shape[1])
    per = maths.recip(f32(size))
    for k in range(each):
        if whole == 1 or lane + k * LANES < size:
            held[k] = x[row, lane + k * LANES]
    total = f32(0.0)
    for k in range(each):
        if whole == 1 or lane + k * LANES < size:
            total += held[k]
    mean = folded(total, add) * per
    total = f32(0.0)
    for k in range(each):
        if whole == 1 or lane + k * LANES < size:
            held[k] -= mean
            total += held[k] * held[k]
    by = maths.rsqrt(folded(total, add) * per + epsilon)
    for k in range(each):
        at = lane + k * LANES
        if whole == 1 or at < size:
            out[row, at] = maths.canonical(held[k] * by * scale[at] + shift[at])


@device
def rounded(v: f32, limit: f32) -> f32:
    """Return the nearest whole number, half to even, from -limit to limit."""
    v = min(max(v, -limit), limit)
    return (v + maths.ROUND) - maths.ROUND


@kernel(block=LANES)
def quantise(x: view[f32, 2], steps: view[f32], out: view[i8, 2], scheme: atoll.const[int]):
    """Give each row whole numbers and their step.

    Scheme 0, ternary: the step is the mean of the absolute values, and the numbers are -1, 0, 1. Scheme 1,
    int8 by absmean: five means reach 127. Scheme 2, int8 by absmax: the largest is 127.
    """
    lane, row = atoll.local_id(0), atoll.group_id(0)
    size = i32(x.shape[1])
    mine = f32(0.0)
    for at in range(lane, size, LANES):
        if scheme == 2:
            mine = larger(mine, abs(x[row, at]))
        else:
            mine += abs(x[row, at])
    if scheme == 2:  # noqa: SIM108 - one of the two is compiled
        mine = folded(mine, larger)
    else:
        mine = folded(mine, add) * maths.recip(f32(size))
    step = mine
    limit = f32(1.0)
    if scheme == 1:
        step = mine * f32(0.03937007874015748)
    if scheme == 2:
        step = mine * f32(0.007874015748031496)
    if scheme != 0:
        limit = f32(127.0)
    per = f32(0.0)
    if step > 0.0:
        per = maths.recip(step)
    for at in range(lane, size, LANES):
        out[row, at] = i8(rounded(x[row, at] * per, limit))
    if lane == 0:
        steps[row] = maths.canonical(step)


@kernel
def pack_ternary(q: view[i8, 2], out: view[u32, 2]):
    """Put sixteen numbers of -1, 0, 1 into a word, two bits each, 1 added; what is missing counts as 0."""
    i, row = atoll.global_id(0), atoll.global_id(1)
    if i < out.shape[1] and row < out.shape[0]:
        word = u32(0)
        for k in range(16):
            v = i32(0)
            if i * 16 + k < q.shape[1]:
                v = i32(q[row, i * 16 + k])
            word |= u32(v + 1) << u32(2 * k)
        out[row, i] = word
