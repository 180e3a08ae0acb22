"""Diagnostics as text for people and as plain values for machines."""

from __future__ import annotations

from typing import Any

from atoll.diagnostics.values import Diagnostic, Span


def printable(text: str) -> str:
    """Return `text` with control characters spelled out, so that no file name drives a terminal."""
    return "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode()
        for char in text
    )


def render(diagnostic: Diagnostic) -> str:
    """Return a diagnostic as lines for a terminal, readable without colour."""
    lines = [f"{diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}"]
    if diagnostic.span is not None:
        lines += _place(diagnostic.span)
    lines += [f"  {line}" for note in diagnostic.notes for line in note.split("\n")]
    if diagnostic.hint:
        lines.append(f"  help: {diagnostic.hint}")
    return printable("\n".join(lines))


def _place(span: Span) -> list[str]:
    lines = [f"  --> {span.file}:{span.line}:{span.column}"]
    if not span.text:
        return lines
    number = str(span.line)
    pad = " " * len(number)
    text = span.text.rstrip("\n").replace("\t", " ")
    width = max(1, (span.end_column or span.column + 1) - span.column)
    caret = " " * (span.column - 1) + "^" * width
    return [*lines, f" {pad} |", f" {number} | {text}", f" {pad} | {caret}"]


def as_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """Return a diagnostic as a value that `json` can write."""
    span = diagnostic.span
    return {
        "code": diagnostic.code,
        "severity": str(diagnostic.severity),
        "message": diagnostic.message,
        "span": None
        if span is None
        else {
            "file": span.file,
            "line": span.line,
            "column": span.column,
            "end_column": span.end_column,
        },
        "notes": list(diagnostic.notes),
        "hint": diagnostic.hint,
    }
