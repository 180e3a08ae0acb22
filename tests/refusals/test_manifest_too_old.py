"""A package that asks for another Atoll is refused with both versions."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

from atoll.manifest import read
from unit.manifest.manifests import HEAD, refused, write


@pytest.mark.parametrize("wanted", [">=99", "<0.0.1", "==7.*"])
def test_another_atoll_is_refused_with_both_versions(tmp_path: Path, wanted: str) -> None:
    path = write(tmp_path, HEAD + f'requires-atoll = "{wanted}"\n')
    refused(path, "ATL0210", f"asked: atoll {wanted}", f"this one: atoll {version('atoll')}")


def test_this_atoll_is_accepted(tmp_path: Path) -> None:
    assert read(write(tmp_path, HEAD + 'requires-atoll = ">=0.0.1"\n')).package.requires_atoll


def test_what_is_no_specifier_is_refused(tmp_path: Path) -> None:
    refused(write(tmp_path, HEAD + 'requires-atoll = "new"\n'), "ATL0209", "no version specifier: new")
