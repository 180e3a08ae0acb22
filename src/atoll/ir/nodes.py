"""What a kernel's body is made of: typed expressions and structured statements, all frozen values.

Every node has a `span`, which is no part of equality and of the canonical bytes. An expression has no
side effect; its loads happen in the order written, left to right, when its statement runs.
Operations and their semantics: :mod:`atoll.ir.ops`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from atoll.diagnostics import Span
from atoll.ir import ops
from atoll.ir.types import BF16, BOOL, F16, F32, I32, I64, Kind, Scalar

# --- expressions -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Const:
    """A constant, held as bits so that -0.0 and every NaN are themselves.

    Build it with :func:`const`; read it with `value`.
    """

    type: Scalar
    bits: int
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def value(self) -> bool | int | float:
        """The constant as a Python value, exactly."""
        return value_of(self.type, self.bits)


@dataclass(frozen=True, slots=True)
class Param:
    """The value of a scalar parameter; parameters are never assigned."""

    name: str
    type: Scalar
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Local:
    """The value of a mutable local."""

    name: str
    type: Scalar
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Unary:
    """An operation on one operand."""

    op: ops.Unary
    operand: Expr
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def type(self) -> Scalar:
        """The operand's type."""
        return self.operand.type


@dataclass(frozen=True, slots=True)
class Binary:
    """An operation on two operands of one type."""

    op: ops.Binary
    left: Expr
    right: Expr
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def type(self) -> Scalar:
        """The operands' type."""
        return self.left.type


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison of two operands of one type."""

    op: ops.Compare
    left: Expr
    right: Expr
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def type(self) -> Scalar:
        """Bool."""
        return BOOL


@dataclass(frozen=True, slots=True)
class Logical:
    """A short circuit: `right` is evaluated (and its loads happen) only where `left` does not decide."""

    op: ops.Logical
    left: Expr
    right: Expr
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def type(self) -> Scalar:
        """Bool."""
        return BOOL


@dataclass(frozen=True, slots=True)
class Select:
    """One of two values. Both are evaluated, so neither holds a load (verified)."""

    condition: Expr
    yes: Expr
    no: Expr
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def type(self) -> Scalar:
        """The operands' type."""
        return self.yes.type


@dataclass(frozen=True, slots=True)
class Cast:
    """A conversion to `type`."""

    op: ops.Cast
    type: Scalar
    operand: Expr
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Builtin:
    """An id or a size of the launch, in one dimension (0, 1 or 2)."""

    op: ops.Id
    dimension: int
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def type(self) -> Scalar:
        """i32."""
        return I32


@dataclass(frozen=True, slots=True)
class ViewInfo:
    """A size or stride of a view in one dimension, or its offset (dimension 0), in elements."""

    op: ops.Extent
    view: str
    dimension: int = 0
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def type(self) -> Scalar:
        """i64."""
        return I64


@dataclass(frozen=True, slots=True)
class Load:
    """An element of a view (i64 indices, one a dimension) or of a shared array (one i32 index).

    `base` is the name of the view parameter or shared array. Out of bounds is the caller's fault
    and undefined; so is a negative index.
    """

    base: str
    indices: tuple[Expr, ...]
    type: Scalar
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class MathCall:
    """A maths intrinsic on float operands of one type."""

    op: ops.Math
    operands: tuple[Expr, ...]
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def type(self) -> Scalar:
        """The operands' type."""
        return self.operands[0].type


Expr = (
    Const
    | Param
    | Local
    | Unary
    | Binary
    | Compare
    | Logical
    | Select
    | Cast
    | Builtin
    | ViewInfo
    | Load
    | MathCall
)


