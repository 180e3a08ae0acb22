"""What must a primitive give, to the byte? The same steps in plain NumPy, sharing no code with the kernels.

Each function takes and gives NumPy arrays. An operation of NumPy on f32 rounds once, as a device's does; sums
are made in the order that the kernels state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

Numbers: TypeAlias = np.ndarray[Any, Any]
F = np.float32
_NAN = np.uint32(0x7FC00000)


def _bits(x: Numbers) -> Numbers:
    return np.ascontiguousarray(x, F).view(np.uint32)


def _float(bits: Numbers) -> Numbers:
    return np.ascontiguousarray(bits, np.uint32).view(F)


def canonical(x: Numbers) -> Numbers:
    """Return it with each NaN as the one NaN."""
    return _float(np.where(np.isnan(x), _NAN, _bits(x)))


def _steps(x: Numbers, y: Numbers, step: Callable[[Numbers, Numbers], Numbers], times: int = 4) -> Numbers:
    for _ in range(times):
        y = step(x, y)
    return y


def recip(x: Numbers) -> Numbers:
    """Return 1 / x by Newton's steps."""
    size = _bits(x) & np.uint32(0x7FFFFFFF)
    large, small = size >= 0x7E000000, size < 0x02000000
    scale = np.where(large, F(2.0**-24), np.where(small, F(2.0**24), F(1)))
    b = _float(size) * scale
    y = _steps(b, _float(np.uint32(0x7EF311C3) - _bits(b)), lambda a, v: v * (F(2) - a * v)) * scale
    out = np.where(size > 0x7E800000, np.uint32(0), _bits(y))
    out = np.where(size < 0x00800000, np.uint32(0x7F800000), out) | (_bits(x) & np.uint32(0x80000000))
    return _float(np.where(size > 0x7F800000, _NAN, out))


def rsqrt(x: Numbers) -> Numbers:
    """Return one over the square root by Newton's steps."""
    size = _bits(x) & np.uint32(0x7FFFFFFF)
    guess = _float(np.uint32(0x5F3759DF) - (size >> np.uint32(1)))
    y = _steps(F(0.5) * x, guess, lambda half, v: v * (F(1.5) - half * v * v))
    out = np.where(size == 0x7F800000, np.uint32(0), _bits(y))
    out = np.where(size < 0x00800000, np.uint32(0x7F800000), out)
    bad = (size > 0x7F800000) | ((_bits(x) >= 0x80000000) & (size >= 0x00800000))
    return _float(np.where(bad, _NAN, out))


def sqrt(x: Numbers) -> Numbers:
    """Return the square root."""
    found = canonical(x * rsqrt(x))
    found = np.where((_bits(x) & np.uint32(0x7FFFFFFF)) < 0x00800000, F(0), found)
    return np.where(_bits(x) == 0x7F800000, x, found).astype(F)


def _horner(x: Numbers, *factors: float) -> Numbers:
    p = np.full_like(x, F(factors[0]))
    for factor in factors[1:]:
        p = p * x + F(factor)
    return p


def exp(x: Numbers) -> Numbers:
    """Return e to the x."""
    low, high = F(-87.33), F(88.7228)
    inside = np.where(x > low, x, low)
    inside = np.where(inside < high, inside, high)
    n = (inside * F(1.44269504088896341) + F(12582912)) - F(12582912)
    r = (inside - n * F(0.693359375)) - n * F(-2.12194440e-4)
    p = _horner(
        r,
        1.9875691500e-4,
        1.3981999507e-3,
        8.3334519073e-3,
        4.1665795894e-2,
        1.6666665459e-1,
        5.0000001201e-1,
    )
    p = (p * (r * r) + r) + F(1)
    power = (np.minimum(n.astype(np.int32), 127) + 127) << 23
    found = p * power.astype(np.int32).view(F)
    found = np.where(n > 127.5, found + found, found)
    found = np.where(x < low, F(0), found)
    return canonical(np.where(x > high, F(np.inf), np.where(np.isnan(x), F(np.nan), found)).astype(F))


