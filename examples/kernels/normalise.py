"""One row a work-group: layernorm forward and backward, online softmax, fused classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from case import Case, floats, zeros

import atoll
from atoll import device, f32, fixed, i32, kernel, view

LANES = 128


@device
def group_sum(part: view[f32], value: f32) -> f32:
    """Return the sum over the work-group, to every work-item; `part` has an element for each."""
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


@kernel(block=LANES)
def layernorm_forward(
    x: view[f32, 2], weight: view[f32], bias: view[f32], out: view[f32, 2], mean: view[f32], rstd: view[f32]
):
    """Normalise each row to mean 0 and variance 1, then scale and shift; keep what backward needs."""
    part = atoll.shared(f32, LANES)
    row, lane, channels = atoll.group_id(0), atoll.local_id(0), x.shape[1]
    total = f32(0)
    for c in range(lane, channels, LANES):
        total += x[row, c]
    m = group_sum(part, total) / f32(channels)
    total = f32(0)
    for c in range(lane, channels, LANES):
        total += (x[row, c] - m) ** 2
    s = atoll.rsqrt(group_sum(part, total) / f32(channels) + 1e-5)
    for c in range(lane, channels, LANES):
        out[row, c] = (x[row, c] - m) * s * weight[c] + bias[c]
    if lane == 0:
        mean[row] = m
        rstd[row] = s


def _layernorm_forward(x: Any, weight: Any, bias: Any, out: Any, mean: Any, rstd: Any) -> None:
    wide = x.astype(np.float64)
    m = wide.mean(axis=1, keepdims=True)
    s = 1 / np.sqrt(wide.var(axis=1, keepdims=True) + 1e-5)
    out[:] = (wide - m) * s * weight + bias
    mean[:], rstd[:] = m[:, 0], s[:, 0]


@kernel(block=LANES)
def layernorm_backward(
    x: view[f32, 2],
    weight: view[f32],
    gradient: view[f32, 2],
    mean: view[f32],
    rstd: view[f32],
    to_x: view[f32, 2],
    to_weight: view[f32],
    to_bias: view[f32],
):
    """The gradient of each row; weight and bias collect theirs by float atomics."""
    part = atoll.shared(f32, LANES)
    row, lane, channels = atoll.group_id(0), atoll.local_id(0), x.shape[1]
    m, s = mean[row], rstd[row]
    plain, weighted = f32(0), f32(0)
    for c in range(lane, channels, LANES):
        pulled = weight[c] * gradient[row, c]
        plain += pulled
        weighted += pulled * (x[row, c] - m) * s
    plain = group_sum(part, plain) / f32(channels)
    weighted = group_sum(part, weighted) / f32(channels)
    for c in range(lane, channels, LANES):
        normal = (x[row, c] - m) * s
        to_x[row, c] += (weight[c] * gradient[row, c] - plain - normal * weighted) * s
        atoll.atomic_add(to_weight, c, gradient[row, c] * normal)
        atoll.atomic_add(to_bias, c, gradient[row, c])


def _layernorm_backward(
    x: Any, weight: Any, gradient: Any, mean: Any, rstd: Any, to_x: Any, to_weight: Any, to_bias: Any
) -> None:
    wide, up = x.astype(np.float64), gradient.astype(np.float64)
    m, s = mean[:, None].astype(np.float64), rstd[:, None].astype(np.float64)
    normal, pulled = (wide - m) * s, weight * up
    weighted = (pulled * normal).mean(axis=1, keepdims=True)
    to_x += (pulled - pulled.mean(axis=1, keepdims=True) - normal * weighted) * s
    to_weight += (up * normal).sum(axis=0)
    to_bias += up.sum(axis=0)


def _layernorm_backward_arguments(random: np.random.Generator) -> tuple[Any, ...]:
    x, weight, gradient = floats(random, 4, 50), floats(random, 50), floats(random, 4, 50)
    wide = x.astype(np.float64)
    mean, rstd = wide.mean(axis=1), 1 / np.sqrt(wide.var(axis=1) + 1e-5)
    given = x, weight, gradient, mean.astype(np.float32), rstd.astype(np.float32)
    return *given, zeros(4, 50), zeros(50), zeros(50)


@device
def merged(peaks: view[f32], sums: view[f32], peak: f32, total: f32) -> f32:
    """Leave the sum of the group below its peak in the first element of `sums`; return the peak."""
    lane = atoll.local_id(0)
    peaks[lane] = peak
    sums[lane] = total
    atoll.barrier()
    width = LANES // 2
    while width > 0:
        if lane < width:
            mine, other = peaks[lane], peaks[lane + width]
            top = max(mine, other)
            peaks[lane] = top
            sums[lane] = sums[lane] * atoll.exp(mine - top) + sums[lane + width] * atoll.exp(other - top)
        atoll.barrier()
        width //= 2
    return peaks[0]


LOWEST = -3.0e38
HELD = 8


@kernel(block=LANES)
def softmax(x: view[f32, 2], out: view[f32, 2]):
    """Online: the peak and the sum in one pass over a row, `HELD` elements a work-item at a time."""
    peaks, sums = atoll.shared(f32, LANES), atoll.shared(f32, LANES)
    row, lane = atoll.group_id(0), atoll.local_id(0)
    peak, total = f32(LOWEST), f32(0)
    mine = fixed[f32, HELD]()
    for first in range(lane, x.shape[1], HELD * LANES):
        for k in range(HELD):
            c = first + k * LANES
            mine[k] = x[row, c] if c < x.shape[1] else LOWEST
        top = peak
        for k in range(HELD):
            top = max(top, mine[k])
        total *= atoll.exp(peak - top)
        for k in range(HELD):
            total += atoll.exp(mine[k] - top)
        peak = top
    peak = merged(peaks, sums, peak, total)
    share = 1.0 / sums[0]
    for c in range(lane, x.shape[1], LANES):
        out[row, c] = atoll.exp(x[row, c] - peak) * share


def _softmax(x: Any, out: Any) -> None:
    wide = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    out[:] = wide / wide.sum(axis=1, keepdims=True)


@kernel(block=LANES)
def classifier(logits: view[f32, 2], targets: view[i32], scale: f32, losses: view[f32]):
    """Cross entropy and its gradient in one kernel; the gradient takes the place of the logits."""
    peaks, sums = atoll.shared(f32, LANES), atoll.shared(f32, LANES)
    row, lane = atoll.group_id(0), atoll.local_id(0)
    target = targets[row]
    peak, total = f32(LOWEST), f32(0)
    mine = fixed[f32, HELD]()
    for first in range(lane, logits.shape[1], HELD * LANES):
        for k in range(HELD):
            c = first + k * LANES
            mine[k] = logits[row, c] if c < logits.shape[1] else LOWEST
        top = peak
        for k in range(HELD):
            top = max(top, mine[k])
        total *= atoll.exp(peak - top)
        for k in range(HELD):
            total += atoll.exp(mine[k] - top)
        peak = top
    peak = merged(peaks, sums, peak, total)
    total = sums[0]
    if lane == 0:
        losses[row] = atoll.log(total) - (logits[row, target] - peak)
    atoll.barrier()
    whole = 1.0 / total
    for c in range(lane, logits.shape[1], LANES):
        share = atoll.exp(logits[row, c] - peak) * whole
        logits[row, c] = (share - (1.0 if c == target else 0.0)) * scale


def _classifier(logits: Any, targets: Any, scale: float, losses: Any) -> None:
    wide = logits.astype(np.float64)
    shares = np.exp(wide - wide.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    rows = np.arange(targets.size)
    losses[:] = -np.log(shares[rows, targets])
    shares[rows, targets] -= 1
    logits[:] = shares * scale


CASES = (
    Case(
        layernorm_forward,
        4 * LANES,
        lambda r: (floats(r, 4, 50), floats(r, 50), floats(r, 50), zeros(4, 50), zeros(4), zeros(4)),
        _layernorm_forward,
        bound=4e-6,
    ),
    Case(layernorm_backward, 4 * LANES, _layernorm_backward_arguments, _layernorm_backward, bound=1e-5),
    Case(softmax, 4 * LANES, lambda r: (floats(r, 4, 75, scale=4), zeros(4, 75)), _softmax, bound=2e-6),
    Case(
        classifier,
        4 * LANES,
        lambda r: (floats(r, 4, 75, scale=4), r.integers(0, 75, 4).astype(np.int32), 0.25, zeros(4)),
        _classifier,
        bound=4e-6,
    ),
)
