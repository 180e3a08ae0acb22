"""What a number is inside a kernel that runs in CPython: a value with a type, rounded after every step.

The classes are the types of the surface (`f32`, `i32`, …): annotations in a signature, conversions in
a body (``f32(i)``), and in the oracle the values themselves. An f32 rounds after every operation, an
i32 wraps, and a Python literal is weak: it takes the type of what it meets, as in NumPy 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, get_args, get_origin

from atoll.diagnostics import Diagnostic
from atoll.errors import LaunchError
from atoll.ir import BF16, BOOL, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, Scalar, View
from atoll.ir.nodes import bits_of, value_of
from atoll.ir.types import MAX_RANK
from atoll.kernels.promote import literal_fits, promote
from atoll.kernels.structs import StructView, struct_of

Number: TypeAlias = bool | int | float


class Fault(Exception):  # noqa: N818 - an internal signal that the oracle turns into an error
    """Something Python cannot do with these values; the oracle adds the place."""

    def __init__(self, code: str, message: str, *notes: str) -> None:
        super().__init__(message)
        self.code, self.message, self.notes = code, message, notes


class _Checking:
    """Whether a signed integer that wraps is a fault, as in a checked kernel."""

    on = False


checking = _Checking()


class Typed:
    """A value of a scalar type."""

    __slots__ = ("value",)
    scalar: ClassVar[Scalar]
    value: Number

    def __init__(self, value: Any = 0) -> None:
        self.value = convert(value, self.scalar)

    def __repr__(self) -> str:
        return f"{self.scalar}({self.value!r})"

    def __hash__(self) -> int:
        return hash(self.value)

    def __bool__(self) -> bool:
        if self.scalar == BOOL:
            return bool(self.value)
        raise Fault("ATL0716", f"a condition is {self.scalar}, not bool")

    def __index__(self) -> int:
        if self.scalar.is_integer:
            return int(self.value)
        raise TypeError(f"{self.scalar} is no index")

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    # Arithmetic. `_arithmetic` promotes, computes exactly or in double, and rounds or wraps once.

    def __add__(self, other: Any) -> Any:
        return _arithmetic(self, other, lambda a, b: a + b)

    def __radd__(self, other: Any) -> Any:
        return _arithmetic(other, self, lambda a, b: a + b)

    def __sub__(self, other: Any) -> Any:
        return _arithmetic(self, other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Any:
        return _arithmetic(other, self, lambda a, b: a - b)

    def __mul__(self, other: Any) -> Any:
        return _arithmetic(self, other, lambda a, b: a * b)

    def __rmul__(self, other: Any) -> Any:
        return _arithmetic(other, self, lambda a, b: a * b)

    def __truediv__(self, other: Any) -> Any:
        return _arithmetic(self, other, _divide)

    def __rtruediv__(self, other: Any) -> Any:
        return _arithmetic(other, self, _divide)

    def __floordiv__(self, other: Any) -> Any:
        return _arithmetic(self, other, _floor_divide)

    def __rfloordiv__(self, other: Any) -> Any:
        return _arithmetic(other, self, _floor_divide)

    def __mod__(self, other: Any) -> Any:
        return _arithmetic(self, other, _remainder)

    def __rmod__(self, other: Any) -> Any:
        return _arithmetic(other, self, _remainder)

    def __pow__(self, other: Any) -> Any:
        return _arithmetic(self, other, power)

    def __and__(self, other: Any) -> Any:
        return _arithmetic(self, other, lambda a, b: a & b)

    def __rand__(self, other: Any) -> Any:
        return _arithmetic(other, self, lambda a, b: a & b)

    def __or__(self, other: Any) -> Any:
        return _arithmetic(self, other, lambda a, b: a | b)

    def __ror__(self, other: Any) -> Any:
        return _arithmetic(other, self, lambda a, b: a | b)

    def __xor__(self, other: Any) -> Any:
        return _arithmetic(self, other, lambda a, b: a ^ b)

    def __rxor__(self, other: Any) -> Any:
        return _arithmetic(other, self, lambda a, b: a ^ b)

    def __lshift__(self, other: Any) -> Any:
        return _shift(self, other, left=True)

    def __rlshift__(self, other: Any) -> Any:
        return _shift(other, self, left=True)

    def __rshift__(self, other: Any) -> Any:
        return _shift(self, other, left=False)

    def __rrshift__(self, other: Any) -> Any:
        return _shift(other, self, left=False)

    def __neg__(self) -> Typed:
        return make(self.scalar, -self.value)

    def __pos__(self) -> Typed:
        return self

    def __abs__(self) -> Typed:
        return make(self.scalar, abs(self.value))

    def __invert__(self) -> Typed:
        return make(self.scalar, (not self.value) if self.scalar == BOOL else ~int(self.value))

    # Comparisons give a Python bool: a kernel's bool is Python's.

    def __eq__(self, other: object) -> Any:
        return _compare(self, other, lambda a, b: a == b)

    def __ne__(self, other: object) -> Any:
        return _compare(self, other, lambda a, b: a != b)

    def __lt__(self, other: Any) -> Any:
        return _compare(self, other, lambda a, b: a < b)

    def __le__(self, other: Any) -> Any:
        return _compare(self, other, lambda a, b: a <= b)

    def __gt__(self, other: Any) -> Any:
        return _compare(self, other, lambda a, b: a > b)

    def __ge__(self, other: Any) -> Any:
        return _compare(self, other, lambda a, b: a >= b)


def make(scalar: Scalar, value: Number) -> Typed:
    """Return a value of a type, wrapped or rounded once."""
    made = object.__new__(CLASSES[scalar.name])
    made.value = value_of(scalar, bits_of(scalar, value))
    return made


def convert(value: Any, scalar: Scalar) -> Number:
    """Return what the conversion ``f32(value)`` gives: as KIR's casts; a literal has to fit."""
    if isinstance(value, Typed):
        return _cast(value.value, scalar)
    if isinstance(value, bool):
        return _cast(value, scalar)
    if isinstance(value, int | float):
        if scalar.is_integer and isinstance(value, float):
            return _cast(value, scalar)
        if not literal_fits(value, scalar):
            raise Fault("ATL0718", f"the literal {value!r} is no {scalar}")
        return value_of(scalar, bits_of(scalar, value))
    raise TypeError(f"{scalar} takes a number, not {type(value).__name__}")


