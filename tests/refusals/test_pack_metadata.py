"""Metadata that the packaging standards refuse are refused, each fault named."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.packaging import Metadata
from refusals.packaging_refused import not_packed
from unit.packaging.binaries import put


@pytest.mark.parametrize(
    ("about", "word"),
    [
        (Metadata(name="demo", version="not a version"), "version"),
        (Metadata(name="demo", version="1", license="Apache 2, probably"), "license"),
        (Metadata(name="demo", version="1", python="three"), "requires-python"),
        (Metadata(name="-demo-", version="1"), "name"),
        (Metadata(name="demo", version="1", requires=("what is this",)), "requires-dist"),
    ],
)
def test_faults_are_named(tmp_path: Path, about: Metadata, word: str) -> None:
    put(tmp_path / "tree/demo.py", b"")
    found = not_packed(tmp_path / "tree", about)
    assert found.code == "ATL0465"
    assert word in "\n".join(found.notes).lower()
