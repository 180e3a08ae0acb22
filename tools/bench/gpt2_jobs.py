"""Which kernels does gpt2_on_device.py measure, on which arrays, beside what?"""

# mypy: ignore-errors
# ruff: noqa: B905

from __future__ import annotations

import math
from typing import Any

B, T, C, H, V = 4, 1024, 768, 12, 50257
N, HEAD, PARTS = B * T, C // H, 64


def i(value: int) -> tuple[str, int]:
    """Return an int argument of a peer."""
    return ("i", value)


def f(value: float) -> tuple[str, float]:
    """Return a float argument of a peer."""
    return ("f", value)


class Job:
    """One kernel at one shape: what launches it here, what the peer is given, what PyTorch does."""

    def __init__(
        self,
        name: str,
        kernel: Any,
        domain: Any,
        given: list,
        grid: Any,
        block: Any,
        peer: list,
        changed: list,
        eager: Any,
        peer_name: str = "",
        own_block: Any = None,
    ) -> None:
        self.own_block = own_block
        self.name, self.kernel, self.domain, self.given = name, kernel, domain, given
        self.peer_name = peer_name or kernel.__name__.split("__")[0]
        self.peer, self.changed, self.eager = (grid, block, *peer), changed, eager
        self.before = [item.clone() for item in changed]

    def reset(self) -> None:
        """Put back what launches change."""
        for item, kept in zip(self.changed, self.before):
            item.copy_(kept)

    def results(self) -> list:
        """Return what was changed."""
        return [item.clone() for item in self.changed]


