"""A header unit: refused by name, whoever scans."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from refusals.modules_refused import MAIN, MANIFEST, refused
from unit.plugins.lane_project import ENVIRONMENT


@pytest.mark.parametrize("compiler", ["g++", "clang++-19", "clang++-22"])
def test_the_header_and_the_unit_are_named(tmp_path: Path, compiler: str) -> None:
    scanner = compiler.replace("clang++", "clang-scan-deps")
    for tool in (compiler, scanner):
        if shutil.which(tool, path=ENVIRONMENT["PATH"]) is None:
            pytest.skip(f"{tool} is not installed")
    manifest = MANIFEST.replace('"g++"', f'"{compiler}"')
    files = {"src/a.cppm": "export module a;\n", "src/main.cpp": f"import <vector>;\n{MAIN}"}
    (found,) = refused(tmp_path, files, manifest)
    assert found.code == "ATL0519"
    assert found.message == "`src/main.cpp` imports the header unit `<vector>`"
    assert found.notes == ("imported: a header", "built here: named modules and their partitions")
    assert found.hint == "write `#include <vector>`; in a module, between `module;` and its declaration"
