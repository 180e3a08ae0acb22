"""Compares a refusal with its file below ``texts/``, word for word; the machine's own words are masked.

With ``ATOLL_WRITE_TEXTS=1`` the files are written instead: read the difference before you commit it.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path

import pytest

from atoll.errors import AtollError
from unit.build.build_project import reopened
from unit.plugins.lane_project import ENVIRONMENT, write

TEXTS = Path(__file__).with_name("texts")
Case = Callable[[Path], object]


def same(name: str, said: str, root: Path, masks: Mapping[str, str] | None = None) -> None:
    """Check that what was said is the text of `name`."""
    known = {str(root): "ROOT", sys.executable: "PYTHON", os.path.realpath(sys.executable): "PYTHON"}
    for word, mask in {**known, **(masks or {})}.items():
        said = said.replace(word, mask)
    said = said.replace(f"atoll {version('atoll')}", "atoll THIS").replace(
        platform.python_version(), "VERSION"
    )
    path = TEXTS / f"{name}.txt"
    if os.environ.get("ATOLL_WRITE_TEXTS") == "1":
        path.write_text(said + "\n", encoding="utf-8")
    assert path.exists(), f"no text of that name; it would be:\n{said}"
    assert said + "\n" == path.read_text(encoding="utf-8")


def check(name: str, root: Path, case: Case, masks: Mapping[str, str] | None = None) -> None:
    """Run a case, which must refuse, and compare what it says."""
    with pytest.raises(AtollError) as caught:
        case(root)
    assert name.split("_")[0] in [item.code for item in caught.value.diagnostics], str(caught.value)
    same(name, str(caught.value), root, masks)


def command(name: str, root: Path, *words: str, masks: Mapping[str, str] | None = None) -> None:
    """Run the command line in `root`, which must refuse, and compare its talk from the first refusal on."""
    environment = {
        **ENVIRONMENT,
        "ATOLL_OFFLINE": "1",
        "ATOLL_STORE": f"{root}/.store",
        "ATOLL_CACHE": f"{root}/.cache",
    }
    done = subprocess.run(
        [sys.executable, "-m", "atoll", *words],
        cwd=root,
        env={**environment, "HOME": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (1, 2), done.stdout
    said = done.stderr[done.stderr.find("error[") :].rstrip("\n")
    assert said.startswith(f"error[{name.split('_')[0]}]"), done.stderr
    same(name, said, root, masks)


def building(files: Mapping[str, str], **options: object) -> Case:
    """Return the case of a project that does not build."""

    def case(root: Path) -> object:
        return reopened(write(root, files), **options).build()

    return case
