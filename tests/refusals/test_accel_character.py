"""A character that the grammar has no place for is refused."""

from __future__ import annotations

import pytest

from refusals.accel_refused import refused


@pytest.mark.parametrize(
    ("text", "message", "caret"),
    [
        ("cuda;hip", "unexpected ';' in the accel set", "cuda|;"),
        ("cuda\nhip", "unexpected '\\n' in the accel set", "cuda|\n"),
        ("cuda+sm_89", "`+` stands without `{`", "cuda|+"),
        ("cuda{sm_89}", "`{` stands without `+`", "cuda|{"),
        ("cuda+{sm_89}}", "unexpected '}' in the accel set", "cuda+{sm_89}|}"),
        ("cuda+{-a}", "unexpected '-' in the accel set", "cuda+{|-"),
        ("cuda_1", "a backend ends in `_`", "cuda|_"),
        ("cuda>=3", "`>=` stands without a word", "cuda|>="),
        ("cuda13.0 ptx>90", "`>` stands where a floor has `>=`", "cuda13.0 ptx|>"),
        ("cuda13.0 ptx", "the floor `ptx` has no value", "cuda13.0 |ptx"),
        ("cuda13.0 ptx, hip", "the floor `ptx` has no value", "cuda13.0 |ptx"),
    ],
)
def test_a_character_out_of_place_is_refused(text: str, message: str, caret: str) -> None:
    refused(text, "ATL0101", message, caret)
