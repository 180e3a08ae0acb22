"""What types a kernel's values have.

Scalars are the twelve below; a view is an array argument; shared arrays are declared by the kernel
(:class:`atoll.ir.module.SharedArray`). There are no implicit conversions between any two of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Space(StrEnum):
    """Where memory lies."""

    GLOBAL = "global"
    SHARED = "shared"
    LOCAL = "local"
    CONSTANT = "constant"
    PUSH = "push"


class Kind(StrEnum):
    """How the bits of a scalar are read."""

    BOOL = "bool"
    SIGNED = "signed"
    UNSIGNED = "unsigned"
    FLOAT = "float"


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar type, one of :data:`SCALARS`.

    Attributes:
        name: ``i32``.
        kind: How its bits are read.
        bits: Its width; a bool is 1 bit as a value, 1 byte in memory.
    """

    name: str
    kind: Kind
    bits: int

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point type."""
        return self.kind is Kind.FLOAT

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer; a bool is none."""
        return self.kind in (Kind.SIGNED, Kind.UNSIGNED)

    @property
    def is_signed(self) -> bool:
        """Whether it is a signed integer."""
        return self.kind is Kind.SIGNED

    @property
    def nbytes(self) -> int:
        """Bytes of one element in memory."""
        return max(1, self.bits // 8)

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest value of an integer type."""
        return -(self.is_signed << (self.bits - 1)), (1 << (self.bits - self.is_signed)) - 1

    def __str__(self) -> str:
        return self.name


BOOL = Scalar("bool", Kind.BOOL, 1)
I8, I16, I32, I64 = (Scalar(f"i{bits}", Kind.SIGNED, bits) for bits in (8, 16, 32, 64))
U8, U16, U32, U64 = (Scalar(f"u{bits}", Kind.UNSIGNED, bits) for bits in (8, 16, 32, 64))
F16 = Scalar("f16", Kind.FLOAT, 16)
BF16 = Scalar("bf16", Kind.FLOAT, 16)
F32 = Scalar("f32", Kind.FLOAT, 32)
F64 = Scalar("f64", Kind.FLOAT, 64)

#: Every scalar by name.
SCALARS = {
    scalar.name: scalar for scalar in (BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64)
}


@dataclass(frozen=True, slots=True)
class View:
    """An array argument: a buffer, an element offset, and a size and stride for each dimension.

    Element ``x[i, j]`` lies at ``offset + i * stride.0 + j * stride.1`` elements from the start of
    the buffer, computed in 64 bits.
    """

    element: Scalar
    rank: int = 1

    def __str__(self) -> str:
        return f"view<{self.element}, {self.rank}>"


@dataclass(frozen=True, slots=True)
class Pointer:
    """An address of elements in a space. KIR 1 has no value of this type; layouts and emitters name it."""

    space: Space
    element: Scalar

    def __str__(self) -> str:
        return f"ptr<{self.space}, {self.element}>"


Type = Scalar | View | Pointer

#: The most dimensions of a view.
MAX_RANK = 4
