"""What is the standard set on the processor? The portable bodies, which the oracle runs too."""

from __future__ import annotations

from atoll.kernels.intrinsics.interface import absent
from atoll.kernels.intrinsics.standard import Target

absent(
    Target,
    "cpu",
    clock="the oracle runs one work-item after another, so no counter would mean what it does on a device",
)
