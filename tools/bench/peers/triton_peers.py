"""The jobs of examples/kernels as a Triton programmer writes them; measured by tools/bench/kernels_on_device.py."""
# mypy: ignore-errors
# ruff: noqa

import triton
import triton.language as tl


@triton.jit
def saxpy_kernel(a, x, y, out, n, B: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    keep = at < n
    tl.store(out + at, a * tl.load(x + at, mask=keep) + tl.load(y + at, mask=keep), mask=keep)


@triton.jit
def add_kernel(x, y, out, n, B: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    keep = at < n
    tl.store(out + at, tl.load(x + at, mask=keep) + tl.load(y + at, mask=keep), mask=keep)


@triton.jit
def tanh(x):
    return 2 * tl.sigmoid(2 * x) - 1


@triton.jit
def gelu_kernel(x, out, n, B: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    keep = at < n
    v = tl.load(x + at, mask=keep)
    tl.store(out + at, 0.5 * v * (1 + tanh(0.7978845608028654 * (v + 0.044715 * v * v * v))), mask=keep)


@triton.jit
def gelu_back_kernel(x, g, out, n, B: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    keep = at < n
    v = tl.load(x + at, mask=keep)
    s = tanh(0.7978845608028654 * (v + 0.044715 * v * v * v))
    inner = 0.7978845608028654 * (1 + 3 * 0.044715 * v * v)
    slope = 0.5 * (1 + s) + 0.5 * v * (1 - s * s) * inner
    tl.store(out + at, tl.load(g + at, mask=keep) * slope, mask=keep)


@triton.jit
def adamw_kernel(rate, beta1, beta2, decay, fix1, fix2, g, m, v, p, n, B: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    keep = at < n
    grad = tl.load(g + at, mask=keep)
    a = beta1 * tl.load(m + at, mask=keep) + (1 - beta1) * grad
    b = beta2 * tl.load(v + at, mask=keep) + (1 - beta2) * grad * grad
    tl.store(m + at, a, mask=keep)
    tl.store(v + at, b, mask=keep)
    old = tl.load(p + at, mask=keep)
    tl.store(p + at, old - rate * (a / fix1 / (tl.sqrt(b / fix2) + 1e-8) + decay * old), mask=keep)


@triton.jit
def transpose_kernel(x, out, rows, columns, B: tl.constexpr):
    r = tl.program_id(1) * B + tl.arange(0, B)
    c = tl.program_id(0) * B + tl.arange(0, B)
    tile = tl.load(x + r[:, None].to(tl.int64) * columns + c[None, :])
    tl.store(out + c[:, None].to(tl.int64) * rows + r[None, :], tl.trans(tile))


@triton.jit
def encoder_kernel(tokens, words, places, out, t, c, B: tl.constexpr):
    row = tl.program_id(0)
    k = tl.arange(0, B)
    keep = k < c
    token = tl.load(tokens + row)
    value = tl.load(words + token.to(tl.int64) * c + k, mask=keep)
    value += tl.load(places + (row % t) * c + k, mask=keep)
    tl.store(out + row.to(tl.int64) * c + k, value, mask=keep)


@triton.jit
def sum_kernel(x, sums, n, B: tl.constexpr, R: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * R
    at = (first + tl.arange(0, R))[:, None] * B + tl.arange(0, B)[None, :]
    tl.store(sums + first + tl.arange(0, R), tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=1))


@triton.jit
def scan_kernel(x, out, sums, n, B: tl.constexpr, R: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * R
    at = (first + tl.arange(0, R))[:, None] * B + tl.arange(0, B)[None, :]
    v = tl.load(x + at, mask=at < n, other=0)
    tl.store(out + at, tl.cumsum(v, axis=1) - v, mask=at < n)
    tl.store(sums + first + tl.arange(0, R), tl.sum(v, axis=1))


@triton.jit
def norm_kernel(x, w, b, out, mean, rstd, c, B: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    k = tl.arange(0, B)
    keep = k < c
    v = tl.load(x + row * c + k, mask=keep, other=0.0)
    m = tl.sum(v, axis=0) / c
    d = tl.where(keep, v - m, 0.0)
    r = 1 / tl.sqrt(tl.sum(d * d, axis=0) / c + 1e-5)
    tl.store(out + row * c + k, d * r * tl.load(w + k, mask=keep) + tl.load(b + k, mask=keep), mask=keep)
    tl.store(mean + row, m)
    tl.store(rstd + row, r)


@triton.jit
def norm_back_kernel(x, w, g, mean, rstd, to_x, to_w, to_b, c, B: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    k = tl.arange(0, B)
    keep = k < c
    up = tl.load(g + row * c + k, mask=keep, other=0.0)
    m, r = tl.load(mean + row), tl.load(rstd + row)
    normal = tl.where(keep, (tl.load(x + row * c + k, mask=keep, other=0.0) - m) * r, 0.0)
    pulled = tl.load(w + k, mask=keep, other=0.0) * up
    plain, weighted = tl.sum(pulled, axis=0) / c, tl.sum(pulled * normal, axis=0) / c
    old = tl.load(to_x + row * c + k, mask=keep, other=0.0)
    tl.store(to_x + row * c + k, old + (pulled - plain - normal * weighted) * r, mask=keep)
    tl.atomic_add(to_w + k, up * normal, mask=keep)
    tl.atomic_add(to_b + k, up, mask=keep)


@triton.jit
def softmax_kernel(x, out, c, B: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    k = tl.arange(0, B)
    keep = k < c
    v = tl.load(x + row * c + k, mask=keep, other=float("-inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * c + k, e / tl.sum(e, axis=0), mask=keep)


@triton.jit
def classifier_kernel(x, targets, scale, losses, c, B: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    k = tl.arange(0, B)
    keep = k < c
    v = tl.load(x + row * c + k, mask=keep, other=float("-inf"))
    peak = tl.max(v, axis=0)
    e = tl.exp(v - peak)
    total = tl.sum(e, axis=0)
    target = tl.load(targets + row)
    tl.store(losses + row, tl.log(total) - (tl.load(x + row * c + target) - peak))
    tl.debug_barrier()
    tl.store(x + row * c + k, (e / total - tl.where(k == target, 1.0, 0.0)) * scale, mask=keep)


@triton.jit
def matmul_kernel(a, b, out, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    r = tl.program_id(1) * BM + tl.arange(0, BM)
    c = tl.program_id(0) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for f in range(0, k, BK):
        i = f + tl.arange(0, BK)
        acc += tl.dot(
            tl.load(a + r[:, None] * k + i[None, :]),
            tl.load(b + i[:, None] * n + c[None, :]),
            input_precision="ieee",
        )
    tl.store(out + r[:, None] * n + c[None, :], acc)


@triton.jit
def stencil_kernel(x, out, height, width, B: tl.constexpr):
    r = tl.program_id(1)
    c = tl.program_id(0) * B + tl.arange(0, B)
    at = r.to(tl.int64) * width + c
    keep = c < width
    inner = keep & (c > 0) & (c < width - 1) & (r > 0) & (r < height - 1)
    v = tl.load(x + at - width, mask=inner, other=0.0) + tl.load(x + at + width, mask=inner, other=0.0)
    v += tl.load(x + at - 1, mask=inner, other=0.0) + tl.load(x + at + 1, mask=inner, other=0.0)
    edge = tl.load(x + at, mask=keep & (inner == 0), other=0.0)
    tl.store(out + at, tl.where(inner, v * 0.25, edge), mask=keep)


@triton.jit
def philox_kernel(key0, key1, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    zero = tl.zeros((B,), dtype=tl.uint32)
    a, b, c, d = i.to(tl.uint32), zero, zero, zero
    left = (tl.zeros((B,), dtype=tl.int64) + key0).to(tl.uint32)
    right = (tl.zeros((B,), dtype=tl.int64) + key1).to(tl.uint32)
    high, low = tl.full((B,), 0xCD9E8D57, tl.uint32), tl.full((B,), 0xD2511F53, tl.uint32)
    for _ in tl.static_range(10):
        na = tl.umulhi(high, c) ^ b ^ left
        nb = high * c
        nc = tl.umulhi(low, a) ^ d ^ right
        nd = low * a
        a, b, c, d = na, nb, nc, nd
        left += tl.full((B,), 0x9E3779B9, tl.uint32)
        right += tl.full((B,), 0xBB67AE85, tl.uint32)
    keep = i < n
    at = i.to(tl.int64) * 4
    tl.store(out + at, a, mask=keep)
    tl.store(out + at + 1, b, mask=keep)
    tl.store(out + at + 2, c, mask=keep)
    tl.store(out + at + 3, d, mask=keep)


def _whole(size):
    return triton.next_power_of_2(size)


def _flat(kernel, *given, n, block=1024):
    kernel[(triton.cdiv(n, block),)](*given, n, B=block)


def saxpy(a, x, y, out):
    _flat(saxpy_kernel, a, x, y, out, n=out.numel())


def residual_add(x, y, out):
    _flat(add_kernel, x, y, out, n=out.numel())


def gelu_forward(x, out):
    _flat(gelu_kernel, x, out, n=out.numel())


def gelu_backward(x, g, out):
    _flat(gelu_back_kernel, x, g, out, n=out.numel())


def transpose(x, out):
    transpose_kernel[(x.shape[1] // 64, x.shape[0] // 64)](x, out, x.shape[0], x.shape[1], B=64)


def encoder_forward(tokens, words, places, out):
    c = out.shape[2]
    encoder_kernel[(tokens.numel(),)](tokens, words, places, out, tokens.shape[1], c, B=_whole(c))


def block_sum(x, sums):
    sum_kernel[(sums.numel() // 4,)](x, sums, x.numel(), B=1024, R=4)


def exclusive_scan(x, out, sums):
    scan_kernel[(sums.numel() // 4,)](x, out, sums, x.numel(), B=1024, R=4)


def layernorm_forward(x, w, b, out, mean, rstd):
    norm_kernel[(x.shape[0],)](x, w, b, out, mean, rstd, x.shape[1], B=_whole(x.shape[1]))


def layernorm_backward(x, w, g, mean, rstd, to_x, to_w, to_b):
    norm_back_kernel[(x.shape[0],)](x, w, g, mean, rstd, to_x, to_w, to_b, x.shape[1], B=_whole(x.shape[1]))


def softmax(x, out):
    softmax_kernel[(x.shape[0],)](x, out, x.shape[1], B=_whole(x.shape[1]))


def classifier(logits, targets, scale, losses):
    classifier_kernel[(logits.shape[0],)](
        logits, targets, scale, losses, logits.shape[1], B=_whole(logits.shape[1])
    )


def matmul(a, b, out):
    m, n, k = a.shape[0], b.shape[1], a.shape[1]
    matmul_kernel[(n // 64, m // 64)](a, b, out, m, n, k, BM=64, BN=64, BK=16)


matmul_naive = matmul_tiled = matmul_blocked = matmul


def stencil(x, out):
    stencil_kernel[(triton.cdiv(x.shape[1], 1024), x.shape[0])](x, out, x.shape[0], x.shape[1], B=1024)


def philox(key0, key1, out):
    philox_kernel[(triton.cdiv(out.shape[0], 256),)](key0, key1, out, out.shape[0], B=256)
