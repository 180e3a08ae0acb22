"""A running sum in as few passes over memory as its order allows; the order is that of `rows.scan`.

A work-group takes a span of whole chunks: it holds their elements in registers, four neighbours a work-item
of each chunk, and adds up all chunks in the same steps. So a row of one span is read once and written once; a
longer one is read once more, for the totals of its chunks.
"""

# Kernels are checked by the kernel compiler; to a type checker their numbers are what they are in the oracle.
# mypy: ignore-errors
from __future__ import annotations

import atoll
from atoll import f32, fixed, i32, kernel, view
from atoll.engine import maths
from atoll.engine.kernels.rows import CHUNK, RUN

#: What a work-item has of a chunk.
FOUR = RUN
#: The work-items of a chunk, the most chunks of a span, and what :func:`span` does: all of a row at once;
#: the totals of chunks; chunks with what is before each.
LANES, MOST = CHUNK // RUN, 8
ALONE, TOTALS, CARRIED = 0, 1, 2


@kernel(block=LANES)
def span(  # noqa: C901
    x: view[f32, 3],
    sums: view[f32, 2],
    out: view[f32, 3],
    spans: i32,
    first: i32,
    each: atoll.const[int],
    mode: atoll.const[int],
):
    """Add up a span of `each` chunks; a row of (rows, fours, 4) has `spans`, and the first one is `first`.

    `sums` takes the totals of chunks (mode 1), or has what all chunks until one add up to (mode 2).
    """
    part = atoll.shared(f32, (each, LANES))
    held, mine = fixed[f32, each * RUN](), fixed[f32, each]()
    lane, row = atoll.local_id(0), first + atoll.group_id(0)
    chunk, fours = i32(0), i32(x.shape[1])
    if mode != ALONE:
        chunk = row % spans * each
        row //= spans
    for c in range(each):
        at = (chunk + c) * LANES + lane
        mine[c] = 0.0
        if at < fours:
            held[c * RUN], held[c * RUN + 1], held[c * RUN + 2], held[c * RUN + 3] = (
                x[row, at, 0],
                x[row, at, 1],
                x[row, at, 2],
                x[row, at, 3],
            )
            mine[c] = f32(0.0) + held[c * RUN] + held[c * RUN + 1] + held[c * RUN + 2] + held[c * RUN + 3]
        part[c, lane] = mine[c]
    atoll.barrier()
    step = 1
    while step < LANES:
        if lane >= step:
            for c in range(each):
                mine[c] = part[c, lane - step] + mine[c]
        atoll.barrier()
        for c in range(each):
            part[c, lane] = mine[c]
        atoll.barrier()
        step *= 2
    if mode == TOTALS:
        if lane < each and chunk + lane < sums.shape[1]:
            sums[row, chunk + lane] = maths.canonical(part[lane, LANES - 1])
    else:
        until = f32(0.0)
        for c in range(each):
            at = (chunk + c) * LANES + lane
            before = part[c, lane - 1] if lane > 0 else f32(0.0)
            if mode == CARRIED and chunk + c > 0 and at < fours:
                until = sums[row, chunk + c - 1]
            for k in range(RUN):
                before += held[c * RUN + k]
                held[c * RUN + k] = before if chunk + c == 0 else until + before
            if at < fours:
                out[row, at, 0], out[row, at, 1], out[row, at, 2], out[row, at, 3] = (
                    maths.canonical(held[c * RUN]),
                    maths.canonical(held[c * RUN + 1]),
                    maths.canonical(held[c * RUN + 2]),
                    maths.canonical(held[c * RUN + 3]),
                )
            if mode == ALONE:
                until += part[c, LANES - 1]
