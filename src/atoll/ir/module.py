"""The root of a KIR program."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """Kernels and device functions that belong together."""
