"""Digits and letters of other scripts are refused and named."""

from __future__ import annotations

import pytest

from refusals.accel_refused import refused


@pytest.mark.parametrize(
    ("text", "message", "caret"),
    [
        ("cuda１2", "the digit `１` is not ASCII", "cuda|１"),
        ("cuda1２", "the digit `２` is not ASCII", "cuda1|２"),
        ("cuda1.٣", "the digit `٣` is not ASCII", "cuda1.|٣"),
        ("cüda", "the character `ü` is not ASCII", "c|ü"),
        ("cuda+{sm_8９}", "the digit `９` is not ASCII", "cuda+{sm_8|９"),
        ("ⅽuda", "the character `ⅽ` is not ASCII", "|ⅽ"),
        ("cuda13.0 ptx>=９0", "the digit `９` is not ASCII", "cuda13.0 ptx>=|９"),
        ("hip,\xa0cuda", "the character `\xa0` is not ASCII", "hip,|\xa0"),
    ],
)
def test_what_is_not_ascii_is_refused(text: str, message: str, caret: str) -> None:
    refused(text, "ATL0114", message, caret)
