"""Text longer than anyone writes is refused unread, and nothing shorter takes long."""

from __future__ import annotations

import contextlib
import time

import pytest

from atoll.accel import AccelSet
from atoll.accel.parse import MAX_TEXT
from atoll.errors import AccelError


@pytest.mark.parametrize("text", ["a" * 5000, "," * 10**7, "cuda+{" + "a," * 3000, "1" * 10**6])
def test_a_long_text_is_refused_unread(text: str) -> None:
    with pytest.raises(AccelError) as caught:
        AccelSet.parse(text)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "ATL0115"
    assert diagnostic.notes == (f"at most {MAX_TEXT} characters, this has {len(text)}",)
    assert len(str(caught.value)) < 500


def test_a_set_of_the_greatest_length_parses() -> None:
    archs = ",".join(f"x{number}" for number in range(700))
    text = f"some+{{{archs}}}"
    assert 3000 < len(text) <= MAX_TEXT
    assert str(AccelSet.parse(text)) == text


@pytest.mark.parametrize("piece", ["a", "a,", "a ", "1", ".", "+{", "}", " ", "a1.", ">=", "a>=", "_", "-"])
def test_no_repetition_takes_long(piece: str) -> None:
    text = (piece * MAX_TEXT)[:MAX_TEXT]
    start = time.process_time()
    for around in (text, f"cuda{text}"[:MAX_TEXT], f"cuda+{{{text}"[:MAX_TEXT], f"cuda {text}"[:MAX_TEXT]):
        with contextlib.suppress(AccelError):
            AccelSet.parse(around)
    assert time.process_time() - start < 1.0
