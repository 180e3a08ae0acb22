"""An ABI tag prints itself, constrains only what it names, and reads the standard as a floor."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.artifact import Abi
from atoll.errors import AtollError


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x86_64-linux-gnu",
        "x86_64-linux-gnu-gcc12-libstdcxx12-c++20",
        "x86_64-linux-gnu-c++17",
        "aarch64-linux-musl-clang19-libcxx19",
        "x86_64-linux-gnu-libstdcxx12",
        "arm64-macos",
    ],
)
def test_a_tag_prints_itself(text: str) -> None:
    assert str(Abi.parse(text)) == text
    assert bool(Abi.parse(text)) == bool(text)


@pytest.mark.parametrize(
    "text",
    [
        "x86_64--gnu",
        "X86-linux",
        "c++20",
        "x86_64-linux-gnu-gcc12-gcc13",
        "x86_64-linux-gnu-c++20-c++17",
        "x86_64-linux-gnu\n",
        "x" * 500,
        "x86_64-linux-gnu-",
    ],
)
def test_what_is_no_tag_is_refused(text: str) -> None:
    with pytest.raises(AtollError) as caught:
        Abi.parse(text)
    assert caught.value.diagnostics[0].code == "ATL0401"


FULL = "x86_64-linux-gnu-gcc12-libstdcxx12-c++20"


@pytest.mark.parametrize(
    ("have", "asked", "differences"),
    [
        ("x86_64-linux-gnu", FULL, []),
        ("", FULL, []),
        (FULL, "", []),
        (FULL, FULL, []),
        ("x86_64-linux-gnu-c++17", FULL, []),
        ("x86_64-linux-gnu-c++98", FULL, []),
        ("x86_64-linux-gnu-c++23", FULL, [("c++ standard", "c++20", "c++23")]),
        ("x86_64-linux-gnu-gcc13", FULL, [("compiler", "gcc12", "gcc13")]),
        ("x86_64-linux-gnu-libcxx19", FULL, [("c++ library", "libstdcxx12", "libcxx19")]),
        ("aarch64-linux-musl", FULL, [("arch", "x86_64", "aarch64"), ("libc", "gnu", "musl")]),
    ],
)
def test_differences(have: str, asked: str, differences: list[tuple[str, str, str]]) -> None:
    found = Abi.parse(have).differences(Abi.parse(asked))
    assert [(each.dimension, each.asked, each.carried) for each in found] == differences


@given(
    st.sampled_from(["", "x86_64", "aarch64"]),
    st.sampled_from(["", "gcc12", "clang19"]),
    st.sampled_from(["", "c++17", "c++20"]),
)
def test_what_a_side_does_not_name_is_no_constraint(arch: str, compiler: str, standard: str) -> None:
    have = Abi(arch=arch, compiler=compiler, standard=standard)
    assert have.differences(Abi()) == Abi().differences(have) == have.differences(have) == ()
