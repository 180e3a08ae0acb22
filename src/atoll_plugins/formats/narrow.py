"""Which nodes use the floats of 16 bits?"""

from __future__ import annotations

from atoll.ir import BF16, F16, Scalar, View, nodes
from atoll.ir.module import LocalVariable, Parameter, SharedArray
from atoll_plugins.formats.emission import Node


def lacks_narrow_floats(node: Node) -> str | None:
    """Return what a target without f16 and bf16 lacks at a node, or None."""
    scalar = _brings(node)
    return f"the type {scalar}" if scalar in (F16, BF16) else None


def _brings(node: Node) -> Scalar | None:
    """Return the type that a node brings into a kernel; operations only pass types on."""
    match node:
        case Parameter():
            return node.type.element if isinstance(node.type, View) else node.type
        case SharedArray():
            return node.element
        case LocalVariable() | nodes.Const() | nodes.Cast():
            return node.type
    return None
