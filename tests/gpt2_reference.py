"""GPT-2 in NumPy with float64, job by job, and derivatives by differences: what kernels are compared with."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "gpt2"
Array = npt.NDArray[np.float64]


def example(name: str) -> Any:
    """Return a module of the example."""
    import importlib

    if str(EXAMPLE) not in sys.path:
        sys.path.insert(0, str(EXAMPLE))
    return importlib.import_module(name)


def layernorm(x: Array, weight: Array, bias: Array) -> Array:
    mean = x.mean(-1, keepdims=True)
    return np.asarray((x - mean) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * weight + bias)


def gelu(x: Array) -> Array:
    return np.asarray(0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))))


def attention(qkv: Array, heads: int) -> Array:
    """Mix values, of (B, T, 3C)."""
    b, t, c3 = qkv.shape
    head = c3 // 3 // heads
    q, k, v = (part.reshape(b, t, heads, head).swapaxes(1, 2) for part in np.split(qkv, 3, axis=-1))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(head)
    scores = np.where(np.tril(np.ones((t, t), bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.asarray((weights @ v).swapaxes(1, 2).reshape(b, t, c3 // 3))


def losses(logits: Array, targets: npt.NDArray[np.int32]) -> Array:
    most = logits.max(-1, keepdims=True)
    total = np.log(np.exp(logits - most).sum(-1)) + most[..., 0]
    return np.asarray(total - np.take_along_axis(logits, targets[..., None].astype(np.int64), -1)[..., 0])


def forward(config: Any, weights: dict[str, Array], tokens: Any, targets: Any) -> float:
    """Return the mean loss of a model."""
    w = {name: weights[name].reshape(shape) for name, shape in config.shapes().items()}
    tokens, targets = (item.reshape(-1, config.time) for item in (tokens, targets))
    x = w["wte"][tokens] + w["wpe"]
    for n in range(config.layers):
        h = layernorm(x, w[f"ln1w{n}"], w[f"ln1b{n}"])
        h = attention(h @ w[f"qkvw{n}"].T + w[f"qkvb{n}"], config.heads)
        x = x + h @ w[f"attw{n}"].T + w[f"attb{n}"]
        h = layernorm(x, w[f"ln2w{n}"], w[f"ln2b{n}"])
        h = gelu(h @ w[f"fcw{n}"].T + w[f"fcb{n}"])
        x = x + h @ w[f"projw{n}"].T + w[f"projb{n}"]
    logits = layernorm(x, w["lnfw"], w["lnfb"]) @ w["wte"].T
    return float(losses(logits, targets).mean())


def difference(function: Callable[[Array], Array | float], at: Array, gradient: Array | float = 1.0) -> Array:
    """Return the derivative of ``sum(gradient * function(x))`` by central differences, in float64."""
    found, step = np.zeros(at.size), 1e-5
    for i in range(at.size):
        sides = []
        for sign in (1, -1):
            moved = at.astype(np.float64).copy()
            moved.reshape(-1)[i] += sign * step
            sides.append(float(np.sum(gradient * function(moved))))
        found[i] = (sides[0] - sides[1]) / (2 * step)
    return found.reshape(at.shape)