# --- statements --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Assign:
    """Give a local a value of its type."""

    local: str
    value: Expr
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Store:
    """Write an element of a view or a shared array; indices as for :class:`Load`.

    The indices are evaluated first, then the value.
    """

    base: str
    indices: tuple[Expr, ...]
    value: Expr
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class If:
    """Run one of two blocks; either may be empty."""

    condition: Expr
    then: Block
    orelse: Block = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Loop:
    """While `condition` holds, run `body`, then `step`.

    `continue` in the body goes to `step`, `break` leaves the loop; `step` holds neither, and no
    return and no barrier.
    """

    condition: Expr
    body: Block
    step: Block = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Break:
    """Leave the innermost loop."""

    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Continue:
    """Go to the step of the innermost loop."""

    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Return:
    """End this work-item."""

    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Barrier:
    """Wait for every work-item of the group; orders its shared and global memory.

    Every work-item of the group reaches it or none does (verified by taint from the ids).
    """

    scope: ops.Scope = ops.Scope.WORK_GROUP
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Atomic:
    """Change an element indivisibly; `result`, if named, is a local that gets the old value.

    `expected` is there for COMPARE_EXCHANGE only.
    """

    op: ops.AtomicOp
    base: str
    indices: tuple[Expr, ...]
    value: Expr
    expected: Expr | None = None
    result: str | None = None
    order: ops.Order = ops.Order.RELAXED
    scope: ops.Scope = ops.Scope.DEVICE
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Fence:
    """Order this work-item's memory traffic, as seen by the others of the scope; waits for nobody."""

    scope: ops.Scope = ops.Scope.DEVICE
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SubGroup:
    """Work with the other work-items of the sub-group; `result` is a local that gets what comes of it.

    Every work-item of the sub-group reaches it or none does (verified by taint from the ids). `lane`
    is there for BROADCAST, where it is the same for all (verified), and for SHUFFLE; it names a lane
    of the sub-group, anything else is the caller's fault and undefined.
    """

    op: ops.SubGroup
    value: Expr
    result: str
    lane: Expr | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ExternCall:
    """Call a function that another source defines; `result`, if it has one, is a local that gets it.

    `function` is the name of one of the kernel's :class:`atoll.ir.module.Extern`.
    """

    function: str
    arguments: tuple[Expr, ...]
    result: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Inline:
    """Text of a target's own language, with typed operands; opaque to every pass.

    `$0` is the result where there is one, then come the operands. An operand whose entry in `bases` names a
    view of one dimension or a shared array is the address of an element: the operand is its index.
    `constraints` are those of the result (`=f`), of each operand, and `~{memory}` where the text writes;
    without that it only reads, through its addresses.
    """

    language: ops.Inline
    text: str
    constraints: str
    operands: tuple[Expr, ...]
    bases: tuple[str, ...]
    result: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def parts(self) -> tuple[str, ...]:
        """The constraints of the operands."""
        listed = self.constraints.split(",") if self.constraints else []
        return tuple(item for item in listed if not item.startswith(("=", "~")))

    @property
    def output(self) -> str | None:
        """The constraint of the result."""
        return next((item[1:] for item in self.constraints.split(",") if item.startswith("=")), None)

    @property
    def writes(self) -> bool:
        """Whether it may write memory."""
        return MEMORY in self.constraints.split(",")


#: The constraint of inline code that writes memory.
MEMORY = "~{memory}"
Together = Barrier | Fence | SubGroup | ExternCall | Inline
Stmt = Assign | Store | If | Loop | Break | Continue | Return | Atomic | Together
Block = tuple[Stmt, ...]


# --- constants ---------------------------------------------------------------------------------

_PACK = {"f16": "<e", "f32": "<f", "f64": "<d"}


def const(scalar: Scalar, value: bool | int | float, span: Span | None = None) -> Const:
    """Return a constant of a type, the value rounded half to even (floats) or wrapped (integers)."""
    return Const(scalar, bits_of(scalar, value), span)


def bits_of(scalar: Scalar, value: bool | int | float) -> int:
    """Return the bits of a Python value as this type: integers wrap, floats round half to even."""
    if scalar.kind is Kind.BOOL:
        return int(bool(value))
    if scalar.is_integer:
        return int(value) & ((1 << scalar.bits) - 1)
    return _float_bits(scalar, value)


def _float_bits(scalar: Scalar, value: float) -> int:
    if scalar == BF16:
        return _bf16_bits(float(value))
    form = _PACK[scalar.name]
    try:
        packed = struct.pack(form, float(value))
    except OverflowError:  # the value rounds to an infinity
        packed = struct.pack(form, float("inf") if value > 0 else float("-inf"))
    return int.from_bytes(packed, "little")


def _bf16_bits(value: float) -> int:
    """Round a double to bfloat16, half to even, in one step (no double rounding through f32)."""
    wide = int.from_bytes(struct.pack("<d", value), "little")
    if value != value:  # NaN
        return 0x7FC0 | (wide >> 63) << 15
    if value in (0.0, float("inf"), float("-inf")):
        return _float_bits(F32, value) >> 16
    # Round to odd in f32 first, which keeps the information that the second rounding needs.
    narrow = _float_bits(F32, value)
    exact = struct.unpack("<f", narrow.to_bytes(4, "little"))[0]
    if exact != value and abs(exact) != float("inf"):
        if abs(exact) > abs(value):
            narrow -= 1
        narrow |= 1
    low, high = narrow & 0xFFFF, narrow >> 16
    return high + (low > 0x8000 or (low == 0x8000 and high & 1))


def value_of(scalar: Scalar, bits: int) -> bool | int | float:
    """Return the Python value that bits of this type mean."""
    if scalar.kind is Kind.BOOL:
        return bool(bits)
    if scalar.is_integer:
        return bits - (1 << scalar.bits) if scalar.is_signed and bits >> (scalar.bits - 1) else bits
    if scalar == BF16:
        return value_of(F32, bits << 16)
    value: float = struct.unpack(_PACK[scalar.name], bits.to_bytes(scalar.bits // 8, "little"))[0]
    return value


#: Types whose arithmetic may be done in f32 and rounded once, with the same result.
NARROW_FLOATS = (F16, BF16)
