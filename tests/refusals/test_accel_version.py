"""What is no version is refused, after a backend and after `>=`."""

from __future__ import annotations

import pytest

from refusals.accel_refused import refused


@pytest.mark.parametrize(
    ("text", "message", "caret"),
    [
        ("cuda12.", "`12.` is not a version", "cuda|12."),
        ("cuda.5", "`.5` is not a version", "cuda|.5"),
        ("cuda12..9", "`12..9` is not a version", "cuda|12..9"),
        ("cuda12.9a", "`12.9a` is not a version", "cuda|12.9a"),
        ("cuda1234567890", "a version is too long", "cuda|1234567890"),
        ("cuda13.0 ptx>=", "a floor is missing", "cuda13.0 ptx>=|"),
        ("cuda13.0 ptx>=90a", "`90a` is not a floor", "cuda13.0 ptx>=|90a"),
        ("cuda13.0 ptx>=x", "`x` is not a floor", "cuda13.0 ptx>=|x"),
    ],
)
def test_what_is_no_version_is_refused(text: str, message: str, caret: str) -> None:
    refused(text, "ATL0116", message, caret)
