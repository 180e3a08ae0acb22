"""What is ``vec[f32, 4]`` to a kernel? A struct of two to four scalars of one type, with arithmetic.

Its components are `x y z w`, or a literal index. A view of vectors is an array with one dimension more, of
exactly that length: element ``x[i]`` of a ``view[vec[f32, 4]]`` is the row ``a[i]`` of a NumPy array of shape
``(n, 4)``. Rows may lie as far apart as the strides say, so the 16-byte rows that std430 gives a `vec3` are
the view ``a[:, :3]`` of an array of shape ``(n, 4)``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from atoll.diagnostics import Diagnostic
from atoll.errors import LaunchError
from atoll.ir import BOOL, Scalar, View
from atoll.kernels.structs import StructType

#: The names of the components, in order.
COMPONENTS = "xyzw"
#: The most dimensions of a view of vectors: its array has one more.
MAX_RANK = 3


@dataclass(frozen=True, slots=True)
class VecType(StructType):
    """A vector type; calling it makes a value: every component, or one number for all."""

    @classmethod
    def of(cls, element: Scalar, size: int) -> VecType:
        """Return the type of `size` elements."""
        return cls(f"vec_{element}_{size}", tuple((name, element) for name in COMPONENTS[:size]))

    @property
    def element(self) -> Scalar:
        """The type of a component."""
        return self.fields[0][1]

    def __str__(self) -> str:
        return f"vec[{self.element}, {len(self.fields)}]"

    def __call__(self, *values: Any, **named: Any) -> VecValue:
        """Return a value, as the oracle has it; a launch takes it too."""
        from atoll.kernels.scalars import convert, make

        parts = (*values, *(named[name] for name in self.names if name in named))
        if len(values) == 1 and not named:
            one = taken(values[0])
            parts = one.parts if isinstance(one, VecValue) else (one,) * len(self.fields)
        if len(parts) != len(self.fields):
            raise TypeError(f"{self} has {len(self.fields)} components, not {len(parts)}")
        return VecValue(self, tuple(make(self.element, convert(part, self.element)) for part in parts))


@dataclass(frozen=True, slots=True)
class VecView:
    """An array argument of vectors."""

    vec: VecType
    rank: int = 1

    @property
    def array(self) -> View:
        """What it is in KIR."""
        return View(self.vec.element, self.rank + 1)

    def __str__(self) -> str:
        return f"view<{self.vec}, {self.rank}>"


class VecOperations:
    """The arithmetic of vectors in the oracle, component by component; a number goes with each."""

    def _each(self, other: Any, compute: Callable[[Any, Any], Any], *, turned: bool = False) -> Any:
        own, its = taken(self).parts, taken(other)
        others = its.parts if isinstance(its, VecValue) else (its,) * len(own)
        if len(others) != len(own):
            return NotImplemented
        pairs = zip(others, own, strict=True) if turned else zip(own, others, strict=True)
        found = tuple(compute(a, b) for a, b in pairs)
        return VecValue(VecType.of(found[0].scalar, len(found)), found)

    def __neg__(self) -> Any:
        own = taken(self)
        return VecValue(own.vec, tuple(-part for part in own.parts))

    def __pos__(self) -> Any:
        return taken(self)

    def __invert__(self) -> Any:
        own = taken(self)
        return VecValue(own.vec, tuple(~part for part in own.parts))


_WORDS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"]


def _operations() -> Iterator[tuple[str, Callable[..., Any]]]:
    for word in _WORDS:
        compute = getattr(operator, f"{word}_" if word in ("and", "or") else word)

        def plain(self: Any, other: Any, compute: Any = compute) -> Any:
            return self._each(other, compute)

        def turned(self: Any, other: Any, compute: Any = compute) -> Any:
            return self._each(other, compute, turned=True)

        yield f"__{word}__", plain
        yield f"__r{word}__", turned


for _name, _function in _operations():
    setattr(VecOperations, _name, _function)


class VecValue(VecOperations):
    """A vector in the oracle."""

    __slots__ = ("parts", "vec")

    def __init__(self, vec: VecType, parts: tuple[Any, ...]) -> None:
        self.vec, self.parts = vec, parts

    def __getattr__(self, name: str) -> Any:
        # What is copied has no slot filled yet, and is asked for other names.
        if len(name) != 1 or name not in COMPONENTS[: len(self.parts)]:
            raise AttributeError(f"a vector has no `{name}` here")
        return self.parts[self.vec.names.index(name)]

    def __getitem__(self, index: Any) -> Any:
        return self.parts[index]

    def __repr__(self) -> str:
        return f"{self.vec}({', '.join(str(part.value) for part in self.parts)})"


def taken(value: Any) -> Any:
    """Return a vector that lies in an array as it is now; any other value as it is."""
    return value.taken() if hasattr(value, "taken") else value


def vec_type(key: Any) -> VecType:
    """Return the type that ``vec[f32, 4]`` names.

    Raises:
        LaunchError: Where it names none.
    """
    element, size = key if isinstance(key, tuple) and len(key) == 2 else (key, None)
    if get_origin(size) is Literal:  # what type checkers want: vec[f32, Literal[4]]
        (size,) = get_args(size)
    scalar = getattr(element, "scalar", None)
    if not isinstance(scalar, Scalar) or scalar == BOOL or size not in (2, 3, 4) or isinstance(size, bool):
        raise LaunchError(
            Diagnostic(
                code="ATL0712",
                message=f"no vector of {key!r}",
                hint="write `vec[f32, 4]`: two to four scalars other than bool",
            )
        )
    return VecType.of(scalar, size)


if TYPE_CHECKING:
    from typing import Generic, TypeVar

    T = TypeVar("T")
    N = TypeVar("N")

    class vec(Generic[T, N]):  # noqa: N801
        """A vector as a type checker sees it; there a size is written ``Literal[4]``."""

        x: Any
        y: Any
        z: Any
        w: Any

        def __init__(self, *values: Any) -> None: ...
        def __getitem__(self, index: int) -> Any: ...
        def __add__(self, other: Any) -> Any: ...
        def __sub__(self, other: Any) -> Any: ...
        def __mul__(self, other: Any) -> Any: ...
        def __truediv__(self, other: Any) -> Any: ...
        def __neg__(self) -> Any: ...
else:

    class vec:  # noqa: N801
        """The type of a small vector: ``v = vec[f32, 4](0.0)``, ``v.x``, ``v[3]``, ``v * 2.0``."""

        def __class_getitem__(cls, key: Any) -> Any:
            from atoll.kernels.generics import OpenVec, is_variable

            if isinstance(key, tuple) and len(key) == 2 and is_variable(key[0]):
                (size,) = get_args(key[1]) or (key[1],)
                if size in (2, 3, 4):
                    return OpenVec(key[0], size)
            return vec_type(key)
