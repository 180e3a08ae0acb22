"""The jobs that are measured on a device: each kernel of examples/kernels at a size that fills it, and its peers.

Words: a *job* is a kernel with large arguments; a *contender* is one way to do it.
"""
# mypy: ignore-errors
# ruff: noqa: C901, E501

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from types import SimpleNamespace
from typing import Any


@dataclass
class Job:
    """One kernel at one size.

    Attributes:
        name: The kernel's.
        module: The file of examples/kernels.
        domain: Work-items in each dimension.
        given: The arguments, tensors on the device.
        changed: The positions of those that it writes.
        nbytes: The least that has to move through memory: each input read once, each output written once.
        flops: Operations, where they and not the bytes bound it.
        cuda: The grid, the block and the arguments of the kernel in peers.cu.
        block: The work-group that Atoll is given; None for the contract's.
    """

    name: str
    module: str
    domain: Any
    given: tuple
    changed: tuple[int, ...]
    nbytes: int
    cuda: tuple
    flops: int = 0
    block: Any = None
    size: str = ""
    kept: list = field(default_factory=list)

    @property
    def kernel(self) -> Any:
        """The kernel."""
        return getattr(import_module(self.module), self.name)

    def keep(self) -> None:
        """Remember what the written arguments hold before anything ran."""
        self.kept = [self.given[at].clone() for at in self.changed]

    def reset(self) -> None:
        """Put it back."""
        for at, old in zip(self.changed, self.kept, strict=True):
            self.given[at].copy_(old)

    def results(self) -> list:
        """Return copies of what was written."""
        return [self.given[at].clone() for at in self.changed]


class Fields:
    """Tensors that stand for an array of structs, one a field."""

    def __init__(self, tensor: Any, names: str) -> None:
        self.tensor, self.parts = tensor, {name: tensor[:, at] for at, name in enumerate(names)}
        self.parts = {("mass" if name == "m" else name): part for name, part in self.parts.items()}
        self.dtype = SimpleNamespace(names=tuple(self.parts))

    def __getitem__(self, name: str) -> Any:
        return self.parts[name]

    def clone(self) -> Any:
        return self.tensor.clone()

    def copy_(self, other: Any) -> None:
        self.tensor.copy_(other)


