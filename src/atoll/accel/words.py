"""Which words may name a floor? The engine's own, and one a lane registers.

``floor`` is the engine's word for every backend. A lane may register one word of its own for its
backend. This room knows no plugin, so whoever does (the top package) hands in a provider once; it is asked
only when a word other than ``floor`` is met.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

NEUTRAL = "floor"


class AnyWord(Enum):
    """The one value says: any well-formed word is kept, because its lane may not be installed here."""

    ANY = "any"


ANY_WORD = AnyWord.ANY

FloorWords = Mapping[str, str] | AnyWord


def _nobody() -> FloorWords:
    return ANY_WORD


_provider: Callable[[], FloorWords] = _nobody


def provide_floor_words(provider: Callable[[], FloorWords]) -> None:
    """Take the function that tells the words of the installed lanes."""
    global _provider
    _provider = provider


def installed_floor_words() -> FloorWords:
    """Return the words of the installed lanes, or `ANY_WORD` where that cannot be told."""
    return _provider()
