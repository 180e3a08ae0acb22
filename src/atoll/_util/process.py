"""How does a process that ends soon begin and end? With few looks for garbage, and not taken apart."""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

# New objects between two looks. Imports and a plan make some hundred thousand, and next to no garbage:
# looking for it after each 700, as Python does, is a twelfth of a plan.
_OBJECTS = 200_000


def collect_rarely() -> None:
    """Look for garbage seldom; what a long command leaves is still found."""
    gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])


def leave(code: int) -> NoReturn:
    """End at once with an exit code: everything written is flushed, and memory is left to the system.

    For a process without threads and without anything that waits for its end. Where nobody reads any more,
    it ends as Python ends.
    """
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        sys.exit(code)
    os._exit(code)
