"""What an expression of the source can be while it is lowered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias, get_args

from atoll.ir import I64, Scalar, View
from atoll.ir import nodes as n
from atoll.kernels.structs import StructType


@dataclass(frozen=True, slots=True)
class Weak:
    """A literal, or a computation of literals: it takes the type of what it meets."""

    value: int | float


@dataclass(frozen=True, slots=True)
class ViewValue:
    """A view parameter of the kernel, or one component of a view of vectors: the last index is that."""

    name: str
    type: View
    component: int | None = None

    @property
    def rank(self) -> int:
        """How many indices the source gives it."""
        return self.type.rank - (self.component is not None)

    def places(self, indices: tuple[n.Expr, ...]) -> tuple[n.Expr, ...]:
        """Return the indices in KIR."""
        return indices if self.component is None else (*indices, n.const(I64, self.component))


@dataclass(frozen=True, slots=True)
class SharedValue:
    """An array that the kernel makes, row after row in memory: the group's, or a work-item's own."""

    name: str
    element: Scalar
    sizes: tuple[int, ...]
    private: bool = False

    @property
    def rank(self) -> int:
        """How many indices the source gives it."""
        return len(self.sizes)

    def places(self, indices: tuple[n.Expr, ...]) -> tuple[n.Expr, ...]:
        """Return the indices in KIR."""
        return indices


@dataclass(frozen=True, slots=True)
class PointerValue:
    """A pointer: an array of one dimension, and how many elements from its start; None at the start."""

    array: ViewValue | SharedValue
    offset: n.Expr | None

    @property
    def name(self) -> str:
        """The name of its array."""
        return self.array.name

    def places(self, indices: tuple[n.Expr, ...]) -> tuple[n.Expr, ...]:
        """Return the indices in KIR."""
        return indices


@dataclass(frozen=True, slots=True)
class StructValue:
    """A struct by value: an expression for each part, in order."""

    struct: StructType
    fields: tuple[n.Expr, ...]

    def field(self, name: str) -> n.Expr | StructValue:
        """Return a member, a vector as a value of its own; KeyError where there is none."""
        found: n.Expr | StructValue = self.struct.gathered(self.fields, StructValue)[name]
        return found


@dataclass(frozen=True, slots=True)
class StructArray:
    """An array of structs: an array for each part, in order, of one shape."""

    struct: StructType
    arrays: tuple[ViewValue | SharedValue, ...]

    def field(self, name: str) -> ViewValue | SharedValue | StructArray:
        """Return the array of a member, for a vector an array of vectors; KeyError where there is none."""
        found: ViewValue | SharedValue | StructArray = self.struct.gathered(self.arrays, StructArray)[name]
        return found


@dataclass(frozen=True, slots=True)
class TupleValue:
    """Several values, as `x.shape` gives them."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Opaque:
    """An object that only the compiler handles: a function, a module, a type; `path` is how it was named."""

    object: Any
    path: tuple[str, ...]


Value: TypeAlias = (
    n.Expr | Weak | ViewValue | SharedValue | PointerValue | StructValue | StructArray | TupleValue | Opaque
)
EXPRESSIONS = get_args(n.Expr)


def is_expression(value: Value) -> bool:
    """Tell whether a value is a typed expression."""
    return isinstance(value, EXPRESSIONS)


def described(value: Value) -> str:
    """Return what a value is, for a sentence."""
    match value:
        case Weak():
            return f"the literal {value.value!r}"
        case ViewValue():
            return f"a {value.type}"
        case SharedValue():
            return f"{'an' if value.private else 'a shared'} array of {value.element}"
        case PointerValue():
            return f"a pointer into `{value.name}`"
        case StructValue():
            return f"a {value.struct}"
        case StructArray():
            return f"an array of {value.struct}"
        case TupleValue():
            return "a tuple"
        case Opaque():
            return f"the object `{'.'.join(value.path)}`"
    return f"{'an' if value.type.name[0] in 'fi' else 'a'} {value.type}"
