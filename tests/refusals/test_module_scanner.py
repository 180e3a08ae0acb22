"""A compiler whose module scanner is missing, and one that is too old for modules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from atoll.errors import LaneError
from atoll.plugin import Unit
from atoll_plugins.formats.host_compilers import Compiler
from atoll_plugins.host.modules import plan_modules
from unit.plugins.lane_project import program, request

UNITS = (Unit(path="m.cppm", target="demo"),)


def test_the_missing_scanner_and_its_package_are_named(tmp_path: Path) -> None:
    cxx = program(tmp_path / "bin", "clang++-77", "exit 0")
    compiler = Compiler(family="clang", version="77.1.0", cxx=cxx, cc=cxx)
    wanted = replace(request(tmp_path, UNITS), environment={"PATH": str(tmp_path / "bin")})
    with pytest.raises(LaneError) as caught:
        plan_modules(wanted, compiler, ())
    (found,) = caught.value.diagnostics
    assert found.code == "ATL0521"
    assert found.message == "the module scanner of clang++-77 is not there"
    assert found.notes[1] == f"looked for: clang-scan-deps-77, beside it and in {tmp_path}/bin"
    assert found.hint == "install it (Debian: apt-get install clang-tools-77)"


def test_an_old_compiler_is_refused_with_both_versions(tmp_path: Path) -> None:
    compiler = Compiler(family="gcc", version="10.2.0", cxx=Path("/usr/bin/g++-10"), cc=Path("/usr/bin/gcc"))
    with pytest.raises(LaneError) as caught:
        plan_modules(request(tmp_path, UNITS), compiler, ())
    (found,) = caught.value.diagnostics
    assert found.code == "ATL0523"
    assert found.notes == ("needed: gcc 11 or later", "targets: demo")
    assert "10.2.0" in found.message
