"""Sets parse, print and compare as the specification lists it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from atoll.accel import ANY_WORD, AccelSet, Entry, Floor, Version, provide_floor_words, words
from atoll.errors import AccelError

MUST_PARSE = (
    "cuda12.9+{sm_89}, vulkan1.2",
    "cuda12.8+{sm_80,sm_90a} ptx>=90",
    "vulkan1.3+{spirv1.6} floor>=1.4",
    "sycl2020+{spir64,nvptx64-sm_89}",
    "hip6.4+{gfx942}",
    "hip, cuda12.9+{sm_89}",
    "sycl",
    "ascend8.5+{dav-c220}",
    "cuda13.0 ptx>=90",
    "hip6.4+{gfx90a:xnack+}",
    "sycl2020+{spir64}, cuda13.0+{sm_90}",
    "cuda13.0+{sm_80,sm_90} ptx>=90, vulkan1.2, opencl1.2",
    "",
)


@pytest.mark.parametrize("text", MUST_PARSE)
def test_what_must_parse_parses_and_prints_itself(text: str) -> None:
    found = AccelSet.parse(text)
    assert str(found) == text
    assert AccelSet.parse(found.canonical()) == found


def test_the_first_example_in_parts() -> None:
    found = AccelSet.parse("cuda12.8+{sm_80,sm_90a} ptx>=90, vulkan1.2")
    first, second = found
    assert first == Entry(
        backend="cuda",
        version=Version((12, 8)),
        archs=("sm_80", "sm_90a"),
        floor=Floor(Version((90,)), "ptx"),
    )
    assert (second.backend, str(second.version), second.archs, second.floor) == ("vulkan", "1.2", (), None)
    assert found.backends == ("cuda", "vulkan")
    assert found.get("vulkan") is second
    assert found.get("hip") is None


def test_versions_compare_as_written() -> None:
    assert AccelSet.parse("cuda13") != AccelSet.parse("cuda13.0")
    assert AccelSet.parse("kit2024.04") != AccelSet.parse("kit2024.4")
    assert str(AccelSet.parse("kit2024.04")) == "kit2024.04"
    assert Version.parse("2024.04").at_least(Version.parse("2024.4"))
    assert Version((13,)).at_least(Version((13, 0)))
    assert (Version((13,)).minor, Version((13, 2)).minor, Version((13, 2)).major) == (0, 2, 13)


def test_the_word_of_a_floor_is_no_part_of_equality_and_canonical_has_one_word() -> None:
    left, right = AccelSet.parse("cuda13.0 ptx>=90"), AccelSet.parse("cuda13.0 floor>=90")
    assert left == right
    assert hash(left) == hash(right)
    assert left.canonical() == right.canonical() == "cuda13.0 floor>=90"
    assert str(left) != str(right)
    assert Floor(Version((90,)), "ptx") == Floor(Version((90,)))


def test_canonical_sorts_entries_and_archs() -> None:
    text = "vulkan1.2,  cuda13.0+{sm_90 , sm_80}"
    assert AccelSet.parse(text).canonical() == "cuda13.0+{sm_80,sm_90}, vulkan1.2"
    assert str(AccelSet.parse(text)) == "vulkan1.2, cuda13.0+{sm_90,sm_80}"


def test_an_entry_equals_another_whatever_the_order_of_its_archs() -> None:
    assert Entry(backend="x", archs=("a", "b")) == Entry(backend="x", archs=("b", "a"))
    assert Entry(backend="x", archs=("a",)) != Entry(backend="x", archs=("b",))
    assert AccelSet.parse("a") != "a"
    assert not AccelSet.parse("")
    assert len({AccelSet.parse("a, b"), AccelSet.parse("b, a")}) == 1


@pytest.fixture
def known_words() -> Iterator[dict[str, str]]:
    """The words of the installed lanes, replaced for one test."""
    before = words._provider
    known = {"some": "word"}
    provide_floor_words(lambda: known)
    yield known
    provide_floor_words(before)


def test_without_a_list_the_words_of_the_installed_lanes_count(known_words: dict[str, str]) -> None:
    assert str(AccelSet.parse("some1 word>=2")) == "some1 word>=2"
    with pytest.raises(AccelError, match="ATL0110"):
        AccelSet.parse("other1 word>=2")
    known_words["other"] = "word"
    AccelSet.parse("other1 word>=2")


def test_text_from_elsewhere_keeps_a_word_of_a_lane_that_is_not_installed(
    known_words: Mapping[str, str],
) -> None:
    assert str(AccelSet.parse("npu1 tile>=2", floor_words=ANY_WORD)) == "npu1 tile>=2"
    with pytest.raises(AccelError, match="ATL0110"):
        AccelSet.parse("npu1 TILE>=2", floor_words=ANY_WORD)


def test_floor_is_known_without_asking_anyone() -> None:
    before = words._provider

    def nobody() -> Mapping[str, str]:
        raise AssertionError("asked")

    provide_floor_words(nobody)
    try:
        AccelSet.parse("vulkan1.3 floor>=1.4")
    finally:
        provide_floor_words(before)
