"""An architecture named twice in one entry is refused; in two entries it may stand."""

from __future__ import annotations

import pytest

from refusals.accel_refused import refused


@pytest.mark.parametrize(
    ("text", "message", "caret"),
    [
        ("cuda+{sm_89,sm_89}", "the architecture `sm_89` is named twice", "cuda+{sm_89,|sm_89"),
        ("hip, cuda+{a , b, a}", "the architecture `a` is named twice", "hip, cuda+{a , b, |a"),
    ],
)
def test_a_repeated_architecture_is_refused(text: str, message: str, caret: str) -> None:
    refused(text, "ATL0105", message, caret)
