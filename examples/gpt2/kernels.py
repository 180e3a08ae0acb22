"""The kernels of a GPT-2, forward and backward, written once: llm.c's jobs with Atoll's intrinsics.

Arrays are flat and in C order. Words: a *row* is one token's values; B, T, C, H, V are batch, time, channels,
heads and vocabulary. A kernel with sub-groups gives each sub-group a row, whatever a sub-group's size is.
"""

from __future__ import annotations

import atoll
from atoll import Target, device, f32, fixed, i32, kernel, ptr, view

LANES = 256
TILE, DEPTH, EACH = 64, 16, 4
SIDE = TILE // EACH
_LOG2E = 1.4426950408889634  # what makes exp2 of exp
_ROOT = 0.7978845608028654  # the square root of 2 / pi

# --- encoder -------------------------------------------------------------------------------------


@kernel(block=LANES)
def encoder_forward(
    out: ptr[f32], tokens: ptr[i32], wte: ptr[f32], wpe: ptr[f32], n: i32, time: i32, width: i32
):
    """Add the embeddings of token and place."""
    i = atoll.global_id(0)
    if i < n:
        token, c = i // width, i % width
        Target.stcs(out + i, wte[tokens[token] * width + c] + wpe[(token % time) * width + c])


@kernel(block=LANES)
def encoder_backward_token(to_wte: ptr[f32], tokens: ptr[i32], gradient: ptr[f32], n: i32, width: i32):
    """Scatter: a token may stand in many places."""
    i = atoll.global_id(0)
    if i < n:
        atoll.atomic_add(to_wte, tokens[i // width] * width + i % width, Target.ldcs(gradient + i))


@kernel(block=LANES)
def encoder_backward_place(to_wpe: ptr[f32], gradient: ptr[f32], batch: i32, n: i32):
    """Sum over the batch; `n` is T times C."""
    i = atoll.global_id(0)
    if i < n:
        total = f32(0)
        for b in range(batch):
            total += gradient[b * n + i]
        to_wpe[i] += total


# --- layernorm -----------------------------------------------------------------------------------


@kernel(block=LANES)
def layernorm_forward(
    out: ptr[f32],
    mean: ptr[f32],
    rstd: ptr[f32],
    x: ptr[f32],
    weight: ptr[f32],
    bias: ptr[f32],
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
            total += x[start + c]
        m = atoll.subgroup_add(total) / f32(width)
        total = f32(0)
        for c in range(lane, width, step):
            total += (x[start + c] - m) * (x[start + c] - m)
        s = atoll.rsqrt(atoll.subgroup_add(total) / f32(width) + 1e-5)
        if here:
            for c in range(lane, width, step):
                value = (Target.ldcs(x + (start + c)) - m) * s
                Target.stcs(out + (start + c), Target.muladd(value, weight[c], bias[c]))
            if lane == 0:
                mean[row] = m
                rstd[row] = s


@kernel(block=LANES)
def layernorm_backward(
    to_x: ptr[f32],
    gradient: ptr[f32],
    x: ptr[f32],
    weight: ptr[f32],
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
        start, m, s = row * width, mean[row], rstd[row]
        plain, scaled = f32(0), f32(0)
        for c in range(lane, width, step):
            part = weight[c] * gradient[start + c]
            plain += part
            scaled += part * (x[start + c] - m) * s
        plain = atoll.subgroup_add(plain) / f32(width)
        scaled = atoll.subgroup_add(scaled) / f32(width)
        if here:
            for c in range(lane, width, step):
                normal = (x[start + c] - m) * s
                part = weight[c] * gradient[start + c]
                to_x[start + c] += (part - plain - normal * scaled) * s


@kernel
def layernorm_backward_weights(
    to_weight: ptr[f32],
    to_bias: ptr[f32],
    gradient: ptr[f32],
    x: ptr[f32],
    mean: ptr[f32],
    rstd: ptr[f32],
    rows: i32,
    width: i32,
    parts: i32,
):
    """Add the gradients of scale and shift: each work-item sums a column over some of the rows."""
    c, part = atoll.global_id(0), atoll.global_id(1)
    if c < width and part < parts:
        scale, shift = f32(0), f32(0)
        for row in range(part, rows, parts):
            g = gradient[row * width + c]
            scale += g * (x[row * width + c] - mean[row]) * rstd[row]
            shift += g
        atoll.atomic_add(to_weight, c, scale)
        atoll.atomic_add(to_bias, c, shift)


# --- matrix products -----------------------------------------------------------------------------


@kernel(block=(SIDE, SIDE))
def matmul(
    out: ptr[f32], a: ptr[f32], b: ptr[f32], bias: ptr[f32],
    rows: i32, columns: i32, depth: i32,
    a_row: i32, a_column: i32, a_outer: i32, a_inner: i32,
    b_row: i32, b_column: i32, b_outer: i32, b_inner: i32,
    out_row: i32, out_outer: i32, out_inner: i32,
    inner: i32, alpha: f32,
    a_flat: atoll.const[int], b_flat: atoll.const[int], add: atoll.const[int], with_bias: atoll.const[int],
    causal: atoll.const[int],
):  # fmt: skip
    """Multiply many pairs of matrices, each with its strides: out = alpha a b (+ bias) (+ out).

    Tiles in shared memory, a block of `EACH` by `EACH` results in each work-item's registers. `a_flat` and
    `b_flat` say whether a row lies flat in memory, else a column does. `causal` leaves out what a triangle
    makes zero: 1 results above the diagonal, 2 what is right of it in `a`, 3 what is left of it.
    """
    left, right = atoll.shared(f32, (DEPTH, TILE + 1)), atoll.shared(f32, (DEPTH, TILE + 1))
    x, y = atoll.local_id(0), atoll.local_id(1)
    t = y * SIDE + x
    first_row, first_column = atoll.group_id(1) * TILE, atoll.group_id(0) * TILE
    pair = atoll.group_id(2)
    a_start = pair // inner * a_outer + pair % inner * a_inner
    b_start = pair // inner * b_outer + pair % inner * b_inner
    out_start = pair // inner * out_outer + pair % inner * out_inner
    block = fixed[f32, EACH, EACH]()
    down, across = fixed[f32, EACH](), fixed[f32, EACH]()
    low = first_row if causal == 3 else i32(0)
    high = min(depth, first_row + TILE) if causal == 2 else depth
    if causal == 1 and first_column > first_row:
        high = i32(0)
    for first in range(low, high, DEPTH):
        for part in range(EACH):
            k = t % DEPTH if a_flat == 1 else t // TILE + part * (DEPTH // EACH)
            i = t // DEPTH + part * SIDE if a_flat == 1 else t % TILE
            fits = first_row + i < rows and first + k < depth
            place = a_start + (first_row + i) * a_row + (first + k) * a_column
            left[k, i] = a[place] if fits else 0.0
            k = t // TILE + part * (DEPTH // EACH) if b_flat == 1 else t % DEPTH
            i = t % TILE if b_flat == 1 else t // DEPTH + part * SIDE
            fits = first_column + i < columns and first + k < depth
            place = b_start + (first + k) * b_row + (first_column + i) * b_column
            right[k, i] = b[place] if fits else 0.0
        atoll.barrier()
        for k in range(DEPTH):
            for i in range(EACH):
                down[i], across[i] = left[k, i * SIDE + y], right[k, i * SIDE + x]
            for i in range(EACH):
                for j in range(EACH):
                    block[i, j] = Target.muladd(down[i], across[j], block[i, j])
        atoll.barrier()
    for i in range(EACH):
        for j in range(EACH):
            row, column = first_row + i * SIDE + y, first_column + j * SIDE + x
            if row < rows and column < columns:
                place = out_start + row * out_row + column
                value = alpha * block[i, j] + (bias[column] if with_bias == 1 else 0.0)
                out[place] = value + (out[place] if add == 1 else 0.0)


@kernel
def column_sum(out: ptr[f32], x: ptr[f32], rows: i32, width: i32, parts: i32):
    """Add the sum of every column: the gradient of a bias."""
    c, part = atoll.global_id(0), atoll.global_id(1)
    if c < width and part < parts:
        total = f32(0)
        for row in range(part, rows, parts):
            total += Target.ldcs(x + (row * width + c))
        atoll.atomic_add(out, c, total)


# --- attention: two products with a softmax between them -----------------------------------------


@kernel(block=LANES)
def softmax_forward(x: ptr[f32], rows: i32, time: i32):
    """Make each row of scores weights, in place: row t of a square sees the first t + 1 of them."""
    lane, step = atoll.lane_id(), atoll.subgroup_size()
    each = LANES // step
    for first in range(atoll.group_id(0) * each, rows, atoll.num_groups(0) * each):
        number = first + atoll.subgroup_id()
        here = number < rows
        row = number if here else first
        start, seen = row * time, row % time + 1
        most = f32(-1e30)
        for c in range(lane, seen, step):
            most = max(most, x[start + c])
        most = atoll.subgroup_max(most)
        total = f32(0)
        for c in range(lane, seen, step):
            total += Target.fast_exp2((x[start + c] - most) * _LOG2E)
        scale = 1.0 / atoll.subgroup_add(total)
        if here:
            for c in range(lane, time, step):
                value = f32(0)
                if c < seen:
                    value = Target.fast_exp2((Target.ldcs(x + (start + c)) - most) * _LOG2E) * scale
                Target.stcs(x + (start + c), value)


@kernel(block=LANES)
def softmax_backward(gradient: ptr[f32], weights: ptr[f32], rows: i32, time: i32):
    """Make the gradient of the weights that of the scores, in place."""
    lane, step = atoll.lane_id(), atoll.subgroup_size()
    each = LANES // step
    for first in range(atoll.group_id(0) * each, rows, atoll.num_groups(0) * each):
        number = first + atoll.subgroup_id()
        here = number < rows
        row = number if here else first
        start, seen = row * time, row % time + 1
        total = f32(0)
        for c in range(lane, seen, step):
            total += gradient[start + c] * weights[start + c]
        total = atoll.subgroup_add(total)
        if here:
            for c in range(lane, time, step):
                value = f32(0)
                if c < seen:
                    value = Target.ldcs(weights + (start + c)) * (Target.ldcs(gradient + (start + c)) - total)
                Target.stcs(gradient + (start + c), value)


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
    """Return the sum over the work-group; `part` has an element for each work-item."""
    lane = atoll.local_id(0)
    part[lane] = value
    atoll.barrier()
    width = LANES // 2
    while width > 0:
        if lane < width:
            part[lane] += part[lane + width]
        atoll.barrier()
        width //= 2
    total = part[0]
    atoll.barrier()
    return total


@device
def group_max(part: view[f32], value: f32) -> f32:
    """Return the greatest of the work-group."""
    lane = atoll.local_id(0)
    part[lane] = value
    atoll.barrier()
    width = LANES // 2
    while width > 0:
        if lane < width:
            part[lane] = max(part[lane], part[lane + width])
        atoll.barrier()
        width //= 2
    most = part[0]
    atoll.barrier()
    return most


@kernel(block=LANES)
def classifier(losses: ptr[f32], logits: ptr[f32], targets: ptr[i32], width: i32, scale: f32):
    """Return the cross-entropy of each row, and make its logits their gradient times `scale`."""
    part = atoll.shared(f32, LANES)
    row, lane = atoll.group_id(0), atoll.local_id(0)
    start = row * width
    most = f32(-1e30)
    for c in range(lane, width, LANES):
        most = max(most, logits[start + c])
    most = group_max(part, most)
    total = f32(0)
    for c in range(lane, width, LANES):
        total += atoll.exp(logits[start + c] - most)
    total = group_sum(part, total)
    wanted = targets[row]
    if lane == 0:
        losses[row] = atoll.log(total) + most - logits[start + wanted]
    atoll.barrier()
    for c in range(lane, width, LANES):
        share = atoll.exp(Target.ldcs(logits + (start + c)) - most) / total
        Target.stcs(logits + (start + c), (share - 1.0 if c == wanted else share) * scale)


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
def global_norm(out: ptr[f32], x: ptr[f32], n: i32):
    """Add the sum of all squares to `out[0]`."""
    part = atoll.shared(f32, LANES)
    total = f32(0)
    for i in range(atoll.global_id(0), n, atoll.num_groups(0) * LANES):
        v = Target.ldcs(x + i)
        total += v * v
    total = group_sum(part, total)
    if atoll.local_id(0) == 0:
        atoll.atomic_add(out, 0, total)
