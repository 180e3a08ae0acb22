"""One launch of one KIR kernel, as a value that tests pass around."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from atoll.ir import Module
from atoll.testing.evaluate import Number, Size, ViewValue

Arguments = Mapping[str, Number | ViewValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One launch of one kernel.

    Attributes:
        name: The kernel, and the program.
        about: What it shows.
        module: A verified module that holds the kernel.
        arguments: Makes fresh arguments.
        domain: The work-items that run, or None for all.
        ulp: How far a float may be from the correctly rounded one, in units of its last place.
    """

    name: str
    about: str
    module: Module
    arguments: Callable[[], Arguments]
    groups: Size = (1, 1, 1)
    group: Size = (64, 1, 1)
    domain: Size | None = None
    ulp: int = 0


def floats(*values: float) -> ViewValue:
    """Return a view of the whole of a buffer."""
    return ViewValue(list(values), (len(values),), (1,))


def ints(*values: int) -> ViewValue:
    """Return a view of the whole of a buffer."""
    return ViewValue(list(values), (len(values),), (1,))
