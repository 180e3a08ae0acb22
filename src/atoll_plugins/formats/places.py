"""Which line of the source is a statement from? Said where it changes, and only where it is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from atoll.diagnostics import Span


@dataclass(slots=True)
class Places:
    """The places of one kernel's statements, in the order they are written.

    Attributes:
        wanted: Whether line information is asked for.
    """

    wanted: bool
    last: tuple[str, int] | None = None

    def changed(self, span: Span | None) -> Span | None:
        """Return a place that differs from the last one, or None."""
        if not self.wanted or span is None or span.line < 1:
            return None
        if self.last == (span.file, span.line):
            return None
        self.last = (span.file, span.line)
        return span


def quoted(path: str) -> str:
    """Return a path as a string of C and of PTX: ASCII, other bytes of its UTF-8 in octal."""
    data = path.encode("utf-8", "surrogateescape")
    plain = (chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:03o}" for byte in data)
    return f'"{"".join(plain)}"'
