"""Atoll: compile device code in any language into an ordinary program, and measure what it runs on."""

from atoll.accel.words import FloorWords, provide_floor_words


def _floor_words() -> FloorWords:
    """Ask the installed lanes only when a floor's word has to be looked up."""
    from atoll.plugin.rules import floor_words

    return floor_words()


provide_floor_words(_floor_words)
