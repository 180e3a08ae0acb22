"""`--accel ""` is refused with the way to ask for none; in a manifest the empty text is the empty set."""

from __future__ import annotations

import pytest

from atoll.accel import AccelSet, parse_option
from atoll.errors import UsageError


@pytest.mark.parametrize("text", ["", " ", "\t "])
def test_an_empty_option_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_option(text)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "ATL0112"
    assert diagnostic.message == "`--accel` names nothing"
    assert diagnostic.hint == "`--no-accel` asks for no accelerator"


def test_the_empty_text_is_the_empty_set_elsewhere() -> None:
    assert AccelSet.parse("") == AccelSet()


def test_an_option_that_is_no_set_is_wrong_usage_with_its_place() -> None:
    with pytest.raises(UsageError) as caught:
        parse_option("hip,", option="--want")
    assert caught.value.diagnostics[0].span is not None
    assert caught.value.diagnostics[0].span.file == "<--want>"
