"""The kernels of a GPT-2, forward and backward, written once: llm.c's jobs with Atoll's intrinsics.

Arrays are flat and in C order. Words: a *row* is one token's values; B, T, C, H, V are batch, time, channels,
heads and vocabulary; *fours* are vectors of four neighbours, which one access reads or writes: the arrays of
the kernels that take them are `(n, 4)`, so C is a multiple of four and a row of scores is filled up to one. A
kernel with sub-groups gives each sub-group a row, whatever a sub-group's size is.
"""

from __future__ import annotations

import atoll
from atoll import Target, device, f32, fixed, i32, kernel, ptr, vec, view

LANES = 256
COLUMNS, ROWS = 32, 8  # a work-group that sums columns
DEPTH = 8  # how much of a product is in shared memory at a time
_LOG2E = 1.4426950408889634  # what makes exp2 of exp
_ROOT = 0.7978845608028654  # the square root of 2 / pi


@device
def sum_of(v: vec[f32, 4]) -> f32:
    """Return the sum of four."""
    return (v.x + v.y) + (v.z + v.w)


@device
def add_fours(to: ptr[f32], at: i32, v: vec[f32, 4]):
    """Add four to four neighbours, each for itself."""
    atoll.atomic_add(to, at, v.x)
    atoll.atomic_add(to, at + 1, v.y)
    atoll.atomic_add(to, at + 2, v.z)
    atoll.atomic_add(to, at + 3, v.w)


# --- encoder -------------------------------------------------------------------------------------


@kernel(block=(64, 4))
def encoder_forward(
    out: view[vec[f32, 4]],
    tokens: ptr[i32],
    wte: view[vec[f32, 4]],
    wpe: view[vec[f32, 4]],
    rows: i32,
    time: i32,
    width: i32,
):
    """Add the embeddings of token and place; `width` is in fours."""
    c, row = atoll.global_id(0), atoll.global_id(1)
    if c < width and row < rows:
        out[row * width + c] = wte[tokens[row] * width + c] + wpe[row % time * width + c]


@kernel(block=(64, 4))
def encoder_backward_token(to_wte: ptr[f32], tokens: ptr[i32], gradient: ptr[f32], rows: i32, width: i32):
    """Scatter: a token may stand in many places; each work-item takes four values, a quarter apart."""
    c, row = atoll.global_id(0), atoll.global_id(1)
    part = width // 4
    if c < part and row < rows:
        start, to = row * width + c, tokens[row] * width + c
        for at in range(4):
            atoll.atomic_add(to_wte, to + at * part, Target.ldcs(gradient + (start + at * part)))


@kernel(block=LANES)
def encoder_backward_place(to_wpe: view[vec[f32, 4]], gradient: view[vec[f32, 4]], batch: i32, n: i32):
    """Sum over the batch; `n` is T times C, in fours."""
    i = atoll.global_id(0)
    if i < n:
        total = to_wpe[i]
        for b in range(batch):
            total = total + gradient[b * n + i]
        to_wpe[i] = total


# --- layernorm: widths are in fours --------------------------------------------------------------


@kernel(block=LANES)
def layernorm_forward(
    out: view[vec[f32, 4]],
    mean: ptr[f32],
    rstd: ptr[f32],
    x: view[vec[f32, 4]],
    weight: view[vec[f32, 4]],
    bias: view[vec[f32, 4]],
    rows: i32,
    width: i32,
):
    """Normalise each row to mean 0 and variance 1, then scale and shift."""
    lane, step = atoll.lane_id(), atoll.subgroup_size()
    each = LANES // step
    for first in range(atoll.group_id(0) * each, rows, atoll.num_groups(0) * each):
        number = first + atoll.subgroup_id()
        here = number < rows
        row = number if here else first
        start = row * width
        total = f32(0)
        for c in range(lane, width, step):
            total += sum_of(x[start + c])
        m = atoll.subgroup_add(total) / f32(4 * width)
        total = f32(0)
        for c in range(lane, width, step):
            far = x[start + c] - m
            total += sum_of(far * far)
        s = atoll.rsqrt(atoll.subgroup_add(total) / f32(4 * width) + 1e-5)
        if here:
            for c in range(lane, width, step):
                out[start + c] = (x[start + c] - m) * s * weight[c] + bias[c]
            if lane == 0:
                Target.stcs(mean + row, m)
                Target.stcs(rstd + row, s)


