"""What does a KIR kernel compute? A direct evaluation in Python, one work-item a generator.

It is the reference that emitters are compared with: slow, short, and independent of every emitter.
Integers are Python's, wrapped to their type; floats are computed in 64 bits and rounded to their type
after every operation, which is exact for `+ - * /` and the square root. A barrier suspends a work-item;
the group goes on when every live one waits. Memory is a list of values for each buffer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

from atoll.ir import BF16, BOOL, F16, F32, F64, Kernel, Scalar, nodes, ops
from atoll.ir.ops import AtomicOp, Binary, Cast, Compare, Math, Unary
from atoll.ir.subgroups import emulated

Number = bool | int | float
Size = tuple[int, int, int]


@dataclass(slots=True)
class ViewValue:
    """A view argument: the buffer's elements, and where the view lies in them, in elements."""

    data: list[Number]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0


class OutOfBoundsError(Exception):
    """A kernel touched an element outside its view: such a program has no defined result."""


def evaluate(
    kernel: Kernel,
    arguments: Mapping[str, Number | ViewValue],
    groups: Size,
    group: Size,
    domain: Size | None = None,
) -> None:
    """Run a kernel; views are changed in place. Groups run one after another, dimension 0 fastest."""
    kernel = emulated(kernel, group)
    for z, y, x in product(*(range(count) for count in reversed(groups))):
        _run_group(kernel, arguments, groups, group, (x, y, z), domain)


def _run_group(
    kernel: Kernel,
    arguments: Mapping[str, Number | ViewValue],
    groups: Size,
    group: Size,
    at: Size,
    domain: Size | None,
) -> None:
    shared: dict[str, list[Number | None]] = {item.name: [None] * item.length for item in kernel.shared}
    running: list[Generator[None, None, None]] = []
    for z, y, x in product(*(range(count) for count in reversed(group))):
        own: dict[str, list[Number | None]] = {array.name: [None] * array.length for array in kernel.arrays}
        item = _Item(kernel, arguments, shared | own, groups, group, at, (x, y, z))
        place = [item.ids[ops.Id.GLOBAL_ID, axis] for axis in range(3)]
        if domain is None or all(one < limit for one, limit in zip(place, domain, strict=True)):
            running.append(item.block(kernel.body))
    while running:
        running = [item for item in running if _advance(item)]


def _advance(item: Generator[None, None, None]) -> bool:
    """Run a work-item to its next barrier; false where it ended."""
    try:
        next(item)
    except (StopIteration, _Ended):
        return False
    return True


class _Ended(Exception):  # noqa: N818 - a jump, no error
    pass


class _Left(Exception):  # noqa: N818
    pass


class _Skipped(Exception):  # noqa: N818
    pass


