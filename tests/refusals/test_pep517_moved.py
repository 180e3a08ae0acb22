"""An editable install whose project has moved says so, and builds no project of a folder above."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from atoll.diagnostics import render
from atoll.errors import UsageError
from atoll.pep517.editable import rebuild
from atoll.pep517.settings import Settings
from unit.boundary.kit import write

MANIFEST = '[package]\nname = "other"\nversion = "1"\n'


@pytest.mark.parametrize("files", [{}, {"atoll.toml": MANIFEST}, {"inner/pyproject.toml": "[project]\n"}])
def test_the_folder_that_it_was_installed_from_is_named(tmp_path: Path, files: dict[str, str]) -> None:
    root = write(tmp_path, files) / "inner"
    with pytest.raises(UsageError) as caught:
        rebuild(json.dumps({"root": str(root), **Settings().as_data()}))
    (found,) = caught.value.diagnostics
    assert render(found) == (
        "error[ATL0484]: the project of an editable install has moved or is gone\n"
        f"  it was installed from: {root}\n"
        "  there is no manifest there now\n"
        "  help: install it again from where it lies now, or uninstall it"
    )
    assert not (tmp_path / ".atoll").exists()
