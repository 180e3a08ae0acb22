"""What the refusals of modules share: a project built with g++ until it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from atoll.diagnostics import Diagnostic
from atoll.errors import AtollError
from unit.build.build_project import session

MANIFEST = """\
[package]
name = "demo"
[targets.demo]
kind = "executable"
sources = ["src/*.cppm", "src/*.cpp"]
[lane.host]
compiler = "g++"
"""
MAIN = "int main() {}\n"


def refused(root: Path, files: Mapping[str, str], manifest: str = MANIFEST) -> tuple[Diagnostic, ...]:
    """Build a project and return what refused it."""
    with pytest.raises(AtollError) as caught:
        session(root, {"atoll.toml": manifest, "src/main.cpp": MAIN, **files}).build()
    return caught.value.diagnostics
