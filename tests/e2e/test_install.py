"""What other build systems get of a library: CMake and pkg-config find it, wherever its prefix lies."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.session import open_session
from e2e.harness import ATOLL, PATH, machine, right, run
from unit.plugins.lane_project import write

SPEAKS = """\
#include <words/count.h>
#include <zlib.h>
int count(const char*) { return 7 + !zlibVersion(); }
"""
SHADER = """\
#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer X { float x[]; };
void main() { x[gl_GlobalInvocationID.x] *= 2.0; }
"""
MANIFEST = """\
[package]
name = "words"
version = "1.4.2"
description = "Counts words."
[build]
accel = "vulkan1.2"
lanes = ["spirv"]
[targets.words]
kind = "static"
sources = ["include/**/*.h", "src/*.cpp", "shaders/*.comp"]
include = ["include"]
links = ["m", { pkg-config = "zlib" }, "inner"]
boundary = "calls"
[targets.inner]
kind = "static"
sources = ["inner/*.c", "inner/inner.h"]
[targets.spoken]
kind = "shared"
sources = ["include/words/count.h", "spoken/*.cpp"]
include = ["include"]
links = [{ pkg-config = "zlib" }]
[boundary.calls]
module = "words.calls"
roots = ["src"]
"""
FILES = {
    "atoll.toml": MANIFEST,
    "include/words/count.h": "#pragma once\nint count(const char* text);\n",
    "src/count.cpp": """\
#include <words/count.h>
#include "words_calls.h"
#include <cmath>
#include <string>
#include <zlib.h>
#include "../inner/inner.h"
int count(const char* text) {
    std::string copy(text);
    volatile double one = 1.0;
    return int(copy.size()) + int(std::pow(one, 3.0)) + inner() + (zlibVersion()[0] == '1' ? 1000 : 0);
}
ATOLL_EXPORT_C
int words_twice(int number) { return 2 * number; }
""",
    "inner/inner.c": '#include "inner.h"\nint inner(void) { return 100; }\n',
    "inner/inner.h": '#ifdef __cplusplus\nextern "C"\n#endif\nint inner(void);\n',
    "shaders/double.comp": SHADER,
    "spoken/count.cpp": SPEAKS,
}
USER = """\
#include <words/count.h>
#include <words_calls.h>
#include <cstdio>
int main() { std::printf("%d %d\\n", count("abc"), words_twice(21)); }
"""
SPOKEN = '#include <words/count.h>\n#include <cstdio>\nint main() { std::printf("%d\\n", count("abc")); }\n'
PROJECT = """\
cmake_minimum_required(VERSION 3.20)
project(user LANGUAGES CXX)
find_package({name} {version} CONFIG REQUIRED)
add_executable(user user.cpp)
target_link_libraries(user PRIVATE {name}::{name})
"""
PROGRAMS = [("words", USER, "1104 42\n"), ("spoken", SPOKEN, "7\n")]


def needs(*tools: str) -> None:
    """Skip where one of these is missing."""
    for tool in tools:
        if shutil.which(tool, path=PATH) is None:
            pytest.skip(f"{tool} is not installed")


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the libraries in a folder with a space, move the prefix away and remove the project."""
    needs("pkg-config", "glslc")
    root = write(tmp_path_factory.mktemp("install") / "a project", FILES)
    built = open_session(root, environment={"PATH": PATH}).build(elsewhere=True)
    prefix = root.parent / "moved here" / "pre fix"
    prefix.parent.mkdir()
    shutil.move(root / built.folder / "install", prefix)
    shutil.rmtree(root)
    return prefix


def test_the_prefix_holds_headers_libraries_and_both_descriptions(moved: Path) -> None:
    found = sorted(path.relative_to(moved).as_posix() for path in moved.rglob("*") if path.is_file())
    configs = [
        f"lib/cmake/{name}/{name}Config{end}.cmake"
        for name in ("inner", "spoken", "words")
        for end in ("", "Version")
    ]
    assert found == sorted(
        ["include/inner.h", "include/words/count.h", "include/words_calls.h"]
        + ["lib/libinner.a", "lib/libspoken.so", "lib/libwords.a", *configs]
        + [f"lib/pkgconfig/{name}.pc" for name in ("inner", "spoken", "words")]
    )


def test_no_description_names_a_folder_of_the_machine(moved: Path, tell: Callable[[str], None]) -> None:
    texts = [path for path in moved.rglob("*") if path.suffix in (".cmake", ".pc", ".h")]
    assert not [path for path in texts if "/tmp" in path.read_text() or ".atoll" in path.read_text()]
    tell(f"read {len(texts)} texts of the prefix")


