"""The ninja that runs is the one that Atoll's own requirement brought, wherever its package lies."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest

from atoll.errors import BuildError
from atoll.graph import ninja_program

ASK = "from atoll.graph import ninja_program; print(ninja_program())"
SOURCE = Path(__file__).resolve().parents[3] / "src"


def test_it_is_the_program_of_this_environment() -> None:
    assert ninja_program() == Path(sys.executable).with_name("ninja")


def test_a_package_that_lies_apart_from_the_python_that_runs_brings_its_own(tmp_path: Path) -> None:
    """As in pip's environment for builds, or with `--target`: the scripts are beside the packages."""
    own = distribution("ninja")
    overlay = tmp_path / "overlay/lib/python3/site-packages"
    for file in own.files or ():
        if not file.name.endswith(".pyc"):
            target = overlay / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(str(file.locate()), target)
    venv.create(tmp_path / "env", with_pip=False)
    site = next((tmp_path / "env/lib").glob("python3*/site-packages"))
    (site / "paths.pth").write_text("\n".join([str(overlay), str(SOURCE), str(own.locate_file(""))]) + "\n")
    said = subprocess.check_output([tmp_path / "env/bin/python", "-c", ASK], text=True, cwd=tmp_path)
    assert said.strip() == str(tmp_path / "overlay/bin/ninja")


def test_a_program_that_is_gone_is_said_and_no_other_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ninja.BIN_DIR", str(tmp_path))
    with pytest.raises(BuildError) as caught:
        ninja_program()
    (found,) = caught.value.diagnostics
    assert (found.code, found.notes[1]) == ("ATL0620", f"looked for: {tmp_path / 'ninja'}")
