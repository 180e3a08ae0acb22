"""How a driver calls a vendor's C library: declarations in, one table of functions out.

The declarations are C text that the C launcher is built from too, so both speak one ABI. A *table* has
one attribute a function and can be exchanged whole: a test puts one that writes a log, or one that fails,
between the driver and the library.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atoll._util.once import once
from atoll.runtime.declared import declarations

if TYPE_CHECKING:
    from cffi import FFI

__all__ = ["LibraryMissingError", "Table", "declarations", "declared_functions", "open_table"]


class LibraryMissingError(Exception):
    """The library, or one of its functions, is not there; the text says which and why."""


class Table:
    """The functions of one library by name; ``ffi`` makes and reads the values they take."""

    def __init__(self, ffi: FFI, functions: dict[str, Callable[..., Any]]) -> None:
        self.ffi = ffi
        self.functions = functions

    def __getattr__(self, name: str) -> Any:
        """Return a function, or a number that the declarations define."""
        if name in self.functions:
            found: Any = self.functions[name]
        elif name in _constants(self.ffi):
            found = _constants(self.ffi)[name]
        else:
            raise AttributeError(name)
        self.__dict__[name] = found  # asked here once only: drivers ask in every launch
        return found

    def wrapped(self, around: Callable[[str, Callable[..., Any]], Callable[..., Any]]) -> Table:
        """Return a table whose functions are `around(name, function)`."""
        return Table(self.ffi, {name: around(name, function) for name, function in self.functions.items()})


@once
def _constants(ffi: FFI) -> dict[str, int]:
    library = ffi.dlopen(None)
    found: dict[str, int] = {}
    for name in dir(library):
        try:
            value = getattr(library, name)
        except (AttributeError, ffi.error):  # a function, which is elsewhere
            continue
        if isinstance(value, int):
            found[name] = value
    return found


def open_table(declared: Path, library: str) -> Table:
    """Open a library and look up every function that is declared.

    Args:
        declared: The C file with the declarations.
        library: What the loader is asked for, ``libexample.so.1``.

    Raises:
        LibraryMissingError: Where the library cannot be opened or lacks a function.
    """
    from ctypes import CDLL  # a build asks a driver for its launcher and opens nothing

    ffi = declarations(declared)
    try:
        handle = CDLL(library)._handle  # not ffi.dlopen: where a library is missing, that starts a compiler
    except OSError as error:
        raise LibraryMissingError(f"{library} could not be opened: {error}") from error
    opened = ffi.dlopen(ffi.cast("void *", handle))
    functions: dict[str, Callable[..., Any]] = {}
    for name in declared_functions(declared.read_text(encoding="utf-8")):
        try:
            functions[name] = getattr(opened, name)
        except (AttributeError, ffi.error) as error:
            raise LibraryMissingError(f"{library} has no {name}") from error
    return Table(ffi, functions)


def declared_functions(text: str) -> tuple[str, ...]:
    """Return the names of the functions that C text declares at the start of a line."""
    return tuple(re.findall(r"^(?!typedef\b)[A-Za-z_]\w*[ *]+(\w+)\(", text, re.MULTILINE))
