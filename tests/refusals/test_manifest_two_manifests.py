"""Two manifests in one folder are refused with both."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.errors import ManifestError
from atoll.manifest import read
from unit.manifest.manifests import HEAD, write


def test_two_manifests_are_refused_with_both(tmp_path: Path) -> None:
    write(tmp_path, HEAD)
    write(tmp_path, "[tool.atoll.package]\nname = 'x'\n", name="pyproject.toml")
    with pytest.raises(ManifestError) as caught:
        read(tmp_path)
    assert caught.value.diagnostics[0].code == "ATL0207"
    assert "atoll.toml" in str(caught.value)
    assert "pyproject.toml" in str(caught.value)
