"""One element a work-item: saxpy, residual and add, gelu forward and backward, adamw."""

from __future__ import annotations

from typing import Any

import numpy as np
from case import Case, floats, zeros

import atoll
from atoll import device, f32, i32, kernel, u16, u32, view


@kernel
def saxpy(a: f32, x: view[f32], y: view[f32], out: view[f32]):
    """Scale and add; `out` may be `y`."""
    i = atoll.global_id(0)
    if i < out.size:
        out[i] = a * x[i] + y[i]


def _saxpy(a: float, x: Any, y: Any, out: Any) -> None:
    out[:] = np.float32(a) * x + y


def _in_place(random: np.random.Generator) -> tuple[Any, ...]:
    y = floats(random, 200)
    return 0.3, floats(random, 200), y, y


@kernel
def residual_add(x: view[f32], y: view[f32], out: view[f32]):
    """Add what went around a layer."""
    i = atoll.global_id(0)
    if i < out.size:
        out[i] = x[i] + y[i]


def _residual_add(x: Any, y: Any, out: Any) -> None:
    out[:] = x + y


ROOT = 0.7978845608028654  # sqrt(2 / pi)
CUBE = 0.044715


@device
def gelu_angle(x: f32) -> f32:
    """Return what gelu takes the hyperbolic tangent of."""
    return ROOT * (x + CUBE * x * x * x)


@kernel
def gelu_forward(x: view[f32], out: view[f32]):
    """Gelu by its tanh form, as GPT-2 has it."""
    i = atoll.global_id(0)
    if i < out.size:
        out[i] = 0.5 * x[i] * (1.0 + atoll.tanh(gelu_angle(x[i])))


def _gelu_forward(x: Any, out: Any) -> None:
    wide = x.astype(np.float64)
    out[:] = 0.5 * wide * (1 + np.tanh(ROOT * (wide + CUBE * wide**3)))


@kernel
def gelu_backward(x: view[f32], gradient: view[f32], out: view[f32]):
    """The derivative of gelu times what comes from above."""
    i = atoll.global_id(0)
    if i < out.size:
        value = x[i]
        slope = atoll.tanh(gelu_angle(value))
        inner = ROOT * (1.0 + 3.0 * CUBE * value * value)
        out[i] = gradient[i] * (0.5 * (1.0 + slope) + 0.5 * value * (1.0 - slope * slope) * inner)


def _gelu_backward(x: Any, gradient: Any, out: Any) -> None:
    wide = x.astype(np.float64)
    slope = np.tanh(ROOT * (wide + CUBE * wide**3))
    inner = ROOT * (1 + 3 * CUBE * wide**2)
    out[:] = gradient * (0.5 * (1 + slope) + 0.5 * wide * (1 - slope**2) * inner)


@device
def mixed(seed: u32) -> u32:
    """Return the next number of a xorshift generator, after mixing the seed; it wraps."""
    seed = (seed ^ u32(61)) ^ (seed >> 16)
    seed *= 9
    seed ^= seed >> 4
    seed *= 0x27D4EB2D
    return seed ^ (seed >> 15)


@kernel
def adamw(
    rate: f32,
    beta1: f32,
    beta2: f32,
    decay: f32,
    step: i32,
    seed: u32,
    gradient: view[f32],
    m: view[f32],
    v: view[f32],
    master: view[f32],
    low: view[u16],
):
    """One step of AdamW on f32 masters; `low` gets their upper halves (bf16), rounded stochastically."""
    i = atoll.global_id(0)
    if i >= master.size:
        return
    g, old = gradient[i], master[i]
    first = beta1 * m[i] + (1.0 - beta1) * g
    second = beta2 * v[i] + (1.0 - beta2) * g * g
    m[i], v[i] = first, second
    mean = first / (1.0 - atoll.pow(beta1, f32(step)))
    spread = second / (1.0 - atoll.pow(beta2, f32(step)))
    value = old - rate * (mean / (atoll.sqrt(spread) + 1e-8) + decay * old)
    master[i] = value
    low[i] = u16((atoll.bitcast(u32, value) + (mixed(seed + u32(i)) & 0xFFFF)) >> 16)


def _adamw(
    rate: float, beta1: float, beta2: float, decay: float, step: int, seed: int,
    gradient: Any, m: Any, v: Any, master: Any, low: Any,
) -> None:  # fmt: skip
    m[:] = beta1 * m + (1 - beta1) * gradient
    v[:] = beta2 * v + (1 - beta2) * gradient * gradient
    mean, spread = m / (1 - beta1**step), v / (1 - beta2**step)
    master -= rate * (mean / (np.sqrt(spread) + 1e-8) + decay * master)
    mixing = np.arange(master.size, dtype=np.uint32) + np.uint32(seed)
    mixing = (mixing ^ np.uint32(61)) ^ (mixing >> np.uint32(16))
    mixing *= np.uint32(9)
    mixing ^= mixing >> np.uint32(4)
    mixing *= np.uint32(0x27D4EB2D)
    mixing ^= mixing >> np.uint32(15)
    low[:] = (master.view(np.uint32) + (mixing & np.uint32(0xFFFF))) >> np.uint32(16)


def _adamw_arguments(random: np.random.Generator) -> tuple[Any, ...]:
    g, m, p = (floats(random, 150) for _ in range(3))
    v = floats(random, 150) ** 2
    return 0.01, 0.9, 0.999, 0.1, 3, 0x9E3779B9, g, m, v, p, np.zeros(150, np.uint16)


CASES = (
    Case(saxpy, 256, lambda r: (1.7, floats(r, 250), floats(r, 250), zeros(250)), _saxpy),
    Case(saxpy, 200, _in_place, _saxpy),
    Case(residual_add, 256, lambda r: (floats(r, 200), floats(r, 200), zeros(200)), _residual_add),
    Case(gelu_forward, 128, lambda r: (floats(r, 128, scale=3), zeros(128)), _gelu_forward, bound=2e-6),
    Case(
        gelu_backward,
        128,
        lambda r: (floats(r, 128, scale=3), floats(r, 128), zeros(128)),
        _gelu_backward,
        bound=1e-5,
    ),
    # `low` are bits: a part of 1e-4 is one unit in the last place of a bf16 near 1.
    Case(adamw, 192, _adamw_arguments, _adamw, bound=2e-5, bounds={"low": 1e-4}),
)
