"""An archive that holds a symbolic link is refused."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from refusals.packaging_refused import refused
from unit.packaging.binaries import put


def test_a_link_is_refused(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        item = zipfile.ZipInfo("link.so")
        item.create_system, item.external_attr = 3, 0o120777 << 16
        file.writestr(item, "/etc/passwd")
    found = refused(put(tmp_path / "a.whl", stream.getvalue()))
    assert (found.code, found.notes[1]) == ("ATL0455", "reason: it is a link or a special file")
