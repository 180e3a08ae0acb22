"""Structs as the oracle sees them: an element is reached where it lies until it is given a name."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from atoll.kernels.oracle.memory import OracleArray
from atoll.kernels.scalars import Typed
from atoll.kernels.structs import StructType
from atoll.kernels.vectors import VecOperations, VecType, VecValue


class OracleStructs:
    """An array of structs: an array for each field, and for a vector the array of it."""

    def __init__(self, struct: StructType, arrays: tuple[OracleArray, ...]) -> None:
        self.struct = struct
        self.arrays: dict[str, Any] = struct.gathered(arrays, OracleStructs)
        self.first = arrays[0]

    @property
    def size(self) -> Typed:
        """The number of elements (i64)."""
        return self.first.size

    @property
    def shape(self) -> tuple[Typed, ...]:
        """The number of elements in each dimension (i64)."""
        return self.first.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.first.sizes)

    def __len__(self) -> int:
        return len(self.first)

    def __getitem__(self, index: Any) -> Element:
        kind = VecElement if isinstance(self.struct, VecType) else Element
        return kind(self, self.first.place(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        place, value = self.first.place(index), taken(value)
        fields = {name: getattr(value, name) for name in self.arrays}
        for name, field in fields.items():
            self.arrays[name][place] = field


class Element:
    """An element of an array of structs; its fields are read and written where they lie."""

    __slots__ = ("_array", "_place")

    def __init__(self, array: OracleStructs, place: tuple[int, ...]) -> None:
        object.__setattr__(self, "_array", array)
        object.__setattr__(self, "_place", place)

    def __getattr__(self, name: str) -> Any:
        try:
            return self._array.arrays[name][self._place]
        except KeyError:
            raise AttributeError(f"a {self._array.struct} has no `{name}`") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self._array.arrays[name][self._place] = value

    def taken(self) -> Any:
        """Return its fields as they are now."""
        found = {name: taken(array[self._place]) for name, array in self._array.arrays.items()}
        return SimpleNamespace(**found)


class VecElement(Element, VecOperations):
    """An element of an array of vectors, which takes part in arithmetic where it lies."""

    __slots__ = ()

    def __getitem__(self, index: int) -> Any:
        return getattr(self, self._array.struct.names[index])

    def taken(self) -> Any:
        """Return the vector as it is now."""
        return VecValue(
            self._array.struct, tuple(array[self._place] for array in self._array.arrays.values())
        )


def taken(value: Any) -> Any:
    """Return a struct as a value: that of an element now, any other as it is."""
    return value.taken() if isinstance(value, Element) else value
