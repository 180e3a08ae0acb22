"""The parser accepts exactly what a second reading of the grammar accepts, and prints it back."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from atoll.accel import AccelSet
from atoll.errors import AccelError
from property.accel_model import Row, rows, same

WORDS = {"b": "pt"}
# Every terminal of the grammar, a letter of another case, white space of both kinds and a stranger.
ALPHABET = ("b", "1", ".", "+{", "}", ",", " ", ">=", "B", "-", "\t", "pt")

_value = st.from_regex(r"[0-9]{1,3}(\.[0-9]{1,3}){0,2}", fullmatch=True)
_backend = st.from_regex(r"[a-z]([a-z_-]{0,5}[a-z])?", fullmatch=True).filter(lambda name: name != "none")
_arch = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.:+-]{0,6}", fullmatch=True)


@st.composite
def _entry(draw: st.DrawFn) -> Row:
    floor = draw(st.one_of(st.just(""), _value))
    archs = tuple(draw(st.lists(_arch, max_size=4, unique=True)))
    version = draw(st.one_of(st.just(""), _value))
    return draw(_backend), version, archs, "floor" if floor else "", floor


_sets = st.lists(_entry(), max_size=4, unique_by=lambda row: row[0]).map(tuple)


def spelled(found: tuple[Row, ...], comma: str = ", ", inner: str = ",") -> str:
    texts = []
    for backend, version, archs, word, floor in found:
        braces = f"+{{{inner.join(archs)}}}" if archs else ""
        texts.append(f"{backend}{version}{braces}{f' {word}>={floor}' if floor else ''}")
    return comma.join(texts)


def parsed(text: str) -> AccelSet | None:
    try:
        return AccelSet.parse(text, floor_words=WORDS)
    except AccelError as error:
        (diagnostic,) = error.diagnostics
        assert diagnostic.span is not None
        assert 1 <= diagnostic.span.column <= len(text) + 1
        return None


def agrees(text: str) -> bool:
    """Check one text against the model; tell whether it is a set."""
    expected, got = rows(text, WORDS), parsed(text)
    assert (got is None) == (expected is None), (text, expected, got)
    if got is None or expected is None:
        return False
    assert str(got) == spelled(expected), text
    assert same(expected, rows(got.canonical(), {}) or ())
    return True


def test_every_short_text_is_judged_as_the_model_judges_it(whole: bool, tell: Callable[[str], None]) -> None:
    longest = 6 if whole else 4
    total = taken = 0
    for length in range(longest + 1):
        for pieces in itertools.product(ALPHABET, repeat=length):
            total += 1
            taken += agrees("".join(pieces))
    tell(f"{total} texts of up to {longest} pieces, {taken} of them sets; whole: {whole}")
    assert taken > 50


def test_the_model_can_disagree() -> None:
    assert rows("b1, c", {}) is not None
    assert rows("b1 c", {}) is None
    assert rows("b1, b2", {}) is None


@given(_sets, st.sampled_from([",", ", ", " ,", "\t,  "]), st.sampled_from([",", ", ", " , "]))
def test_what_a_set_spells_parses_whatever_the_white_space(
    found: tuple[Row, ...], comma: str, inner: str
) -> None:
    assert agrees(spelled(found, comma, inner))


@given(_sets, st.randoms(use_true_random=False))
def test_equality_and_hash_see_no_order(found: tuple[Row, ...], random: object) -> None:
    shuffled = [
        (backend, version, tuple(reversed(archs)), word, floor)
        for backend, version, archs, word, floor in reversed(found)
    ]
    left = AccelSet.parse(spelled(found))
    right = AccelSet.parse(spelled(tuple(shuffled)))
    assert left == right
    assert hash(left) == hash(right)
    assert left.canonical() == right.canonical()
    assert AccelSet.parse(left.canonical()) == left
    assert AccelSet.parse(str(left)) == left
    assert str(AccelSet.parse(str(left))) == str(left)


@given(_sets, _sets)
def test_two_sets_are_equal_exactly_where_the_model_says_so(
    left: tuple[Row, ...], right: tuple[Row, ...]
) -> None:
    assert (AccelSet.parse(spelled(left)) == AccelSet.parse(spelled(right))) == same(left, right)


@given(_sets.filter(bool), st.data())
@settings(max_examples=300)
def test_one_changed_character_is_judged_as_the_model_judges_it(
    found: tuple[Row, ...], data: st.DataObject
) -> None:
    text = spelled(found)
    place = data.draw(st.integers(0, len(text)))
    piece = data.draw(st.sampled_from(["", *ALPHABET, "é", "٣", "none", ";"]))
    agrees(text[:place] + piece + text[place + 1 :])
