"""What does a name mean to a kernel? Closure cells, then globals, then builtins, at compile time.

Numbers that a kernel captures are remembered with their values, device functions and structs by what they
are; the launch asks again and compiles anew where one changed (a notebook's cell that is run again defines a
function anew), so a kernel never runs with what Python would not have seen.
"""

from __future__ import annotations

import builtins
import types
from dataclasses import dataclass, field
from typing import Any


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING = _Missing()


def resolve(function: types.FunctionType, name: str) -> Any:
    """Return what `name` means in a function now, or MISSING."""
    code = function.__code__
    if name in code.co_freevars and function.__closure__ is not None:
        try:
            return function.__closure__[code.co_freevars.index(name)].cell_contents
        except ValueError:
            return MISSING
    if name in function.__globals__:
        return function.__globals__[name]
    return getattr(builtins, name, MISSING)


@dataclass(slots=True)
class Captures:
    """Which captured numbers, device functions and structs a compiled kernel holds."""

    names: dict[tuple[types.FunctionType, tuple[str, ...]], Any] = field(default_factory=dict)

    def record(self, function: types.FunctionType, path: tuple[str, ...], value: Any) -> None:
        """Remember that the attribute path of a function's environment gave this value."""
        self.names[function, path] = value

    def current(self) -> bool:
        """Tell whether each is still what it was: a number by type and value, the rest itself."""
        return all(_same(value, _follow(*key)) for key, value in self.names.items())


def _follow(function: types.FunctionType, path: tuple[str, ...]) -> Any:
    found = resolve(function, path[0])
    for name in path[1:]:
        found = getattr(found, name, MISSING)
    return found


def _same(old: Any, new: Any) -> bool:
    if old is new:
        return True
    number = isinstance(old, bool | int | float) or not callable(old)
    return number and type(old) is type(new) and repr(old) == repr(new)
