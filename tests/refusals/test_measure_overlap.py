"""An archive whose members share bytes is refused."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from refusals.packaging_refused import refused
from unit.packaging.binaries import elf, put


def test_overlapping_members_are_refused(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("a.so", elf())
        file.writestr("b.so", elf())
        file.filelist[1].header_offset = file.filelist[0].header_offset
    found = refused(put(tmp_path / "a.whl", stream.getvalue()))
    assert (found.code, found.notes[1]) == ("ATL0455", "reason: its bytes overlap others")
