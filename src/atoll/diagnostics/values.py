"""The values: :class:`Span` and :class:`Diagnostic`."""

from __future__ import annotations

from enum import StrEnum

from atoll._util.values import dataclass


class Severity(StrEnum):
    """How much a diagnostic stops: an error refuses, a warning and a note do not."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A place in a text.

    Attributes:
        file: The path as the user knows it, or a name in angle brackets (``<--accel>``).
        line: The line, from 1.
        column: The column of the first character, from 1.
        end_column: The column after the last character, on the same line.
        text: The whole source line, for the caret; empty where it is not at hand.
    """

    file: str
    line: int = 1
    column: int = 1
    end_column: int | None = None
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One finding: what is wrong, where, both sides, and one way out.

    Attributes:
        code: A stable code from the table, such as ``ATL0412``; foreign plugins use their own prefix.
        message: One sentence in lower case without a full stop and without advice.
        severity: Whether it refuses.
        span: The place, where there is one.
        notes: Lines that say both sides, printed as they are under the message.
        hint: One piece of advice.
    """

    code: str
    message: str
    severity: Severity = Severity.ERROR
    span: Span | None = None
    notes: tuple[str, ...] = ()
    hint: str | None = None
