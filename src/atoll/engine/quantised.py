"""How are weights of few bits multiplied? Quantised once for each write of them, kept by write epoch.

The product of whole numbers is an integer, so it is exact on every device; a step for each row of each
operand scales it. The backward pass takes the quantised weights for the input's gradient and passes that of
the weights straight through (the straight-through estimator).
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

from atoll.engine import shapes
from atoll.engine.capabilities import capability, library
from atoll.engine.kernels import products
from atoll.engine.kernels import rows as by_row
from atoll.engine.kernels import words as by_words
from atoll.engine.primitives import _over_rows, matmul
from atoll.engine.select import Decision, Tier, note
from atoll.errors import DeviceError
from atoll.runtime.array import Array, empty

#: What weights become, and the number of the scheme in :func:`atoll.engine.kernels.rows.quantise`.
SCHEMES = {"ternary": 0, "int8": 1}
_ABSMAX = 2
#: i8 by i8 adds up in an i32 as long as K is not longer than this.
LONGEST = 131071
#: Up to so many rows, work-groups make results of one row.
FEW = 16
#: From so many products on, the vendor's library is looked for.
LIBRARY = 1 << 27


@dataclass(frozen=True, slots=True)
class Quantised:
    """Whole numbers (rows, k) and the step of each row; `packed` has sixteen ternary ones a word."""

    values: Array
    steps: Array
    packed: Array | None = None


@dataclass(slots=True)
class _Kept:
    epoch: int
    made: Quantised


#: What was made of weights, by their buffer, then by where in it they lie and the scheme.
_kept: weakref.WeakKeyDictionary[Any, dict[Any, _Kept]] = weakref.WeakKeyDictionary()


def quantise(x: Array, scheme: int) -> Quantised:
    """Return rows as whole numbers and a step each; see :func:`atoll.engine.kernels.rows.quantise`."""
    device = shapes.together("quantise", x)
    values, steps = empty(x.shape, "i8", device=device), empty(x.shape[0], "f32", device=device)
    kernel = by_row.quantise.instance(scheme=scheme)
    _over_rows(kernel, x.shape[0], device, x, steps, values, along=(0, 1, 2))
    if scheme != SCHEMES["ternary"]:
        return Quantised(values, steps)
    packed = empty((x.shape[0], -(-x.shape[1] // 16)), "u32", device=device)
    over, block = (packed.shape[1], packed.shape[0]), shapes.block(packed.shape[0])
    by_row.pack_ternary.over(over, device=device, block=block)(values, packed)
    return Quantised(values, steps, packed)


def weights(w: Array, scheme: str) -> Quantised:
    """Return quantised weights, made anew where the weights' buffer was written since.

    Raises:
        LaunchError: Where there is no such scheme, or the weights are no matrix of f32.
    """
    if scheme not in SCHEMES:
        raise shapes.refused("matmul_q", f"has no scheme `{scheme}`", f"there are: {', '.join(SCHEMES)}")
    if w.ndim != 2 or w.element != "f32" or not 0 < w.shape[1] <= LONGEST:
        raise shapes.refused("matmul_q", "takes weights of f32 in two dimensions", f"given: {w!r}")
    known = _kept.setdefault(w.buffer, {})
    key = w.offset, w.shape, w.strides, scheme
    epoch = w.buffer.epoch
    found = known.get(key)
    if found is None or found.epoch != epoch:
        found = known[key] = _Kept(epoch, quantise(w, SCHEMES[scheme]))
    return found.made


def matmul_q(x: Array, w: Array, scheme: str = "int8") -> Array:
    """Return x @ w.T with quantised weights, and rows of `x` quantised by their largest absolute value.

    Args:
        x: (m, k) of f32.
        w: The weights, (n, k) of f32; what is made of them is kept until they are written.
        scheme: `int8` or `ternary`, with a step for each row by the mean of its absolute values.
    """
    device = shapes.together("matmul_q", x, w)
    if x.ndim != 2 or x.element != "f32" or x.shape[1] != w.shape[-1]:
        raise shapes.refused("matmul_q", "takes (m, k) and (n, k) of f32", f"given: {x!r} and {w!r}")
    made = weights(w, scheme)
    out = empty((x.shape[0], w.shape[0]), "f32", device=device)
    if not out.size:
        return out
    given = quantise(x, _ABSMAX)
    if not _by_words(given, made, out, device):
        over, block = (out.shape[1], out.shape[0]), shapes.block(out.shape[0])
        if made.packed is None:
            kernel, second = products.matmul_q, made.values
        else:
            kernel, second = products.matmul_ternary, made.packed
        kernel.over(over, device=device, block=block)(given.values, second, given.steps, made.steps, out)
    return out


def _words(values: Array, *shape: int) -> Array:
    """Return whole rows of numbers of eight bits as words of four, over the same buffer."""
    return Array(values.buffer, "u32", shape)


def _by_words(given: Quantised, made: Quantised, out: Array, device: Any) -> bool:
    """Multiply words of four numbers, where rows are whole words; tell whether that was done."""
    (m, n), k, able = out.shape, given.values.shape[1], capability(device)
    few = m <= FEW
    if k % 4 or not able.shares or able.group_size < by_words.SIDE**2 or (few and able.software):
        return False
    if not few and n % 4 == 0 and m * n * k >= LIBRARY and _by_library(given, made, out, device):
        return True
    x, w = _words(given.values, m, k // 4), _words(made.values, n, k // 4)
    if not few:
        side = by_words.SIDE
        over = -(-n // by_words.TILE) * side, -(-m // by_words.TILE) * side
        by_words.matmul_words.over(over, device=device)(x, w, given.steps, made.steps, out)
        return _noted("words", f"there are more than {FEW} rows")
    kernel = by_words.row_words
    if made.packed is not None and k % 16 == 0:
        kernel, x, w = by_words.row_ternary, _words(given.values, m, k // 16, 4), made.packed
    parts = shapes.chunks(n, device)
    for part in parts:
        over = -(-(part.stop - part.start) // by_words.ROWS) * by_words.LANES, m
        taken = (w, made.steps, out) if len(parts) == 1 else (w[part], made.steps[part], out[:, part])
        kernel.over(over, device=device)(x, taken[0], given.steps, *taken[1:])
    return _noted("row", f"there are {FEW} rows or fewer")


def _noted(variant: str, reason: str) -> bool:
    note(Decision("matmul_q", variant, Tier.EXACT, reason))
    return True


def _by_library(given: Quantised, made: Quantised, out: Array, device: Any) -> bool:
    """Multiply by the vendor's library: sums of integers, so exact; then scale them where they lie.

    Tell whether that was done: it may not be there, or not have such a product.
    """
    multiply = library(device)
    if multiply is None:
        return False
    sums = Array(out.buffer, "i32", out.shape)
    x, w = (item.reshape(1, *item.shape) for item in (given.values, made.values))
    try:
        multiply(x, w.transpose(0, 2, 1), sums.reshape(1, *out.shape))
    except DeviceError:
        return False
    out.buffer.written()
    over, block = (out.shape[1], out.shape[0]), shapes.block(out.shape[0])
    by_words.scaled.over(over, device=device, block=block)(sums, given.steps, made.steps, out)
    return _noted("library", "sums of integers are exact in every order")


def matmul_q_backward(grad: Array, x: Array, w: Array, scheme: str = "int8") -> tuple[Array, Array]:
    """Return the gradients of `x` and of `w` from the gradient of :func:`matmul_q`'s result."""
    device = shapes.together("matmul_q_backward", grad, x, w)
    made = weights(w, scheme)
    wide = empty(w.shape, "f32", device=device)
    over = wide.shape[1], wide.shape[0]
    block = shapes.block(wide.shape[0])
    products.unquantise.over(over, device=device, block=block)(made.values, made.steps, wide)
    return matmul(grad, wide), matmul(grad.T, x)
