"""A word outside a closed list is refused with the list and the nearest word."""

from __future__ import annotations

from pathlib import Path

import pytest

from unit.manifest.manifests import HEAD, refused, write


@pytest.mark.parametrize(
    ("text", "word", "near"),
    [
        ("[targets.a]\nkind = 'exectable'\n", "exectable", "executable"),
        ("[boundary.b]\nmodule = 'm'\nroots = ['r']\nshape = 'registy'\n", "registy", "registry"),
        ("[data.d]\nfiles = []\nstorage = 'blob'\n", "blob", None),
    ],
)
def test_an_unknown_word_is_refused(tmp_path: Path, text: str, word: str, near: str | None) -> None:
    found = refused(write(tmp_path, HEAD + text), "ATL0203", f"`{word}` is no value", "known: ")
    assert found.hint == (f"write `{near}`" if near else None)
