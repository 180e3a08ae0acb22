"""Where does a sequence of commands need a barrier? Read off what each command reads and writes.

One barrier orders all commands before it against all after it, so it is put as late as possible: before the
first command that touches bytes which an earlier one writes, or writes bytes which an earlier one reads.
For a sequence that is the fewest there can be (each interval between two such commands is cut once).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

#: `high` of a use that reaches to the end of its buffer.
END = 1 << 63


@dataclass(slots=True)  # not frozen: one is made for each buffer of each launch, at a third of the cost
class Use:
    """The bytes of one buffer that a command touches; nothing changes one.

    Attributes:
        buffer: Any number that stands for the memory.
        reads: Whether it reads them.
        writes: Whether it writes them.
        stage: Who touches them, in the backend's words.
        low: The first byte.
        high: One past the last.
    """

    buffer: int
    reads: bool
    writes: bool
    stage: Any
    low: int = 0
    high: int = END


@dataclass(slots=True)
class Hazards:
    """What was touched since the last barrier.

    Attributes:
        full: Put a barrier before every command, to tell a missing one from another fault.
        reading: The stages that read since then.
        writing: The stages that wrote since then.
        only: What the one command touched that came since then; None where there were several, or none.
    """

    full: bool = False
    reading: set[Any] = field(default_factory=set)
    writing: set[Any] = field(default_factory=set)
    only: Sequence[Use] | None = None
    _touched: dict[int, list[Use]] = field(default_factory=dict)

    def needed(self, uses: Iterable[Use]) -> bool:
        """Tell whether a command has to be kept behind what was noted since the last barrier."""
        if self.full:
            return bool(self._touched)
        for use in uses:
            for before in self._touched.get(use.buffer, ()):
                if (before.writes or use.writes) and before.low < use.high and use.low < before.high:
                    return True
        return False

    def note(self, uses: Sequence[Use]) -> None:
        """Remember what a command touches."""
        if uses is self.only:
            return
        self.only = None if self._touched else uses
        for use in uses:
            known = self._touched.get(use.buffer)
            if known is None:
                self._touched[use.buffer] = [use]
            elif use not in known:
                known.append(use)
            if use.reads:
                self.reading.add(use.stage)
            if use.writes:
                self.writing.add(use.stage)

    def passed(self) -> None:
        """Forget everything: a barrier stands after it."""
        self.only = None
        self._touched.clear()
        self.reading.clear()
        self.writing.clear()

    def forget(self, buffer: int) -> None:
        """Forget a buffer that is gone, and whose number may be used again."""
        self.only = None
        self._touched.pop(buffer, None)
