"""What is a double rounded to a whole number, on a machine whose own answer is another?

lavapipe (Mesa 22.3.6) rounds doubles by way of an integer on processors without AVX-512: the sign of a zero
is lost, and halves do not go to the even number. A sum with 2**52 leaves no bits for a fraction, and rounds
as every sum does.
"""

from __future__ import annotations

from typing import TypeVar

from atoll.ir import F64
from atoll.ir.ops import Compare, Unary
from atoll_plugins.formats.core import Core
from atoll_plugins.formats.lowering import Lowering

V = TypeVar("V")
WHOLE_FROM = 2.0**52


def rint_of_size(out: Lowering[V], x: V) -> V:
    """Return the size of a double rounded to a whole number, halves to even; infinity and NaN stay."""
    size, whole = out.float_unary(Unary.FABS, F64, x), out.number(F64, WHOLE_FROM)
    rounded = out.core(Core.FSUB, F64, out.core(Core.FADD, F64, size, whole), whole)
    return out.select(F64, out.compare(Compare.LT, F64, size, whole), rounded, size)
