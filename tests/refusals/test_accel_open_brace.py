"""A brace that is not closed is refused."""

from __future__ import annotations

import pytest

from refusals.accel_refused import refused


@pytest.mark.parametrize(
    ("text", "message", "caret"),
    [
        ("cuda+{sm_89", "a brace is not closed", "cuda+|{"),
        ("cuda+{", "a brace is not closed", "cuda+|{"),
        ("cuda+{sm_89,", "a brace is not closed", "cuda+|{"),
        ("cuda+{sm_89, hip", "a brace is not closed", "cuda+|{"),
    ],
)
def test_an_open_brace_is_refused(text: str, message: str, caret: str) -> None:
    refused(text, "ATL0117", message, caret)