def _up(size: int, by: int) -> int:
    return -(-size // by)


def makers(torch: Any, scale: int = 1) -> dict[str, Callable[[], Job]]:
    """Return what makes each job; `scale` divides the sizes, for a machine that only tries them."""
    g = torch.Generator(device="cuda").manual_seed(7)

    def floats(*shape: int) -> Any:
        return torch.randn(*shape, device="cuda", generator=g)

    def empty(*shape: int, dtype: Any = torch.float32) -> Any:
        signed = {torch.uint16: torch.int16, torch.uint32: torch.int32}.get(dtype, dtype)
        return torch.zeros(shape, device="cuda", dtype=signed).view(dtype)

    def ints(low: int, high: int, *shape: int) -> Any:
        return torch.randint(low, high, shape, device="cuda", dtype=torch.int32, generator=g)

    n = (1 << 27) // scale
    flat4 = (_up(n // 4, 256), 256)

    def saxpy() -> Job:
        x, y, o = floats(n), floats(n), empty(n)
        return Job(
            "saxpy",
            "elementwise",
            n,
            (1.7, x, y, o),
            (3,),
            12 * n,
            (*flat4, ("f", 1.7), x, y, o, ("q", n // 4)),
            block=256,
        )

    def residual_add() -> Job:
        x, y, o = floats(n), floats(n), empty(n)
        return Job(
            "residual_add",
            "elementwise",
            n,
            (x, y, o),
            (2,),
            12 * n,
            (*flat4, x, y, o, ("q", n // 4)),
            block=256,
        )

    def gelu_forward() -> Job:
        x, o = floats(n), empty(n)
        return Job(
            "gelu_forward", "elementwise", n, (x, o), (1,), 8 * n, (*flat4, x, o, ("q", n // 4)), block=256
        )

    def gelu_backward() -> Job:
        x, u, o = floats(n), floats(n), empty(n)
        return Job(
            "gelu_backward",
            "elementwise",
            n,
            (x, u, o),
            (2,),
            12 * n,
            (*flat4, x, u, o, ("q", n // 4)),
            block=256,
        )

    def adamw() -> Job:
        count = n // 2
        gr, m, v, p = floats(count), floats(count), floats(count).abs(), floats(count)
        low = empty(count, dtype=torch.uint16)
        head = (0.01, 0.9, 0.999, 0.1, 3, 0x9E3779B9)
        cuda = (
            _up(count, 256),
            256,
            *(("f", item) for item in head[:4]),
            ("i", 3),
            ("I", head[5]),
            gr,
            m,
            v,
            p,
            low,
            ("q", count),
        )
        return Job(
            "adamw", "elementwise", count, (*head, gr, m, v, p, low), (7, 8, 9), 30 * count, cuda, block=256
        )

    def transpose() -> Job:
        side = 8192 // (2 if scale > 1 else 1)
        x, o = floats(side, side), empty(side, side)
        cuda = ((side // 32, side // 32), (32, 8), x, o, ("i", side), ("i", side))
        return Job("transpose", "movement", (side, side // 4), (x, o), (1,), 8 * side * side, cuda)

    def encoder(back: bool) -> Job:
        b, t, c, v = 64 // min(scale, 8), 1024, 768, 50257
        tokens, words, places = ints(0, v, b, t), floats(v, c), floats(t, c)
        count = b * t * c
        if back:
            grad, words, places = floats(b, t, c), empty(v, c), empty(t, c)
            cuda = (_up(count, 256), 256, tokens, grad, words, places, ("i", t), ("i", c), ("q", count))
            return Job(
                "encoder_backward",
                "movement",
                (c, t, b),
                (tokens, grad, words, places),
                (2, 3),
                4 * count,
                cuda,
                block=(256, 1, 1),
            )
        out = empty(b, t, c)
        cuda = (
            _up(count // 4, 256),
            256,
            tokens,
            words,
            places,
            out,
            ("i", t),
            ("i", c // 4),
            ("q", count // 4),
        )
        return Job(
            "encoder_forward",
            "movement",
            (c, t, b),
            (tokens, words, places, out),
            (3,),
            8 * count,
            cuda,
            block=(256, 1, 1),
        )

    def block_sum() -> Job:
        x, s = floats(n), empty(n // 1024)
        return Job("block_sum", "reduction", n // 16, (x, s), (1,), 4 * n, (n // 1024, 64, x, s, ("q", n)))

    def histogram() -> Job:
        x, s = ints(-1000, 1000, n), empty(16, dtype=torch.int32)
        return Job("histogram", "reduction", n // 32, (x, s), (1,), 4 * n, (n // 256, 64, x, s, ("q", n)))

    def exclusive_scan() -> Job:
        x, o, s = ints(-1000, 1000, n), empty(n, dtype=torch.int32), empty(n // 1024, dtype=torch.int32)
        cuda = (n // 1024, 64, x, o, s, ("q", n // 4))
        return Job("exclusive_scan", "reduction", n // 16, (x, o, s), (1, 2), 8 * n, cuda)

    def add_offsets() -> Job:
        o, s = ints(-1000, 1000, n), ints(-1000, 1000, n // 1024)
        cuda = (*flat4, o, s, ("q", n // 4))
        return Job("add_offsets", "reduction", n, (o, s), (0,), 8 * n, cuda, block=256)

    def bitonic_sort() -> Job:
        count = n // 4
        x, o = ints(-1000, 1000, count), empty(count, dtype=torch.int32)
        return Job(
            "bitonic_sort", "reduction", count, (x, o), (1,), 8 * count, (count // 64, 64, x, o, ("q", count))
        )

    def rows(name: str, c: int) -> Job:
        lanes = import_module("normalise").LANES
        r = (1 << 26) // scale // c
        x, w, b, mean, rstd = floats(r, c), floats(c), floats(c), empty(r), empty(r)
        at = (r, 256)
        if name == "layernorm_forward":
            o = empty(r, c)
            given, changed, nbytes, cuda = (
                (x, w, b, o, mean, rstd),
                (3, 4, 5),
                8 * r * c,
                (*at, x, w, b, o, mean, rstd, ("i", c)),
            )
        elif name == "layernorm_backward":
            up, to_x, to_w, to_b = floats(r, c), empty(r, c), empty(c), empty(c)
            mean, rstd = x.mean(1), 1 / (x.var(1, correction=0) + 1e-5).sqrt()
            given, changed, nbytes = (x, w, up, mean, rstd, to_x, to_w, to_b), (5, 6, 7), 16 * r * c
            cuda = (*at, x, w, up, mean, rstd, to_x, to_w, to_b, ("i", c))
        elif name == "softmax":
            o = empty(r, c)
            given, changed, nbytes, cuda = (x, o), (1,), 8 * r * c, (*at, x, o, ("i", c))
        else:
            targets, losses = ints(0, c, r), empty(r)
            given, changed, nbytes = (x, targets, 0.25, losses), (0, 3), 8 * r * c
            cuda = (*at, x, targets, ("f", 0.25), losses, ("i", c))
        return Job(name, "normalise", r * lanes, given, changed, nbytes, cuda, size=f"{r} x {c}")

    def matmul(name: str) -> Job:
        s = 2048 // (2 if scale > 1 else 1)
        a, b, o = floats(s, s), floats(s, s), empty(s, s)
        tail = (a, b, o, ("i", s), ("i", s), ("i", s))
        each, tile = import_module("matrix").EACH, import_module("matrix").TILE
        if name == "matmul_naive":
            domain, cuda, block = (s, s), ((s // 16, s // 16), (16, 16), *tail), (16, 16)
        elif name == "matmul_tiled":
            domain, cuda, block = (s, s), ((s // 8, s // 8), (8, 8), *tail), None
        else:
            domain, cuda, block = (s // each, s // each), ((s // 16, s // 16), (8, 8), *tail), None
        assert s % (tile * each) == 0
        return Job(name, "matrix", domain, (a, b, o), (2,), 12 * s * s, cuda, flops=2 * s**3, block=block)

    def attention(name: str) -> Job:
        s = 8192 // (4 if scale > 1 else 1)
        q, k, v, o = floats(s, 16), floats(s, 16), floats(s, 16), empty(s, 16)
        wide = 64 if name == "attention_naive" else 8
        cuda = (_up(s, wide), wide, ("i", 1), ("f", 0.25), q, k, v, o, ("i", s), ("i", s))
        block = 64 if name == "attention_naive" else None
        return Job(
            name,
            "attention",
            s,
            (True, 0.25, q, k, v, o),
            (5,),
            16 * 16 * s,
            cuda,
            flops=2 * s * s * 16,
            block=block,
        )

    def stencil() -> Job:
        side = 8192
        x, o = floats(side, side), empty(side, side)
        cuda = ((side // 32, side // 8), (32, 8), x, o, ("i", side), ("i", side))
        return Job("stencil", "simulation", (side, side), (x, o), (1,), 8 * side * side, cuda, block=(32, 8))

    def mandelbrot() -> Job:
        side = 4096 // (4 if scale > 1 else 1)
        counts, step = empty(side, side, dtype=torch.int32), 2.5 / side
        cuda = (
            (side // 32, side // 8),
            (32, 8),
            ("f", -2.0),
            ("f", -1.25),
            ("f", step),
            ("i", 256),
            counts,
            ("i", side),
            ("i", side),
        )
        return Job(
            "mandelbrot",
            "simulation",
            (side, side),
            (-2.0, -1.25, step, 256, counts),
            (4,),
            4 * side * side,
            cuda,
            flops=1,
            block=(32, 8),
        )

    def life() -> Job:
        side = 16384 // (4 if scale > 1 else 1)
        board, o = ints(0, 2, side, side).to(torch.uint8), empty(side, side, dtype=torch.uint8)
        cuda = ((side // 32, side // 8), (32, 8), board, o, ("i", side), ("i", side))
        return Job("life", "simulation", (side, side), (board, o), (1,), 2 * side * side, cuda, block=(32, 8))

    def nbody() -> Job:
        count = 32768 // (8 if scale > 1 else 1)
        bodies, speeds, o = floats(count, 4), floats(count, 3), empty(count, 4)
        bodies[:, 3] = bodies[:, 3].abs()
        given = (0.01, Fields(bodies, "xyzm"), Fields(speeds, "xyz"), Fields(o, "xyzm"))
        cuda = (_up(count, 32), 32, ("f", 0.01), bodies, speeds, o, ("i", count))
        return Job("nbody", "particles", count, given, (2, 3), 56 * count, cuda, flops=20 * count * count)

    def spmv() -> Job:
        rows_, each = (1 << 21) // scale, 16
        counts = torch.randint(0, 2 * each, (rows_,), device="cuda", generator=g)
        offsets = torch.cat([torch.zeros(1, device="cuda", dtype=torch.int64), counts.cumsum(0)])
        total = int(offsets[-1])
        values, columns = floats(total), ints(0, rows_, total)
        x, o = floats(rows_), empty(rows_)
        cuda = (_up(rows_, 256), 256, offsets, columns, values, x, o, ("i", rows_))
        return Job(
            "spmv",
            "sparse",
            rows_,
            (offsets, columns, values, x, o),
            (4,),
            8 * total + 16 * rows_,
            cuda,
            block=256,
        )

    def philox() -> Job:
        count = n // 4
        o = empty(count, 4, dtype=torch.uint32)
        keys = (0xA4093822, 0x299F31D0)
        cuda = (_up(count, 256), 256, ("I", keys[0]), ("I", keys[1]), o, ("i", count))
        return Job("philox", "sparse", count, (*keys, o), (2,), 16 * count, cuda, block=256)

    found = {
        item.__name__: item for item in (saxpy, residual_add, gelu_forward, gelu_backward, adamw, transpose)
    }
    found |= {"encoder_forward": lambda: encoder(False), "encoder_backward": lambda: encoder(True)}
    found |= {
        item.__name__: item for item in (block_sum, histogram, exclusive_scan, add_offsets, bitonic_sort)
    }
    for name in ("layernorm_forward", "layernorm_backward", "softmax", "classifier"):
        found[name] = lambda name=name: rows(name, 1024)
    for name in ("matmul_naive", "matmul_tiled", "matmul_blocked"):
        found[name] = lambda name=name: matmul(name)
    for name in ("attention_naive", "attention_flash"):
        found[name] = lambda name=name: attention(name)
    return found | {item.__name__: item for item in (stencil, mandelbrot, life, nbody, spmv, philox)}
