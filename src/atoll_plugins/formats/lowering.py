"""How do KIR's expressions become the few operations of a register machine?

SPIR-V and PTX have the same small core: wrapping arithmetic, compare, select, convert. Everything that
KIR defines and they leave undefined is spelled here in that core, once: division by zero and of the least
integer, floor division, shifts beyond the width, conversions out of range.

Integers narrower than 32 bits live in 32, extended by their sign or by zeros; :meth:`Lowering.fit` brings
a result back into that form. A target subclasses :class:`Lowering` and says how the core is written.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar, assert_never

from atoll.ir import BOOL, F32, I32, U32, U64, Scalar, nodes, ops
from atoll.ir.ops import Binary, Cast, Compare, Math, Unary
from atoll_plugins.formats import narrow
from atoll_plugins.formats.core import DIRECT, Core
from atoll_plugins.formats.narrow import is_narrow_float

V = TypeVar("V")


_LEAST = (Binary.MIN, Binary.FMIN)
_EXTREMES = (Binary.MIN, Binary.MAX, Binary.FMIN, Binary.FMAX)


def wide(scalar: Scalar) -> Scalar:
    """Return the type that a value is held in: narrow integers in 32 bits, narrow floats as bits in 32."""
    if is_narrow_float(scalar):
        return U32
    if scalar.is_integer and scalar.bits < 32:
        return I32 if scalar.is_signed else U32
    return scalar


class Lowering(ABC, Generic[V]):
    """Expressions of one kernel on one machine; `V` is what the machine calls a value."""

    # --- the core, which a target writes ---

    @abstractmethod
    def constant(self, scalar: Scalar, bits: int) -> V:
        """Return a constant of a wide type or a bool, from its bits."""

    @abstractmethod
    def core(self, op: Core, scalar: Scalar, left: V, right: V) -> V:
        """Apply an operation of the core; AND, OR and XOR take bools too."""

    @abstractmethod
    def compare(self, op: Compare, scalar: Scalar, left: V, right: V) -> V:
        """Compare two values of a wide type or two bools; false on a NaN except for NE."""

    @abstractmethod
    def select(self, scalar: Scalar, condition: V, yes: V, no: V) -> V:
        """Choose a value of a wide type or a bool."""

    @abstractmethod
    def convert(self, op: Cast, source: Scalar, target: Scalar, value: V) -> V:
        """Convert between wide types; floats to integers only within range."""

    @abstractmethod
    def float_unary(self, op: Unary, scalar: Scalar, value: V) -> V:
        """Negate a float or take its absolute value, by its sign bit."""

    @abstractmethod
    def maths(self, expr: nodes.MathCall, operands: list[V]) -> V:
        """Call a maths intrinsic."""

    @abstractmethod
    def logical(self, expr: nodes.Logical) -> V:
        """Evaluate a short circuit; the right side's loads only where the left does not decide."""

    @abstractmethod
    def field(self, path: str) -> V:
        """Return a field of the parameter block in its wide type."""

    @abstractmethod
    def read_local(self, name: str) -> V:
        """Return the value of a local."""

    @abstractmethod
    def builtin(self, op: ops.Id, dimension: int) -> V:
        """Return an id."""

    @abstractmethod
    def load(self, expr: nodes.Load) -> V:
        """Load an element."""

    # --- what is made of it ---

    def expression(self, expr: nodes.Expr) -> V:
        """Return the value of an expression, in its wide type."""
        match expr:
            case nodes.Const():
                return self.constant(wide(expr.type), _widened(expr))
            case nodes.Unary():
                return self.unary(expr.op, expr.type, self.expression(expr.operand))
            case nodes.Binary():
                return self.binary(expr)
            case nodes.Compare():
                return self.comparison(expr)
            case nodes.Select():
                parts = [self.expression(item) for item in (expr.condition, expr.yes, expr.no)]
                return self.select(wide(expr.type), *parts)
            case nodes.Cast():
                return self.cast(expr.op, expr.operand.type, expr.type, self.expression(expr.operand))
            case nodes.MathCall():
                operands = [self.expression(item) for item in expr.operands]
                if is_narrow_float(expr.type):
                    return narrow.maths(self, expr, operands)
                return self.maths(expr, operands)
        return self.leaf(expr)

    def leaf(
        self,
        expr: nodes.Param | nodes.Local | nodes.Logical | nodes.Builtin | nodes.ViewInfo | nodes.Load,
    ) -> V:
        """Return the value of an expression that only the target can read."""
        match expr:
            case nodes.Param():
                value = self.field(expr.name)
                return self.differs(U32, value, 0) if expr.type == BOOL else value
            case nodes.Local():
                return self.read_local(expr.name)
            case nodes.Logical():
                return self.logical(expr)
            case nodes.Builtin():
                return self.builtin(expr.op, expr.dimension)
            case nodes.ViewInfo():
                return self.field(info_path(expr))
            case nodes.Load():
                return self.load(expr)
        assert_never(expr)

    def number(self, scalar: Scalar, value: int | float) -> V:
        """Return a constant of a wide type or a float type from its value."""
        return self.constant(wide(scalar), nodes.bits_of(scalar, value))

    def widen(self, scalar: Scalar, value: V) -> V:
        """Return the f32 of a narrow float's bits."""
        return narrow.widen(self, scalar, value)

    def narrow(self, scalar: Scalar, value: V) -> V:
        """Return the bits of the narrow float nearest to an f32."""
        return narrow.narrow(self, scalar, value)

    def function(self, op: Math, scalar: Scalar, *operands: V) -> V:
        """Call a maths function on values of a wide type."""
        return self.maths(nodes.MathCall(op, tuple(nodes.const(scalar, 0.0) for _ in operands)), [*operands])

    def small_power(self, value: V) -> V:
        """Return two to an f32 between -1 and 1, within two units of its last place."""
        return self.function(Math.EXP2, F32, value)

    def inverse(self, value: V) -> V:
        """Return one over an f32 between 1 and 2**64, within one unit of its last place."""
        return self.core(Core.FDIV, F32, self.number(F32, 1.0), value)

    def comparison(self, expr: nodes.Compare) -> V:
        """Compare two operands of one type."""
        scalar, pair = expr.left.type, [self.expression(item) for item in (expr.left, expr.right)]
        if is_narrow_float(scalar):
            scalar, pair = F32, [self.widen(scalar, item) for item in pair]
        return self.compare(expr.op, wide(scalar), *pair)

    def differs(self, scalar: Scalar, value: V, other: int) -> V:
        """Return whether a value is not a number."""
        return self.compare(Compare.NE, scalar, value, self.number(scalar, other))

    def fit(self, scalar: Scalar, value: V) -> V:
        """Bring a result in 32 bits back into the form of a narrow integer."""
        if not scalar.is_integer or scalar.bits >= 32:
            return value
        if not scalar.is_signed:
            return self.core(Core.AND, U32, value, self.number(U32, (1 << scalar.bits) - 1))
        count = self.number(I32, 32 - scalar.bits)
        return self.core(Core.SHR, I32, self.core(Core.SHL, I32, value, count), count)

    # --- one operand ---

    def unary(self, op: Unary, scalar: Scalar, value: V) -> V:
        """Apply an operation on one operand."""
        if is_narrow_float(scalar):
            return narrow.unary(self, op, value)
        held = wide(scalar)
        match op:
            case Unary.NEG_WRAP:
                return self.fit(scalar, self.core(Core.SUB, held, self.number(held, 0), value))
            case Unary.ABS_WRAP:
                if not scalar.is_signed:
                    return value
                zero = self.number(held, 0)
                below = self.compare(Compare.LT, held, value, zero)
                turned = self.core(Core.SUB, held, zero, value)
                return self.fit(scalar, self.select(held, below, turned, value))
            case Unary.NOT:
                ones = self.constant(held, (1 << held.bits) - 1)
                return self.fit(scalar, self.core(Core.XOR, held, value, ones))
            case Unary.FNEG | Unary.FABS:
                return self.float_unary(op, scalar, value)
        assert_never(op)

    # --- two operands ---

    def binary(self, expr: nodes.Binary) -> V:
        """Apply an operation on two operands."""
        scalar = expr.type
        left, right = self.expression(expr.left), self.expression(expr.right)
        if is_narrow_float(scalar):
            return narrow.binary(self, expr, left, right)
        if expr.op in DIRECT or expr.op in _EXTREMES:
            return self.combined(expr.op, scalar, left, right)
        known = int(expr.right.value) if isinstance(expr.right, nodes.Const) else None
        if expr.op in (Binary.SHL, Binary.SHR):
            return self.fit(scalar, self.shift(expr.op, scalar, left, right, known))
        return self.fit(scalar, self.divide(expr.op, scalar, left, right, known))

    def combined(self, op: Binary, scalar: Scalar, left: V, right: V) -> V:
        """Apply an operation of the core, a minimum or a maximum, to values of a wide form."""
        held = wide(scalar)
        if op in DIRECT:
            return self.fit(scalar, self.core(DIRECT[op], held, left, right))
        order = Compare.LT if op in _LEAST else Compare.GT
        return self.select(held, self.compare(order, held, right, left), right, left)

    def shift(self, op: Binary, scalar: Scalar, left: V, right: V, known: int | None) -> V:
        """Shift; a count outside the width gives zero, or the sign's fill."""
        held = wide(scalar)
        core = Core.SHL if op is Binary.SHL else Core.SHR
        if known is not None and 0 <= known < scalar.bits:
            return self.core(core, held, left, right)
        if core is Core.SHR and scalar.is_signed:
            fill = self.core(Core.SHR, held, left, self.number(held, held.bits - 1))
        else:
            fill = self.number(held, 0)
        if known is not None:
            return fill
        unsigned = U64 if held.bits == 64 else U32
        inside = self.compare(Compare.LT, unsigned, right, self.number(unsigned, scalar.bits))
        count = self.core(Core.AND, held, right, self.number(held, held.bits - 1))
        return self.select(held, inside, self.core(core, held, left, count), fill)

    def divide(self, op: Binary, scalar: Scalar, left: V, right: V, known: int | None) -> V:
        """Divide; by zero gives quotient 0 and remainder `left`, the least integer by -1 wraps."""
        held = wide(scalar)
        zero = self.number(held, 0)
        if known == 0:
            return zero if op in (Binary.DIV_FLOOR, Binary.DIV_TRUNC) else left
        quotient, by_zero = self._quotient(scalar, left, right, known)
        if op is Binary.DIV_TRUNC or (op is Binary.DIV_FLOOR and not scalar.is_signed):
            return quotient
        remainder = self.core(Core.SUB, held, left, self.core(Core.MUL, held, quotient, right))
        if op is Binary.REM_TRUNC or not scalar.is_signed:
            return remainder
        apart = self.compare(Compare.LT, held, self.core(Core.XOR, held, remainder, right), zero)
        adjust = self.core(Core.AND, BOOL, apart, self.differs(held, remainder, 0))
        if by_zero is not None:
            adjust = self.core(Core.AND, BOOL, adjust, self.not_(by_zero))
        if op is Binary.DIV_FLOOR:
            one_less = self.core(Core.SUB, held, quotient, self.number(held, 1))
            return self.select(held, adjust, one_less, quotient)
        return self.select(held, adjust, self.core(Core.ADD, held, remainder, right), remainder)

    def _quotient(self, scalar: Scalar, left: V, right: V, known: int | None) -> tuple[V, V | None]:
        """Return the quotient toward zero, and whether the divisor is zero where that is not known."""
        held = wide(scalar)
        zero, one = self.number(held, 0), self.number(held, 1)
        if known == -1 and scalar.is_signed:
            return self.core(Core.SUB, held, zero, left), None
        if known is not None:
            return self.core(Core.DIV, held, left, right), None
        by_zero = self.compare(Compare.EQ, held, right, zero)
        if not scalar.is_signed:
            divisor = self.select(held, by_zero, one, right)
            return self.select(held, by_zero, zero, self.core(Core.DIV, held, left, divisor)), by_zero
        by_minus = self.compare(Compare.EQ, held, right, self.number(held, -1))
        special = self.core(Core.OR, BOOL, by_zero, by_minus)
        divisor = self.select(held, special, one, right)
        turned = self.core(Core.SUB, held, zero, left)
        quotient = self.select(held, by_minus, turned, self.core(Core.DIV, held, left, divisor))
        return self.select(held, by_zero, zero, quotient), by_zero

    def not_(self, value: V) -> V:
        """Return the opposite of a bool."""
        return self.core(Core.XOR, BOOL, value, self.constant(BOOL, 1))

    # --- conversions ---

    def cast(self, op: Cast, source: Scalar, target: Scalar, value: V) -> V:
        """Convert a value."""
        if is_narrow_float(target):
            return narrow.to_narrow(self, op, source, target, value)
        if is_narrow_float(source):
            return narrow.from_narrow(self, op, source, target, value)
        if source == BOOL:
            held = wide(target)
            return self.select(held, value, self.number(held, 1), self.number(held, 0))
        match op:
            case Cast.FTOSI | Cast.FTOUI:
                return self._float_to_integer(op, source, target, value)
            case Cast.SEXT | Cast.ZEXT | Cast.TRUNC | Cast.SIGN:
                if wide(source).bits != wide(target).bits:
                    value = self.convert(op, wide(source), wide(target), value)
                return self.fit(target, value)
            case Cast.BITS | Cast.SITOF | Cast.UITOF | Cast.FEXT | Cast.FTRUNC:
                return self.convert(op, wide(source), wide(target), value)
        assert_never(op)

    def _float_to_integer(self, op: Cast, source: Scalar, target: Scalar, value: V) -> V:
        """Convert toward zero; saturate; NaN gives 0 because it is inside no range."""
        held = wide(target)
        least, most = target.range
        beyond = self.number(source, float(most + 1))
        above = self.compare(Compare.GE, source, value, beyond)
        below = self.compare(Compare.LT, source, value, self.number(source, float(least)))
        not_under = self.compare(Compare.GE, source, value, self.number(source, float(least)))
        inside = self.core(Core.AND, BOOL, not_under, self.compare(Compare.LT, source, value, beyond))
        safe = self.select(source, inside, value, self.number(source, 0.0))
        result = self.convert(op, source, held, safe)
        result = self.select(held, above, self.number(held, most), result)
        return self.select(held, below, self.number(held, least), result)


def info_path(expr: nodes.ViewInfo) -> str:
    """Return the path of the field that a view's extent stands in."""
    if expr.op is ops.Extent.OFFSET:
        return f"{expr.view}.offset"
    return f"{expr.view}.{expr.op}.{expr.dimension}"


def _widened(const: nodes.Const) -> int:
    """Return the bits of a constant in its wide type."""
    if const.type.is_integer:
        return nodes.bits_of(wide(const.type), const.value)
    return const.bits
