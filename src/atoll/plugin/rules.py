"""What do the installed lanes know about each backend? Their rules and words, gathered once a process."""

from __future__ import annotations

from collections.abc import Mapping

from atoll.accel import BackendRules
from atoll.accel.words import ANY_WORD, FloorWords
from atoll.errors import PluginError
from atoll.plugin.registry import Registry, registry


def backend_rules(installed: Registry | None = None) -> dict[str, BackendRules]:
    """Return the rules of every backend; where several lanes serve one, the lane of its name decides.

    Raises:
        PluginError: Where a lane cannot be loaded: without it, the rules of its backends are not known.
    """
    lanes = (installed or registry()).lanes
    found: dict[str, BackendRules] = {}
    for name in lanes:
        for backend, rules in lanes[name].backends.items():
            if backend not in found or name == backend:
                found[backend] = rules
    return found


def floor_words(installed: Registry | None = None) -> FloorWords:
    """Return the word that lanes register for each backend's floor.

    Where a lane cannot be loaded nobody can tell its word, so that any word is let through; `doctor` and
    every build name the broken lane.
    """
    try:
        rules = backend_rules(installed)
    except PluginError:
        return ANY_WORD
    words: Mapping[str, str | None] = {backend: rule.floor_word for backend, rule in rules.items()}
    return {backend: word for backend, word in words.items() if word is not None}
