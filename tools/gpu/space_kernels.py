"""A kernel in Python that space.py runs beside the compiled function."""

from __future__ import annotations

import atoll
from atoll import f32, kernel, view


@kernel
def plus_one(x: view[f32]) -> None:
    """Add one to every element."""
    i = atoll.global_id(0)
    if i < x.size:
        x[i] = x[i] + 1.0