def log(x: Numbers) -> Numbers:
    """Return the natural logarithm."""
    bits = _bits(x)
    size = bits & np.uint32(0x7FFFFFFF)
    e = (bits >> np.uint32(23)).astype(np.int32) - 126
    m = _float((bits & np.uint32(0x007FFFFF)) | np.uint32(0x3F000000))
    small = m < F(0.707106781186547524)
    k = np.where(small, e - 1, e).astype(F)
    f = np.where(small, (m + m) - F(1), m - F(1))
    p = _horner(
        f, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
        -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
    )  # fmt: skip
    z = f * f
    y = ((p * f) * z + k * F(-2.12194440e-4)) - F(0.5) * z
    found = np.where(bits == 0x7F800000, F(np.inf), (f + y) + k * F(0.693359375))
    found = np.where(size < 0x00800000, F(-np.inf), found)
    bad = (size > 0x7F800000) | ((bits >= 0x80000000) & (size >= 0x00800000))
    return canonical(np.where(bad, F(np.nan), found).astype(F))


def tanh(x: Numbers) -> Numbers:
    """Return the hyperbolic tangent."""
    z = x * x
    p = _horner(
        z, -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1
    )
    size = np.abs(x)
    far = F(1) - F(2) * recip(exp(size + size) + F(1))
    far = _float(_bits(far) | (_bits(x) & np.uint32(0x80000000)))
    return canonical(np.where(size < F(0.625), (p * z) * x + x, far))


def sigmoid(x: Numbers) -> Numbers:
    """Return 1 / (1 + exp(-x))."""
    return recip(F(1) + exp(-x))


UNARY: dict[str, Callable[[Numbers], Numbers]] = {
    "copy": canonical,
    "neg": lambda x: canonical(-x),
    "abs": lambda x: canonical(np.abs(x)),
    "relu": lambda x: np.where(x > 0, x, F(0)),
    "exp": exp,
    "log": log,
    "tanh": tanh,
    "sigmoid": sigmoid,
    "sqrt": sqrt,
    "rsqrt": rsqrt,
    "recip": recip,
}
BINARY: dict[str, Callable[[Numbers, Numbers], Numbers]] = {
    "add": lambda x, y: canonical(x + y),
    "sub": lambda x, y: canonical(x - y),
    "mul": lambda x, y: canonical(x * y),
    "div": lambda x, y: canonical(x * recip(y)),
    "min": lambda x, y: canonical(np.where(y < x, y, x)),
    "max": lambda x, y: canonical(np.where(y > x, y, x)),
}

# --- along rows -----------------------------------------------------------------------------------

LANES, CHUNK, RUN, PIECE, PART, LONG = 128, 512, 4, 16384, 2048, 8192


def _larger(a: Numbers, b: Numbers) -> Numbers:
    return np.where(np.isnan(a) | (a > b), a, b)


def _smaller(a: Numbers, b: Numbers) -> Numbers:
    return np.where(np.isnan(a) | (a < b), a, b)


_JOIN: dict[str, Callable[[Numbers, Numbers], Numbers]] = {"sum": np.add, "max": _larger, "min": _smaller}
_EACH: dict[str, tuple[str, Callable[[Numbers], Numbers]]] = {
    "sum": ("sum", lambda x: x),
    "max": ("max", lambda x: x),
    "min": ("min", lambda x: x),
    "abs_sum": ("sum", np.abs),
    "abs_max": ("max", np.abs),
    "square_sum": ("sum", lambda x: x * x),
}


def fold(x: Numbers, join: str, start: Numbers | None = None) -> Numbers:
    """Return the fold of the last axis: 128 lanes in turn, then halves."""
    rows, size = x.shape[:-1], x.shape[-1]
    lanes = np.zeros((*rows, LANES), x.dtype)
    if start is not None:
        lanes[:] = start[..., None]
    for first in range(0, size, LANES):
        part = x[..., first : first + LANES]
        lanes[..., : part.shape[-1]] = _JOIN[join](lanes[..., : part.shape[-1]], part)
    while lanes.shape[-1] > 1:
        half = lanes.shape[-1] // 2
        lanes = _JOIN[join](lanes[..., :half], lanes[..., half:])
    return lanes[..., 0]


def reduce(op: str, x: Numbers, axis: int | None = None) -> Numbers:
    """Return a reduction along an axis, in pieces where it is long."""
    if axis is None:
        return reduce(op, x.reshape(-1), 0)
    moved = np.moveaxis(x, axis, -1)
    join, each = _EACH[op]
    if moved.shape[-1] > PIECE:
        pieces = [reduce(op, moved[..., at : at + PIECE], -1) for at in range(0, moved.shape[-1], PIECE)]
        return reduce(join, np.stack(pieces, -1), -1)
    start = moved[..., 0] if op in ("max", "min") else None
    found = fold(each(moved), join, start)
    return found if x.dtype != F else canonical(found).reshape(found.shape)


