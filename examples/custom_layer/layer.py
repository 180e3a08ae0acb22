"""A layer of one's own as one kernel: RMS norm, a gate by the sigmoid, rotated positions.

`layer` is an ordinary function of arrays. `atoll.fuse` traces it; what runs is one kernel for every shape.
"""

from __future__ import annotations

import atoll
from atoll.engine import fused as f


def layer(x, gate, weight, cos, sin, epsilon):
    """Normalise each row, gate it, then turn pairs of halves by position."""
    mean = f.row_mean(x * x)
    normal = x * f.rsqrt(mean + epsilon) * weight
    gated = normal * gate * f.sigmoid(gate)
    return gated * f.repeat_rows(cos) + f.rotate_half(gated) * f.repeat_rows(sin)


fused = atoll.fuse(layer)
