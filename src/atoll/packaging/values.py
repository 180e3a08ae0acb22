"""The values of measuring: limits, and the report of one file."""

from __future__ import annotations

from dataclasses import dataclass

from atoll.artifact import Fact, Measured
from atoll.diagnostics import Diagnostic


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What measuring one file may use.

    Attributes:
        seconds: Wall time.
        processor_seconds: Processor time.
        memory: Bytes of the child's own memory; mapped files do not count.
        file: Bytes of one inflated member.
        depth: How many containers may lie in one another.
        pieces: How many members, and how many findings, are taken before the file is refused.
    """

    seconds: float = 600.0
    processor_seconds: int = 300
    memory: int = 768 << 20
    file: int = 16 << 30
    depth: int = 6
    pieces: int = 500_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What measuring a file said, member by member.

    Attributes:
        measured: The answer.
        facts: ``(member, fact)`` as readers stated them, with those on the host's own ABI
            (``abi.glibc >= 2.17``), which stay out of `measured.requires`.
        diagnostics: What could not be read or understood.
    """

    measured: Measured
    facts: tuple[tuple[str, Fact], ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    def of(self, member: str) -> tuple[Fact, ...]:
        """Return the facts of a member and of what lies in it."""
        return tuple(fact for name, fact in self.facts if name == member or name.startswith(f"{member}!"))
