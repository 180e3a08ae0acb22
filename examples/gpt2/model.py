"""A GPT-2 over the kernels: forward, backward and the update, on any device.

Weights, gradients and both moments are one flat array each; a tensor is a slice of it. What makes arrays is a
parameter, so that they may lie on the device (`torch.zeros(…, device="cuda")`) or be NumPy's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import kernels as k
import numpy as np

PARTS = 64  # how many work-groups share the rows of a column's sum


@dataclass(frozen=True)
class Config:
    """The shape of a model; 124M is ``Config(1024, 50257, 12, 12, 768)``."""

    time: int = 32
    vocabulary: int = 256
    layers: int = 2
    heads: int = 4
    channels: int = 64

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of every tensor by name, in the order of the flat array."""
        c, found = self.channels, {}
        found["wte"], found["wpe"] = (self.vocabulary, c), (self.time, c)
        for layer in range(self.layers):
            for name, shape in _LAYER.items():
                found[f"{name}{layer}"] = tuple(size * c for size in shape)
        return found | {"lnfw": (c,), "lnfb": (c,)}


#: The tensors of a layer, in channels.
_LAYER = {
    "ln1w": (1,), "ln1b": (1,), "qkvw": (3, 1), "qkvb": (3,), "attw": (1, 1), "attb": (1,),
    "ln2w": (1,), "ln2b": (1,), "fcw": (4, 1), "fcb": (4,), "projw": (1, 4), "projb": (1,),
}  # fmt: skip


def random_weights(config: Config, seed: int = 0) -> np.ndarray:
    """Return weights as GPT-2 starts: normal of 0.02, scales 1, shifts 0, ways into residuals smaller."""
    random, parts = np.random.default_rng(seed), []
    for name, shape in config.shapes().items():
        if name.startswith("ln"):
            parts.append(np.full(shape, float(name.rstrip("0123456789")[-1] == "w")))
        elif name.rstrip("0123456789")[-1] == "b":
            parts.append(np.zeros(shape))
        else:
            scale = 0.02 / math.sqrt(2 * config.layers) if name.startswith(("attw", "projw")) else 0.02
            parts.append(random.normal(0.0, scale, shape))
    return np.concatenate([part.reshape(-1) for part in parts]).astype(np.float32)


def named(flat: Any, config: Config) -> dict[str, Any]:
    """Return the tensors of a flat array by name, each a flat slice."""
    found, at = {}, 0
    for name, shape in config.shapes().items():
        found[name] = flat[at : at + math.prod(shape)]
        at += math.prod(shape)
    return found


def fours(flat: Any) -> Any:
    """Return a flat array as vectors of four."""
    return flat.reshape(-1, 4)


def tiles(rows: int, columns: int, pairs: int) -> tuple[int, int]:
    """Return how a product is made: how many work-items a side, and how many results a side for each."""
    if max(rows, columns) < 512:
        return 16, 4
    return (16, 8) if rows // 128 * (columns // 128) * pairs >= 256 else (8, 8)


def _numpy(count: int, kind: str = "f4") -> Any:
    return np.zeros(count, kind)