@kernel(block=LANES)
def layernorm_backward(
    to_x: view[vec[f32, 4]],
    gradient: view[vec[f32, 4]],
    x: view[vec[f32, 4]],
    weight: view[vec[f32, 4]],
    mean: ptr[f32],
    rstd: ptr[f32],
    rows: i32,
    width: i32,
):
    """Add the gradient of each row."""
    lane, step = atoll.lane_id(), atoll.subgroup_size()
    each = LANES // step
    for first in range(atoll.group_id(0) * each, rows, atoll.num_groups(0) * each):
        number = first + atoll.subgroup_id()
        here = number < rows
        row = number if here else first
        start, m, s = row * width, Target.ldcs(mean + row), Target.ldcs(rstd + row)
        plain, scaled = f32(0), f32(0)
        for c in range(lane, width, step):
            part = weight[c] * gradient[start + c]
            plain += sum_of(part)
            scaled += sum_of(part * ((x[start + c] - m) * s))
        plain = atoll.subgroup_add(plain) / f32(4 * width)
        scaled = atoll.subgroup_add(scaled) / f32(4 * width)
        if here:
            for c in range(lane, width, step):
                normal = (x[start + c] - m) * s
                part = weight[c] * gradient[start + c]
                to_x[start + c] = to_x[start + c] + (part - plain - normal * scaled) * s


@kernel(block=(COLUMNS, ROWS))
def layernorm_backward_weights(
    to_weight: ptr[f32],
    to_bias: ptr[f32],
    gradient: view[vec[f32, 4]],
    x: view[vec[f32, 4]],
    mean: ptr[f32],
    rstd: ptr[f32],
    rows: i32,
    width: i32,
):
    """Add the gradients of scale and shift: each work-item sums fours of some of the rows."""
    scales = atoll.shared(vec[f32, 4], (ROWS, COLUMNS))
    shifts = atoll.shared(vec[f32, 4], (ROWS, COLUMNS))
    c, along, down = atoll.global_id(0), atoll.local_id(0), atoll.local_id(1)
    scale, shift = vec[f32, 4](0.0), vec[f32, 4](0.0)
    if c < width:
        for row in range(atoll.global_id(1), rows, atoll.num_groups(1) * ROWS):
            g = gradient[row * width + c]
            scale = scale + g * ((x[row * width + c] - mean[row]) * rstd[row])
            shift = shift + g
    scales[down, along] = scale
    shifts[down, along] = shift
    atoll.barrier()
    if c < width and down == 0:
        for y in range(1, ROWS):
            scale, shift = scale + scales[y, along], shift + shifts[y, along]
        add_fours(to_weight, 4 * c, scale)
        add_fours(to_bias, 4 * c, shift)


# --- matrix products -----------------------------------------------------------------------------


@device
def along(n: i32, tile: i32, flat: i32) -> i32:
    """Return which row of a tile's left side (or column of its right side) comes n-th in memory."""
    return n // DEPTH if flat == 1 else n % tile


@device
def inward(n: i32, tile: i32, flat: i32) -> i32:
    """Return how deep in the tile that element lies."""
    return n % DEPTH if flat == 1 else n // tile


