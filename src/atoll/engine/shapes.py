"""How do arrays of any shape reach kernels of few dimensions? By their steps; a copy is the last way."""

from __future__ import annotations

import math
from typing import Any

from atoll.diagnostics import Diagnostic
from atoll.errors import LaunchError
from atoll.kernels.resident import elsewhere
from atoll.runtime.array import Array

#: The most work-groups in one dimension that every device runs.
GROUPS = 65535
#: The most of a launch whatever a device states: 256 work-items of each are counted in 31 bits.
MOST = 1 << 22
#: A long flat array is launched as rows of this many elements.
ROW = 4096


def refused(primitive: str, message: str, *notes: str, hint: str | None = None) -> LaunchError:
    """Return the error of operands that do not fit a primitive."""
    return LaunchError(Diagnostic(code="ATL0822", message=f"`{primitive}` {message}", notes=notes, hint=hint))


def together(primitive: str, *operands: Any) -> Any:
    """Return the device that the operands share.

    Raises:
        LaunchError: Where one is no array, or lies on another device.
    """
    first = operands[0]
    for number, operand in enumerate(operands):
        if not isinstance(operand, Array):
            given = type(operand).__name__
            raise refused(
                primitive, f"takes arrays of a device, not a {given}", hint="make one with `atoll.array(…)`"
            )
        if operand.device is not first.device:
            raise elsewhere(
                f"operand {number + 1} of {primitive}", str(operand.device.info), str(first.device.info)
            )
    return first.device


def common(primitive: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that shapes repeat to, by NumPy's rule."""
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    found = []
    for sizes in zip(*padded, strict=True):
        wide = {size for size in sizes if size != 1}
        if len(wide) > 1:
            listed = (f"operand {at + 1}: {shape}" for at, shape in enumerate(shapes))
            raise refused(primitive, "has operands whose shapes do not fit together", *listed)
        found.append(wide.pop() if wide else 1)
    return tuple(found)


def merged(arrays: list[Array]) -> list[Array]:
    """Return arrays of one shape with neighbouring dimensions joined wherever all of them allow it."""
    shape = arrays[0].shape
    keep: list[tuple[int, list[int]]] = []
    for axis, size in enumerate(shape):
        steps = [item.strides[axis] for item in arrays]
        if size == 1:
            continue
        if keep and all(outer == step * size for outer, step in zip(keep[-1][1], steps, strict=True)):
            keep[-1] = (keep[-1][0] * size, steps)
        else:
            keep.append((size, steps))
    sizes = tuple(size for size, _ in keep) or (1,)
    rows = [tuple(steps[at] for _, steps in keep) or (1,) for at in range(len(arrays))]
    return [
        Array(item.buffer, item.element, sizes, row, item.offset)
        for item, row in zip(arrays, rows, strict=True)
    ]


def fours(primitive: str, arrays: list[Array]) -> list[list[Array]]:
    """Return arrays of one shape as four dimensions: one launch each, a long row as rows and a rest."""
    found = merged(arrays)
    if found[0].ndim > 4:
        raise refused(
            primitive, "has operands of more than four dimensions that lie apart", f"{arrays[0].shape}"
        )
    if found[0].ndim == 1 and found[0].size > ROW * 64:
        whole = found[0].size // ROW * ROW
        body = [item[:whole] for item in found]
        rows = [
            Array(
                item.buffer,
                item.element,
                (whole // ROW, ROW),
                (item.strides[0] * ROW, item.strides[0]),
                item.offset,
            )
            for item in body
        ]
        rest = [item[whole:] for item in found]
        return [filled(rows)] + ([filled(rest)] if rest[0].size else [])
    return [filled(found)]


def filled(arrays: list[Array]) -> list[Array]:
    """Return arrays with dimensions of one element in front; a step of 0 would look like a repetition."""
    found = []
    for item in arrays:
        missing = 4 - item.ndim
        step = (item.shape[0] * item.strides[0] if item.ndim else 0) or 1
        shape, strides = (1,) * missing + item.shape, (step,) * missing + item.strides
        found.append(Array(item.buffer, item.element, shape, strides, item.offset))
    return found


def most_groups(device: Any) -> int:
    """Return how many work-groups a launch has at most in its first dimension, on a device."""
    return min(int(device.info.limits.get("groups.0", MOST)), MOST)


def parts(flat: list[Array]) -> list[list[Array]]:
    """Return arrays of one dimension in parts for a launch each, where a device has few groups."""
    size, most = flat[-1].size, most_groups(flat[-1].device) * 256
    if size <= most or flat[-1].device.memory:
        return [flat]
    return [[item[at : at + most] for item in flat] for at in range(0, size, most)]


def domain(out: Array) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Return the domain and the block of a launch with a work-item for each element of four dimensions."""
    a, b, rows, cols = out.shape
    return (cols, rows, a * b), ((64, 1, 1) if rows == 1 else (16, _rows_at_once(rows, 4), 1))


def block(rows: int) -> tuple[int, int]:
    """Return the block of a launch with a work-item for each element of so many rows."""
    return 64, _rows_at_once(rows, 1)


def _rows_at_once(rows: int, least: int) -> int:
    """Return how many rows a group takes, so that no device has too many groups up to a million rows."""
    at_once = least
    while at_once < 16 and -(-rows // at_once) > GROUPS:
        at_once *= 2
    return at_once


def last(x: Array, axis: int) -> Array:
    """Return an array with one axis moved to the end."""
    axis %= x.ndim
    return x.transpose(*(item for item in range(x.ndim) if item != axis), axis)


def rows(x: Array) -> Array | None:
    """Return an array as rows of its last axis, over the same buffer, or None where only a copy is that."""
    lead = Array(x.buffer, x.element, x.shape[:-1], x.strides[:-1], x.offset)
    joined = merged([lead])[0]
    if joined.ndim > 1:
        return None
    count = math.prod(x.shape[:-1])
    return Array(x.buffer, x.element, (count, x.shape[-1]), (joined.strides[0], x.strides[-1]), x.offset)


def pieces(x: Array, size: int) -> Array:
    """Return the whole pieces of the last axis as an axis of their own: (…, pieces, size), nothing copied."""
    step = x.strides[-1]
    shape = (*x.shape[:-1], x.shape[-1] // size, size)
    return Array(x.buffer, x.element, shape, (*x.strides[:-1], step * size, step), x.offset)


def chunks(count: int, device: Any) -> list[slice]:
    """Return the parts of so many rows that are launched at once, a work-group for each."""
    most = most_groups(device)
    return [slice(first, min(first + most, count)) for first in range(0, count, most)]
