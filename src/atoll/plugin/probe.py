"""The probe door: facts about this machine. A probe that cannot answer says nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from atoll.artifact import Fact


class Probe(Protocol):
    """A plugin that states facts, such as ``cuda.driver = 580.159``."""

    @property
    def name(self) -> str:
        """Its name; facts it states start with it and a dot."""
        ...

    def facts(self, environment: Mapping[str, str]) -> tuple[Fact, ...]:
        """Return what it knows; empty where it cannot tell. Never raises, never takes a second."""
        ...
