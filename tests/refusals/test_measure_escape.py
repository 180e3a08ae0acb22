"""A name that would drive a terminal is printed as text."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from refusals.packaging_refused import refused
from unit.packaging.binaries import elf, entry, fatbin, put, zipped

ESCAPE = "\x1b[31mred\x1b]0;title\x07.so"


def test_a_refusal_spells_control_characters(tmp_path: Path) -> None:
    refused(put(tmp_path / "a.whl", zipped({f"../{ESCAPE}": elf()})))


def test_the_table_spells_control_characters(tmp_path: Path) -> None:
    path = put(tmp_path / "a.whl", zipped({ESCAPE: elf({".nv_fatbin": fatbin(entry(2, 80))})}))
    command = [sys.executable, "-m", "atoll.cli", "measure", "-v", str(path)]
    code = f"import atoll.cli; atoll.cli.main({command[3:]!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "\x1b" not in done.stdout + done.stderr
    assert "\\x1b[31mred" in done.stdout
