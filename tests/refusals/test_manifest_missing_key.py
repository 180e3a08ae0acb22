"""A required key that is not there is refused at its table."""

from __future__ import annotations

from pathlib import Path

import pytest

from unit.manifest.manifests import HEAD, refused, write


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        ("[package]\nversion = '1'\n", "package.name", 1),
        ("[build]\n", "package", 1),
        (HEAD + "[targets.a]\n", "targets.a.kind", 3),
        (
            HEAD + "[targets.a]\nkind = 'static'\nsources = [{ accel = 'x' }]\n",
            "targets.a.sources[0].glob",
            5,
        ),
        (HEAD + "[boundary.b]\nroots = ['r']\n", "boundary.b.module", 3),
        (HEAD + "[[pack.variant]]\n", "pack.variant[0].label", 3),
    ],
)
def test_a_missing_key_is_refused_at_its_table(tmp_path: Path, text: str, key: str, line: int) -> None:
    found = refused(write(tmp_path, text), "ATL0206", f"`{key}` is missing")
    assert found.span is not None
    assert found.span.line == line
