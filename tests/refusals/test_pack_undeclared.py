"""A backend or an architecture that nobody declared is refused: it slipped in."""

from __future__ import annotations

from pathlib import Path

import pytest

from refusals.packaging_refused import not_packed
from unit.packaging.binaries import elf, entry, fatbin, put


@pytest.mark.parametrize(
    ("declared", "note"),
    [
        ("cuda+{sm_80}", "accel: declared sm_80, measured sm_90"),
        ("", "accel: declared none, measured cuda+{sm_80,sm_90}"),
    ],
)
def test_what_slipped_in_is_refused(tmp_path: Path, declared: str, note: str) -> None:
    put(tmp_path / "tree/demo/a.so", elf({".nv_fatbin": fatbin(entry(2, 80), entry(2, 90))}))
    found = not_packed(tmp_path / "tree", declared=declared)
    assert (found.code, found.notes[0]) == ("ATL0461", note)
