"""Which type do two values have together? NumPy 2's rules where they are exact, nothing where not.

The front end and the oracle both ask here, so that they cannot differ.
"""

from __future__ import annotations

from atoll.ir import BF16, F16, I8, I16, I32, I64, Kind, Scalar
from atoll.ir.nodes import bits_of, value_of

_SIGNED = (I8, I16, I32, I64)


def promote(left: Scalar, right: Scalar) -> Scalar | None:
    """Return the type both convert to without loss, or None where there is none."""
    if left == right:
        return left
    if left.is_float and right.is_float:
        return None if {left, right} == {F16, BF16} else max(left, right, key=lambda item: item.bits)
    if not (left.is_integer and right.is_integer):
        return None
    if left.kind == right.kind:
        return max(left, right, key=lambda item: item.bits)
    signed, unsigned = (left, right) if left.is_signed else (right, left)
    return next((item for item in _SIGNED if item.bits > unsigned.bits and item.bits >= signed.bits), None)


def literal_fits(value: bool | int | float, scalar: Scalar) -> bool:
    """Tell whether a literal may take this type: a number of it, a float rounded but not to infinity."""
    if isinstance(value, bool) or scalar.kind is Kind.BOOL:
        return isinstance(value, bool) and scalar.kind is Kind.BOOL
    if scalar.is_integer:
        return isinstance(value, int) and value_of(scalar, bits_of(scalar, value)) == value
    try:
        given = float(value)
    except OverflowError:
        return False
    rounded = value_of(scalar, bits_of(scalar, given))
    return abs(rounded) != float("inf") or abs(given) == float("inf")


def widens(source: Scalar, target: Scalar) -> bool:
    """Tell whether every value of `source` is one of `target`, so that storing it loses nothing."""
    return promote(source, target) == target
