"""What is known while compiling? Operations on constants, operations that do nothing, ways never taken.

A constant is folded to what :mod:`atoll.ir.scalar` gives: the semantics of the language, to the bit. A
float operation is left alone where an operand or the result is a NaN (whose bits are the target's) or a
denormal (which a target may flush); so is a maths function that is not exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from atoll.ir import nodes as n
from atoll.ir import ops, scalar
from atoll.ir.ops import Binary, Unary
from atoll.ir.passes.rules import Rule, Rules
from atoll.ir.passes.ssa import (
    Block,
    Branch,
    Cycle,
    End,
    Flow,
    Item,
    Op,
    Value,
    Way,
    breaks,
    constant,
    constant_of,
    truth_of,
)
from atoll.ir.types import BOOL, Scalar

#: Maths that every target computes alike.
EXACT = frozenset({ops.Math.FLOOR, ops.Math.CEIL, ops.Math.TRUNC, ops.Math.RINT, ops.Math.FMA, ops.Math.SQRT})
#: The exponent of the least normal number.
_LEAST_NORMAL = {"f16": -14, "bf16": -126, "f32": -126, "f64": -1022}


def fold(flow: Flow, rules: Rules) -> None:
    """Fold what is known."""
    _Fold(rules).block(flow.body)


# --- rewrites: each returns the value that an op is, or None where it does not apply -----------------


def _operands(op: Op) -> list[n.Const] | None:
    found = [constant_of(value) for value in op.args]
    known = [item for item in found if item is not None]
    return known if known and len(known) == len(found) else None


def integer(op: Op) -> Value | None:
    """Fold an integer or bool operation of constants."""
    known, node = _operands(op), op.node
    if known is None or op.type.is_float:
        return None
    if isinstance(node, n.Unary):
        return constant(op.type, scalar.unary(node.op, op.type, known[0].value), op.span)
    if isinstance(node, n.Binary) and node.op not in (*ops.DIVISIONS, Binary.SHL, Binary.SHR):
        return constant(op.type, scalar.binary(node.op, op.type, known[0].value, known[1].value), op.span)
    return None


def division(op: Op) -> Value | None:
    """Fold a division or remainder of constants."""
    known, node = _operands(op), op.node
    if known is None or not isinstance(node, n.Binary) or node.op not in ops.DIVISIONS:
        return None
    return constant(op.type, scalar.binary(node.op, op.type, known[0].value, known[1].value), op.span)


def shift(op: Op) -> Value | None:
    """Fold a shift of constants; a count outside the width is 0 or the sign fill."""
    known, node = _operands(op), op.node
    if known is None or not isinstance(node, n.Binary) or node.op not in (Binary.SHL, Binary.SHR):
        return None
    return constant(op.type, scalar.binary(node.op, op.type, known[0].value, known[1].value), op.span)


def floating(op: Op) -> Value | None:
    """Fold a float operation of constants, rounded to its own width; a sign is changed in the bits."""
    known, node = _operands(op), op.node
    if known is None or not op.type.is_float:
        return None
    if isinstance(node, n.Unary):
        sign = 1 << (op.type.bits - 1)
        bits = known[0].bits ^ sign if node.op is Unary.FNEG else known[0].bits & ~sign
        return Op(type=op.type, span=op.span, node=n.Const(op.type, bits, op.span))
    values = [float(item.value) for item in known]
    if not all(_plain(op.type, value) for value in values):
        return None
    if isinstance(node, n.Binary):
        return _plain_constant(op, scalar.binary(node.op, op.type, values[0], values[1]))
    if isinstance(node, n.MathCall) and node.op in EXACT:
        return _plain_constant(op, scalar.maths(node.op, op.type, values))
    return None


def _plain(kind: Scalar, value: float) -> bool:
    """Tell whether every target holds this value alike: no NaN and no denormal."""
    return value == 0 or math.isinf(value) or abs(value) >= 2.0 ** _LEAST_NORMAL[kind.name]


def _plain_constant(op: Op, value: float) -> Value | None:
    return constant(op.type, value, op.span) if _plain(op.type, float(value)) else None


def compare(op: Op) -> Value | None:
    """Fold a comparison of constants; with a NaN it is false, but for `ne`."""
    known, node = _operands(op), op.node
    if known is None or not isinstance(node, n.Compare):
        return None
    left, right = known[0].value, known[1].value
    kind = known[0].type
    if kind.is_float and any(x == x and not _plain(kind, float(x)) for x in (left, right)):
        return None
    return constant(BOOL, scalar.compare(node.op, left, right), op.span)


def cast(op: Op) -> Value | None:
    """Fold a conversion of a constant."""
    known, node = _operands(op), op.node
    if known is None or not isinstance(node, n.Cast):
        return None
    source, value = known[0].type, known[0].value
    if node.op is ops.Cast.BITS:
        return Op(type=op.type, span=op.span, node=n.Const(op.type, known[0].bits, op.span))
    if source.is_float and value == value and not _plain(source, float(value)):
        return None
    result = float("nan") if source.is_float and value != value else None
    if result is not None and op.type.is_float:
        return None
    made = scalar.cast(node.op, source, op.type, value)
    return _plain_constant(op, float(made)) if op.type.is_float else constant(op.type, made, op.span)


def select(op: Op) -> Value | None:
    """Take the side of a select that is known."""
    if not isinstance(op.node, n.Select):
        return None
    truth = truth_of(op.args[0])
    if truth is None:
        return op.args[1] if op.args[1] is op.args[2] else None
    return op.args[1] if truth else op.args[2]


_LEFT_ZERO = {Binary.ADD_WRAP, Binary.OR, Binary.XOR}
_RIGHT_ZERO = {*_LEFT_ZERO, Binary.SUB_WRAP, Binary.SHL, Binary.SHR}


def identity(op: Op) -> Value | None:
    """Leave out an integer operation that changes nothing: `x + 0`, `x * 1`, `x << 0`."""
    if not isinstance(op.node, n.Binary) or op.type.is_float:
        return None
    left, right = (None if item is None else int(item.value) for item in map(constant_of, op.args))
    one, other = op.args
    match op.node.op:
        case Binary.ADD_WRAP | Binary.OR | Binary.XOR if left == 0:
            return other
        case _ if op.node.op in _RIGHT_ZERO and right == 0:
            return one
        case Binary.MUL_WRAP if right == 1:
            return one
        case Binary.MUL_WRAP if left == 1:
            return other
        case Binary.AND if right is not None and right & _ones(op.type) == _ones(op.type):
            return one
        case Binary.DIV_FLOOR | Binary.DIV_TRUNC if right == 1:
            return one
    return None


def zero(op: Op) -> Value | None:
    """Return the zero that an integer product or mask with zero is."""
    if isinstance(op.node, n.Binary) and op.node.op in (Binary.MUL_WRAP, Binary.AND) and not op.type.is_float:
        for item in map(constant_of, op.args):
            if item is not None and item.bits == 0:
                return constant(op.type, 0, op.span)
    return None


def again(op: Op) -> Value | None:
    """Undo what is done twice: `not not x`, `-(-x)`."""
    below = op.args[0] if isinstance(op.node, n.Unary) else None
    if not isinstance(below, Op) or not isinstance(below.node, n.Unary) or not isinstance(op.node, n.Unary):
        return None
    undone = op.node.op in (Unary.NOT, Unary.NEG_WRAP, Unary.FNEG) and below.node.op is op.node.op
    return below.args[0] if undone else None


def _ones(kind: Scalar) -> int:
    return (1 << kind.bits) - 1


def short(op: Op) -> Value | None:
    """Decide a short circuit by its left side; its right side is then not evaluated."""
    if not isinstance(op.node, n.Logical):
        return None
    truth = truth_of(op.args[0])
    decides = op.node.op is ops.Logical.LOR
    return op.args[0] if truth is decides else None


def passing(op: Op) -> Value | None:
    """Return the right side of a short circuit that the left one leaves open; its ops come along."""
    if not isinstance(op.node, n.Logical) or op.right is None:
        return None
    truth = truth_of(op.args[0])
    return op.right.end.values[0] if truth is not None and truth is not _decides(op) else None


def _decides(op: Op) -> bool:
    return isinstance(op.node, n.Logical) and op.node.op is ops.Logical.LOR


def branch(item: Branch) -> Block | None:
    """Return the block of a branch whose condition is known."""
    truth = truth_of(item.condition)
    return None if truth is None else item.then if truth else item.orelse


def untaken(item: Cycle) -> bool:
    """Tell whether a loop makes no trip."""
    return truth_of(item.condition.end.values[0]) is False


def alike(values: Sequence[Value]) -> Value | None:
    """Return the value that every way hands on."""
    if all(value is values[0] for value in values):
        return values[0]
    known = [constant_of(value) for value in values]
    return values[0] if known[0] is not None and all(item == known[0] for item in known) else None


RULES: dict[str, Rule] = {
    "fold.integer": integer,
    "fold.division": division,
    "fold.shift": shift,
    "fold.floating": floating,
    "fold.compare": compare,
    "fold.cast": cast,
    "fold.select": select,
    "fold.identity": identity,
    "fold.zero": zero,
    "fold.again": again,
    "fold.short": short,
    "fold.passing": passing,
    "fold.branch": branch,
    "fold.untaken": untaken,
    "fold.alike": alike,
}
_OF_OPS = {
    n.Unary: ("fold.integer", "fold.floating", "fold.again"),
    n.Binary: (
        "fold.integer", "fold.division", "fold.shift", "fold.floating", "fold.identity", "fold.zero",
    ),
    n.Compare: ("fold.compare",),
    n.Cast: ("fold.cast",),
    n.Select: ("fold.select",),
    n.Logical: ("fold.short", "fold.passing"),
    n.MathCall: ("fold.floating",),
}  # fmt: skip


# --- the walk ----------------------------------------------------------------------------------


class _Fold:
    """Visits a flow once; what an op was replaced by is put in where it is used."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.of_ops = {kind: rules.some(*names) for kind, names in _OF_OPS.items()}
        self.instead: dict[Value, Value] = {}
        self.given: set[Value] = set()

    def now(self, value: Value) -> Value:
        while value in self.instead:
            value = self.instead[value]
        return value

    def block(self, block: Block) -> None:
        before, block.items = block.items, []
        pending = list(reversed(before))
        while pending:
            spliced = self.item(pending.pop(), block)
            if spliced is None:
                continue
            pending.extend(reversed(spliced.items))
            if spliced.end.way is not Way.NEXT:
                # The block leaves; what followed here is never reached.
                pending = list(reversed(spliced.items))
                block.end = spliced.end
        block.end.values = [self.now(value) for value in block.end.values]

    def item(self, item: Item, into: Block) -> Block | None:
        """Add an item to a block, or return the block that goes in its place."""
        match item:
            case Op():
                return self.op(item, into)
            case Branch():
                return self.branch(item, into)
            case Cycle():
                return self.cycle(item, into)
        item.args = [self.now(value) for value in item.args]
        into.items.append(item)
        return None

    def op(self, op: Op, into: Block) -> Block | None:
        op.args = [self.now(value) for value in op.args]
        for rule in self.of_ops.get(type(op.node), ()):
            found = rule(op)
            if found is None:
                continue
            self.instead[op] = found
            if op.right is not None and found is op.right.end.values[0]:
                return Block(op.right.items)
            if isinstance(found, Op) and found not in self.given:
                found.home = op.home
                self.add(found, into)
            return None
        if op.right is not None:
            self.block(op.right)
        self.add(op, into)
        return None

    def add(self, op: Op, into: Block) -> None:
        into.items.append(op)
        self.given.add(op)

    def branch(self, item: Branch, into: Block) -> Block | None:
        item.condition = self.now(item.condition)
        rule = self.rules.get("fold.branch")
        taken = None if rule is None else rule(item)
        if isinstance(taken, Block):
            if taken.end.way is Way.NEXT:
                self.instead.update(zip(item.results, taken.end.values, strict=True))
            return taken
        self.block(item.then)
        self.block(item.orelse)
        self.alike(item, into)
        into.items.append(item)
        if Way.NEXT not in (item.then.end.way, item.orelse.end.way):
            return Block([], End(Way.NEVER))
        return None

    def alike(self, item: Branch, into: Block) -> None:
        rule = self.rules.get("fold.alike")
        ends = [end for end in (item.then.end, item.orelse.end) if end.way is Way.NEXT]
        if rule is None or len(ends) < 2:
            return
        inside = {*item.then.items, *item.orelse.items}
        kept: list[int] = []
        for at, result in enumerate(item.results):
            found = rule([end.values[at] for end in ends])
            if isinstance(found, Op) and found in inside and isinstance(found.node, n.Const):
                found = Op(type=found.type, span=found.span, home=result.home, node=found.node)
                self.add(found, into)
            if found is None or found in inside:
                kept.append(at)
            else:
                self.instead[result] = found
        item.results = [item.results[at] for at in kept]
        for end in ends:
            end.values = [end.values[at] for at in kept]

    def cycle(self, item: Cycle, into: Block) -> Block | None:
        for carried in item.carried:
            carried.init = self.now(carried.init)
        self.block(item.condition)
        rule = self.rules.get("fold.untaken")
        if rule is not None and rule(item):
            self.instead.update((carried.result, carried.init) for carried in item.carried)
            return None
        self.block(item.body)
        self.block(item.step)
        into.items.append(item)
        if truth_of(item.condition.end.values[0]) and not breaks(item.body):
            return Block([], End(Way.NEVER))
        return None