def test_the_archive_holds_the_objects_of_device_code(moved: Path, tell: Callable[[str], None]) -> None:
    members = right("ar", "t", moved / "lib/libwords.a", where=moved).out.split()
    tell(f"members of libwords.a: {' '.join(members)}")
    assert "count.cpp.o" in members
    device = [member for member in members if "double" in member or "data" in member]
    assert device
    whole = (moved / "lib/libwords.a").read_bytes()
    assert b"\x03\x02\x23\x07" in whole, "the magic number of SPIR-V"


@pytest.mark.parametrize(("name", "source", "printed"), PROGRAMS, ids=[row[0] for row in PROGRAMS])
def test_cmake_builds_a_program_that_answers(
    moved: Path, tmp_path: Path, name: str, source: str, printed: str
) -> None:
    needs("cmake", "ninja")
    user = write(
        tmp_path / "the user",
        {"user.cpp": source, "CMakeLists.txt": PROJECT.format(name=name, version="1.2")},
    )
    env = machine(CMAKE_PREFIX_PATH=str(moved))
    right("cmake", "-G", "Ninja", "-S", ".", "-B", "build", where=user, env=env)
    right("cmake", "--build", "build", where=user, env=env)
    assert right(user / "build/user", where=user).out == printed


@pytest.mark.parametrize(("name", "source", "printed"), PROGRAMS, ids=[row[0] for row in PROGRAMS])
def test_pkg_config_builds_a_program_that_answers(
    moved: Path, tmp_path: Path, name: str, source: str, printed: str
) -> None:
    env = machine(PKG_CONFIG_PATH=f"{moved}/lib/pkgconfig")
    assert right("pkg-config", "--modversion", name, where=tmp_path, env=env).out == "1.4.2\n"
    flags = shlex.split(
        right("pkg-config", "--cflags", "--libs", f"{name} >= 1.4", where=tmp_path, env=env).out
    )
    write(tmp_path, {"user.cpp": source})
    right("g++", "user.cpp", *flags, "-o", "user", where=tmp_path)
    where = machine(LD_LIBRARY_PATH=str(moved / "lib"))
    assert right(tmp_path / "user", where=tmp_path, env=where).out == printed


@pytest.mark.parametrize("asked", ["2.0", "1.5", "0.9"])
def test_cmake_takes_no_other_major_and_nothing_older(moved: Path, tmp_path: Path, asked: str) -> None:
    needs("cmake", "ninja")
    write(tmp_path, {"user.cpp": SPOKEN, "CMakeLists.txt": PROJECT.format(name="spoken", version=asked)})
    done = subprocess.run(
        ["cmake", "-G", "Ninja", "-S", ".", "-B", "build"],
        cwd=tmp_path,
        env=machine(CMAKE_PREFIX_PATH=str(moved)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "version: 1.4.2" in done.stderr


def test_atoll_itself_links_what_it_installed(moved: Path, tmp_path: Path) -> None:
    needs("cmake")
    for number, link in enumerate(('{ pkg-config = "words" }', '{ cmake = "words" }')):
        manifest = f'[package]\nname = "user"\n[targets.user]\nkind = "executable"\nlinks = [{link}]\n'
        root = write(tmp_path / f"user {number}", {"atoll.toml": manifest, "src/user.cpp": USER})
        more = {"PKG_CONFIG_PATH": f"{moved}/lib/pkgconfig", "CMAKE_PREFIX_PATH": str(moved)}
        built = open_session(root, environment={"PATH": PATH, **more}).build()
        assert right(root / built.outputs[0].path, where=root).out == "1104 42\n"


def test_pack_writes_the_prefix_with_what_was_measured_in_it(tmp_path: Path) -> None:
    needs("pkg-config", "glslc")
    root = write(tmp_path / "a project", FILES)
    path = right(ATOLL, "pack", "--out", "to here", where=root).out.strip()
    assert path == "to here/words-1.4.2"
    index = json.loads((root / path / "index.json").read_text())
    rows = {item["path"]: item for item in index["artifacts"]}
    assert sorted(rows) == ["include", "lib/libinner.a", "lib/libspoken.so", "lib/libwords.a"]
    assert rows["lib/libwords.a"]["accel"].startswith("vulkan1")
    assert rows["lib/libinner.a"]["accel"] != rows["lib/libwords.a"]["accel"]
    assert (root / path / "lib/cmake/words/wordsConfig.cmake").is_file()
    right(ATOLL, "pack", "--out", "to here", where=root)
    (root / path / "index.json").unlink()
    refused = run(ATOLL, "pack", "--out", "to here", where=root)
    assert refused.code == 2
    assert "ATL0469" in refused.err
