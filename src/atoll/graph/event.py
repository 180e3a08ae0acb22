"""What does a running build say? Events as values, for a progress bar, for lines, or for a machine."""

from __future__ import annotations

from typing import Any

from atoll._util.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened.

    Attributes:
        kind: ``wait`` (another build holds the folder), ``finish``, ``fail`` or ``end``.
        name: The action, for ``finish`` and ``fail``.
        done: Actions finished so far.
        total: Actions that may have to run; it shrinks where an unchanged output saves some.
        seconds: What the action, or for ``end`` the build, took.
        memory: The most bytes its largest process held.
        output: What the action printed, within bounds.
    """

    kind: str
    name: str = ""
    done: int = 0
    total: int = 0
    seconds: float = 0.0
    memory: int = 0
    output: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the event as a value that `json` can write."""
        fields = ("name", "done", "total", "seconds", "memory", "output")
        kept = {name: getattr(self, name) for name in fields if getattr(self, name)}
        return {"event": self.kind} | kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a build did.

    Attributes:
        ran: The names of the actions that ran, in the order they finished.
        total: How many actions the graph has.
        seconds: Wall time.
        removed: Files of an earlier graph that were removed.
        jobs: How many ran at once at most.
        memory_bound: The most bytes they needed together, as they state it.
    """

    ran: tuple[str, ...]
    total: int
    seconds: float
    removed: tuple[str, ...] = ()
    jobs: int = 1
    memory_bound: int = 0
