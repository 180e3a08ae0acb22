"""The tree is formatted, linted and typed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("command", ["ruff format --check .", "ruff check .", "mypy"])
def test_the_tree_passes(command: str) -> None:
    program, *arguments = command.split()
    path = Path(sys.executable).with_name(program)
    result = subprocess.run([path, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("x=1\n", "ruff format --check"),
        ("import os\n", "ruff check --isolated"),
        ("x: int = ''\n", "mypy --strict"),
    ],
)
def test_a_planted_fault_is_seen(tmp_path: Path, text: str, command: str) -> None:
    (tmp_path / "planted.py").write_text(text)
    program, *arguments = command.split()
    path = Path(sys.executable).with_name(program)
    result = subprocess.run(
        [path, *arguments, "planted.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert result.returncode == 1, result.stdout + result.stderr
