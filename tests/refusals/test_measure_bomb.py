"""A decompression bomb is refused before it has grown."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from refusals.packaging_refused import refused
from unit.packaging.binaries import elf, put


def test_a_bomb_is_refused_naming_the_entry(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file, file.open("bomb.so", "w") as member:
        member.write(elf())
        for _ in range(200):
            member.write(bytes(1 << 20))
    found = refused(put(tmp_path / "a.whl", stream.getvalue()))
    assert found.code == "ATL0456"
    assert found.notes[0] == "entry: 'bomb.so'"
