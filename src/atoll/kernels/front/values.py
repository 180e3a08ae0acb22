"""What an expression of the source can be while it is lowered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias, get_args

from atoll.ir import Scalar, View
from atoll.ir import nodes as n


@dataclass(frozen=True, slots=True)
class Weak:
    """A literal, or a computation of literals: it takes the type of what it meets."""

    value: int | float


@dataclass(frozen=True, slots=True)
class ViewValue:
    """A view parameter of the kernel."""

    name: str
    type: View


@dataclass(frozen=True, slots=True)
class SharedValue:
    """An array that the kernel makes, row after row in memory: the group's, or a work-item's own."""

    name: str
    element: Scalar
    sizes: tuple[int, ...]
    private: bool = False


@dataclass(frozen=True, slots=True)
class TupleValue:
    """Several values, as `x.shape` gives them."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Opaque:
    """An object that only the compiler handles: a function, a module, a type; `path` is how it was named."""

    object: Any
    path: tuple[str, ...]


Value: TypeAlias = n.Expr | Weak | ViewValue | SharedValue | TupleValue | Opaque
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
        case TupleValue():
            return "a tuple"
        case Opaque():
            return f"the object `{'.'.join(value.path)}`"
    return f"{'an' if value.type.name[0] in 'fi' else 'a'} {value.type}"
