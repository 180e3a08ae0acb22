"""A missing comma is named as one, between entries and between architectures."""

from __future__ import annotations

import pytest

from refusals.accel_refused import refused


@pytest.mark.parametrize(
    ("text", "message", "caret"),
    [
        ("cuda12.9+{sm_89} vulkan1.2", "a comma is missing between two entries", "cuda12.9+{sm_89}| "),
        ("hip vulkan", "a comma is missing between two entries", "hip| "),
        ("cuda12.9+{sm_89}vulkan1.2", "a comma is missing between two entries", "cuda12.9+{sm_89}|v"),
        ("cuda13.0 ptx>=90 vulkan1.2", "a comma is missing between two entries", "cuda13.0 ptx>=90| "),
        ("cuda+{sm_80 sm_90}", "a comma is missing between two architectures", "cuda+{sm_80| "),
    ],
)
def test_a_missing_comma_is_named(text: str, message: str, caret: str) -> None:
    refused(text, "ATL0102", message, caret)
