"""A backend named twice is refused, with both places."""

from __future__ import annotations

import pytest

from refusals.accel_refused import refused


@pytest.mark.parametrize(
    ("text", "message", "caret"),
    [
        ("vulkan1.2, vulkan1.3", "the backend `vulkan` is named twice", "vulkan1.2, |vulkan"),
        ("hip, cuda+{sm_80},hip6.4", "the backend `hip` is named twice", "hip, cuda+{sm_80},|hip"),
    ],
)
def test_a_repeated_backend_is_refused(text: str, message: str, caret: str) -> None:
    refused(text, "ATL0104", message, caret)
