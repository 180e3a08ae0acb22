"""Refused: a parenthesis that is never closed, or nothing to export after the marker."""

from __future__ import annotations

from pathlib import Path

import pytest

from unit.boundary.kit import one, scanned


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("ATOLL_EXPORT_C int f(int a { return a; }", 1, 21),
        ("ATOLL_EXPORT_C\nint f(int a", 2, 6),
        ("ATOLL_EXPORT_AS(x[n]\nint f(float *x, int n) { return n; }", 1, 16),
        ("ATOLL_EXPORT_AS(x[n]; int f(float *x, int n) { return n; }", 1, 16),
    ],
)
def test_the_open_parenthesis_is_the_place(tmp_path: Path, text: str, line: int, column: int) -> None:
    fault = one(lambda: scanned(tmp_path / "cpu", text))
    assert (fault.code, fault.message) == ("ATL0301", "a parenthesis after the marker is never closed")
    assert fault.span is not None
    assert (fault.span.line, fault.span.column) == (line, column)


@pytest.mark.parametrize(
    "text",
    [
        "ATOLL_EXPORT_C",
        "ATOLL_EXPORT_C }",
        "ATOLL_EXPORT_C ;",
        "ATOLL_EXPORT_C int x = 1;",
        "ATOLL_EXPORT_C struct S { int a; };",
        "ATOLL_EXPORT_C int f(int a, float) (b) { }",
        "ATOLL_EXPORT_C operator int() { return 0; }",
        "int g() { return 0; ATOLL_EXPORT_C }",
    ],
)
def test_what_is_no_function_is_refused_at_the_marker(tmp_path: Path, text: str) -> None:
    fault = one(lambda: scanned(tmp_path / "cpu", text))
    assert fault.code in ("ATL0301", "ATL0305")
    assert fault.span is not None
    assert fault.span.column == text.index("ATOLL") + 1
