"""Containers nested past a depth are not opened, and what they hold is unknown."""

from __future__ import annotations

from pathlib import Path

from refusals.packaging_refused import said
from unit.packaging.binaries import elf, entry, fatbin, put, zipped


def test_what_lies_too_deep_is_unknown(tmp_path: Path) -> None:
    data = elf({".nv_fatbin": fatbin(entry(2, 80))})
    for _ in range(9):
        data = zipped({"inner.zip": data})
    assert said(put(tmp_path / "a.zip", data)).code == "ATL0457"
