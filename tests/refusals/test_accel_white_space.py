"""White space where the grammar has none is refused."""

from __future__ import annotations

import pytest

from refusals.accel_refused import refused


@pytest.mark.parametrize(
    ("text", "message", "caret"),
    [
        (" vulkan1.2", "white space stands where none is allowed", "| "),
        ("vulkan1.2 ", "white space stands where none is allowed", "vulkan1.2| "),
        (" ", "white space stands where none is allowed", "| "),
        ("cuda13.0  ptx>=90", "white space stands where none is allowed", "cuda13.0 | "),
        ("cuda13.0 ptx >=90", "white space stands where none is allowed", "cuda13.0 ptx| "),
        ("cuda13.0 ptx>= 90", "white space stands where none is allowed", "cuda13.0 ptx>=| "),
        ("cuda+{ sm_89}", "white space stands where none is allowed", "cuda+{| "),
        ("cuda+{sm_89 }", "white space stands where none is allowed", "cuda+{sm_89| "),
        ("cuda +{sm_89}, hip ", "white space stands where none is allowed", "cuda| "),
    ],
)
def test_stray_white_space_is_refused(text: str, message: str, caret: str) -> None:
    refused(text, "ATL0113", message, caret)