@kernel
def matmul(  # noqa: C901 - one nest of loops
    out: ptr[f32], a: ptr[f32], b: ptr[f32], bias: ptr[f32],
    rows: i32, columns: i32, depth: i32,
    a_row: i32, a_column: i32, a_outer: i32, a_inner: i32,
    b_row: i32, b_column: i32, b_outer: i32, b_inner: i32,
    out_row: i32, out_outer: i32, out_inner: i32,
    inner: i32, alpha: f32,
    side: atoll.const[int], each: atoll.const[int], a_flat: atoll.const[int], b_flat: atoll.const[int],
    add: atoll.const[int], with_bias: atoll.const[int], causal: atoll.const[int],
):  # fmt: skip
    """Multiply many pairs of matrices, each with its strides: out = alpha a b (+ bias) (+ out).

    A work-group of `side` by `side` makes a tile of `each` times that many rows and columns: tiles of both
    matrices in shared memory, the next ones on their way to registers meanwhile, a block of `each` by `each`
    results in each work-item's registers. `a_flat` and
    `b_flat` say whether a row lies flat in memory, else a column does. `causal` leaves out what a triangle
    makes zero: 1 tiles above the diagonal, which keep what they hold, 2 what is right of it in `a`, 3 what is
    left of it.
    """
    left = atoll.shared(f32, (DEPTH, side * each + 1))
    right = atoll.shared(f32, (DEPTH, side * each + 1))
    x, y = atoll.local_id(0), atoll.local_id(1)
    tile, t = side * each, y * side + x
    first_row, first_column = atoll.group_id(1) * tile, atoll.group_id(0) * tile
    pair = atoll.group_id(2)
    a_start = pair // inner * a_outer + pair % inner * a_inner
    b_start = pair // inner * b_outer + pair % inner * b_inner
    out_start = pair // inner * out_outer + pair % inner * out_inner
    block = fixed[f32, each, each]()
    down, across = fixed[f32, each](), fixed[f32, each]()
    next_left, next_right = fixed[f32, DEPTH * each // side](), fixed[f32, DEPTH * each // side]()
    low = first_row if causal == 3 else i32(0)
    high = min(depth, first_row + tile) if causal == 2 else depth
    hidden = causal == 1 and first_column > first_row
    high = i32(0) if hidden else high
    for first in range(low - DEPTH, high, DEPTH):
        for part in range(DEPTH * each // side):
            n = t + part * (side * side)
            i, k = first_row + along(n, tile, a_flat), first + DEPTH + inward(n, tile, a_flat)
            next_left[part] = a[a_start + i * a_row + k * a_column] if i < rows and k < depth else 0.0
            i, k = first_column + along(n, tile, 1 - b_flat), first + DEPTH + inward(n, tile, 1 - b_flat)
            next_right[part] = b[b_start + k * b_row + i * b_column] if i < columns and k < depth else 0.0
        if first >= low:
            for k in range(DEPTH):
                for i in range(each):
                    down[i], across[i] = left[k, i * side + y], right[k, i * side + x]
                for i in range(each):
                    for j in range(each):
                        block[i, j] = Target.muladd(down[i], across[j], block[i, j])
        atoll.barrier()
        for part in range(DEPTH * each // side):
            n = t + part * (side * side)
            left[inward(n, tile, a_flat), along(n, tile, a_flat)] = next_left[part]
            right[inward(n, tile, 1 - b_flat), along(n, tile, 1 - b_flat)] = next_right[part]
        atoll.barrier()
    for i in range(each):
        row = first_row + i * side + y
        if row < rows and not hidden:
            to = out_start + row * out_row
            for j in range(each):
                column = first_column + j * side + x
                if column < columns:
                    value = alpha * block[i, j] + (bias[column] if with_bias == 1 else 0.0)
                    out[to + column] = value + (out[to + column] if add == 1 else 0.0)


@kernel(block=(COLUMNS, ROWS))
def column_sum(out: ptr[f32], x: view[vec[f32, 4]], rows: i32, width: i32):
    """Add the sum of every column, the gradient of a bias; `width` is in fours."""
    totals = atoll.shared(vec[f32, 4], (ROWS, COLUMNS))
    c, along, down = atoll.global_id(0), atoll.local_id(0), atoll.local_id(1)
    total = vec[f32, 4](0.0)
    if c < width:
        for row in range(atoll.global_id(1), rows, atoll.num_groups(1) * ROWS):
            total = total + x[row * width + c]
    totals[down, along] = total
    atoll.barrier()
    if c < width and down == 0:
        for y in range(1, ROWS):
            total = total + totals[y, along]
        add_fours(out, 4 * c, total)


# --- attention: two products with a softmax between them -----------------------------------------


@device
def seen_of(v: vec[f32, 4], seen: i32, other: f32) -> vec[f32, 4]:
    """Return four scores, of which only the first `seen` count."""
    return vec[f32, 4](
        v.x if seen > 0 else other,
        v.y if seen > 1 else other,
        v.z if seen > 2 else other,
        v.w if seen > 3 else other,
    )


@device
def powers(v: vec[f32, 4], most: f32) -> vec[f32, 4]:
    """Return the exponentials of four less the greatest, as near as the device's own are."""
    return vec[f32, 4](
        Target.fast_exp2((v.x - most) * _LOG2E),
        Target.fast_exp2((v.y - most) * _LOG2E),
        Target.fast_exp2((v.z - most) * _LOG2E),
        Target.fast_exp2((v.w - most) * _LOG2E),
    )


@kernel(block=LANES)
def softmax_forward(x: view[vec[f32, 4]], rows: i32, time: i32, width: i32):
    """Make each row of scores weights, in place: row t of `time` sees t + 1; `width` is in fours."""
    lane, step = atoll.lane_id(), atoll.subgroup_size()
    each = LANES // step
    for first in range(atoll.group_id(0) * each, rows, atoll.num_groups(0) * each):
        number = first + atoll.subgroup_id()
        here = number < rows
        row = number if here else first
        start, seen = row * width, row % time + 1
        few = (seen + 3) // 4
        most = f32(-1e30)
        for c in range(lane, few, step):
            v = seen_of(x[start + c], seen - 4 * c, -1e30)
            most = max(most, max(max(v.x, v.y), max(v.z, v.w)))
        most = atoll.subgroup_max(most)
        total = f32(0)
        for c in range(lane, few, step):
            total += sum_of(powers(seen_of(x[start + c], seen - 4 * c, -1e30), most))
        scale = 1.0 / atoll.subgroup_add(total)
        if here:
            for c in range(lane, few, step):
                x[start + c] = powers(seen_of(x[start + c], seen - 4 * c, -1e30), most) * scale
            for c in range(few + lane, width, step):
                x[start + c] = vec[f32, 4](0.0)


@kernel(block=LANES)
def softmax_backward(
    gradient: view[vec[f32, 4]], weights: view[vec[f32, 4]], rows: i32, time: i32, width: i32
):
    """Make the gradient of the weights that of the scores, in place."""
    lane, step = atoll.lane_id(), atoll.subgroup_size()
    each = LANES // step
    for first in range(atoll.group_id(0) * each, rows, atoll.num_groups(0) * each):
        number = first + atoll.subgroup_id()
        here = number < rows
        row = number if here else first
        start, seen = row * width, row % time + 1
        few = (seen + 3) // 4
        total = f32(0)
        for c in range(lane, few, step):
            total += sum_of(seen_of(gradient[start + c], seen - 4 * c, 0.0) * weights[start + c])
        total = atoll.subgroup_add(total)
        if here:
            for c in range(lane, few, step):
                left = seen - 4 * c
                gradient[start + c] = seen_of(weights[start + c] * (gradient[start + c] - total), left, 0.0)
            for c in range(few + lane, width, step):
                gradient[start + c] = vec[f32, 4](0.0)


# --- element by element: no hints, so that one work-item may do four neighbours' work ------------


@device
def tanh(x: f32) -> f32:
    """Return the hyperbolic tangent, as near as an exponential of the device's own is."""
    return 1.0 - 2.0 / (1.0 + Target.fast_exp2(x * (2.0 * _LOG2E)))


@kernel(block=LANES)
def gelu_forward(out: ptr[f32], x: ptr[f32], n: i32):
    """Return GPT-2's approximation of x times the normal distribution."""
    i = atoll.global_id(0)
    if i < n:
        v = x[i]
        out[i] = 0.5 * v * (1.0 + tanh(_ROOT * (v + 0.044715 * v * v * v)))


@kernel(block=LANES)
def gelu_backward(to_x: ptr[f32], x: ptr[f32], gradient: ptr[f32], n: i32):
    """Return the gradient of that."""
    i = atoll.global_id(0)
    if i < n:
        v = x[i]
        t = tanh(_ROOT * (v + 0.044715 * v * v * v))
        slope = (1.0 - t * t) * _ROOT * (1.0 + 3.0 * 0.044715 * v * v)
        to_x[i] = (0.5 * (1.0 + t) + 0.5 * v * slope) * gradient[i]


@kernel(block=LANES)
def residual_forward(out: ptr[f32], x: ptr[f32], y: ptr[f32], n: i32):
    """Add two rows."""
    i = atoll.global_id(0)
    if i < n:
        out[i] = x[i] + y[i]


@kernel(block=LANES)
def residual_backward(to_x: ptr[f32], gradient: ptr[f32], n: i32):
    """Add a gradient to where the sum's operand came from."""
    i = atoll.global_id(0)
    if i < n:
        to_x[i] += gradient[i]


# --- loss ----------------------------------------------------------------------------------------


@device
def group_sum(part: view[f32], value: f32) -> f32:
    """Return the sum over the work-group; `part` has an element for each sub-group."""
    own = atoll.subgroup_add(value)
    if atoll.lane_id() == 0:
        part[atoll.subgroup_id()] = own
    atoll.barrier()
    total = part[0]
    for other in range(1, LANES // atoll.subgroup_size()):
        total += part[other]
    atoll.barrier()
    return total


@device
def group_max(part: view[f32], value: f32) -> f32:
    """Return the greatest of the work-group."""
    own = atoll.subgroup_max(value)
    if atoll.lane_id() == 0:
        part[atoll.subgroup_id()] = own
    atoll.barrier()
    most = part[0]
    for other in range(1, LANES // atoll.subgroup_size()):
        most = max(most, part[other])
    atoll.barrier()
    return most


@device
def logits_at(logits: ptr[f32], c: i32, width: i32) -> f32:
    """Return a logit, or what counts for nothing beyond the last."""
    value = f32(-1e30)
    if c < width:
        value = logits[c]
    return value


@kernel(block=LANES)
def classifier(losses: ptr[f32], logits: ptr[f32], targets: ptr[i32], width: i32, scale: f32):
    """Return the cross-entropy of each row, and make its logits their gradient times `scale`.

    The greatest logit and the sum of exponentials come in one pass: where a greater one shows, what was
    summed shrinks.
    """
    part = atoll.shared(f32, LANES)
    lane = atoll.local_id(0)
    row = logits + atoll.group_id(0) * width
    most, total = f32(-1e30), f32(0)
    for c in range(lane, width, 4 * LANES):
        v = vec[f32, 4](
            logits_at(row, c, width),
            logits_at(row, c + LANES, width),
            logits_at(row, c + 2 * LANES, width),
            logits_at(row, c + 3 * LANES, width),
        )
        above = max(most, max(max(v.x, v.y), max(v.z, v.w)))
        total = total * Target.fast_exp2((most - above) * _LOG2E) + sum_of(powers(v, above))
        most = above
    greatest = group_max(part, most)
    total = group_sum(part, total * Target.fast_exp2((most - greatest) * _LOG2E))
    wanted = targets[atoll.group_id(0)]
    if lane == 0:
        losses[atoll.group_id(0)] = atoll.log(total) + greatest - row[wanted]
    atoll.barrier()
    share = scale / total
    for c in range(lane, width, LANES):
        value = Target.fast_exp2((Target.ldcs(row + c) - greatest) * _LOG2E) * share
        Target.stcs(row + c, value - scale if c == wanted else value)


# --- update --------------------------------------------------------------------------------------


@kernel(block=LANES)
def adamw(
    weight: ptr[f32], gradient: ptr[f32], first: ptr[f32], second: ptr[f32], n: i32,
    rate: f32, beta1: f32, beta2: f32, correct1: f32, correct2: f32, eps: f32, decay: f32, shrink: f32,
):  # fmt: skip
    """Move each weight; `correct1` and `correct2` are 1 - beta ** step, `shrink` scales the gradient."""
    i = atoll.global_id(0)
    if i < n:
        g = gradient[i] * shrink
        m = beta1 * first[i] + (1.0 - beta1) * g
        v = beta2 * second[i] + (1.0 - beta2) * g * g
        first[i] = m
        second[i] = v
        w = weight[i]
        weight[i] = w - rate * ((m / correct1) / (atoll.sqrt(v / correct2) + eps) + decay * w)


@kernel(block=LANES)
def global_norm(out: ptr[f32], x: view[vec[f32, 4]], n: i32):
    """Add the sum of all squares to `out[0]`; `n` is in fours."""
    part = atoll.shared(f32, LANES)
    total = f32(0)
    for i in range(atoll.global_id(0), n, atoll.num_groups(0) * LANES):
        total += sum_of(x[i] * x[i])
    total = group_sum(part, total)
    if atoll.local_id(0) == 0:
        atoll.atomic_add(out, 0, total)
