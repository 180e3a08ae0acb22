"""Python's configuration header may lie apart from the others: no compiler has to know where."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from typing import Any

import pytest

from unit.build.build_project import REGISTRY, session


@pytest.fixture
def split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Lay the headers out as Debian does, below a folder that no compiler searches."""
    real, known = Path(sysconfig.get_path("include")), sysconfig.get_path
    config = Path(sysconfig.get_config_h_filename()).read_text()
    place = f"{sysconfig.get_config_var('MULTIARCH')}/{real.name}/pyconfig.h"
    folder = tmp_path / "usr/include" / real.name
    folder.mkdir(parents=True)
    for item in real.iterdir():
        if item.name != "pyconfig.h":
            (folder / item.name).symlink_to(item)
    (folder / "pyconfig.h").write_text(f"#include <{place}>\n")
    (folder.parent / place).parent.mkdir(parents=True)
    (folder.parent / place).write_text(config)

    def get_path(name: str, *words: Any) -> str:
        return str(folder) if name == "include" else known(name, *words)

    monkeypatch.setattr(sysconfig, "get_path", get_path)
    return folder.parent / place


def test_a_module_is_compiled_against_headers_in_two_places(split: Path, tmp_path: Path) -> None:
    built = session(tmp_path / "project", REGISTRY, no_accel=True).build()
    files = [Path(file) for output in built.outputs for file in output.files]
    assert any(path.name == "kernels.abi3.so" for path in files)
    (shown,) = (tmp_path / "project/.atoll/plan").glob("*/python/*/*/pyconfig.h")
    assert shown.read_text() == f'#include "{split}"\n'