def _cast(value: Number, scalar: Scalar) -> Number:
    if scalar == BOOL:
        return value != 0
    if scalar.is_integer and isinstance(value, float):
        return _saturate(value, scalar)
    return value_of(scalar, bits_of(scalar, value))


def _saturate(value: float, scalar: Scalar) -> int:
    if math.isnan(value):
        return 0
    low, high = scalar.range
    return low if value <= low else high if value >= high else math.trunc(value)


def typed(value: Any, scalar: Scalar) -> Any:
    """Give a weak value this type; a bool and a typed value stay what they are."""
    if isinstance(value, Typed | bool) or not isinstance(value, int | float):
        return value
    return make(scalar, convert(value, scalar))


def _both(left: Any, right: Any) -> tuple[Scalar, Number, Number] | None:
    """Return the common type of two operands and their values, or None for foreign operands."""
    if isinstance(left, Typed) and isinstance(right, Typed):
        scalar = promote(left.scalar, right.scalar)
        if scalar is None:
            raise Fault("ATL0713", f"{left.scalar} and {right.scalar} do not go together")
        return scalar, left.value, right.value
    strong, weak = (left, right) if isinstance(left, Typed) else (right, left)
    if not isinstance(weak, bool | int | float):
        return None
    if not literal_fits(weak, strong.scalar):
        raise Fault("ATL0718", f"the literal {weak!r} is no {strong.scalar}")
    value = value_of(strong.scalar, bits_of(strong.scalar, weak))
    return (strong.scalar, left.value, value) if strong is left else (strong.scalar, value, right.value)


