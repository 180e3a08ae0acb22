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
    #: Where each was found, as (names of a module, name, what it meant); None until it is asked, and where
    #: one was found elsewhere.
    _spots: list[tuple[dict[str, Any], str, Any]] | None = field(default=None, repr=False, compare=False)
    _asked: int = field(default=-1, repr=False, compare=False)

    def record(self, function: types.FunctionType, path: tuple[str, ...], value: Any) -> None:
        """Remember that the attribute path of a function's environment gave this value."""
        self.names[function, path] = value

    def current(self) -> bool:
        """Tell whether each is still what it was: a number by type and value, the rest itself."""
        if self._asked != len(self.names):
            self._spots, self._asked = _spots(self.names), len(self.names)
        if self._spots is not None:
            for table, name, value in self._spots:
                if table.get(name, MISSING) is not value:
                    break
            else:
                return True
        return all(_same(value, _follow(*key)) for key, value in self.names.items())


def _spots(
    names: dict[tuple[types.FunctionType, tuple[str, ...]], Any],
) -> list[tuple[dict[str, Any], str, Any]] | None:
    """Return where names were found, if all of them are those of modules and mean what they did."""
    found: list[tuple[dict[str, Any], str, Any]] = []
    for (function, path), value in names.items():
        table, last = function.__globals__, path[-1]
        if path[0] in function.__code__.co_freevars:
            return None
        for name in path[:-1]:
            part = table.get(name, MISSING)
            if not isinstance(part, types.ModuleType):
                return None
            found.append((table, name, part))
            table = part.__dict__
        if table.get(last, MISSING) is not value:
            return None
        found.append((table, last, value))
    return found


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
