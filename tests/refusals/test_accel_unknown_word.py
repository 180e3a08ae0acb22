"""A floor by a word that the backend has not is refused."""

from __future__ import annotations

import pytest

from refusals.accel_refused import refused


@pytest.mark.parametrize(
    ("text", "message", "caret"),
    [
        ("cuda13.0 ptxx>=90", "`ptxx` is no word for a floor of `cuda`", "cuda13.0 |ptxx"),
        ("vulkan1.3 ptx>=90", "`ptx` is no word for a floor of `vulkan`", "vulkan1.3 |ptx"),
        ("cuda13.0 PTX>=90", "`PTX` is no word for a floor of `cuda`", "cuda13.0 |PTX"),
    ],
)
def test_an_unknown_floor_word_is_refused(text: str, message: str, caret: str) -> None:
    refused(text, "ATL0110", message, caret)
