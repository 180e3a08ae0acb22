"""An entry without a backend is refused."""

from __future__ import annotations

import pytest

from refusals.accel_refused import refused


@pytest.mark.parametrize(
    ("text", "message", "caret"),
    [
        ("12.9", "an entry has no backend", "|1"),
        ("+{sm_89}", "an entry has no backend", "|+"),
        ("hip, 6.4", "an entry has no backend", "hip, |6"),
        (">=90", "an entry has no backend", "|>"),
    ],
)
def test_an_entry_without_a_backend_is_refused(text: str, message: str, caret: str) -> None:
    refused(text, "ATL0106", message, caret)
