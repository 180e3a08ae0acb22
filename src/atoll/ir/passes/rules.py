"""Which rewrites exist, and how is one left out? Each has a name, `PASS.RULE`, and is a function.

A pass asks for its rewrites by name, so that a test may leave one out or put a wrong one in its place and
see whether anything notices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Rule = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Rules:
    """The rewrites that run.

    Attributes:
        known: Every rewrite by name.
        off: Names of rewrites, or of whole passes, that do not run.
    """

    known: Mapping[str, Rule]
    off: frozenset[str] = field(default_factory=frozenset)

    def get(self, name: str) -> Rule | None:
        """Return a rewrite, or None where it is left out."""
        if name in self.off or name.partition(".")[0] in self.off:
            return None
        return self.known[name]

    def some(self, *names: str) -> list[Rule]:
        """Return those of these rewrites that run."""
        return [rule for rule in map(self.get, names) if rule is not None]

    def without(self, *names: str) -> Rules:
        """Return these rewrites without some."""
        return Rules(self.known, self.off | set(names))

    def instead(self, name: str, rule: Rule) -> Rules:
        """Return these rewrites with another one under a name."""
        return Rules({**self.known, name: rule}, self.off)
