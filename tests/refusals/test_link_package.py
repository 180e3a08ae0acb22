"""A library of the machine that is not there: who asked, what the tool said, the way out."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from atoll.diagnostics import Diagnostic
from atoll.errors import AtollError
from atoll.session import open_session
from unit.build.build_project import PACKAGE
from unit.plugins.lane_project import ENVIRONMENT, program, write


def refused(root: Path, links: str, path: str = ENVIRONMENT["PATH"], **more: str) -> tuple[Diagnostic, ...]:
    manifest = f'{PACKAGE}[targets.demo]\nkind = "executable"\nsources = ["a.cpp"]\nlinks = [{links}]\n'
    write(root, {"atoll.toml": manifest, "a.cpp": "int main() {}\n"})
    with pytest.raises(AtollError) as caught:
        open_session(root, environment={"PATH": path, **more}).build()
    return caught.value.diagnostics


def needs(tool: str) -> None:
    if shutil.which(tool, path=ENVIRONMENT["PATH"]) is None:
        pytest.skip(f"{tool} is not installed")


def test_a_package_that_pkg_config_does_not_know(tmp_path: Path) -> None:
    needs("pkg-config")
    (found,) = refused(tmp_path, '{ pkg-config = "no-such" }', PKG_CONFIG_PATH="/nowhere")
    assert found.code == "ATL0568"
    assert found.message == "pkg-config does not know the package `no-such`"
    assert found.notes[0] == 'asked by: `links` of the target `demo`, { pkg-config = "no-such" }'
    assert found.notes[1].startswith("/usr/bin/pkg-config says: Package no-such was not found")
    assert found.notes[2] == "PKG_CONFIG_PATH is: /nowhere"
    assert found.hint == "install what brings `no-such.pc`, or name its folder in PKG_CONFIG_PATH"
    assert found.span is not None
    assert found.span.line == 6


def test_a_version_that_is_not_there(tmp_path: Path) -> None:
    needs("pkg-config")
    write(tmp_path / "pc", {"word.pc": "Name: word\nDescription: a\nVersion: 1.5\n"})
    (found,) = refused(tmp_path, '{ pkg-config = "word >= 2" }', PKG_CONFIG_PATH=f"{tmp_path}/pc")
    assert found.code == "ATL0568"
    assert "1.5" in found.notes[1]
    assert ">= 2" in found.notes[1]


@pytest.mark.parametrize("name", ["--version", "a b", "-la", "$(touch x)", ""])
def test_what_is_no_name_never_reaches_the_tool(tmp_path: Path, name: str) -> None:
    needs("pkg-config")
    (found,) = refused(tmp_path, f'{{ pkg-config = "{name}" }}')
    assert found.code == "ATL0568"
    assert found.notes[1].endswith("says: it is not the name of a package")


@pytest.mark.parametrize("name", ["-DX=1", "a;b", 'a)\\nfile(WRITE x "")', "a b", ""])
def test_what_is_no_name_never_reaches_cmake(tmp_path: Path, name: str) -> None:
    needs("cmake")
    (found,) = refused(tmp_path, f"{{ cmake = '{name}' }}")
    assert found.code == "ATL0569"
    assert found.notes[1].endswith("says: it is neither the name of a package nor of a target")


def test_a_package_that_cmake_does_not_find(tmp_path: Path) -> None:
    needs("cmake")
    (found,) = refused(tmp_path, '{ cmake = "nosuch" }', CMAKE_PREFIX_PATH="/nowhere")
    assert found.code == "ATL0569"
    assert found.message == "CMake cannot bring the package `nosuch`"
    assert found.notes[0] == 'asked by: `links` of the target `demo`, { cmake = "nosuch" }'
    assert "nosuchConfig.cmake" in found.notes[1]
    assert found.notes[2] == "CMAKE_PREFIX_PATH is: /nowhere"
    assert found.hint == "install what brings `nosuchConfig.cmake`, or name its prefix in CMAKE_PREFIX_PATH"


CONFIG = "add_library(word::a INTERFACE IMPORTED)\nadd_library(word::b INTERFACE IMPORTED)\n"


@pytest.mark.parametrize("name", ["word", "word::c"])
def test_a_target_that_is_not_clear(tmp_path: Path, name: str) -> None:
    needs("cmake")
    write(tmp_path / "prefix", {"lib/cmake/word/wordConfig.cmake": CONFIG})
    (found,) = refused(tmp_path, f'{{ cmake = "{name}" }}', CMAKE_PREFIX_PATH=f"{tmp_path}/prefix")
    assert found.code == "ATL0571"
    asked = "word::c" if "::" in name else "word::word, or the only one"
    assert found.notes[1:] == (f"asked: {asked}", "it has: word::a, word::b")
    assert found.hint == 'name the target: `{ cmake = "word::a" }`'


def test_a_missing_tool_and_every_missing_package_are_named_together(tmp_path: Path) -> None:
    bare = program(tmp_path / "bin", "g++", 'exec /usr/bin/g++ "$@"').parent
    found = refused(tmp_path, '{ pkg-config = "zlib" }, { cmake = "fmt" }', path=str(bare))
    assert [(item.code, item.message) for item in found] == [
        ("ATL0570", "pkg-config is not there to be asked for the package `zlib`"),
        ("ATL0570", "cmake is not there to be asked for the package `fmt`"),
    ]
    assert found[1].notes == (
        'asked by: `links` of the target `demo`, { cmake = "fmt" }',
        f"PATH is: {bare}",
    )
    assert found[1].hint == "install cmake (Debian: apt-get install cmake)"
