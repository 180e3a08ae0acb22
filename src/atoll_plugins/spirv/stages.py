"""Which stage of the pipeline does the name of a shader state, and in which language is it?

GLSL states its stage by extension (``blur.comp``), HLSL by the one before it (``blur.comp.hlsl``).
"""

from __future__ import annotations

from atoll.plugin.tools import suffix

STAGES = (
    *("comp", "vert", "frag", "geom", "tesc", "tese", "mesh", "task"),
    *("rgen", "rint", "rahit", "rchit", "rmiss", "rcall"),
)
HLSL = ".hlsl"


def is_hlsl(path: str) -> bool:
    """Tell whether a shader is HLSL; everything else is GLSL."""
    return path.endswith(HLSL) and suffix(path) == HLSL


def stage_of(path: str) -> str:
    """Return the stage that a name states, or an empty text."""
    stage = suffix(path.removesuffix(HLSL)) if is_hlsl(path) else suffix(path)
    return stage[1:] if stage[1:] in STAGES else ""