class Model:
    """One model with its state.

    Args:
        config: Its shape; channels are a multiple of four.
        weights: All of them, flat, as `zeros` makes arrays.
        batch: How many sequences a step has.
        device: Where kernels run.
        zeros: Makes an array of so many f32, or i32 for ``"i4"``.
    """

    def __init__(
        self, config: Config, weights: Any, batch: int, device: Any, zeros: Callable[..., Any] = _numpy
    ) -> None:
        self.config, self.batch, self.device, self.zeros = config, batch, device, zeros
        self.weights, count = weights, len(weights)
        self.gradients, self.first, self.second = zeros(count), zeros(count), zeros(count)
        self.w, self.g = named(self.weights, config), named(self.gradients, config)
        self.rows, c = batch * config.time, config.channels
        self.across = -(-config.time // 4) * 4  # a row of scores, filled up to whole fours
        wide, square = self.rows * c, batch * config.heads * config.time * self.across
        names = {"residual": wide, "ln1": wide, "qkv": 3 * wide, "att": square, "mixed": wide}
        names |= {"middle": wide, "ln2": wide, "fc": 4 * wide, "gelu": 4 * wide}
        names |= {f"{which}{number}": self.rows for which in ("mean", "rstd") for number in (1, 2)}
        self.layers = [{name: zeros(size) for name, size in names.items()} for _ in range(config.layers)]
        self.last = {
            "residual": zeros(wide),
            "out": zeros(wide),
            "mean": zeros(self.rows),
            "rstd": zeros(self.rows),
        }
        self.logits, self.losses = zeros(self.rows * config.vocabulary), zeros(self.rows)
        self.short, self.norm, self.step = zeros(wide), zeros(1), 0
        self.used, self.kept = "", {}

    def scratch(self, name: str, size: int) -> Any:
        """Return an array that only lasts a step, the same one in each."""
        if name not in self.kept:
            self.kept[name] = self.zeros(size)
        return self.kept[name]

    # --- launches ---

    def run(self, kernel: Any, domain: Any, *arguments: Any, block: Any = None) -> None:
        """Launch a kernel and note where it ran."""
        self.used = kernel.over(domain, device=self.device, block=block)(*arguments).device

    def by_rows(self, kernel: Any, rows: int, *arguments: Any) -> None:
        """Launch a kernel that gives each sub-group a row; any number of groups is right."""
        self.run(kernel, -(-rows // 8) * k.LANES, *arguments)

    def matmul(
        self, out: Any, a: Any, b: Any, sizes: tuple[int, int, int],
        a_steps: tuple[int, ...], b_steps: tuple[int, ...], out_steps: tuple[int, ...],
        *, bias: Any = None, add: bool = False, alpha: float = 1.0,
        pairs: tuple[int, int] = (1, 1), causal: int = 0,
    ) -> None:  # fmt: skip
        """Launch :func:`kernels.matmul`; steps are row, column, outer, inner (of `out` without column)."""
        rows, columns, depth = sizes
        side, each = tiles(rows, columns, pairs[0] * pairs[1])
        kernel = k.matmul.instance(
            side=side, each=each, a_flat=int(a_steps[1] == 1), b_flat=int(b_steps[1] == 1), add=int(add),
            with_bias=int(bias is not None), causal=causal,
        )  # fmt: skip
        tile = side * each
        domain = (-(-columns // tile) * side, -(-rows // tile) * side, pairs[0] * pairs[1])
        given = (out, a, b, self.short if bias is None else bias, rows, columns, depth)
        given = (*given, *a_steps, *b_steps, *out_steps, pairs[1], alpha)
        self.run(kernel, domain, *given, block=(side, side))

    def by_columns(self, kernel: Any, width: int, *arguments: Any) -> None:
        """Launch a kernel that sums columns of so many fours over the rows."""
        down = min(PARTS, -(-self.rows // k.ROWS))
        self.run(kernel, (-(-width // k.COLUMNS) * k.COLUMNS, down * k.ROWS), *arguments)

    def linear(self, out: Any, x: Any, weight: Any, bias: Any, inputs: int, outputs: int) -> None:
        """Multiply rows by a matrix: out = x weight^T + bias."""
        sizes = (self.rows, outputs, inputs)
        self.matmul(out, x, weight, sizes, (inputs, 1, 0, 0), (1, inputs, 0, 0), (outputs, 0, 0), bias=bias)

    def linear_backward(
        self,
        to_x: Any,
        to_weight: Any,
        to_bias: Any,
        gradient: Any,
        x: Any,
        weight: Any,
        inputs: int,
        outputs: int,
    ) -> None:
        """Write the gradient of x, add those of weight and bias."""
        sizes = (self.rows, inputs, outputs)
        self.matmul(to_x, gradient, weight, sizes, (outputs, 1, 0, 0), (inputs, 1, 0, 0), (inputs, 0, 0))
        sizes = (outputs, inputs, self.rows)
        steps = (1, outputs, 0, 0), (inputs, 1, 0, 0), (inputs, 0, 0)
        self.matmul(to_weight, gradient, x, sizes, *steps, add=True)
        if to_bias is not None:
            width = outputs // 4
            self.by_columns(k.column_sum, width, to_bias, fours(gradient), self.rows, width)

    def layernorm(self, out: Any, mean: Any, rstd: Any, x: Any, weight: Any, bias: Any) -> None:
        """Normalise rows."""
        given = (fours(out), mean, rstd, *map(fours, (x, weight, bias)), self.rows)
        self.by_rows(k.layernorm_forward, self.rows, *given, self.config.channels // 4)

    def layernorm_backward(
        self,
        to_x: Any,
        to_weight: Any,
        to_bias: Any,
        gradient: Any,
        x: Any,
        weight: Any,
        mean: Any,
        rstd: Any,
    ) -> None:
        """Add the gradients of x, of scale and of shift."""
        rows, width = self.rows, self.config.channels // 4
        to_x, gradient, x, weight = map(fours, (to_x, gradient, x, weight))
        self.by_rows(k.layernorm_backward, rows, to_x, gradient, x, weight, mean, rstd, rows, width)
        given = (to_weight, to_bias, gradient, x, mean, rstd, rows, width)
        self.by_columns(k.layernorm_backward_weights, width, *given)

    # --- attention ---

    def steps(self) -> dict[str, tuple[int, ...]]:
        """Return how the matrices of attention lie: row, column, outer (a sequence), inner (a head)."""
        t, c, h = self.config.time, self.config.channels, self.config.heads
        head, across = c // h, self.across
        return {
            "qkv": (3 * c, 1, t * 3 * c, head),
            "qkv turned": (1, 3 * c, t * 3 * c, head),
            "square": (across, 1, h * t * across, t * across),
            "square turned": (1, across, h * t * across, t * across),
            "mixed": (c, 1, t * c, head),
            "mixed turned": (1, c, t * c, head),
        }

    def attention(self, out: Any, square: Any, qkv: Any) -> None:
        """Mix the values of what each place sees."""
        t, c, h, lie = self.config.time, self.config.channels, self.config.heads, self.steps()
        head, pairs = c // h, (self.batch, h)
        q, key, v = qkv, qkv[c:], qkv[2 * c :]
        flat = _without_column(lie["square"])
        scale = 1.0 / math.sqrt(head)
        self.matmul(
            square,
            q,
            key,
            (t, t, head),
            lie["qkv"],
            lie["qkv turned"],
            flat,
            alpha=scale,
            pairs=pairs,
            causal=1,
        )
        rows = self.batch * h * t
        self.by_rows(k.softmax_forward, rows, fours(square), rows, t, self.across // 4)
        flat = _without_column(lie["mixed"])
        self.matmul(out, square, v, (t, head, t), lie["square"], lie["qkv"], flat, pairs=pairs, causal=2)

    def attention_backward(self, to_qkv: Any, to_square: Any, gradient: Any, square: Any, qkv: Any) -> None:
        """Write the gradient of queries, keys and values."""
        t, c, h, lie = self.config.time, self.config.channels, self.config.heads, self.steps()
        head, pairs, rows = c // h, (self.batch, h), self.batch * h * t
        flat, scale = _without_column(lie["qkv"]), 1.0 / math.sqrt(head)
        into = _without_column(lie["square"])
        self.matmul(
            to_square,
            gradient,
            qkv[2 * c :],
            (t, t, head),
            lie["mixed"],
            lie["qkv turned"],
            into,
            pairs=pairs,
            causal=1,
        )
        self.matmul(
            to_qkv[2 * c :],
            square,
            gradient,
            (t, head, t),
            lie["square turned"],
            lie["mixed"],
            flat,
            pairs=pairs,
            causal=3,
        )
        self.by_rows(k.softmax_backward, rows, fours(to_square), fours(square), rows, t, self.across // 4)
        self.matmul(
            to_qkv,
            to_square,
            qkv[c:],
            (t, head, t),
            lie["square"],
            lie["qkv"],
            flat,
            alpha=scale,
            pairs=pairs,
            causal=2,
        )
        self.matmul(
            to_qkv[c:],
            to_square,
            qkv,
            (t, head, t),
            lie["square turned"],
            lie["qkv"],
            flat,
            alpha=scale,
            pairs=pairs,
            causal=3,
        )

    # --- a step ---

    def forward(self, tokens: Any, targets: Any) -> None:
        """Fill the losses, and the logits with their gradient."""
        config, w, c, wide = self.config, self.w, self.config.channels, self.rows * self.config.channels
        first, width = fours(self.layers[0]["residual"]), c // 4
        given = (first, tokens, fours(w["wte"]), fours(w["wpe"]), self.rows, config.time, width)
        self.run(k.encoder_forward, (width, self.rows), *given)
        for number, a in enumerate(self.layers):
            after = self.layers[number + 1] if number + 1 < config.layers else self.last
            p = {name: w[f"{name}{number}"] for name in _LAYER}
            self.layernorm(a["ln1"], a["mean1"], a["rstd1"], a["residual"], p["ln1w"], p["ln1b"])
            self.linear(a["qkv"], a["ln1"], p["qkvw"], p["qkvb"], c, 3 * c)
            self.attention(a["mixed"], a["att"], a["qkv"])
            self.linear(self.short, a["mixed"], p["attw"], p["attb"], c, c)
            self.run(k.residual_forward, wide, a["middle"], a["residual"], self.short, wide)
            self.layernorm(a["ln2"], a["mean2"], a["rstd2"], a["middle"], p["ln2w"], p["ln2b"])
            self.linear(a["fc"], a["ln2"], p["fcw"], p["fcb"], c, 4 * c)
            self.run(k.gelu_forward, 4 * wide, a["gelu"], a["fc"], 4 * wide)
            self.linear(self.short, a["gelu"], p["projw"], p["projb"], 4 * c, c)
            self.run(k.residual_forward, wide, after["residual"], a["middle"], self.short, wide)
        last = self.last
        self.layernorm(last["out"], last["mean"], last["rstd"], last["residual"], w["lnfw"], w["lnfb"])
        self.linear(self.logits, last["out"], w["wte"], None, c, config.vocabulary)
        domain = self.rows * k.LANES
        self.run(k.classifier, domain, self.losses, self.logits, targets, config.vocabulary, 1.0 / self.rows)

    def backward(self, tokens: Any) -> None:
        """Fill the gradients; call it once after each :meth:`forward`."""
        config, w, g, c, rows = self.config, self.w, self.g, self.config.channels, self.rows
        wide, square = rows * c, self.batch * config.heads * config.time * self.across
        self.gradients[:] = 0
        sizes = {"flow": wide, "x": wide, "att": square, "fc": 4 * wide, "gelu": 4 * wide, "qkv": 3 * wide}
        kept = {name: self.scratch(name, size) for name, size in sizes.items()}
        flowing, branch, to_att, to_fc, to_gelu, to_qkv = kept.values()
        flowing[:] = 0
        last = self.last
        self.linear_backward(branch, g["wte"], None, self.logits, last["out"], w["wte"], c, config.vocabulary)
        given = (g["lnfw"], g["lnfb"], branch, last["residual"], w["lnfw"], last["mean"], last["rstd"])
        self.layernorm_backward(flowing, *given)
        for number in reversed(range(config.layers)):
            a = self.layers[number]
            p, q = ({name: of[f"{name}{number}"] for name in _LAYER} for of in (w, g))
            self.linear_backward(to_gelu, q["projw"], q["projb"], flowing, a["gelu"], p["projw"], 4 * c, c)
            self.run(k.gelu_backward, 4 * wide, to_fc, a["fc"], to_gelu, 4 * wide)
            self.linear_backward(branch, q["fcw"], q["fcb"], to_fc, a["ln2"], p["fcw"], c, 4 * c)
            given = (q["ln2w"], q["ln2b"], branch, a["middle"], p["ln2w"], a["mean2"], a["rstd2"])
            self.layernorm_backward(flowing, *given)
            self.linear_backward(branch, q["attw"], q["attb"], flowing, a["mixed"], p["attw"], c, c)
            self.attention_backward(to_qkv, to_att, branch, a["att"], a["qkv"])
            self.linear_backward(branch, q["qkvw"], q["qkvb"], to_qkv, a["ln1"], p["qkvw"], c, 3 * c)
            given = (q["ln1w"], q["ln1b"], branch, a["residual"], p["ln1w"], a["mean1"], a["rstd1"])
            self.layernorm_backward(flowing, *given)
        flow, width = fours(flowing), c // 4
        self.run(k.encoder_backward_token, (width, rows), g["wte"], tokens, flowing, rows, c)
        n = config.time * width
        self.run(k.encoder_backward_place, n, fours(g["wpe"]), flow, self.batch, n)

    def update(
        self, rate: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), decay: float = 0.0
    ) -> float:
        """Move the weights, the gradient cut to a norm of 1; return its norm."""
        self.step += 1
        count = len(self.weights)
        self.norm[:] = 0
        groups = min(-(-count // (4 * k.LANES)), 1024)
        self.run(k.global_norm, groups * k.LANES, self.norm, fours(self.gradients), count // 4)
        norm = math.sqrt(float(self.norm[0]))
        shrink = 1.0 / norm if norm > 1.0 else 1.0
        corrections = (1 - betas[0] ** self.step, 1 - betas[1] ** self.step)
        given = (self.weights, self.gradients, self.first, self.second, count, rate, *betas, *corrections)
        self.run(k.adamw, count, *given, 1e-8, decay, shrink)
        return norm

    def train(self, tokens: Any, targets: Any, rate: float = 1e-3) -> float:
        """Do one step and return the loss before it."""
        self.forward(tokens, targets)
        loss = float(self.losses.mean())
        self.backward(tokens)
        self.update(rate)
        return loss


def _without_column(steps: tuple[int, ...]) -> tuple[int, ...]:
    return steps[0], steps[2], steps[3]
