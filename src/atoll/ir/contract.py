"""What may a kernel that asks for contraction have fused? A product and the sum it goes into.

``a * b + c``, ``c + a * b``, ``a * b - c`` and ``c - a * b`` in f32 and f64 become one `fma`: the product is
not rounded on its way, so a result differs by at most half a unit in the last place of that product (IEEE
754-2019, 5.4.1, and 10.4 on contraction). A product that is used twice stands in a local, and is not fused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from atoll.ir import nodes as n
from atoll.ir.module import Kernel
from atoll.ir.ops import Binary, Math, Unary
from atoll.ir.types import F32, F64
from atoll.ir.unroll import rewritten


def contracted(kernel: Kernel, possible: Callable[[n.Expr], bool] = lambda _: True) -> Kernel:
    """Return a kernel with its products fused, or the same where it does not ask for that.

    Args:
        kernel: The kernel.
        possible: Tells whether the target has an `fma` node.
    """
    if not kernel.contract:
        return kernel

    def fuse(expr: n.Expr) -> n.Expr:
        made = _fused(expr)
        return expr if made is None or not possible(made) else made

    return replace(kernel, body=rewritten(kernel.body, fuse))


def _fused(expr: n.Expr) -> n.Expr | None:
    if not isinstance(expr, n.Binary) or expr.op not in (Binary.FADD, Binary.FSUB):
        return None
    if expr.type not in (F32, F64):
        return None
    minus, left, right = expr.op is Binary.FSUB, expr.left, expr.right
    if isinstance(left, n.Binary) and left.op is Binary.FMUL:
        return _fma(expr, left.left, left.right, _negated(right) if minus else right)
    if isinstance(right, n.Binary) and right.op is Binary.FMUL:
        return _fma(expr, _negated(right.left) if minus else right.left, right.right, left)
    return None


def _fma(expr: n.Expr, a: n.Expr, b: n.Expr, c: n.Expr) -> n.Expr:
    return n.MathCall(Math.FMA, (a, b, c), expr.span)


def _negated(expr: n.Expr) -> n.Expr:
    return n.Unary(Unary.FNEG, expr, expr.span)
