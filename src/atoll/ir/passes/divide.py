"""How is an integer divided by a constant without dividing? By a shift, or by a product and a shift.

A quotient of unsigned numbers t < 2**N by d is ``t * m >> p`` for ``m = ceil(2**p / d)`` where
``m * d - 2**p <= 2**(p - N)`` (Granlund and Montgomery, "Division by invariant integers using
multiplication", PLDI 1994, theorem 4.2). Signed numbers go through an unsigned one first, so one product
serves all: with s the sign mask of n, ``floor(n / d)`` is ``((n ^ s) / d) ^ s``, and toward zero it is the
quotient of the sizes with the sign put back. Remainders are ``n - q * d``. So every width has the same
rewrites; 64 bits multiply in four halves, for KIR has no wider integer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from atoll.diagnostics import Span
from atoll.ir import nodes as n
from atoll.ir import ops
from atoll.ir.ops import Binary, Cast, Compare, Unary
from atoll.ir.passes.rules import Rule, Rules
from atoll.ir.passes.ssa import (
    Block,
    Branch,
    Cycle,
    Flow,
    Item,
    Op,
    Value,
    blocks,
    constant,
    constant_of,
    is_leaf,
)
from atoll.ir.types import SCALARS, U8, U16, U32, U64, Scalar

_FLOOR = (Binary.DIV_FLOOR, Binary.REM_FLOOR)
_QUOTIENTS = (Binary.DIV_FLOOR, Binary.DIV_TRUNC)


def divide(flow: Flow, rules: Rules) -> None:
    """Rewrite divisions by constants, but not within lazy blocks, where nothing can be kept for later."""
    chosen = rules.some(
        "divide.nothing", "divide.one", "divide.minus_one", "divide.power", "divide.unsigned",
        "divide.floor", "divide.trunc",
    )  # fmt: skip
    instead: dict[Value, Value] = {}
    for block in blocks(flow.body):
        made: list[Item] = []
        for item in block.items:
            if isinstance(item, Op):
                item.args = [instead.get(value, value) for value in item.args]
            found = _rewritten(item, chosen, made, rules, lazy=block.lazy)
            if found is None:
                made.append(item)
            else:
                assert isinstance(item, Op)
                instead[item] = found
        block.items = made
    if instead:
        replace_uses(flow.body, instead)


def replace_uses(body: Block, instead: dict[Value, Value]) -> None:
    """Put values in place of others wherever they are used."""

    def now(values: list[Value]) -> list[Value]:
        return [instead.get(value, value) for value in values]

    for block in blocks(body):
        for item in block.items:
            match item:
                case Branch():
                    item.condition = instead.get(item.condition, item.condition)
                case Cycle():
                    for carried in item.carried:
                        carried.init = instead.get(carried.init, carried.init)
                case _:
                    item.args = now(item.args)
        block.end.values = now(block.end.values)


def _rewritten(
    item: Item, chosen: Sequence[Rule], into: list[Item], rules: Rules, *, lazy: bool
) -> Value | None:
    if not isinstance(item, Op) or not isinstance(item.node, n.Binary) or item.node.op not in ops.DIVISIONS:
        return None
    known = constant_of(item.args[1])
    if known is None:
        return None
    for rule in chosen:
        maker = Maker(item.span, rules)
        found = rule(maker, item.node.op, item.args[0], int(known.value))
        if found is None:
            continue
        if lazy and len(maker.made) > 2 and not is_leaf(item.args[0]):
            return None
        into.extend(maker.made)
        if isinstance(found, Op) and found in maker.made:
            found.home = item.home
        assert isinstance(found, Value)
        return found
    return None


@dataclass(slots=True)
class Maker:
    """Makes ops in a row.

    Attributes:
        made: The ops so far.
    """

    span: Span | None
    rules: Rules
    made: list[Item] = field(default_factory=list)

    def by(self, name: str, *given: Any) -> Value | None:
        """Return what a rewrite makes, None where it is left out."""
        rule = self.rules.get(name)
        return None if rule is None else rule(self, *given)

    def number(self, scalar: Scalar, value: int) -> Op:
        """Make a constant."""
        return self._add(constant(scalar, value, self.span))

    def binary(self, op: Binary, left: Value, right: Value | int) -> Op:
        """Make an operation; a number takes the type of the left operand."""
        other = self.number(left.type, right) if isinstance(right, int) else right
        stale = n.Const(left.type, 0)
        return self._add(
            Op(type=left.type, span=self.span, node=n.Binary(op, stale, stale, self.span), args=[left, other])
        )

    def unary(self, op: Unary, value: Value) -> Op:
        """Make an operation on one operand."""
        node = n.Unary(op, n.Const(value.type, 0), self.span)
        return self._add(Op(type=value.type, span=self.span, node=node, args=[value]))

    def positive(self, value: Value) -> Op:
        """Ask whether a value is above 0."""
        stale = n.Const(value.type, 0)
        node = n.Compare(Compare.GT, stale, stale, self.span)
        return self._add(
            Op(type=node.type, span=self.span, node=node, args=[value, self.number(value.type, 0)])
        )

    def select(self, condition: Value, yes: Value, no: Value) -> Op:
        """Make a select."""
        stale = n.Const(yes.type, 0)
        node = n.Select(n.Const(condition.type, 0), stale, stale, self.span)
        return self._add(Op(type=yes.type, span=self.span, node=node, args=[condition, yes, no]))

    def cast(self, op: Cast, to: Scalar, value: Value) -> Value:
        """Make a conversion; none where the type stays."""
        if value.type == to:
            return value
        node = n.Cast(op, to, n.Const(value.type, 0), self.span)
        return self._add(Op(type=to, span=self.span, node=node, args=[value]))

    def _add(self, op: Op) -> Op:
        self.made.append(op)
        return op


def _finish(make: Maker, op: Binary, value: Value, quotient: Value, divisor: int) -> Value | None:
    """Return a quotient, or the remainder that belongs to it."""
    if op in _QUOTIENTS:
        return quotient
    return make.by("divide.remainder", value, quotient, divisor)


def remainder(make: Maker, value: Value, quotient: Value, divisor: int) -> Value:
    """Return ``n - q * d``."""
    return make.binary(Binary.SUB_WRAP, value, make.binary(Binary.MUL_WRAP, quotient, divisor))


# --- rewrites ----------------------------------------------------------------------------------


def nothing(make: Maker, op: Binary, value: Value, divisor: int) -> Value | None:
    """Divide by zero: the quotient is 0, the remainder the dividend."""
    if divisor != 0:
        return None
    return make.number(value.type, 0) if op in _QUOTIENTS else value


def one(make: Maker, op: Binary, value: Value, divisor: int) -> Value | None:
    """Divide by 1."""
    if divisor != 1:
        return None
    return value if op in _QUOTIENTS else make.number(value.type, 0)


def minus_one(make: Maker, op: Binary, value: Value, divisor: int) -> Value | None:
    """Divide by -1, the least integer too: it is itself."""
    if divisor != -1:
        return None
    return make.unary(Unary.NEG_WRAP, value) if op in _QUOTIENTS else make.number(value.type, 0)


def power(make: Maker, op: Binary, value: Value, divisor: int) -> Value | None:
    """Divide by a power of two where rounding is down: a shift, or a mask."""
    if divisor <= 0 or divisor & (divisor - 1) or not (op in _FLOOR or not value.type.is_signed):
        return None
    if op in _QUOTIENTS:
        return make.binary(Binary.SHR, value, divisor.bit_length() - 1)
    return make.binary(Binary.AND, value, divisor - 1)


def unsigned(make: Maker, op: Binary, value: Value, divisor: int) -> Value | None:
    """Divide an unsigned integer."""
    if value.type.is_signed:
        return None
    quotient = _quotient(make, value, divisor, value.type.bits)
    return None if quotient is None else _finish(make, op, value, quotient, divisor)


def floor(make: Maker, op: Binary, value: Value, divisor: int) -> Value | None:
    """Divide a signed integer, rounding down.

    For n and d > 0 with s the sign mask of n it is ``((n ^ s) / d) ^ s``. For d < 0 it is the same of -n and
    -d, the mask from n > 0 and the sum without overflow, for -n of the least integer is itself.
    """
    scalar = value.type
    if not scalar.is_signed or op not in _FLOOR:
        return None
    bits = scalar.bits
    numerator, limit = value, bits - 1
    if divisor > 0:
        mask: Value = make.binary(Binary.SHR, value, bits - 1)
    else:
        numerator, limit = make.unary(Unary.NEG_WRAP, value), bits
        mask = make.select(make.positive(value), make.number(scalar, -1), make.number(scalar, 0))
    plain = make.cast(Cast.SIGN, _unsigned_of(scalar), make.binary(Binary.XOR, numerator, mask))
    quotient = _quotient(make, plain, abs(divisor), limit)
    if quotient is None:
        return None
    found = make.cast(Cast.SIGN, scalar, quotient)
    return _finish(make, op, value, make.binary(Binary.XOR, found, mask), divisor)


def trunc(make: Maker, op: Binary, value: Value, divisor: int) -> Value | None:
    """Divide a signed integer toward zero: the sizes, then the sign."""
    scalar = value.type
    if not scalar.is_signed or op in _FLOOR:
        return None
    mask = make.binary(Binary.SHR, value, scalar.bits - 1)
    size = make.binary(Binary.SUB_WRAP, make.binary(Binary.XOR, value, mask), mask)
    plain = make.cast(Cast.SIGN, _unsigned_of(scalar), size)
    quotient = _quotient(make, plain, abs(divisor), scalar.bits)
    if quotient is None:
        return None
    found = make.cast(Cast.SIGN, scalar, quotient)
    signed = make.binary(Binary.SUB_WRAP, make.binary(Binary.XOR, found, mask), mask)
    if divisor < 0:
        signed = make.unary(Unary.NEG_WRAP, signed)
    return _finish(make, op, value, signed, divisor)


def _unsigned_of(scalar: Scalar) -> Scalar:
    return SCALARS[f"u{scalar.bits}"]


def _quotient(make: Maker, value: Value, divisor: int, digits: int) -> Value | None:
    """Return an unsigned value below 2**digits, or equal to it where it fits, over a constant above 0."""
    if not divisor & (divisor - 1):
        return make.binary(Binary.SHR, value, divisor.bit_length() - 1)
    rule = make.rules.get("divide.magic")
    if rule is None:
        return None
    factor, shift = rule(divisor, digits, 64 if value.type == U64 else 0)
    return make.by("divide.short" if factor < 1 << value.type.bits else "divide.long", value, factor, shift)


def factor_of(divisor: int, digits: int, least: int = 0) -> tuple[int, int]:
    """Return m and p so that ``t * m >> p`` is ``t // divisor`` for every t < 2**digits, and p >= least."""
    shift = max(digits, least)
    while True:
        factor = -(-(1 << shift) // divisor)
        if factor * divisor - (1 << shift) <= 1 << (shift - digits):
            return factor, shift
        shift += 1


def short(make: Maker, value: Value, factor: int, shift: int) -> Value | None:
    """Multiply by a factor that fits the width, and shift."""
    scalar = value.type
    wide = {U8: U32, U16: U32, U32: U64}.get(scalar)
    if wide is None:
        top = make.by("divide.high", value, factor)
        return None if top is None else make.binary(Binary.SHR, top, shift - 64)
    product = make.binary(Binary.MUL_WRAP, make.cast(Cast.ZEXT, wide, value), factor)
    return make.cast(Cast.TRUNC, scalar, make.binary(Binary.SHR, product, shift))


def long(make: Maker, value: Value, factor: int, shift: int) -> Value | None:
    """Multiply by a factor one bit wider than the value: by its low bits, then what is missing is added.

    With m = 2**W + m' and h the high half of ``t * m'`` it is ``(((t - h) >> 1) + h) >> (p - W - 1)``.
    """
    bits = value.type.bits
    top = short(make, value, factor - (1 << bits), bits)
    if top is None:
        return None
    half = make.binary(Binary.SHR, make.binary(Binary.SUB_WRAP, value, top), 1)
    return make.binary(Binary.SHR, make.binary(Binary.ADD_WRAP, half, top), shift - bits - 1)


def high(make: Maker, value: Value, factor: int) -> Value:
    """Return the high 64 bits of a product, from four products of halves; no sum here overflows."""
    ones = (1 << 32) - 1
    low, up = make.binary(Binary.AND, value, ones), make.binary(Binary.SHR, value, 32)
    cross = make.binary(Binary.MUL_WRAP, low, factor >> 32)
    lowest = make.binary(Binary.SHR, make.binary(Binary.MUL_WRAP, low, factor & ones), 32)
    middle = make.binary(Binary.ADD_WRAP, lowest, make.binary(Binary.AND, cross, ones))
    middle = make.binary(Binary.ADD_WRAP, middle, make.binary(Binary.MUL_WRAP, up, factor & ones))
    top = make.binary(Binary.MUL_WRAP, up, factor >> 32)
    top = make.binary(Binary.ADD_WRAP, top, make.binary(Binary.SHR, cross, 32))
    return make.binary(Binary.ADD_WRAP, top, make.binary(Binary.SHR, middle, 32))


RULES: dict[str, Rule] = {
    "divide.nothing": nothing,
    "divide.one": one,
    "divide.minus_one": minus_one,
    "divide.power": power,
    "divide.unsigned": unsigned,
    "divide.floor": floor,
    "divide.trunc": trunc,
    "divide.remainder": remainder,
    "divide.magic": factor_of,
    "divide.short": short,
    "divide.long": long,
    "divide.high": high,
}
