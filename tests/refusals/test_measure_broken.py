"""Bytes that break their own format are refused, with the place and the rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from refusals.packaging_refused import refused, said
from unit.packaging.binaries import elf, entry, fatbin, put, spirv, words


def test_an_entry_without_a_length_is_refused_and_not_walked_for_ever(tmp_path: Path) -> None:
    data = elf({".nv_fatbin": fatbin(entry(2, 80, header=0))})
    found = said(put(tmp_path / "a.so", data))
    assert (found.code, found.notes) == ("ATL0452", ("the entry at 0 states a header of 0 bytes",))


def test_a_spirv_instruction_of_no_words_is_refused(tmp_path: Path) -> None:
    found = refused(put(tmp_path / "a.spv", spirv()[:20] + words(0) + spirv()[24:]))
    assert (found.code, found.notes) == ("ATL0452", ("the SPIR-V instruction at word 5 states 0 words",))


@pytest.mark.parametrize("data", [b"", b"<html>503</html>", b"\0" * 4096])
def test_a_wheel_that_is_none_carries_what_nobody_knows_and_not_nothing(tmp_path: Path, data: bytes) -> None:
    found = refused(put(tmp_path / "a-1-py3-none-any.whl", data))
    assert (found.code, found.notes) == ("ATL0452", ("a wheel that is no zip file",))


@pytest.mark.parametrize(
    "data", [b"\x7fELF", b"!<thin>\n", b"PK\x03\x04 and nothing more", b"__CLANG_OFFLOAD_BUNDLE__"]
)
def test_a_start_without_a_rest_is_refused(tmp_path: Path, data: bytes) -> None:
    assert refused(put(tmp_path / "a", data)).code in ("ATL0452", "ATL0002")
