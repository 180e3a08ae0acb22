"""Which parser reads a file? Grammars come in by entry point, one an extension; the engine lists none.

The group is ``atoll.grammars``: the name is an extension without its dot, the value a function that
returns a tree-sitter language. The extensions of the group are what a root is scanned for by default.
"""

from __future__ import annotations

import time
from functools import cache
from typing import TYPE_CHECKING

from atoll._util.installed import Point as EntryPoint
from atoll._util.installed import points
from atoll.diagnostics import Diagnostic
from atoll.errors import PluginError

if TYPE_CHECKING:
    from tree_sitter import Language, Point, Tree

GROUP = "atoll.grammars"
FALLBACK = ".cpp"
"""What a root that is a single file of another extension is read as."""
TIME_LIMIT = 10.0
"""Seconds that one file may take to parse."""


@cache
def _points() -> dict[str, EntryPoint]:
    """Return the grammar of each extension.

    Raises:
        PluginError: Where two packages register different grammars for one extension.
    """
    found: dict[str, EntryPoint] = {}
    for point in points(GROUP):
        # One package that is installed twice on the path is listed twice; both say the same.
        known = found.setdefault(f".{point.name}", point)
        if known.value != point.value:
            raise PluginError(_two(point.name, known, point))
    return found


def _two(name: str, *known: EntryPoint) -> Diagnostic:
    return Diagnostic(
        code="ATL0902",
        message=f"two packages bring a grammar for `.{name}`",
        notes=tuple(f"{point.package or 'a package'}: {point.value}" for point in known),
        hint="uninstall one of them",
    )


def extensions() -> tuple[str, ...]:
    """Return the extensions that some grammar reads, sorted."""
    return tuple(sorted(_points()))


@cache
def language(extension: str) -> Language:
    """Return the grammar for a file extension; `KeyError` where none is registered."""
    from tree_sitter import Language

    return Language(_points()[extension].load()())


def parse(text: bytes, extension: str, seconds: float = TIME_LIMIT) -> Tree | None:
    """Return the syntax tree of `text`, or None where that takes longer than `seconds`."""
    from tree_sitter import Parser

    deadline = time.monotonic() + seconds

    def read(offset: int, _point: Point) -> bytes:
        return text[offset : offset + 65536]

    def overtime(_offset: int, _has_error: bool) -> bool:
        return time.monotonic() > deadline

    try:
        return Parser(language(extension)).parse(read, progress_callback=overtime)
    except ValueError:
        return None
