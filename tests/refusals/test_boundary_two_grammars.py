"""Two packages with different grammars for one extension are refused, whichever the path lists first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from unit.boundary.kit import write

CODE = """
from atoll.boundary import grammar
from atoll.errors import PluginError
try:
    grammar.extensions()
except PluginError as error:
    (found,) = error.diagnostics
    print(found.code, found.message, *found.notes, sep="\\n")
"""


def said(folder: Path, value: str) -> list[str]:
    info = {"METADATA": "Metadata-Version: 2.1\nName: other\nVersion: 1\n"}
    info["entry_points.txt"] = f"[atoll.grammars]\ncu = {value}\n"
    write(folder / "other-1.dist-info", info)
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, "-c", CODE], env=env, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_both_packages_are_named(tmp_path: Path) -> None:
    assert said(tmp_path, "other.grammar:language") == [
        "ATL0902",
        "two packages bring a grammar for `.cu`",
        "other: other.grammar:language",
        "atoll: tree_sitter_cuda:language",
    ]


def test_the_same_grammar_twice_is_one(tmp_path: Path) -> None:
    assert said(tmp_path, "tree_sitter_cuda:language") == []
