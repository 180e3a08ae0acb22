"""Braces that name no architecture are refused."""

from __future__ import annotations

import pytest

from refusals.accel_refused import refused


@pytest.mark.parametrize(
    ("text", "message", "caret"),
    [
        ("cuda12.9+{}", "the braces name no architecture", "cuda12.9|+{}"),
        ("vulkan1.2, cuda+{ }", "the braces name no architecture", "vulkan1.2, cuda|+{ }"),
    ],
)
def test_empty_braces_are_refused(text: str, message: str, caret: str) -> None:
    refused(text, "ATL0103", message, caret)