def _arithmetic(left: Any, right: Any, compute: Callable[[Any, Any], Number]) -> Any:
    both = _both(left, right)
    if both is None:
        return NotImplemented
    scalar, a, b = both
    result = compute(a, b)
    if checking.on and scalar.is_signed and not -(1 << (scalar.bits - 1)) <= result < 1 << (scalar.bits - 1):
        raise Fault("ATL0757", f"{result} is no {scalar}: it wraps")
    return make(scalar, result)


def _compare(left: Any, right: Any, compute: Callable[[Any, Any], bool]) -> Any:
    both = _both(left, right)
    return NotImplemented if both is None else compute(both[1], both[2])


def _divide(a: float, b: float) -> float:
    """Divide as IEEE 754 does: no exception, infinities and NaN instead."""
    if b != 0:
        return a / b
    if a == 0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def _floor_divide(a: int, b: int) -> int:
    if b == 0:
        raise Fault("ATL0754", "an integer is divided by zero")
    return a // b


def _remainder(a: int, b: int) -> int:
    if b == 0:
        raise Fault("ATL0754", "an integer is divided by zero")
    return a % b


def power(a: Number, b: Number) -> Number:
    """Raise as kernels do: IEEE's pow for floats, with a square as one multiplication."""
    if isinstance(b, int) or b == 2:
        return a * a if b == 2 else a ** int(b)
    try:
        result = math.pow(a, b)
    except OverflowError:
        return -math.inf if a < 0 and b % 2 == 1 else math.inf
    except ValueError:
        if a != 0:
            return math.nan
        return math.copysign(math.inf, a) if b % 2 == 1 else math.inf
    return result


def _shift(value: Any, count: Any, *, left: bool) -> Any:
    both = _both(value, count)
    if both is None:
        return NotImplemented
    scalar, a, b = both
    if not 0 <= b < scalar.bits:
        raise Fault("ATL0754", f"a shift of {scalar} by {b}")
    return make(scalar, int(a) << int(b) if left else int(a) >> int(b))


class bool_(Typed):  # noqa: N801 - the surface's word
    """A truth value; no number. Calling it gives Python's own bool, which kernels compute with."""

    __slots__ = ()
    scalar = BOOL

    def __new__(cls, value: Any = False) -> bool:  # type: ignore[misc]
        """Return a Python bool."""
        return bool(convert(value, BOOL))


class i8(Typed):  # noqa: N801
    """A signed integer of 8 bits that wraps."""

    __slots__ = ()
    scalar = I8


class i16(Typed):  # noqa: N801
    """A signed integer of 16 bits that wraps."""

    __slots__ = ()
    scalar = I16


class i32(Typed):  # noqa: N801
    """A signed integer of 32 bits that wraps."""

    __slots__ = ()
    scalar = I32


class i64(Typed):  # noqa: N801
    """A signed integer of 64 bits that wraps."""

    __slots__ = ()
    scalar = I64


class u8(Typed):  # noqa: N801
    """An unsigned integer of 8 bits that wraps."""

    __slots__ = ()
    scalar = U8


class u16(Typed):  # noqa: N801
    """An unsigned integer of 16 bits that wraps."""

    __slots__ = ()
    scalar = U16


class u32(Typed):  # noqa: N801
    """An unsigned integer of 32 bits that wraps."""

    __slots__ = ()
    scalar = U32


class u64(Typed):  # noqa: N801
    """An unsigned integer of 64 bits that wraps."""

    __slots__ = ()
    scalar = U64


class f16(Typed):  # noqa: N801
    """A float of 16 bits (IEEE half)."""

    __slots__ = ()
    scalar = F16


class bf16(Typed):  # noqa: N801
    """A float of 16 bits with the exponent of f32."""

    __slots__ = ()
    scalar = BF16


class f32(Typed):  # noqa: N801
    """A float of 32 bits that rounds after every operation."""

    __slots__ = ()
    scalar = F32


class f64(Typed):  # noqa: N801
    """A float of 64 bits."""

    __slots__ = ()
    scalar = F64


