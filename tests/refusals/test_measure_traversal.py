"""An archive that names a file outside of itself is refused, and nothing is written there."""

from __future__ import annotations

from pathlib import Path

import pytest

from refusals.packaging_refused import refused
from unit.packaging.binaries import elf, put, zipped


@pytest.mark.parametrize("name", ["../outside.so", "/tmp/outside.so", "a/../../outside.so"])
def test_names_that_lead_outside_are_refused(tmp_path: Path, name: str) -> None:
    path = put(tmp_path / "d/a.whl", zipped({name: elf()}))
    found = refused(path)
    assert found.code == "ATL0455"
    assert repr(name) in found.notes[0]
    assert sorted(item.name for item in tmp_path.rglob("*")) == ["a.whl", "d"]
