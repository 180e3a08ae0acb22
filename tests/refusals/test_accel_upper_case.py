"""Upper case in a backend is refused."""

from __future__ import annotations

import pytest

from refusals.accel_refused import refused


@pytest.mark.parametrize(
    ("text", "message", "caret"),
    [
        ("CUDA12.9", "the backend `CUDA` has upper-case letters", "|CUDA"),
        ("hip, vulKan", "the backend `vulKan` has upper-case letters", "hip, |vulKan"),
    ],
)
def test_upper_case_in_a_backend_is_refused(text: str, message: str, caret: str) -> None:
    refused(text, "ATL0109", message, caret)
