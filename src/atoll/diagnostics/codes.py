"""The table of codes. One module a room under :mod:`atoll.diagnostics.table`, merged here.

A code is never reused and never changes its meaning. `atoll explain CODE` prints its row; the
reference page is generated from this table.

Ranges: 00xx usage and surface · 01xx accel · 02xx manifest and units · 03xx boundary ·
04xx artifacts · 05xx lanes, payloads and building · 06xx graph · 07xx kernels and KIR ·
08xx launch and run time · 09xx plugins.
"""

from __future__ import annotations

from functools import cache

from atoll._util.values import dataclass


@dataclass(frozen=True, slots=True)
class CodeInfo:
    """What a code means: a title, and a paragraph that says why and what to do."""

    title: str
    explanation: str


@cache
def codes() -> dict[str, CodeInfo]:
    """Return every code with its meaning, in order."""
    import importlib
    import pkgutil

    from atoll.diagnostics import table

    merged: dict[str, CodeInfo] = {}
    for module in pkgutil.iter_modules(table.__path__):
        rows = importlib.import_module(f"{table.__name__}.{module.name}").CODES
        twice = merged.keys() & rows.keys()
        if twice:
            raise ValueError(f"codes listed twice: {sorted(twice)}")
        merged.update(rows)
    return dict(sorted(merged.items()))


def code_info(code: str) -> CodeInfo | None:
    """Return the meaning of `code`, or None where the table has no such row."""
    return codes().get(code)
