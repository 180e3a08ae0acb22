"""Two floors in one entry are refused, whichever words name them."""

from __future__ import annotations

import pytest

from refusals.accel_refused import refused


@pytest.mark.parametrize(
    ("text", "message", "caret"),
    [
        ("cuda13.0 ptx>=90 floor>=80", "an entry has two floors", "cuda13.0 ptx>=90 |floor>="),
        ("vulkan1.3 floor>=1.3 floor>=1.4", "an entry has two floors", "vulkan1.3 floor>=1.3 |floor>="),
    ],
)
def test_two_floors_are_refused(text: str, message: str, caret: str) -> None:
    refused(text, "ATL0108", message, caret)
