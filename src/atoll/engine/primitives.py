"""The primitives: functions on arrays of one device. Each queues kernels and returns an array; none waits.

What is exact here gives the same bytes on every device (:mod:`atoll.engine.select` has the rules).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from atoll.engine import plans, shapes
from atoll.engine.capabilities import capability, library
from atoll.engine.kernels import pointwise, products, scans
from atoll.engine.kernels import rows as by_row
from atoll.engine.select import Product, Tier, decide_product, note
from atoll.kernels.scalars import CLASSES
from atoll.runtime.array import Array, empty

NARROW = ("f16", "bf16")
#: The types that `cast` takes and gives.
CASTS = ("f32", "f16", "bf16", "i8", "i16", "i32", "u8", "u16", "u32")


def _launch(kernel: Any, launches: list[list[Array]], *scalars: Any) -> None:
    for arrays in launches:
        over, block = shapes.domain(arrays[-1])
        kernel.over(over, device=arrays[-1].device, block=block)(*scalars, *arrays)


def _pointwise(name: str, flat: Any, wide: Any, arrays: list[Array], plan: object) -> None:
    """Launch the flat variant where all arrays lie alike in one row, else the one with four dimensions.

    One launch of the flat variant is kept under `plan` for arrays that lie as these do.
    """
    found = shapes.merged(arrays)
    if found[0].ndim > 1 or any(item.strides != (1,) for item in found):
        _launch(wide, shapes.fours(name, arrays))
        return
    every = shapes.parts(found)
    for part in every:
        launch = flat.over(part[-1].size, device=part[-1].device, block=256)
        launch(*part)
    if len(every) == 1:
        plans.keep(plan, launch, tuple(every[0]), arrays[-1])


# --- elementwise, repeated, converted -------------------------------------------------------------


def cast(x: Array, element: str) -> Array:
    """Return an array's elements as another type, without gaps.

    Floats round half to even; floats become integers toward zero, at most the type's range, NaN as 0;
    integers become narrower ones by their low bits.
    """
    plan, found = plans.run(("cast", element), (x,))
    if found is not None:
        return found
    device = shapes.together("cast", x)
    if element not in CASTS or x.element not in CASTS:
        raise shapes.refused("cast", "does not convert between these types", x.element, element)
    out = empty(x.shape, element, device=device)
    if not x.size:
        return out
    kind = 0 if CLASSES[x.element].scalar.is_float or CLASSES[element].scalar.is_float else 1
    if x.element == element:
        kind = 1
    types = {"T": CLASSES[x.element], "U": CLASSES[element], "kind": kind}
    flat, wide = pointwise.cast_flat.instance(**types), pointwise.cast.instance(**types)
    _pointwise("cast", flat, wide, [x, out], plan)
    return out


def copy(x: Array) -> Array:
    """Return a copy without gaps."""
    return cast(x, x.element)


def broadcast(x: Array, shape: tuple[int, ...]) -> Array:
    """Return a copy repeated to a shape. `x.broadcast(shape)` is the same without a copy."""
    return copy(x.broadcast(shape))


def unary(op: str, x: Array) -> Array:
    """Return one operation of :data:`atoll.engine.kernels.pointwise.UNARY` on each element: floats."""
    plan, found = plans.run((op, 1), (x,))
    if found is not None:
        return found
    device = shapes.together(op, x)
    if op not in pointwise.UNARY:
        raise shapes.refused(op, "is no operation on one operand", f"there are: {', '.join(pointwise.UNARY)}")
    if x.element in NARROW:
        return cast(unary(op, cast(x, "f32")), x.element)
    if x.element != "f32":
        raise shapes.refused(op, "takes floats of 32 bits or less", f"given: {x.element}")
    out = empty(x.shape, "f32", device=device)
    if x.size:
        at = pointwise.UNARY.index(op)
        flat, wide = pointwise.unary_flat.instance(op=at), pointwise.unary.instance(op=at)
        _pointwise(op, flat, wide, [x, out], plan)
    return out


def binary(op: str, x: Array, y: Array) -> Array:
    """Return one operation of :data:`atoll.engine.kernels.pointwise.BINARY`; operands repeat as in NumPy."""
    plan, found = plans.run((op, 2), (x, y))
    if found is not None:
        return found
    device = shapes.together(op, x, y)
    if op not in pointwise.BINARY:
        raise shapes.refused(
            op, "is no operation on two operands", f"there are: {', '.join(pointwise.BINARY)}"
        )
    if (
        x.element != y.element
        or x.element not in ("f32", "i32", *NARROW)
        or (x.element, op) == ("i32", "div")
    ):
        raise shapes.refused(op, "takes two arrays of one type", f"given: {x.element} and {y.element}")
    if x.element in NARROW:
        return cast(binary(op, cast(x, "f32"), cast(y, "f32")), x.element)
    shape = shapes.common(op, x.shape, y.shape)
    out = empty(shape, x.element, device=device)
    if out.size:
        at, arrays = pointwise.BINARY.index(op), [x.broadcast(shape), y.broadcast(shape), out]
        if x.element == "i32":
            _launch(pointwise.binary_int.instance(op=at), shapes.fours(op, arrays))
        else:
            flat, wide = pointwise.binary_flat.instance(op=at), pointwise.binary.instance(op=at)
            _pointwise(op, flat, wide, arrays, plan)
    return out


def full(shape: int | tuple[int, ...], value: float, element: str = "f32", *, device: object = None) -> Array:
    """Return an array of one value."""
    out = empty(shape, element, device=device)
    if out.size:
        _launch(pointwise.fill.instance(T=CLASSES[element]), shapes.fours("full", [out]), value)
    return out


# --- products -------------------------------------------------------------------------------------


def matmul(x: Array, y: Array, *, tier: Tier | str = Tier.EXACT) -> Array:
    """Return the product of matrices, batched by leading axes; the result is f32.

    Args:
        x: (…, m, k), f32, f16 or bf16; `x.transpose(…)` is taken as it lies.
        y: (…, k, n), of the same type.
        tier: `exact`: every sum in f32 along K in order (a long K in parts, joined in order). `device`: the
            vendor's library where the driver has one.
    """
    device = shapes.together("matmul", x, y)
    if x.element != y.element or x.element not in ("f32", *NARROW):
        raise shapes.refused(
            "matmul", "takes two arrays of one float type", f"given: {x.element}, {y.element}"
        )
    if x.ndim < 2 or y.ndim < 2 or x.shape[-1] != y.shape[-2]:
        raise shapes.refused("matmul", "takes (…, m, k) and (…, k, n)", f"given: {x.shape} and {y.shape}")
    lead = shapes.common("matmul", x.shape[:-2], y.shape[:-2]) if x.ndim + y.ndim > 4 else ()
    m, k, n = x.shape[-2], x.shape[-1], y.shape[-1]
    out = empty((*lead, m, n), "f32", device=device)
    batch = math.prod(lead)
    if not out.size:
        return out
    if k == 0:
        return full(out.shape, 0.0, device=device)
    product = Product(batch, m, n, k, x.element)
    able = capability(device)
    if tier == Tier.DEVICE:
        able = replace(able, library=library(device) is not None)
    decision = note(decide_product(product, able, Tier(tier)))
    left, right = _stack(x, lead, batch), _stack(y, lead, batch)
    whole = out.reshape(batch, m, n)
    if decision.variant == "library":
        library(device)(left, right, whole)
        whole.buffer.written()
    elif decision.parts > 1:
        _split(decision.variant, left, right, whole, decision.parts)
    else:
        _product(decision.variant, left, right, whole)
    return out


def _stack(x: Array, lead: tuple[int, ...], batch: int) -> Array:
    """Return an operand as (batch, rows, columns)."""
    wide = x.broadcast((*lead, *x.shape[-2:]))
    joined = shapes.merged([Array(x.buffer, x.element, lead, wide.strides[:-2], x.offset)])[0]
    if joined.ndim > 1:
        wide = copy(wide)
        joined = Array(wide.buffer, wide.element, (batch,), (math.prod(x.shape[-2:]),), 0)
    return Array(
        wide.buffer, x.element, (batch, *x.shape[-2:]), (joined.strides[0], *wide.strides[-2:]), wide.offset
    )


def _product(variant: str, x: Array, y: Array, out: Array) -> None:
    batch, m, n = out.shape
    kind = CLASSES[x.element]
    if variant == "plain":
        products.matmul_plain.instance(T=kind).over((n, m, batch), device=out.device, block=(16, 4, 1))(
            x, y, out
        )
        return
    own = products.OWN.get(variant, 1)
    side = products.TILE * own
    if own > 1:
        inside = not (m % side or n % side or x.shape[2] % products.DEEP)
        kernel = products.matmul_wide.instance(T=kind, own=own, whole=int(inside))
    else:
        kernel = products.matmul_tiled.instance(T=kind)
    groups = -(-n // side) * products.TILE, -(-m // side) * products.TILE, batch
    kernel.over(groups, device=out.device)(x, y, out)


def _split(variant: str, x: Array, y: Array, out: Array, parts: int) -> None:
    """Multiply parts of K apart, then add them up in order."""
    from atoll.engine.select import PART

    batch, m, n = out.shape
    sums = empty((batch, parts, m, n), "f32", device=out.device)
    for part in range(parts):
        inside = slice(part * PART, (part + 1) * PART)
        _product(variant, x[:, :, inside], y[:, inside], sums[:, part])
    products.join_parts.over((n, m, batch), device=out.device, block=(16, 4, 1))(sums, out)


# --- along rows -----------------------------------------------------------------------------------


def _rows(x: Array) -> Array:
    found = shapes.rows(x)
    return copy(x).reshape(-1, x.shape[-1]) if found is None else found


def _over_rows(kernel: Any, count: int, device: Any, *arguments: Any, along: Sequence[int]) -> None:
    """Launch a kernel with a group for each row; the arguments of the numbers `along` have the rows first."""
    parts = shapes.chunks(count, device)
    for part in parts:
        given: Sequence[Any] = arguments
        if len(parts) > 1:
            given = [item[part] if at in along else item for at, item in enumerate(arguments)]
        kernel.over((part.stop - part.start) * by_row.LANES, device=device)(*given)


def _held(kernel: Any, held: Any, size: int) -> Any:
    """Return the kernel that holds a row of such a size in its work-items, or the one that reads it again."""
    each = -(-size // by_row.LANES)
    if each > by_row.HELD[-1]:
        return kernel
    if size % by_row.LANES == 0:
        return held.instance(each=each, whole=1)
    return held.instance(each=next(most for most in by_row.HELD if each <= most), whole=0)


#: A longer axis is reduced in pieces of this many elements, whose results are reduced again.
PIECE = 16384


def reduce(op: str, x: Array, axis: int | None = None) -> Array:
    """Return the sum, max, min, abs_sum, abs_max or square_sum along an axis, or of everything.

    The tree depends on the length alone. f32, narrower floats (the result is f32), or i32 (sum, max, min).
    """
    device = shapes.together(op, x)
    kinds = by_row.REDUCE if x.element != "i32" else by_row.REDUCE[:3]
    if op not in kinds or x.element not in ("f32", "i32", *NARROW):
        raise shapes.refused(
            op, "is no reduction of this type", f"of {x.element} there are: {', '.join(kinds)}"
        )
    if x.element in NARROW:
        x = cast(x, "f32")
    if axis is None:
        flat = x if x.is_contiguous else copy(x)
        return reduce(op, flat.reshape(flat.size), 0)
    moved = shapes.last(x, axis)
    size = moved.shape[-1]
    if size == 0 and op not in ("sum", "abs_sum", "square_sum"):
        raise shapes.refused(op, "has no value along an axis without elements", f"the shape: {x.shape}")
    if size > PIECE:
        whole, rest = divmod(size, PIECE)
        again = {"abs_sum": "sum", "square_sum": "sum", "abs_max": "max"}.get(op, op)
        if not rest and shapes.rows(shapes.pieces(moved, PIECE)) is not None:
            return reduce(again, _reduced(op, shapes.pieces(moved, PIECE), device), -1)
        joined = empty((*moved.shape[:-1], whole + bool(rest)), x.element, device=device)
        pieces = shapes.pieces(moved, PIECE)
        if shapes.rows(pieces) is not None:
            _launch_copy(_reduced(op, pieces, device), joined[..., :whole])
        else:
            for at in range(whole):
                _launch_copy(_reduced(op, pieces[..., at, :], device), joined[..., at])
        if rest:
            _launch_copy(_reduced(op, moved[..., size - rest :], device), joined[..., whole])
        return reduce(again, joined, -1)
    return _reduced(op, moved, device)


def _launch_copy(x: Array, out: Array) -> None:
    if x.size:
        kind = CLASSES[x.element]
        _launch(pointwise.cast.instance(T=kind, U=kind, kind=1), shapes.fours("copy", [x, out]))


def _reduced(op: str, moved: Array, device: Any) -> Array:
    out = empty(moved.shape[:-1], moved.element, device=device)
    if out.size:
        kernel = by_row.reduce if moved.element == "f32" else by_row.reduce_int
        made = kernel.instance(op=by_row.REDUCE.index(op))
        _over_rows(made, out.size, device, _rows(moved), out.reshape(out.size), along=(0, 1))
    return out


def scan(x: Array, axis: int = -1, *, reverse: bool = False) -> Array:
    """Return the running sum along an axis, from its start (prefix) or its end (suffix); f32.

    Chunks of 512, their totals scanned in the same way, then added: the order depends on the length alone. A
    suffix scan is the prefix scan of the axis turned round, to the byte.
    """
    device = shapes.together("scan", x)
    if x.element in NARROW:
        x = cast(x, "f32")
    if x.element != "f32" or x.ndim == 0:
        raise shapes.refused("scan", "takes an array of floats", f"given: {x.element} of {x.shape}")
    moved = shapes.last(x, axis)
    out = empty(moved.shape, "f32", device=device)
    if out.size:
        given, result = _rows(moved), out.reshape(-1, moved.shape[-1])
        turn = slice(None, None, -1 if reverse else 1)
        _scanned(given[:, turn], result[:, turn], device)
    order = list(range(x.ndim - 1))
    order.insert(axis % x.ndim, x.ndim - 1)
    return out.transpose(*order)


def _scanned(x: Array, out: Array, device: Any) -> None:
    if x.shape[1] % scans.FOUR == 0:
        _spanned(x, out, device)
        return
    for first in range(0, x.shape[0], shapes.GROUPS):
        part = slice(first, first + shapes.GROUPS)
        _chunked(x[part], out[part], device)


def _chunked(x: Array, out: Array, device: Any) -> None:
    count, size = x.shape
    chunk = by_row.CHUNK
    sums = empty((count, -(-size // chunk)), "f32", device=device)
    by_row.scan.over((sums.shape[1] * (chunk // by_row.RUN), count), device=device)(x, out, sums)
    if sums.shape[1] > 1:
        totals = empty(sums.shape, "f32", device=device)
        _scanned(sums, totals, device)
        for first in range(0, size, 1 << 21):
            # Parts begin at whole chunks; the first keeps its first chunk as it is.
            begin = max(first, chunk)
            part, before = out[:, begin - chunk : first + (1 << 21)], totals[:, begin // chunk - 1 :]
            by_row.scan_join.over((part.shape[1], count), device=device, block=(64, 1))(before, part)


def _spanned(x: Array, out: Array, device: Any) -> None:
    """Add up rows of whole fours: a row of one span at once, a longer one after the totals of its chunks."""
    count, size = x.shape
    chunks = -(-size // by_row.CHUNK)
    each = next(most for most in (1, 2, 4, scans.MOST) if chunks <= most or most == scans.MOST)
    spans = -(-chunks // each)
    given, result = shapes.pieces(x, scans.FOUR), shapes.pieces(out, scans.FOUR)

    def launch(mode: int, sums: Array) -> None:
        made = scans.span.instance(each=each, mode=mode)
        for part in shapes.chunks(count * spans, device):
            over = (part.stop - part.start) * scans.LANES
            made.over(over, device=device)(given, sums, result, spans, part.start)

    sums = empty((count, chunks), "f32", device=device)
    if chunks <= each:
        launch(scans.ALONE, sums)
        return
    launch(scans.TOTALS, sums)
    before = empty(sums.shape, "f32", device=device)
    _scanned(sums, before, device)
    launch(scans.CARRIED, before)


def softmax(x: Array, axis: int = -1) -> Array:
    """Return exp(x - max) / sum of it, along an axis; f32, or a narrow float rounded once."""
    device = shapes.together("softmax", x)
    if x.element in NARROW:
        return cast(softmax(cast(x, "f32"), axis), x.element)
    if x.element != "f32" or x.ndim == 0:
        raise shapes.refused("softmax", "takes an array of floats", f"given: {x.element} of {x.shape}")
    moved = shapes.last(x, axis)
    out = empty(moved.shape, "f32", device=device)
    if out.size:
        result = out.reshape(-1, moved.shape[-1])
        kernel = _held(by_row.softmax, by_row.softmax_held, result.shape[1])
        _over_rows(kernel, result.shape[0], device, _rows(moved), result, along=(0, 1))
    order = list(range(x.ndim - 1))
    order.insert(axis % x.ndim, x.ndim - 1)
    return out.transpose(*order)


def layer_norm(x: Array, scale: Array, shift: Array, epsilon: float = 1e-5) -> Array:
    """Return rows of the last axis with mean 0 and variance 1, scaled and shifted; f32, or rounded once."""
    device = shapes.together("layer_norm", x, scale, shift)
    if x.element in NARROW:
        return cast(layer_norm(cast(x, "f32"), cast(scale, "f32"), cast(shift, "f32"), epsilon), x.element)
    if x.element != "f32" or not scale.shape == shift.shape == x.shape[-1:]:
        raise shapes.refused(
            "layer_norm", "takes rows, and a scale and a shift for each column",
            f"given: {x.element} {x.shape}, {scale.shape} and {shift.shape}",
        )  # fmt: skip
    out = empty(x.shape, "f32", device=device)
    if out.size:
        result, given = out.reshape(-1, x.shape[-1]), _rows(x)
        arguments = given, scale, shift, float(epsilon), result
        kernel = _held(by_row.layer_norm, by_row.layer_norm_held, result.shape[1])
        _over_rows(kernel, result.shape[0], device, *arguments, along=(0, 4))
    return out


# --- moved ----------------------------------------------------------------------------------------


def transpose(x: Array) -> Array:
    """Return a copy with the last two axes turned. `x.T` is the same without a copy."""
    device = shapes.together("transpose", x)
    if x.ndim < 2:
        raise shapes.refused("transpose", "takes two dimensions or more", f"given: {x.shape}")
    out = empty((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.element, device=device)
    if out.size:
        batch = math.prod(x.shape[:-2])
        tile, step = pointwise.TILE, pointwise.STEP
        stack = _stack(x, x.shape[:-2], batch)
        sizes = -(-x.shape[-1] // tile) * tile, -(-x.shape[-2] // tile) * step, batch
        whole = int(x.shape[-1] % tile == 0 and x.shape[-2] % tile == 0)
        kernel = pointwise.transpose.instance(T=CLASSES[x.element], whole=whole)
        kernel.over(sizes, device=device)(stack, out.reshape(batch, *out.shape[-2:]))
    return out


def gather(x: Array, index: Array) -> Array:
    """Return rows of a matrix by number (i32); a row that does not exist is zeros."""
    device = shapes.together("gather", x, index)
    if x.ndim != 2 or index.element != "i32" or index.ndim != 1:
        raise shapes.refused(
            "gather", "takes a matrix and numbers of rows in i32", f"given: {x!r} and {index!r}"
        )
    out = empty((index.size, x.shape[1]), x.element, device=device)
    if out.size:
        kernel = pointwise.gather.instance(T=CLASSES[x.element])
        over = out.shape[1], out.shape[0]
        kernel.over(over, device=device, block=shapes.block(out.shape[0]))(x, index, out)
    return out


def scatter_add(x: Array, index: Array, out: Array) -> Array:
    """Add each row of `x` to the row of `out` with its number, in the order of `x`; return `out`.

    Numbers that are no row of `out` are left out. The order is made on the host, from a copy of the numbers,
    so that no sum depends on which work-item comes first.
    """
    import numpy as np

    from atoll.runtime.array import array

    device = shapes.together("scatter_add", x, index, out)
    fits = (
        x.ndim == out.ndim == 2
        and index.ndim == 1
        and index.size == x.shape[0]
        and x.shape[1] == out.shape[1]
    )
    if not fits or index.element != "i32" or x.element != "f32" or out.element != "f32":
        raise shapes.refused(
            "scatter_add", "takes rows of f32, their numbers in i32, and a matrix", f"{x!r}, {index!r}"
        )
    numbers = index.numpy()
    order = np.argsort(numbers, kind="stable").astype(np.int32)
    starts = np.searchsorted(numbers[order], np.arange(out.shape[0] + 1)).astype(np.int32)
    if out.size and index.size:
        rows, edges = array(order, device=device), array(starts, device=device)
        over = out.shape[1], out.shape[0]
        block = shapes.block(out.shape[0])
        pointwise.scatter_add.over(over, device=device, block=block)(x, rows, edges, out)
    return out


# --- random ---------------------------------------------------------------------------------------


def random_bits(count: int, seed: int, stream: int = 0, *, device: object = None) -> Array:
    """Return words of Philox4x32-10: each depends on its place, the seed and the stream alone."""
    out = empty(count, "u32", device=device)
    if count:
        pointwise.philox.over(-(-count // 4), device=out.device)(seed & 0xFFFFFFFF, stream & 0xFFFFFFFF, out)
    return out


def uniform(shape: int | tuple[int, ...], seed: int, stream: int = 0, *, device: object = None) -> Array:
    """Return numbers from 0 to 1, without 1, that depend on their place, the seed and the stream alone."""
    out = empty(shape, "f32", device=device)
    if out.size:
        bits = random_bits(out.size, seed, stream, device=out.device)
        pointwise.uniform.over(out.size, device=out.device)(bits, out.reshape(out.size))
    return out


def normal(shape: int | tuple[int, ...], seed: int, stream: int = 0, *, device: object = None) -> Array:
    """Return normally distributed numbers that depend on their place, the seed and the stream alone."""
    out = empty(shape, "f32", device=device)
    if out.size:
        bits = random_bits(2 * out.size, seed, stream, device=out.device)
        pointwise.normal.over(out.size, device=out.device)(bits, out.reshape(out.size))
    return out
