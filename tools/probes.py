"""One small kernel for each thing that KIR has itself: what `tools/intrinsics.py` asks every emitter for."""

from __future__ import annotations

import atoll
from atoll import f32, i32, kernel, view


@kernel
def atomic_add(x: view[i32], y: view[f32]) -> None:
    """Add, to integers and to floats."""
    atoll.atomic_add(x, 0, 1)
    atoll.atomic_add(y, 0, 1.0)


@kernel
def atomic_min_max(x: view[i32]) -> None:
    """Take the less and the greater."""
    atoll.atomic_min(x, 0, 1)
    atoll.atomic_max(x, 0, 1)


@kernel
def atomic_compare_exchange(x: view[i32]) -> None:
    """Swap where it is what is expected, ordered."""
    atoll.atomic_compare_exchange(x, 0, 1, 2, order="acq_rel", scope="device")


@kernel(block=64)
def shuffle(x: view[i32]) -> None:
    """Exchange values."""
    i = atoll.global_id(0)
    x[i] = atoll.shuffle_xor(x[i], 1)


@kernel(block=64)
def subgroup_all(x: view[i32]) -> None:
    """Vote."""
    i = atoll.global_id(0)
    if atoll.subgroup_all(x[i] > 0):
        x[i] = 0


@kernel(block=64)
def subgroup_add(x: view[f32]) -> None:
    """Sum over a sub-group."""
    i = atoll.global_id(0)
    x[i] = atoll.subgroup_add(x[i])


@kernel(block=64)
def barrier(x: view[f32]) -> None:
    """Wait for the group, by way of shared memory."""
    tile = atoll.shared(f32, 64)
    i = atoll.local_id(0)
    tile[i] = x[i]
    atoll.barrier()
    x[i] = tile[63 - i]


@kernel
def fence(x: view[i32]) -> None:
    """Order memory."""
    x[0] = 1
    atoll.fence(scope="device")
    x[1] = 1


@kernel
def rsqrt(x: view[f32]) -> None:
    """Return one over the root."""
    x[0] = atoll.rsqrt(x[0])


@kernel
def exp2(x: view[f32]) -> None:
    """Return two to the x."""
    x[0] = atoll.exp2(x[0])


@kernel
def sin(x: view[f32]) -> None:
    """Return the sine."""
    x[0] = atoll.sin(x[0])


@kernel
def cos(x: view[f32]) -> None:
    """Return the cosine."""
    x[0] = atoll.cos(x[0])


@kernel
def fma(x: view[f32]) -> None:
    """Multiply and add, rounded once."""
    x[0] = atoll.fma(x[0], x[1], x[2])
