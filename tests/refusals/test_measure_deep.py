"""Containers nested past a depth are not opened, and what they hold is unknown."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from atoll.accel import AccelSet
from atoll.packaging import report
from refusals.packaging_refused import said
from unit.packaging.binaries import elf, entry, fatbin, put, zipped


def test_what_lies_too_deep_is_unknown(tmp_path: Path) -> None:
    data = elf({".nv_fatbin": fatbin(entry(2, 80))})
    for _ in range(9):
        data = zipped({"inner.zip": data})
    assert said(put(tmp_path / "a.zip", data)).code == "ATL0457"


def test_folders_may_lie_in_one_another_as_deep_as_the_system_lets_them(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_DIRECTORY)
    for _ in range(1500):
        os.mkdir("a", dir_fd=here)
        inner = os.open("a", os.O_DIRECTORY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(os.open("b", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    try:
        assert report(tmp_path).measured.accel == AccelSet()
    finally:
        # pytest's own clearing of old folders recurses, and would end a later run.
        subprocess.run(["rm", "-rf", tmp_path / "a"], check=True)
