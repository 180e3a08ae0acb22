"""Each refusal of an accel set has one way out where there is one, and both sides."""

from __future__ import annotations

import pytest

from atoll.accel import AccelSet
from atoll.errors import AccelError


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("hip vulkan1.2, cuda", "write a comma before `vulkan1.2`"),
        ("cuda+{a b}", "write a comma before `b`"),
        ("none", "`--no-accel` asks for no accelerator"),
        ("CUDA", "write `cuda`"),
        ("cuda13.0 ptxx>=90", "did you mean `ptx`?"),
        ("cuda+{}", "leave `+{}` out, or name an architecture in it"),
    ],
)
def test_the_hint_says_what_to_write(text: str, hint: str) -> None:
    with pytest.raises(AccelError) as caught:
        AccelSet.parse(text, floor_words={"cuda": "ptx"})
    assert caught.value.diagnostics[0].hint == hint


def test_an_unknown_word_lists_the_known_ones() -> None:
    with pytest.raises(AccelError) as caught:
        AccelSet.parse("cuda13.0 word>=90", floor_words={"cuda": "ptx"})
    assert caught.value.diagnostics[0].notes == ("known words: floor, ptx",)


def test_a_target_of_a_kernel_is_told_from_an_entry() -> None:
    with pytest.raises(AccelError) as caught:
        AccelSet.parse("vulkan1.2, cuda:sm_90")
    (found,) = caught.value.diagnostics
    assert found.message == "`:` stands where archs are written `+{arch,arch}`"
    assert found.span is not None
    assert found.span.column == 16


def test_a_repeated_backend_names_the_first_place() -> None:
    with pytest.raises(AccelError) as caught:
        AccelSet.parse("hip, cuda, hip")
    assert caught.value.diagnostics[0].notes == ("first at column 1",)
