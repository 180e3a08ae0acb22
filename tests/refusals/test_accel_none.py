"""`none` is no entry; the hint names `--no-accel`."""

from __future__ import annotations

import pytest

from refusals.accel_refused import refused


@pytest.mark.parametrize(
    ("text", "message", "caret"),
    [
        ("none", "`none` is no backend", "|none"),
        ("hip, none", "`none` is no backend", "hip, |none"),
        ("none1.2", "`none` is no backend", "|none"),
    ],
)
def test_none_as_an_entry_is_refused(text: str, message: str, caret: str) -> None:
    refused(text, "ATL0111", message, caret)
