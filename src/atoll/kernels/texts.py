"""What did a file say when a function in it was made? Kept, for it may change or go before that is compiled.

A kernel is compiled at its first launch. By then an editor may have written the file anew, or a program
deleted it; and :mod:`linecache` may hold what stood there before the module was imported again.
"""

from __future__ import annotations

import linecache
import types
from weakref import WeakKeyDictionary

_texts: WeakKeyDictionary[types.FunctionType, tuple[str, ...]] = WeakKeyDictionary()
#: The last text of each file, so that its functions share it.
_latest: dict[str, tuple[str, ...]] = {}


def remember(function: types.FunctionType) -> None:
    """Keep the lines of a function's file as they are now."""
    file = function.__code__.co_filename
    linecache.checkcache(file)
    lines = tuple(linecache.getlines(file, function.__globals__))
    if lines:
        if _latest.get(file) != lines:
            _latest[file] = lines
        _texts[function] = _latest[file]


def lines_of(function: types.FunctionType) -> tuple[str, ...]:
    """Return the lines of a function's file as they were when it was made; empty where nobody knows them."""
    known = _texts.get(function)
    if known is None:
        known = tuple(linecache.getlines(function.__code__.co_filename, function.__globals__))
    return known
