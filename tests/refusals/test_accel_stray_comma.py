"""A comma with nothing beside it is refused, wherever it stands."""

from __future__ import annotations

import pytest

from refusals.accel_refused import refused


@pytest.mark.parametrize(
    ("text", "message", "caret"),
    [
        ("vulkan1.2,", "a comma ends the accel set", "vulkan1.2|,"),
        ("vulkan1.2 , ", "a comma ends the accel set", "vulkan1.2 |,"),
        (",vulkan1.2", "a comma stands where an entry should", "|,"),
        ("hip,,cuda", "a comma stands where an entry should", "hip,|,"),
        ("cuda+{sm_89,}", "a comma ends the architectures", "cuda+{sm_89|,"),
        ("cuda+{,sm_89}", "a comma stands where an architecture should", "cuda+{|,"),
    ],
)
def test_a_stray_comma_is_refused(text: str, message: str, caret: str) -> None:
    refused(text, "ATL0107", message, caret)
