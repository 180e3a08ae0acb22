"""What build programs are refused with, word for word (`texts/`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.build import programs
from atoll.errors import BuildError
from refusals.exact import building, check
from unit.build.build_project import PACKAGE, SHADER, reopened
from unit.plugins.lane_project import write

HEAD = "from atoll.build.program import project\nbuild = project()\n"
FILES = {
    "atoll.toml": PACKAGE
    + '[build]\naccel = "vulkan1.2"\nlanes = ["spirv"]\nprogram = "build_atoll.py"\n'
    + '[targets.demo]\nkind = "executable"\nsources = ["main.cpp", { glob = "*.comp", accel = "vulkan" }]\n',
    "main.cpp": "int main() {}\n",
    "a.comp": SHADER,
}
PROGRAMS = {
    "ATL0591_wrong_call": HEAD + 'build.generate("../x", "")\n',
    "ATL0592_unknown_call": HEAD + "build.teleport()\n",
    "ATL0593_newer": HEAD.replace("project()", "project(api=99)"),
    "ATL0594_failed": HEAD + "print('before')\n1/0\n",
    "ATL0596_code": HEAD + 'build.refuse("ATL0001", "no table fits", "4 rows", "7 rows")\n',
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_build_program(tmp_path: Path, name: str) -> None:
    check(name, tmp_path, building({**FILES, "build_atoll.py": PROGRAMS[name]}))


def test_one_that_is_missing(tmp_path: Path) -> None:
    check("ATL0590_missing", tmp_path, building(FILES))


def test_one_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "SECONDS", 0.7)
    files = {**FILES, "build_atoll.py": HEAD + "print('at work', flush=True)\nwhile True: pass\n"}
    check("ATL0595_hangs", tmp_path, building(files))


def test_its_warning(tmp_path: Path) -> None:
    program = HEAD + 'build.warn("the table is old", "made in 2019")\n'
    (found,) = reopened(write(tmp_path, {**FILES, "build_atoll.py": program})).build().diagnostics

    def case(_: Path) -> None:
        raise BuildError(found)

    check("ATL0597_warning", tmp_path, case)
