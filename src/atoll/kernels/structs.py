"""What is a struct to a kernel? A dataclass of scalars and vectors; an array of it is one of each part.

A view of structs becomes one view for each *part* over the same memory, so KIR and the launch ABI know no
struct: the strides say where the next one lies. A part is a scalar member, or a component of a member that is
a vector. Values are never changed in part; an element's member is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from atoll.diagnostics import Diagnostic
from atoll.errors import CompileError, LaunchError
from atoll.ir import BOOL, Scalar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform

    from atoll.kernels.front.signature import SignedParameter
    from atoll.kernels.vectors import VecType, VecView
else:

    def dataclass_transform(**_: object) -> Any:
        """Return a decorator that does nothing: type checkers know the true one."""
        return lambda function: function


C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class StructType:
    """A struct.

    Attributes:
        name: What its class is called.
        fields: Its parts in order; those of a vector `at` are `at_x`, `at_y`.
        members: What the class declares, in order; empty where the parts are the members.
    """

    name: str
    fields: tuple[tuple[str, Scalar], ...]
    members: tuple[tuple[str, Scalar | VecType], ...] = ()
    #: The class, which is no part of equality: a cell that is run again defines it anew.
    make: Any = field(default=None, compare=False, repr=False)

    def dtype(self) -> Any:
        """Return the NumPy dtype, laid out as C does."""
        import numpy as np

        from atoll.ir.vector import memory_dtype

        listed: list[Any] = []
        for name, kind in self.declared:
            if isinstance(kind, Scalar):
                listed.append((name, memory_dtype(kind)))
            else:
                listed.append((name, memory_dtype(kind.element), (len(kind.fields),)))
        return np.dtype(listed, align=True)

    def __str__(self) -> str:
        return self.name

    @property
    def declared(self) -> tuple[tuple[str, Scalar | VecType], ...]:
        """The members with their types."""
        return self.members or self.fields

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the members."""
        return tuple(name for name, _ in self.declared)

    def gathered(
        self, parts: Sequence[Any], vector: Callable[[VecType, tuple[Any, ...]], Any]
    ) -> dict[str, Any]:
        """Return one item for each part as one for each member; `vector` joins those of a vector."""
        left, found = iter(parts), {}
        for name, kind in self.declared:
            if isinstance(kind, Scalar):
                found[name] = next(left)
            else:
                found[name] = vector(kind, tuple(next(left) for _ in kind.fields))
        return found


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
    """Mark a class of annotated scalars and vectors as a struct: ``@struct class Body: at: vec[f32, 3]``.

    It becomes a dataclass where it is none yet. It has the members of the structs it is derived from, too.
    Its NumPy dtype, laid out as C does, is ``Body.dtype``; a vector lies there as an array.

    Raises:
        CompileError: Where a field is neither, with its name.
    """
    members = tuple(_members(cls).items())
    kind = StructType(cls.__name__, tuple(_parts(cls, members)), members, cls)

    def typed(self: Any) -> None:
        from atoll.kernels.scalars import convert, make

        for name, member in kind.declared:
            given = getattr(self, name)
            value = (
                make(member, convert(given, member)) if isinstance(member, Scalar) else _vector(member, given)
            )
            object.__setattr__(self, name, value)

    cls.__atoll_struct__ = kind  # type: ignore[attr-defined]
    cls.dtype = _Dtype()  # type: ignore[attr-defined]
    if "__dataclass_fields__" in cls.__dict__:
        cls.__init__ = _then(cls.__init__, typed)  # type: ignore[method-assign]
        return cls
    cls.__post_init__ = typed  # type: ignore[attr-defined]
    return dataclass(frozen=True)(cls)


def _then(first: Callable[..., None], typed: Callable[[Any], None]) -> Callable[..., None]:
    """Return what makes a value of a class that was a dataclass before it was marked."""

    @wraps(first)
    def made(self: Any, *values: Any, **named: Any) -> None:
        first(self, *values, **named)
        typed(self)

    return made


def _vector(kind: VecType, given: Any) -> Any:
    from atoll.kernels.vectors import VecValue, taken

    value = taken(given)
    parts = value.parts if isinstance(value, VecValue) else tuple(value)
    return kind(*parts)


def _parts(cls: type, members: Sequence[tuple[str, Scalar | VecType]]) -> list[tuple[str, Scalar]]:
    found: dict[str, Scalar] = {}
    for name, kind in members:
        parts = ((name, kind),) if isinstance(kind, Scalar) else kind.fields
        for part, scalar in parts:
            whole = name if isinstance(kind, Scalar) else f"{name}_{part}"
            if whole in found:
                raise CompileError(_refusal(f"`{cls.__name__}` has two parts that are called `{whole}`"))
            found[whole] = scalar
    return list(found.items())


def _members(cls: type) -> dict[str, Scalar | VecType]:
    from atoll.kernels.front.signature import scalar_or_view
    from atoll.kernels.vectors import VecType

    try:
        annotations = inspect.get_annotations(cls, eval_str=True)
    except Exception as error:
        raise CompileError(
            _refusal(f"an annotation of `{cls.__name__}` cannot be evaluated: {error}")
        ) from error
    faults = []
    found: dict[str, Scalar | VecType] = {}
    for base in reversed(cls.__mro__[1:]):
        inherited = struct_of(base)
        found.update(inherited.declared if inherited is not None else ())
    for name, annotation in annotations.items():
        kind = annotation if isinstance(annotation, VecType) else scalar_or_view(annotation)
        if not isinstance(kind, Scalar | VecType) or kind == BOOL:
            faults.append(_refusal(f"the field `{name}` of `{cls.__name__}` cannot be a {annotation!r}"))
        else:
            found[name] = kind
    if not found and not faults:
        faults.append(_refusal(f"`{cls.__name__}` has no field"))
    if faults:
        raise CompileError(*faults)
    return found


def _refusal(message: str) -> Diagnostic:
    return Diagnostic(
        code="ATL0712", message=message, hint="a field is a scalar other than bool, or a vector: `x: f32`"
    )


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
    found: list[Any] = []
    for called, member in kind.struct.declared:
        array = value[called]
        if isinstance(member, Scalar):
            found.append(array)
        elif array.shape != (*value.shape, len(member.fields)):
            raise _wrong(
                f"the argument `{name}` does not fit its parameter",
                f"the field `{called}` is a {member}, in NumPy an array of {len(member.fields)}",
                f"the argument has {array.dtype} of shape {array.shape[value.ndim :]} there",
            )
        else:
            found += [array[..., at] for at in range(len(member.fields))]
    return found


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
    found: list[Any] = []
    for called, member in kind.declared:
        part = getattr(value, called)
        found += [part] if isinstance(member, Scalar) else part.parts
    return found


def _wrong(message: str, *notes: str, hint: str | None = None) -> LaunchError:
    return LaunchError(Diagnostic(code="ATL0760", message=message, notes=notes, hint=hint))