@dataclass(slots=True)
class _Item:
    kernel: Kernel
    arguments: Mapping[str, Number | ViewValue]
    shared: dict[str, list[Number | None]]
    groups: Size
    group: Size
    at: Size
    local: Size
    locals: dict[str, Number] = field(default_factory=dict)
    ids: dict[tuple[ops.Id, int], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for axis in range(3):
            self.ids[ops.Id.LOCAL_ID, axis] = self.local[axis]
            self.ids[ops.Id.GROUP_ID, axis] = self.at[axis]
            self.ids[ops.Id.GROUP_SIZE, axis] = self.group[axis]
            self.ids[ops.Id.NUM_GROUPS, axis] = self.groups[axis]
            self.ids[ops.Id.GLOBAL_ID, axis] = self.at[axis] * self.group[axis] + self.local[axis]

    # --- statements ---

    def block(self, block: nodes.Block) -> Generator[None, None, None]:
        for stmt in block:
            yield from self.statement(stmt)

    def statement(self, stmt: nodes.Stmt) -> Generator[None, None, None]:
        match stmt:
            case nodes.Assign():
                self.locals[stmt.local] = self.value(stmt.value)
            case nodes.Store():
                memory, place = self.place(stmt.base, stmt.indices)
                memory[place] = self.value(stmt.value)
            case nodes.If():
                yield from self.block(stmt.then if self.value(stmt.condition) else stmt.orelse)
            case nodes.Loop():
                yield from self.loop(stmt)
            case nodes.Break():
                raise _Left
            case nodes.Continue():
                raise _Skipped
            case nodes.Return():
                raise _Ended
            case nodes.Barrier():
                yield
            case nodes.Atomic():
                self.atomic(stmt)

    def loop(self, stmt: nodes.Loop) -> Generator[None, None, None]:
        while self.value(stmt.condition):
            try:
                yield from self.block(stmt.body)
            except _Left:
                return
            except _Skipped:
                pass
            yield from self.block(stmt.step)

    def atomic(self, stmt: nodes.Atomic) -> None:
        memory, place = self.place(stmt.base, stmt.indices)
        old, value = memory[place], self.value(stmt.value)
        assert old is not None
        if stmt.op is AtomicOp.COMPARE_EXCHANGE:
            assert stmt.expected is not None
            memory[place] = value if old == self.value(stmt.expected) else old
        elif stmt.op is AtomicOp.EXCHANGE:
            memory[place] = value
        else:
            name = "fadd" if stmt.value.type.is_float else _ATOMIC[stmt.op]
            memory[place] = binary(Binary(name), stmt.value.type, old, value)
        if stmt.result is not None:
            self.locals[stmt.result] = old

    def place(self, base: str, indices: tuple[nodes.Expr, ...]) -> tuple[list[Any], int]:
        at = [int(self.value(index)) for index in indices]
        if base in self.shared:
            memory: list[Any] = self.shared[base]
            if not 0 <= at[0] < len(memory):
                raise OutOfBoundsError(f"{base}[{at[0]}]")
            return memory, at[0]
        view = self.arguments[base]
        assert isinstance(view, ViewValue)
        if not all(0 <= index < size for index, size in zip(at, view.shape, strict=True)):
            raise OutOfBoundsError(f"{base}{at}")
        return view.data, view.offset + sum(i * step for i, step in zip(at, view.strides, strict=True))

    # --- expressions ---

    def value(self, expr: nodes.Expr) -> Number:
        return _VALUES[type(expr)](self, expr)

    def _load(self, expr: nodes.Load) -> Number:
        memory, place = self.place(expr.base, expr.indices)
        found: Number | None = memory[place]
        if found is None:
            raise OutOfBoundsError(f"{expr.base}[{place}] was never written")
        return found

    def _logical(self, expr: nodes.Logical) -> Number:
        left = bool(self.value(expr.left))
        decided = left is (expr.op is ops.Logical.LOR)
        return left if decided else bool(self.value(expr.right))

    def _info(self, expr: nodes.ViewInfo) -> Number:
        view = self.arguments[expr.view]
        assert isinstance(view, ViewValue)
        if expr.op is ops.Extent.OFFSET:
            return view.offset
        return (view.shape if expr.op is ops.Extent.SIZE else view.strides)[expr.dimension]

    def _select(self, expr: nodes.Select) -> Number:
        condition, yes, no = (self.value(item) for item in (expr.condition, expr.yes, expr.no))
        return yes if condition else no

    def _parameter(self, expr: nodes.Param) -> Number:
        found = self.arguments[expr.name]
        assert not isinstance(found, ViewValue)
        return found


_VALUES: dict[type, Callable[[_Item, Any], Number]] = {
    nodes.Const: lambda _, expr: expr.value,
    nodes.Param: _Item._parameter,
    nodes.Local: lambda item, expr: item.locals[expr.name],
    nodes.Unary: lambda item, expr: unary(expr.op, expr.type, item.value(expr.operand)),
    nodes.Binary: lambda item, expr: binary(
        expr.op, expr.type, item.value(expr.left), item.value(expr.right)
    ),
    nodes.Compare: lambda item, expr: _COMPARES[expr.op](item.value(expr.left), item.value(expr.right)),
    nodes.Logical: _Item._logical,
    nodes.Select: _Item._select,
    nodes.Cast: lambda item, expr: cast(expr.op, expr.operand.type, expr.type, item.value(expr.operand)),
    nodes.Builtin: lambda item, expr: item.ids[expr.op, expr.dimension],
    nodes.ViewInfo: _Item._info,
    nodes.Load: _Item._load,
    nodes.MathCall: lambda item, expr: maths(
        expr.op, expr.type, [float(item.value(operand)) for operand in expr.operands]
    ),
}
_ATOMIC = {
    AtomicOp.ADD: "add_wrap", AtomicOp.MIN: "min", AtomicOp.MAX: "max",
    AtomicOp.AND: "and", AtomicOp.OR: "or", AtomicOp.XOR: "xor",
}  # fmt: skip
_COMPARES: dict[Compare, Callable[[Any, Any], bool]] = {
    Compare.EQ: lambda a, b: a == b, Compare.NE: lambda a, b: a != b, Compare.LT: lambda a, b: a < b,
    Compare.LE: lambda a, b: a <= b, Compare.GT: lambda a, b: a > b, Compare.GE: lambda a, b: a >= b,
}  # fmt: skip


def rounded(scalar: Scalar, value: Number) -> Number:
    """Return a value as its type holds it: wrapped, or rounded half to even."""
    return nodes.value_of(scalar, nodes.bits_of(scalar, value))


def unary(op: Unary, scalar: Scalar, value: Number) -> Number:
    """Apply an operation on one operand."""
    match op:
        case Unary.NEG_WRAP | Unary.FNEG:
            return rounded(scalar, -value)
        case Unary.ABS_WRAP | Unary.FABS:
            return rounded(scalar, abs(value))
        case Unary.NOT:
            return (not value) if scalar == BOOL else rounded(scalar, ~int(value))


def binary(op: Binary, scalar: Scalar, left: Number, right: Number) -> Number:
    """Apply an operation on two operands."""
    if op in ops.DIVISIONS:
        return rounded(scalar, _divide(op, int(left), int(right)))
    if op in (Binary.SHL, Binary.SHR):
        return rounded(scalar, _shift(op, scalar, int(left), int(right)))
    if op is Binary.FDIV:
        return rounded(scalar, _ratio(float(left), float(right)))
    return rounded(scalar, _BINARY[op](left, right))


_BINARY: dict[Binary, Callable[[Any, Any], Number]] = {
    Binary.ADD_WRAP: lambda a, b: a + b, Binary.SUB_WRAP: lambda a, b: a - b,
    Binary.MUL_WRAP: lambda a, b: a * b, Binary.AND: lambda a, b: a & b, Binary.OR: lambda a, b: a | b,
    Binary.XOR: lambda a, b: a ^ b, Binary.MIN: lambda a, b: b if b < a else a,
    Binary.MAX: lambda a, b: b if b > a else a, Binary.FMIN: lambda a, b: b if b < a else a,
    Binary.FMAX: lambda a, b: b if b > a else a, Binary.FADD: lambda a, b: a + b,
    Binary.FSUB: lambda a, b: a - b, Binary.FMUL: lambda a, b: a * b,
}  # fmt: skip


def _divide(op: Binary, left: int, right: int) -> int:
    quotient_wanted = op in (Binary.DIV_FLOOR, Binary.DIV_TRUNC)
    if right == 0:
        return 0 if quotient_wanted else left
    quotient = left // right
    if op in (Binary.DIV_TRUNC, Binary.REM_TRUNC) and quotient < 0 and left % right:
        quotient += 1
    return quotient if quotient_wanted else left - quotient * right


def _shift(op: Binary, scalar: Scalar, left: int, count: int) -> int:
    if not 0 <= count < scalar.bits:
        return -1 if op is Binary.SHR and left < 0 else 0
    return left << count if op is Binary.SHL else left >> count


def _ratio(left: float, right: float) -> float:
    if right != 0.0:
        return left / right
    if left == 0.0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def cast(op: Cast, source: Scalar, target: Scalar, value: Number) -> Number:
    """Convert a value."""
    match op:
        case Cast.BITS:
            return nodes.value_of(target, nodes.bits_of(source, value))
        case Cast.FTOSI | Cast.FTOUI:
            return _to_integer(target, float(value))
        case Cast.SITOF | Cast.UITOF:
            return round_exactly(target, Fraction(int(value)))
        case Cast.SEXT | Cast.ZEXT | Cast.TRUNC | Cast.SIGN | Cast.FEXT | Cast.FTRUNC:
            return rounded(target, value)


def _to_integer(target: Scalar, value: float) -> int:
    """Return a float toward zero, saturated; NaN gives 0."""
    if math.isnan(value):
        return 0
    least = -(1 << (target.bits - 1)) if target.is_signed else 0
    most = (1 << (target.bits - target.is_signed)) - 1
    if math.isinf(value):
        return most if value > 0 else least
    return max(least, min(most, int(value)))


#: The bits of a float's significand, and the exponent of its least value.
_PRECISION = {F16: (11, -24), BF16: (8, -133), F32: (24, -149), F64: (53, -1074)}


def round_exactly(scalar: Scalar, value: Fraction) -> float:
    """Return a rational number rounded once to a float type, half to even."""
    if value == 0:
        return 0.0
    digits, least = _PRECISION[scalar]
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    step = Fraction(2) ** max(exponent - digits + 1, least)
    whole = round(value / step)  # half to even
    try:
        return math.copysign(float(rounded(scalar, float(whole * step))), value)
    except OverflowError:
        return math.copysign(math.inf, value)


def maths(op: Math, scalar: Scalar, operands: list[float]) -> float:
    """Call a maths intrinsic, rounded from 64 bits."""
    if op is Math.FMA and all(map(math.isfinite, operands)):
        exact = Fraction(operands[0]) * Fraction(operands[1]) + Fraction(operands[2])
        if exact == 0:
            return float(rounded(scalar, operands[0] * operands[1] + operands[2]))
        return round_exactly(scalar, exact)
    try:
        return float(rounded(scalar, _MATHS[op](*operands)))
    except ValueError:
        return math.nan
    except OverflowError:
        return math.inf


def _whole(function: Callable[[float], int]) -> Callable[[float], float]:
    """Apply a rounding; infinities, NaN and the sign of zero stay."""
    return lambda value: math.copysign(float(function(value)), value) if math.isfinite(value) else value


def _power(left: float, right: float) -> float:
    """Return C's pow: Python raises where C gives an infinity or NaN."""
    odd = right.is_integer() and right % 2 == 1
    try:
        return math.pow(left, right)
    except OverflowError:
        return -math.inf if left < 0 and odd else math.inf
    except ValueError:
        if left == 0.0:
            return math.copysign(math.inf, left) if odd else math.inf
        return math.nan


_MATHS: dict[Math, Callable[..., float]] = {
    Math.SQRT: math.sqrt, Math.RSQRT: lambda a: _ratio(1.0, math.sqrt(a)), Math.EXP: math.exp,
    Math.EXP2: math.exp2, Math.LOG: lambda a: -math.inf if a == 0.0 else math.log(a),
    Math.LOG2: lambda a: -math.inf if a == 0.0 else math.log2(a), Math.SIN: math.sin, Math.COS: math.cos,
    Math.TAN: math.tan, Math.TANH: math.tanh, Math.FLOOR: _whole(math.floor), Math.CEIL: _whole(math.ceil),
    Math.TRUNC: _whole(math.trunc), Math.RINT: _whole(round), Math.POW: _power,
    Math.FMA: lambda a, b, c: a * b + c,
}  # fmt: skip