def scan(x: Numbers, axis: int = -1, *, reverse: bool = False) -> Numbers:
    """Return the running sum: runs of four, doubling steps in chunks of 512, totals scanned and added."""
    moved = np.moveaxis(x, axis, -1)
    turned = moved[..., ::-1] if reverse else moved
    found = _scan(turned.reshape(-1, turned.shape[-1])).reshape(turned.shape)
    return np.moveaxis(found[..., ::-1] if reverse else found, -1, axis)


def _scan(x: Numbers) -> Numbers:
    rows, size = x.shape
    chunks = -(-size // CHUNK)
    padded = np.zeros((rows, chunks * CHUNK), F)
    padded[:, :size] = x
    runs = padded.reshape(rows, chunks, CHUNK // RUN, RUN)
    total = np.zeros(runs.shape[:3], F)
    for k in range(RUN):
        total = total + runs[..., k]
    step = 1
    while step < CHUNK // RUN:
        total = np.concatenate([total[..., :step], total[..., :-step] + total[..., step:]], -1)
        step *= 2
    before = np.concatenate([np.zeros((rows, chunks, 1), F), total[..., :-1]], -1)
    out = np.empty_like(runs)
    for k in range(RUN):
        before = before + runs[..., k]
        out[..., k] = before
    found = canonical(out).reshape(rows, chunks, CHUNK)
    if chunks > 1:
        totals = _scan(canonical(total[..., -1]))
        found[:, 1:] = totals[:, :-1, None] + found[:, 1:]
    return canonical(found.reshape(rows, -1)[:, :size])


def softmax(x: Numbers, axis: int = -1) -> Numbers:
    """Return exp(x - max) over its sum."""
    rows = np.moveaxis(x, axis, -1)
    powers = exp(rows - fold(rows, "max", rows[..., 0])[..., None])
    return np.moveaxis(canonical(powers * recip(fold(powers, "sum"))[..., None]), -1, axis)


def layer_norm(x: Numbers, scale: Numbers, shift: Numbers, epsilon: float = 1e-5) -> Numbers:
    """Return rows with mean 0 and variance 1, scaled and shifted."""
    per = recip(np.array([x.shape[-1]], F))
    mean = fold(x, "sum") * per
    d = x - mean[..., None]
    by = rsqrt(fold(d * d, "sum") * per + F(epsilon))
    return canonical(d * by[..., None] * scale + shift)


# --- products -------------------------------------------------------------------------------------


def matmul(x: Numbers, y: Numbers) -> Numbers:
    """Return the product, every sum along K in order, in f32; a long K in parts."""
    x, y = x.astype(F), y.astype(F)
    k = x.shape[-1]
    few = (
        int(np.prod(np.broadcast_shapes(x.shape[:-2], y.shape[:-2]))) * x.shape[-2] * y.shape[-1] <= 128 * 128
    )
    part = PART if few and k >= LONG else max(k, 1)
    total: Numbers | None = None
    for first in range(0, k, part):
        mine = _ordered(x[..., first : first + part], y[..., first : first + part, :])
        total = mine if total is None else total + mine
    assert total is not None
    return canonical(total)


def _ordered(x: Numbers, y: Numbers) -> Numbers:
    total = np.zeros((), F)
    for k in range(x.shape[-1]):
        total = total + x[..., :, k, None] * y[..., k, None, :]
    return total


def quantise(x: Numbers, scheme: str) -> tuple[Numbers, Numbers]:
    """Return whole numbers and the step of each row: `ternary`, `int8`, or `absmax`."""
    size = np.abs(x)
    per_row = recip(np.array([x.shape[-1]], F))
    mean = fold(size, "max") if scheme == "absmax" else fold(size, "sum") * per_row
    step = mean * F({"ternary": 1.0, "int8": 0.03937007874015748, "absmax": 0.007874015748031496}[scheme])
    if scheme == "ternary":
        step = mean
    limit = F(1 if scheme == "ternary" else 127)
    per = np.where(step > 0, recip(step), F(0))
    v = x * per[..., None]
    v = np.where(v > -limit, v, -limit)
    v = np.where(v < limit, v, limit)
    return ((v + F(12582912)) - F(12582912)).astype(np.int8), canonical(step)


def matmul_q(x: Numbers, w: Numbers, scheme: str) -> Numbers:
    """Return x @ w.T of whole numbers, scaled."""
    (qx, sx), (qw, sw) = quantise(x, "absmax"), quantise(w, scheme)
    whole = qx.astype(np.int32) @ qw.astype(np.int32).T
    return canonical(whole.astype(F) * sx[:, None] * sw)


def matmul_q_backward(grad: Numbers, x: Numbers, w: Numbers, scheme: str) -> tuple[Numbers, Numbers]:
    """Return the gradients of `x` and of `w`."""
    qw, sw = quantise(w, scheme)
    return matmul(grad, qw.astype(F) * sw[:, None]), matmul(grad.T, x)


# --- moved, random --------------------------------------------------------------------------------


def gather(x: Numbers, index: Numbers) -> Numbers:
    """Return rows by number; zeros where there is none."""
    inside = (index >= 0) & (index < len(x))
    return np.where(inside[:, None], x[np.where(inside, index, 0)], x.dtype.type(0))


def scatter_add(x: Numbers, index: Numbers, out: Numbers) -> Numbers:
    """Return `out` with each row of `x` added, in order."""
    found = out.copy()
    for row, number in zip(x, index, strict=True):
        if 0 <= number < len(found):
            found[number] = found[number] + row
    return canonical(found)


def random_bits(count: int, seed: int, stream: int = 0) -> Numbers:
    """Return words of Philox4x32-10 (Salmon et al., SC'11)."""
    a = np.arange(-(-count // 4), dtype=np.uint64)
    b, c, d = np.zeros_like(a), np.full_like(a, stream), np.zeros_like(a)
    k0, k1 = np.uint64(seed), np.uint64(0)
    low, wide = np.uint64(0xFFFFFFFF), np.uint64(32)
    for _ in range(10):
        p, q = a * np.uint64(0xD2511F53), c * np.uint64(0xCD9E8D57)
        a, b, c, d = (q >> wide) ^ b ^ k0, q & low, (p >> wide) ^ d ^ k1, p & low
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & low, (k1 + np.uint64(0xBB67AE85)) & low
    return np.stack([a, b, c, d], 1).reshape(-1)[:count].astype(np.uint32)


def uniform(count: int, seed: int, stream: int = 0) -> Numbers:
    """Return numbers from 0 to 1."""
    return (random_bits(count, seed, stream) >> np.uint32(8)).astype(F) * F(2.0**-24)


def _cos_turns(u: Numbers) -> Numbers:
    a = np.abs(u - F(0.5))
    flip = a > F(0.25)
    t = np.where(flip, F(0.5) - a, a) * F(6.283185307179586)
    p = _horner(t * t, -2.7557314e-7, 2.4801587e-5, -1.3888889e-3, 4.1666667e-2, -0.5)
    c = p * (t * t) + F(1)
    return np.asarray(np.where(flip, c, -c))


def normal(count: int, seed: int, stream: int = 0) -> Numbers:
    """Return normally distributed numbers (Box and Muller)."""
    bits = random_bits(2 * count, seed, stream) >> np.uint32(8)
    u, turn = (bits[::2] + np.uint32(1)).astype(F) * F(2.0**-24), bits[1::2].astype(F) * F(2.0**-24)
    return canonical(sqrt(F(-2) * log(u)) * _cos_turns(turn))


def cast(x: Numbers, element: str) -> Numbers:
    """Return the elements as another type; bf16 by its bits."""
    if element == "bf16":
        bits = _bits(canonical(x.astype(F))).astype(np.uint64)
        rounded = (bits + np.uint64(0x7FFF) + ((bits >> np.uint64(16)) & np.uint64(1))) >> np.uint64(16)
        return rounded.astype(np.uint16)
    kind = np.dtype({"f32": "f4", "f16": "f2"}.get(element, f"{element[0]}{int(element[1:]) // 8}"))
    if kind.kind == "f":
        return canonical(x.astype(F)).reshape(x.shape).astype(kind)
    if x.dtype.kind != "f":
        return x.astype(kind)
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    wide = np.where(np.isnan(x), 0, np.trunc(x.astype(np.float64)))
    return np.clip(wide, low, high).astype(kind)
