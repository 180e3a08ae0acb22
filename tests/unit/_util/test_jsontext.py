"""Texts are written as `json` writes them, escaped or not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll._util.jsontext import listed, quoted

# Names as files have them: quotes, backslashes, separators, control characters, bytes that are no UTF-8.
TEXT = st.text(st.one_of(st.characters(), st.sampled_from('",\\ \x7f\n\udc80')), max_size=12)


@given(st.lists(TEXT, max_size=6), st.booleans())
def test_a_list_is_what_json_writes(words: list[str], wide: bool) -> None:
    assert listed(words, wide=wide) == json.dumps(words, ensure_ascii=not wide)


@given(TEXT, st.booleans())
def test_a_text_is_what_json_writes(text: str, wide: bool) -> None:
    assert quoted(text, wide=wide) == json.dumps(text, ensure_ascii=not wide)


@pytest.mark.parametrize("words", [[], [""], ["a", "b"], ['", "'], ["a", 'b", "c'], ["a\\"], ["é"], ["\x7f"]])
def test_words_that_look_like_separators_are_kept_apart(words: list[str]) -> None:
    assert listed(words) == json.dumps(words)
