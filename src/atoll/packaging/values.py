"""The values of measuring: limits, and the report of one file."""

from __future__ import annotations

from atoll._util.values import dataclass
from atoll.accel import AccelSet
from atoll.artifact import Fact, Finding, Measured
from atoll.diagnostics import Diagnostic
from atoll.packaging import combine


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
        files: Every file that was read, from the outermost inwards; findings lie in them.
        diagnostics: What could not be read or understood.
    """

    measured: Measured
    facts: tuple[tuple[str, Fact], ...] = ()
    files: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    def holder(self, member: str) -> str:
        """Return the innermost file that a member lies in, such as the library of a section."""
        return _holder(member, frozenset(self.files)) or self.measured.path

    def members(self) -> dict[str, AccelSet | None]:
        """Return the set of every file that holds device code; None where it is unknown."""
        files, groups = frozenset(self.files), dict[str, list[Finding]]()
        for finding in self.measured.findings:
            groups.setdefault(_holder(finding.member, files) or self.measured.path, []).append(finding)
        answer: dict[str, AccelSet | None] = {name: combine.accel(found) for name, found in groups.items()}
        answer.update({self.holder(member): None for member, _ in self.measured.unread})
        return answer

    def of(self, member: str) -> tuple[Fact, ...]:
        """Return the facts of a member and of what lies in it."""
        return tuple(fact for name, fact in self.facts if name == member or name.startswith(f"{member}!"))


def _holder(member: str, files: frozenset[str]) -> str:
    while member and member not in files:
        member = member.rpartition("!")[0]
    return member