#: The classes by the name of their type.
CLASSES: dict[str, type[Typed]] = {
    item.scalar.name: item for item in (bool_, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64)
}


@dataclass(frozen=True, slots=True)
class FixedType:
    """The type of an array that each work-item has for itself; calling it in a kernel makes one."""

    element: Scalar
    sizes: tuple[int, ...]

    def __call__(self, *values: Any) -> Any:
        """Return an array: zeros, one value everywhere, or every value."""
        from atoll.kernels.surface import own_array

        return own_array(self.element, self.sizes, values)


def fixed_type(key: Any) -> FixedType:
    """Return the type that ``fixed[f32, 4]`` names.

    Raises:
        LaunchError: Where it names none.
    """
    element, *sizes = key if isinstance(key, tuple) else (key,)
    usable = isinstance(element, type) and issubclass(element, Typed) and element is not bool_
    good = all(isinstance(size, int) and not isinstance(size, bool) and size >= 1 for size in sizes)
    if not usable or not good or not 1 <= len(sizes) <= MAX_RANK:
        raise LaunchError(
            Diagnostic(
                code="ATL0712",
                message=f"no array of {key!r}",
                hint="write `fixed[f32, 4]`, or `fixed[f32, 4, 4]` for two dimensions (at most 4)",
            )
        )
    return FixedType(element.scalar, tuple(sizes))


if TYPE_CHECKING:
    from typing import Generic

    from typing_extensions import TypeVar

    T = TypeVar("T")
    R = TypeVar("R", default=Literal[1])

    class view(Generic[T, R]):  # noqa: N801
        """An array argument as a type checker sees it; there a rank is written ``Literal[2]``."""

        size: i64
        shape: tuple[i64, ...]
        strides: tuple[i64, ...]

        def __getitem__(self, index: Any) -> Any: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...
        def __len__(self) -> int: ...

    class fixed(Generic[T, R]):  # noqa: N801
        """An array of one work-item as a type checker sees it; there a size is written ``Literal[4]``."""

        size: i64
        shape: tuple[i64, ...]

        def __init__(self, *values: Any) -> None: ...
        def __getitem__(self, index: Any) -> Any: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...
        def __len__(self) -> int: ...
else:

    class fixed:  # noqa: N801
        """The type of an array that each work-item has: ``acc = fixed[f32, 4]()`` makes one of zeros."""

        def __class_getitem__(cls, key: Any) -> FixedType:
            parts = key if isinstance(key, tuple) else (key,)
            plain = [get_args(part)[0] if get_origin(part) is Literal else part for part in parts]
            return fixed_type(tuple(plain))

    class view:  # noqa: N801
        """The annotation of an array argument: ``view[f32]`` or, of two dimensions, ``view[f32, 2]``."""

        def __class_getitem__(cls, key: Any) -> Any:
            from atoll.kernels.generics import OpenView, variable_of
            from atoll.kernels.vectors import MAX_RANK as MAX_VEC_RANK
            from atoll.kernels.vectors import VecType, VecView

            element, rank = key if isinstance(key, tuple) and len(key) == 2 else (key, 1)
            if get_origin(rank) is Literal:  # what type checkers want: view[f32, Literal[2]]
                (rank,) = get_args(rank)
            usable = isinstance(element, type) and issubclass(element, Typed) and element is not bool_
            kind = struct_of(element)
            if isinstance(kind, VecType) and rank in range(1, MAX_VEC_RANK + 1):
                return VecView(kind, rank)
            if variable_of(element) is not None and rank in (1, 2, 3, 4):
                return OpenView(element, rank)
            if kind is not None and rank in (1, 2, 3, 4):
                return StructView(kind, rank)
            if not usable or isinstance(rank, bool) or rank not in (1, 2, 3, 4):
                raise LaunchError(
                    Diagnostic(
                        code="ATL0712",
                        message=f"no view of {key!r}",
                        hint="write `view[f32]`, or `view[f32, 2]` for two dimensions (at most 4)",
                    )
                )
            return View(element.scalar, rank)