def elementwise(count: int) -> tuple[int, int]:
    """Return the peer's grid and block for so many elements."""
    return -(-count // 256), 256


def jobs(torch: Any, k: Any, model: Any) -> Any:
    """Give the jobs one after another, so that only one's arrays lie on the device."""
    fn, four = torch.nn.functional, model.fours
    aten = torch.ops.aten

    def r(*shape: int) -> Any:
        return torch.randn(*shape, device="cuda")

    def job(
        name: str,
        kernel: Any,
        domain: Any,
        given: list,
        launch: tuple,
        changed: list,
        eager: Any,
        peer: list,
    ) -> Job:
        spoken = [i(x) if isinstance(x, int) else f(x) if isinstance(x, float) else x for x in peer]
        return Job(name, kernel, domain, given, *launch, spoken, changed, eager)

    tokens = torch.randint(0, V, (N,), device="cuda", dtype=torch.int32)
    wte, wpe, out, g = r(V * C), r(T * C), r(N * C), r(N * C)
    yield job(
        "encoder_forward",
        k.encoder_forward,
        (C // 4, N),
        [four(out), tokens, four(wte), four(wpe), N, T, C // 4],
        elementwise(N * C),
        [out],
        lambda: wte.view(V, C)[tokens].view(B, T, C) + wpe.view(T, C),
        [out, tokens, wte, wpe, N * C, T, C],
    )
    yield job(
        "encoder_backward_token",
        k.encoder_backward_token,
        (C // 4, N),
        [wte, tokens, g, N, C],
        elementwise(N * C),
        [wte],
        lambda: wte.view(V, C).index_add_(0, tokens, g.view(N, C)),
        [wte, tokens, g, N * C, C],
    )
    yield job(
        "encoder_backward_place",
        k.encoder_backward_place,
        T * C // 4,
        [four(wpe), four(g), B, T * C // 4],
        elementwise(T * C),
        [wpe],
        lambda: wpe.view(T, C).add_(g.view(B, T, C).sum(0)),
        [wpe, g, B, T * C],
    )
    x, w, b, mean, rstd = r(N * C), r(C), r(C), r(N), r(N)
    by_rows = (N // 8, 256)
    yield job(
        "layernorm_forward",
        k.layernorm_forward,
        N * 32,
        [four(out), mean, rstd, four(x), four(w), four(b), N, C // 4],
        by_rows,
        [out, mean, rstd],
        lambda: fn.layer_norm(x.view(N, C), (C,), w, b),
        [out, mean, rstd, x, w, b, N, C],
    )
    dx, dw, db = r(N * C), r(C), r(C)
    rows = [z.view(N, C) for z in (g, x)]
    stats = [z.view(N, 1) for z in (mean, rstd)]
    yield job(
        "layernorm_backward",
        k.layernorm_backward,
        N * 32,
        [four(dx), four(g), four(x), four(w), mean, rstd, N, C // 4],
        by_rows,
        [dx],
        lambda: dx.view(N, C).add_(
            aten.native_layer_norm_backward(*rows, [C], *stats, w, b, [True, False, False])[0]
        ),
        [dx, g, x, w, mean, rstd, N, C],
    )
    columns = ((C // 32, PARTS), 32)
    yield job(
        "layernorm_backward_weights",
        k.layernorm_backward_weights,
        (C // 4, PARTS * k.ROWS),
        [dw, db, four(g), four(x), mean, rstd, N, C // 4],
        columns,
        [dw, db],
        lambda: aten.native_layer_norm_backward(*rows, [C], *stats, w, b, [False, True, True]),
        [dw, db, g, x, mean, rstd, N, C, PARTS],
    )
    n = N * 4 * C
    big, other, sink = r(n), r(n), r(n)
    yield job(
        "gelu_forward",
        k.gelu_forward,
        n,
        [sink, big, n],
        elementwise(n),
        [sink],
        lambda: fn.gelu(big, approximate="tanh"),
        [sink, big, n],
    )
    yield job(
        "gelu_backward",
        k.gelu_backward,
        n,
        [sink, big, other, n],
        elementwise(n),
        [sink],
        lambda: aten.gelu_backward(other, big, approximate="tanh"),
        [sink, big, other, n],
    )
    n = N * C
    given = [out, x, g, n]
    yield job("residual_forward", k.residual_forward, n, given, elementwise(n), [out], lambda: x + g, given)
    given = [out, g, n]
    yield job(
        "residual_backward", k.residual_backward, n, given, elementwise(n), [out], lambda: out.add_(g), given
    )

    def product(
        name: str,
        into: Any,
        a: Any,
        bb: Any,
        bias: Any,
        sizes: tuple,
        sa: tuple,
        sb: tuple,
        so: tuple,
        eager: Any,
        *,
        add: int = 0,
        alpha: float = 1.0,
        pairs: tuple = (1, 1),
        causal: int = 0,
    ) -> Job:
        m, nn, _ = sizes
        side, each = model.tiles(m, nn, pairs[0] * pairs[1])
        kernel = k.matmul.instance(
            side=side,
            each=each,
            a_flat=int(sa[1] == 1),
            b_flat=int(sb[1] == 1),
            add=add,
            with_bias=int(bias is not None),
            causal=causal,
        )
        grid = (-(-nn // (side * each)), -(-m // (side * each)), pairs[0] * pairs[1])
        given = [into, a, bb, mean if bias is None else bias, *sizes, *sa, *sb, *so, pairs[1], alpha]
        peer = [
            into,
            a,
            bb,
            ("q", 0) if bias is None else bias,
            *sizes,
            *sa,
            *sb,
            *so,
            pairs[1],
            alpha,
            add,
            causal,
        ]
        spoken = [i(z) if isinstance(z, int) else f(z) if isinstance(z, float) else z for z in peer]
        domain, block = (grid[0] * side, grid[1] * side, grid[2]), (side, side)
        peer_name = f"matmul_{side}_{int(sa[1] == 1)}{int(sb[1] == 1)}"
        return Job(name, kernel, domain, given, grid, block, spoken, [into], eager, peer_name, block)

    weight, bias = r(4 * C * C) * 0.02, r(4 * C)
    yield product(
        "matmul_forward",
        sink,
        x,
        weight,
        bias,
        (N, 4 * C, C),
        (C, 1, 0, 0),
        (1, C, 0, 0),
        (4 * C, 0, 0),
        lambda: fn.linear(x.view(N, C), weight.view(4 * C, C), bias),
    )
    yield product(
        "matmul_backward_input",
        out,
        big,
        weight,
        None,
        (N, C, 4 * C),
        (4 * C, 1, 0, 0),
        (C, 1, 0, 0),
        (C, 0, 0),
        lambda: big.view(N, 4 * C) @ weight.view(4 * C, C),
    )
    yield product(
        "matmul_backward_weight",
        weight,
        big,
        x,
        None,
        (4 * C, C, N),
        (1, 4 * C, 0, 0),
        (C, 1, 0, 0),
        (C, 0, 0),
        lambda: weight.view(4 * C, C).addmm_(big.view(N, 4 * C).t(), x.view(N, C)),
        add=1,
    )
    yield job(
        "matmul_backward_bias",
        k.column_sum,
        (C, PARTS * k.ROWS),
        [bias, four(big), N, C],
        ((4 * C // 32, PARTS), 32),
        [bias],
        lambda: bias.add_(big.view(N, 4 * C).sum(0)),
        [bias, big, N, 4 * C, PARTS],
    )
    qkv, square, grad = r(N * 3 * C), torch.rand(B * H * T * T, device="cuda"), r(B * H * T * T)
    lie = {
        "qkv": (3 * C, 1, T * 3 * C, HEAD),
        "turned": (1, 3 * C, T * 3 * C, HEAD),
        "square": (T, 1, H * T * T, T * T),
    }
    lie |= {"square turned": (1, T, H * T * T, T * T), "mixed": (C, 1, T * C, HEAD)}
    flat = {name: (steps[0], steps[2], steps[3]) for name, steps in lie.items()}
    q, key, v = (z.view(B, T, H, HEAD).transpose(1, 2) for z in qkv.view(B, T, 3 * C).split(C, dim=2))
    scale = 1.0 / math.sqrt(HEAD)
    yield product(
        "attention_scores",
        square,
        qkv,
        qkv[C:],
        None,
        (T, T, HEAD),
        lie["qkv"],
        lie["turned"],
        flat["square"],
        lambda: (q @ key.transpose(-1, -2)) * scale,
        alpha=scale,
        pairs=(B, H),
        causal=1,
    )
    hidden = torch.ones(T, T, device="cuda", dtype=torch.bool).triu(1)
    m = B * H * T
    yield job(
        "softmax_forward",
        k.softmax_forward,
        m * 32,
        [four(square), m, T, T // 4],
        (m // 8, 256),
        [square],
        lambda: torch.softmax(square.view(B, H, T, T).masked_fill(hidden, -math.inf), -1),
        [square, m, T],
    )
    yield job(
        "softmax_backward",
        k.softmax_backward,
        m * 32,
        [four(grad), four(square), m, T, T // 4],
        (m // 8, 256),
        [grad],
        lambda: aten._softmax_backward_data(grad.view(m, T), square.view(m, T), -1, torch.float32),
        [grad, square, m, T],
    )
    square.view(B, H, T, T).tril_()
    heads = square.view(B, H, T, T)
    mixed = g.view(B, T, H, HEAD).transpose(1, 2)
    yield product(
        "attention_values",
        out,
        square,
        qkv[2 * C :],
        None,
        (T, HEAD, T),
        lie["square"],
        lie["qkv"],
        flat["mixed"],
        lambda: heads @ v,
        pairs=(B, H),
        causal=2,
    )
    yield product(
        "attention_backward_values",
        qkv[2 * C :],
        square,
        g,
        None,
        (T, HEAD, T),
        lie["square turned"],
        lie["mixed"],
        flat["qkv"],
        lambda: heads.transpose(-1, -2) @ mixed,
        pairs=(B, H),
        causal=3,
    )
    logits, losses, targets = r(N * V), r(N), torch.randint(0, V, (N,), device="cuda", dtype=torch.int32)
    long = targets.long()

    def cross() -> Any:
        shares = torch.softmax(logits.view(N, V), -1)
        loss = -shares[torch.arange(N, device="cuda"), long].log()
        shares[torch.arange(N, device="cuda"), long] -= 1.0
        return loss, shares.mul_(1.0 / N)

    yield job(
        "classifier",
        k.classifier,
        N * 256,
        [losses, logits, targets, V, 1.0 / N],
        (N, 256),
        [losses, logits],
        cross,
        [losses, logits, targets, V, 1.0 / N],
    )
    n = sum(math.prod(shape) for shape in model.Config(T, V, 12, H, C).shapes().values())
    w, g, m1, v1 = r(n), r(n), r(n), r(n).abs()
    hyper = (1e-3, 0.9, 0.999, 0.1, 0.001, 1e-8, 0.01, 1.0)

    def adam() -> None:
        m1.mul_(0.9).add_(g, alpha=0.1)
        v1.mul_(0.999).addcmul_(g, g, value=0.001)
        w.sub_(1e-3 * ((m1 / 0.1) / ((v1 / 0.001).sqrt() + 1e-8) + 0.01 * w))

    given = [w, g, m1, v1, n, *hyper]
    yield job("adamw", k.adamw, n, given, elementwise(n), [w, m1, v1], adam, given)
    norm = torch.zeros(1, device="cuda")
    yield job(
        "global_norm",
        k.global_norm,
        1024 * 256,
        [norm, four(g), n // 4],
        (1024, 256),
        [norm],
        lambda: (g * g).sum(),
        [norm, g, n],
    )
