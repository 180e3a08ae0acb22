"""What is ``ptr[f32]`` to a kernel? A view whose size nobody asks: elements counted from where it points.

``p[i]`` is an element, ``p + k`` points further on, and a device function takes a view, an array of the
kernel or a pointer for it. A pointer keeps to its array and is never stored in memory. On a device nothing
checks where it points; the oracle and a checked kernel do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from atoll.diagnostics import Diagnostic
from atoll.errors import LaunchError
from atoll.ir import BOOL, I64, Scalar, View


@dataclass(frozen=True, slots=True)
class PointerType:
    """The annotation ``ptr[f32]``."""

    element: Scalar

    @property
    def array(self) -> View:
        """What it is in KIR."""
        return View(self.element)

    def __str__(self) -> str:
        return f"ptr[{self.element}]"


class OraclePointer:
    """A pointer in the oracle: an array, and how many elements from its start."""

    __slots__ = ("array", "offset")

    def __init__(self, array: Any, offset: int) -> None:
        self.array, self.offset = array, offset

    def at(self, index: Any) -> Any:
        """Return an index of the array; a negative one is no index there."""
        from atoll.kernels.scalars import make

        return make(I64, self.offset + int(index))

    @property
    def element(self) -> Scalar:
        """The type of an element."""
        found: Scalar = self.array.element
        return found

    def __getitem__(self, index: Any) -> Any:
        return self.array[self.at(index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.array[self.at(index)] = value

    def __add__(self, distance: Any) -> OraclePointer:
        return OraclePointer(self.array, self.offset + int(distance))

    def __radd__(self, distance: Any) -> OraclePointer:
        return self.__add__(distance)

    def __sub__(self, distance: Any) -> OraclePointer:
        return self.__add__(-int(distance))


def pointer(value: Any) -> OraclePointer:
    """Return an argument as a pointer: an array points to its first element."""
    return value if isinstance(value, OraclePointer) else OraclePointer(value, 0)


if TYPE_CHECKING:
    from typing import Generic, TypeVar

    T = TypeVar("T")

    class ptr(Generic[T]):  # noqa: N801
        """A pointer as a type checker sees it."""

        def __getitem__(self, index: Any) -> Any: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...
        def __add__(self, distance: Any) -> ptr[T]: ...
        def __sub__(self, distance: Any) -> ptr[T]: ...
else:

    class ptr:  # noqa: N801
        """The annotation of a pointer: ``ptr[f32]``, elements of an array from somewhere on."""

        def __class_getitem__(cls, element: Any) -> Any:
            from atoll.kernels.generics import OpenView, is_variable

            if is_variable(element):
                return OpenView(element, 0)
            scalar = getattr(element, "scalar", None)
            if not isinstance(scalar, Scalar) or scalar == BOOL:
                raise LaunchError(
                    Diagnostic(
                        code="ATL0712",
                        message=f"no pointer to {element!r}",
                        hint="write `ptr[f32]`: to a scalar other than bool",
                    )
                )
            return PointerType(scalar)
