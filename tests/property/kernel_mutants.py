"""One wrong variant of every rewrite of the passes: what the fuzzer has to find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from atoll.ir import nodes as n
from atoll.ir import ops, scalar
from atoll.ir.ops import Binary, Compare
from atoll.ir.passes import cse, dead, divide, fold, invariant
from atoll.ir.passes.divide import Maker
from atoll.ir.passes.ssa import (
    Block,
    Branch,
    Cycle,
    Do,
    Item,
    Op,
    Value,
    constant,
    constant_of,
    is_pure,
    truth_of,
)
from atoll.ir.types import U64


@dataclass(frozen=True)
class Mutant:
    """A wrong variant of a rewrite."""

    rewrite: str
    about: str
    rule: Callable[..., Any]


def _known(op: Op) -> list[Any] | None:
    found = [constant_of(value) for value in op.args]
    return None if not found or None in found else [item.value for item in found if item is not None]


def _binary(op: Op) -> Binary | None:
    return op.node.op if isinstance(op.node, n.Binary) else None


def _product_plus_one(op: Op) -> Value | None:
    right = fold.integer(op)
    node = None if right is None else constant_of(right)
    if node is None or _binary(op) not in (Binary.MUL_WRAP, Binary.SUB_WRAP):
        return right
    return constant(op.type, int(node.value) + 1)


def _c_division(op: Op) -> Value | None:
    known = _known(op)
    if known is None or _binary(op) not in (Binary.DIV_FLOOR, Binary.REM_FLOOR):
        return fold.division(op)
    wrong = Binary.DIV_TRUNC if _binary(op) is Binary.DIV_FLOOR else Binary.REM_TRUNC
    return constant(op.type, scalar.binary(wrong, op.type, *known))


def _masked_shift(op: Op) -> Value | None:
    known, kind = _known(op), _binary(op)
    if known is None or kind not in (Binary.SHL, Binary.SHR):
        return None
    return constant(op.type, scalar.binary(kind, op.type, known[0], known[1] & (op.type.bits - 1)))


def _floats_reversed(op: Op) -> Value | None:
    if _binary(op) is Binary.FSUB:
        return fold.floating(Op(type=op.type, node=op.node, args=op.args[::-1]))
    return fold.floating(op)


def _less_for_less_equal(op: Op) -> Value | None:
    known = _known(op)
    if known is None or not isinstance(op.node, n.Compare) or op.node.op is not Compare.LE:
        return fold.compare(op)
    return constant(op.type, known[0] < known[1])


def _zeros_for_the_sign(op: Op) -> Value | None:
    known = _known(op)
    if known is None or not isinstance(op.node, n.Cast) or op.node.op is not ops.Cast.SEXT:
        return fold.cast(op)
    return constant(op.type, known[0] & ((1 << op.args[0].type.bits) - 1))


def _other_side(op: Op) -> Value | None:
    truth = truth_of(op.args[0])
    return None if truth is None else op.args[2] if truth else op.args[1]


def _zero_minus_x(op: Op) -> Value | None:
    left = constant_of(op.args[0])
    if _binary(op) is Binary.SUB_WRAP and left is not None and left.bits == 0:
        return op.args[1]
    return fold.identity(op)


def _mask_of_one(op: Op) -> Value | None:
    one = any(item is not None and item.bits == 1 for item in map(constant_of, op.args))
    return constant(op.type, 0) if one and _binary(op) is Binary.AND else fold.zero(op)


def _any_two(op: Op) -> Value | None:
    below = op.args[0]
    if isinstance(op.node, n.Unary) and isinstance(below, Op) and isinstance(below.node, n.Unary):
        return below.args[0]
    return None


def _decided_by_the_other(op: Op) -> Value | None:
    return op.args[0] if truth_of(op.args[0]) is not None else None


def _left_always(op: Op) -> Value | None:
    return op.args[0] if fold.passing(op) is not None else None


def _other_branch(item: Branch) -> Block | None:
    truth = truth_of(item.condition)
    return None if truth is None else item.orelse if truth else item.then


def _no_trip_where_it_asks_twice(item: Cycle) -> bool:
    asked = item.condition.end.values[0]
    return isinstance(asked, Op) and isinstance(asked.node, n.Logical)


def _first_way(values: list[Value]) -> Value | None:
    return values[0] if all(constant_of(value) for value in values) else fold.alike(values)


def _dividend(make: Maker, op: Binary, value: Value, divisor: int) -> Value | None:
    return value if divisor == 0 else None


def _all_of_it(make: Maker, op: Binary, value: Value, divisor: int) -> Value | None:
    return value if divisor == 1 else None


def _sign_kept(make: Maker, op: Binary, value: Value, divisor: int) -> Value | None:
    return value if divisor == -1 and op is Binary.DIV_FLOOR else divide.minus_one(make, op, value, divisor)


def _mask_of_the_power(make: Maker, op: Binary, value: Value, divisor: int) -> Value | None:
    found = divide.power(make, op, value, divisor)
    return found if found is None or op is Binary.DIV_FLOOR else make.binary(Binary.AND, value, divisor)


def _one_digit_less(make: Maker, op: Binary, value: Value, divisor: int) -> Value | None:
    if value.type.is_signed:
        return None
    quotient = divide._quotient(make, value, divisor, value.type.bits - 2)
    return None if quotient is None else divide._finish(make, op, value, quotient, divisor)


def _toward_zero(make: Maker, op: Binary, value: Value, divisor: int) -> Value | None:
    other = {Binary.DIV_FLOOR: Binary.DIV_TRUNC, Binary.REM_FLOOR: Binary.REM_TRUNC}.get(op)
    return None if other is None else divide.trunc(make, other, value, divisor)


def _down(make: Maker, op: Binary, value: Value, divisor: int) -> Value | None:
    other = {Binary.DIV_TRUNC: Binary.DIV_FLOOR, Binary.REM_TRUNC: Binary.REM_FLOOR}.get(op)
    return None if other is None else divide.floor(make, other, value, divisor)


def _turned(make: Maker, value: Value, quotient: Value, divisor: int) -> Value:
    return make.binary(Binary.SUB_WRAP, make.binary(Binary.MUL_WRAP, quotient, divisor), value)


def _factor_less_one(divisor: int, digits: int, least: int = 0) -> tuple[int, int]:
    factor, shift = divide.factor_of(divisor, digits, least)
    return factor - 1, shift


def _shift_more(make: Maker, value: Value, factor: int, shift: int) -> Value | None:
    return divide.short(make, value, factor, shift + 1 if value.type != U64 else shift)


def _only_low_bits(make: Maker, value: Value, factor: int, shift: int) -> Value | None:
    bits = value.type.bits
    top = divide.short(make, value, factor - (1 << bits), bits)
    return None if top is None else make.binary(Binary.SHR, top, shift - bits)


def _no_carry(make: Maker, value: Value, factor: int) -> Value:
    low, up = make.binary(Binary.AND, value, (1 << 32) - 1), make.binary(Binary.SHR, value, 32)
    cross = make.binary(Binary.SHR, make.binary(Binary.MUL_WRAP, low, factor >> 32), 32)
    return make.binary(Binary.ADD_WRAP, make.binary(Binary.MUL_WRAP, up, factor >> 32), cross)


def _ids_alike(op: Op) -> Any:
    return ("id", op.node.dimension) if isinstance(op.node, n.Builtin) else cse.pure(op)


def _across_stores(op: Op, state: int) -> Any:
    return cse.load(op, 0)


def _atomics_change_nothing(item: Do, own: frozenset[str], private: frozenset[str]) -> frozenset[str]:
    return frozenset() if isinstance(item.node, n.Atomic) else cse.changes(item, own, private)


def _loads_too(op: Op) -> bool:
    return is_pure(op) or isinstance(op.node, n.Load)


def _changed_memory_too(op: Op, changed: frozenset[str], own: frozenset[str], *, asked: bool) -> bool:
    return invariant.load(op, frozenset(), own, asked=asked)


def _atomics_too(item: Item, needed: set[Value]) -> bool:
    if isinstance(item, Do) and isinstance(item.node, n.Atomic):
        return item.result is None or item.result not in needed
    return dead.value(item, needed)


def _what_leaves_too(item: Item, needed: set[Value]) -> bool:
    if not isinstance(item, Branch) or any(result in needed for result in item.results):
        return False
    return not any(block.items for block in (item.then, item.orelse))


def _needed_too(item: Do, needed: set[Value]) -> bool:
    return isinstance(item.node, n.Atomic) and item.result is not None


MUTANTS = (
    Mutant("fold.integer", "a product or difference is one too large", _product_plus_one),
    Mutant("fold.division", "floor becomes C's division", _c_division),
    Mutant("fold.shift", "the count is masked, as hardware does", _masked_shift),
    Mutant("fold.floating", "a difference is turned round", _floats_reversed),
    Mutant("fold.compare", "`le` becomes `lt`", _less_for_less_equal),
    Mutant("fold.cast", "`sext` fills with zeros", _zeros_for_the_sign),
    Mutant("fold.select", "the other side", _other_side),
    Mutant("fold.identity", "`0 - x` becomes `x`", _zero_minus_x),
    Mutant("fold.zero", "`x & 1` becomes 0", _mask_of_one),
    Mutant("fold.again", "two of any kind undo each other", _any_two),
    Mutant("fold.short", "either constant decides", _decided_by_the_other),
    Mutant("fold.passing", "the left side, though it leaves the right one open", _left_always),
    Mutant("fold.branch", "the other branch", _other_branch),
    Mutant("fold.untaken", "a loop with a short circuit makes no trip", _no_trip_where_it_asks_twice),
    Mutant("fold.alike", "the first of two constants", _first_way),
    Mutant("divide.nothing", "the quotient by zero is the dividend", _dividend),
    Mutant("divide.one", "the remainder by one is the dividend", _all_of_it),
    Mutant("divide.minus_one", "the sign stays", _sign_kept),
    Mutant("divide.power", "the mask is the power itself", _mask_of_the_power),
    Mutant("divide.unsigned", "right for two bits less", _one_digit_less),
    Mutant("divide.floor", "toward zero", _toward_zero),
    Mutant("divide.trunc", "down", _down),
    Mutant("divide.remainder", "the sign of the remainder is turned", _turned),
    Mutant("divide.magic", "the factor is one too small", _factor_less_one),
    Mutant("divide.short", "the shift is one too large", _shift_more),
    Mutant("divide.long", "the bit above the width is forgotten", _only_low_bits),
    Mutant("divide.high", "carries are forgotten", _no_carry),
    Mutant("cse.pure", "ids are told apart by their dimension alone", _ids_alike),
    Mutant("cse.load", "a load is shared across a store", _across_stores),
    Mutant("cse.changes", "an atomic changes nothing", _atomics_change_nothing),
    Mutant("invariant.pure", "a load moves past the guard", _loads_too),
    Mutant("invariant.load", "a load moves though its memory changes", _changed_memory_too),
    Mutant("dead.value", "an atomic without a result goes", _atomics_too),
    Mutant("dead.branch", "a branch that leaves goes", _what_leaves_too),
    Mutant("dead.old", "the old value goes though it is needed", _needed_too),
)
