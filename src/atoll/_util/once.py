"""How is something made once in a process, whichever thread asks first?

`functools.cache` lets two threads that ask together both compute, and gives each its own answer: no use where
there has to be one object, as of a driver, or of the types of a C library.
"""

from __future__ import annotations

from _thread import RLock
from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def once(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that is called once for the same arguments; other threads wait for its answer."""
    kept, lock = cache(function), RLock()

    @wraps(function)
    def asked(*arguments: P.args, **named: P.kwargs) -> R:
        with lock:
            return kept(*arguments, **named)  # type: ignore[arg-type]

    asked.cache_clear = kept.cache_clear  # type: ignore[attr-defined]
    return asked
