"""What do the installed lanes know about each backend? Their rules and words, gathered once a process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from atoll.accel import BackendRules
from atoll.accel.words import ANY_WORD, FloorWords
from atoll.errors import PluginError
from atoll.plugin.lane import Lane
from atoll.plugin.registry import Registry, registry


def backend_rules(installed: Registry | None = None) -> dict[str, BackendRules]:
    """Return the rules of every backend; where several lanes serve one, the lane of its name decides.

    Raises:
        PluginError: Where a lane cannot be loaded: without it, the rules of its backends are not known.
    """
    lanes = (installed or registry()).lanes
    return _gathered((name, lanes[name].backends) for name in lanes)


def rules_beside(lane: str, installed: Registry | None = None) -> dict[str, BackendRules]:
    """Return the rules that the other lanes bring, for a lane that serves backends of theirs.

    A lane that cannot be loaded brings none: a project that lists it is told.
    """
    lanes = (installed or registry()).lanes
    return _gathered((name, _served(lanes, name)) for name in lanes if name != lane)


def _served(lanes: Mapping[str, Lane], name: str) -> Mapping[str, BackendRules]:
    try:
        return lanes[name].backends
    except PluginError:
        return {}


def _gathered(served: Iterable[tuple[str, Mapping[str, BackendRules]]]) -> dict[str, BackendRules]:
    found: dict[str, BackendRules] = {}
    for name, backends in served:
        for backend, rules in backends.items():
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
