"""Which primitive runs, in which variant, how exactly? Kernels on arrays of a device; fused expressions.

Words: a *primitive* is an operation that the engine has kernels for; a *variant* is one of its kernels; a
*tier* says how far a result is the same: `exact` on every device, `device` on one, `tolerance` within a
bound.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from atoll.engine.anchors import SelfTest, require_exact, results, selftest
    from atoll.engine.capabilities import Capability, capability
    from atoll.engine.primitives import (
        binary,
        broadcast,
        cast,
        copy,
        full,
        gather,
        layer_norm,
        matmul,
        normal,
        random_bits,
        reduce,
        scan,
        scatter_add,
        softmax,
        transpose,
        unary,
        uniform,
    )
    from atoll.engine.quantised import matmul_q, matmul_q_backward
    from atoll.engine.select import Decision, FallbackWarning, Tier, decisions

_LATE = {
    **dict.fromkeys(("SelfTest", "require_exact", "results", "selftest"), "anchors"),
    **dict.fromkeys(("Capability", "capability"), "capabilities"),
    **dict.fromkeys(("Decision", "FallbackWarning", "Tier", "decisions"), "select"),
    **dict.fromkeys(("matmul_q", "matmul_q_backward"), "quantised"),
    **dict.fromkeys(
        (
            "binary",
            "broadcast",
            "cast",
            "copy",
            "full",
            "gather",
            "layer_norm",
            "matmul",
            "normal",
            "random_bits",
            "reduce",
            "scan",
            "scatter_add",
            "softmax",
            "transpose",
            "unary",
            "uniform",
        ),
        "primitives",
    ),
}

__all__ = [
    "Capability",
    "Decision",
    "FallbackWarning",
    "SelfTest",
    "Tier",
    "binary",
    "broadcast",
    "capability",
    "cast",
    "copy",
    "decisions",
    "full",
    "gather",
    "layer_norm",
    "matmul",
    "matmul_q",
    "matmul_q_backward",
    "normal",
    "random_bits",
    "reduce",
    "require_exact",
    "results",
    "scan",
    "scatter_add",
    "selftest",
    "softmax",
    "transpose",
    "unary",
    "uniform",
]


def __getattr__(name: str) -> Any:
    """Import a part of the room where it is used; found here from then on."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
    return found
