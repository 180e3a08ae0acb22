"""What a struct is to a kernel: a dataclass of scalars, by value; an array of them is an array of each field.

A view of structs becomes one view for each field over the same memory, so KIR and the launch ABI know no
struct: the strides say where the next one lies. Values are never changed in part; an element's field is.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from atoll.diagnostics import Diagnostic
from atoll.errors import CompileError, LaunchError
from atoll.ir import BOOL, Scalar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform

    from atoll.kernels.front.signature import SignedParameter
    from atoll.kernels.vectors import VecView
else:

    def dataclass_transform(**_: object) -> Any:
        """Return a decorator that does nothing: type checkers know the true one."""
        return lambda function: function


C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class StructType:
    """A struct: its name and its fields in order."""

    name: str
    fields: tuple[tuple[str, Scalar], ...]
    #: The class, which is no part of equality: a cell that is run again defines it anew.
    make: Any = field(default=None, compare=False, repr=False)

    def dtype(self) -> Any:
        """Return the NumPy dtype, laid out as C does."""
        import numpy as np

        from atoll.ir.vector import memory_dtype

        return np.dtype([(name, memory_dtype(scalar)) for name, scalar in self.fields], align=True)

    def __str__(self) -> str:
        return self.name

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the fields."""
        return tuple(name for name, _ in self.fields)


@dataclass(frozen=True, slots=True)
class StructView:
    """An array argument of structs."""

    struct: StructType
    rank: int = 1

    def __str__(self) -> str:
        return f"view<{self.struct}, {self.rank}>"


def struct_of(found: object) -> StructType | None:
    """Return the struct that a class is, or None."""
    if isinstance(found, StructType):  # a vector type is its own class
        return found
    kind = getattr(found, "__atoll_struct__", None) if isinstance(found, type) else None
    return kind if isinstance(kind, StructType) else None


@dataclass_transform(frozen_default=True)
def struct(cls: type[C]) -> type[C]:
    """Mark a class of annotated scalars as a struct: ``@atoll.struct class Body: x: f32; y: f32``.

    Its NumPy dtype, laid out as C does, is ``Body.dtype``.

    Raises:
        CompileError: Where a field is no scalar, with its name.
    """
    kind = StructType(cls.__name__, tuple(_fields(cls)), cls)

    def typed(self: Any) -> None:
        from atoll.kernels.scalars import convert, make

        for name, scalar in kind.fields:
            object.__setattr__(self, name, make(scalar, convert(getattr(self, name), scalar)))

    cls.__post_init__ = typed  # type: ignore[attr-defined]
    cls.__atoll_struct__ = kind  # type: ignore[attr-defined]
    cls.dtype = _Dtype()  # type: ignore[attr-defined]
    return dataclass(frozen=True)(cls)


def _fields(cls: type) -> list[tuple[str, Scalar]]:
    from atoll.kernels.front.signature import scalar_or_view

    try:
        annotations = inspect.get_annotations(cls, eval_str=True)
    except Exception as error:
        raise CompileError(
            _refusal(f"an annotation of `{cls.__name__}` cannot be evaluated: {error}")
        ) from error
    faults = []
    found: list[tuple[str, Scalar]] = []
    for name, annotation in annotations.items():
        scalar = scalar_or_view(annotation)
        if not isinstance(scalar, Scalar) or scalar == BOOL:
            faults.append(_refusal(f"the field `{name}` of `{cls.__name__}` cannot be a {annotation!r}"))
        else:
            found.append((name, scalar))
    if not annotations:
        faults.append(_refusal(f"`{cls.__name__}` has no field"))
    if faults:
        raise CompileError(*faults)
    return found


def _refusal(message: str) -> Diagnostic:
    return Diagnostic(code="ATL0712", message=message, hint="a field is a scalar other than bool: `x: f32`")


class _Dtype:
    """The NumPy dtype of a struct, made when it is first asked for."""

    def __get__(self, _instance: object, owner: type) -> Any:
        kind = struct_of(owner)
        assert kind is not None
        return kind.dtype()


# --- launching -----------------------------------------------------------------------------------


def spread(params: Sequence[SignedParameter], arguments: Sequence[Any]) -> list[Any]:
    """Return the arguments that KIR's parameters take: an array or value for each field of a struct.

    Raises:
        LaunchError: Where an argument is not of its struct.
    """
    from atoll.kernels.vectors import VecView

    if not any(isinstance(item.type, StructType | StructView | VecView) for item in params):
        return list(arguments)
    if len(params) != len(arguments):
        names = ", ".join(item.name for item in params)
        raise _wrong(
            f"the kernel takes {len(params)} arguments, not {len(arguments)}", f"its parameters: {names}"
        )
    found: list[Any] = []
    for item, value in zip(params, arguments, strict=True):
        if isinstance(item.type, StructView):
            found += _arrays(item.name, item.type, value)
        elif isinstance(item.type, VecView):
            found.append(_rows(item.name, item.type, value))
        elif isinstance(item.type, StructType):
            found += _values(item.name, item.type, value)
        else:
            found.append(value)
    return found


def _arrays(name: str, kind: StructView, value: Any) -> list[Any]:
    names = getattr(getattr(value, "dtype", None), "names", None)
    if names is None or set(names) != set(kind.struct.names):
        given = f"an array of {value.dtype}" if hasattr(value, "dtype") else f"a {type(value).__name__}"
        raise _wrong(
            f"the argument `{name}` does not fit its parameter",
            f"the parameter is a {kind} with the fields {', '.join(kind.struct.names)}",
            f"the argument is {given}",
            hint=f"make it with `numpy.zeros(n, {kind.struct}.dtype)`",
        )
    return [value[field] for field in kind.struct.names]


def _rows(name: str, kind: VecView, value: Any) -> Any:
    """Return an array of vectors, whose last dimension holds the components."""
    size = len(kind.vec.fields)
    shape: tuple[int, ...] = getattr(value, "shape", ())
    if len(shape) != kind.rank + 1 or shape[-1] != size:
        given = (
            f"an array of shape {tuple(shape)}" if hasattr(value, "shape") else f"a {type(value).__name__}"
        )
        raise _wrong(
            f"the argument `{name}` does not fit its parameter",
            f"the parameter is a {kind}: {kind.rank + 1} dimensions, the last one of {size}",
            f"the argument is {given}",
        )
    return value


def _values(name: str, kind: StructType, value: Any) -> list[Any]:
    from atoll.kernels.vectors import VecType, VecValue

    if isinstance(kind, VecType):
        parts = value.parts if isinstance(value, VecValue) else value
        if not isinstance(parts, str) and hasattr(parts, "__len__") and len(parts) == len(kind.fields):
            return list(parts)
    if struct_of(type(value)) != kind:
        raise _wrong(
            f"the argument `{name}` does not fit its parameter",
            f"the parameter is the struct {kind}",
            f"the argument is a {type(value).__name__}",
        )
    return [getattr(value, field) for field in kind.names]


def _wrong(message: str, *notes: str, hint: str | None = None) -> LaunchError:
    return LaunchError(Diagnostic(code="ATL0760", message=message, notes=notes, hint=hint))
