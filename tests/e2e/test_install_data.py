"""An installed library brings what it was built from: libraries of its dependencies, and its side files."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest

from atoll.session import open_session
from e2e.harness import ATOLL, PATH, machine, right
from e2e.test_install import PROJECT, needs
from unit.plugins.lane_project import write

# Two packages; each has a file in an object and one beside the image, and `poems` calls `rhymes`.
DATA = """\
[data.object]
files = ["words/*.txt"]
storage = "object"
[data.side]
files = ["big/*.txt"]
storage = "file"
"""
FILES = {
    "rhymes/atoll.toml": """\
[package]
name = "rhymes"
version = "3.1"
[targets.rhymes]
kind = "static"
sources = ["include/*.h", "src/*.cpp"]
include = ["include"]
"""
    + DATA,
    "rhymes/include/rhymes.h": "#pragma once\n#include <string>\nstd::string rhyme();\n",
    "rhymes/src/rhyme.cpp": """\
#include <rhymes.h>
#include "rhymes_data.h"
static std::string text(atoll_data d) { return std::string(static_cast<const char*>(d.data), d.size); }
std::string rhyme() { return text(rhymes::words::cat_txt()) + " " + text(rhymes::big::hat_txt()); }
""",
    "rhymes/words/cat.txt": "cat",
    "rhymes/big/hat.txt": "hat",
    "poems/atoll.toml": """\
[package]
name = "poems"
version = "1.2"
[targets.poems]
kind = "KIND"
sources = ["include/*.h", "src/*.cpp"]
include = ["include"]
[dependencies]
rhymes = { path = "../rhymes" }
"""
    + DATA,
    "poems/include/poems.h": "#pragma once\n#include <string>\nstd::string poem();\n",
    "poems/src/poem.cpp": """\
#include <poems.h>
#include <rhymes.h>
#include "poems_data.h"
static std::string text(atoll_data d) { return std::string(static_cast<const char*>(d.data), d.size); }
std::string poem() {
    return text(poems::words::the_txt()) + " " + rhyme() + " " + text(poems::big::end_txt());
}
""",
    "poems/words/the.txt": "the",
    "poems/big/end.txt": "end",
}
USER = "#include <poems.h>\n#include <cstdio>\nint main() { std::puts(poem().c_str()); }\n"
POEM = "the cat hat end\n"


@pytest.fixture(scope="module", params=["shared", "static"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def prefix(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the library, move its prefix away and remove both packages."""
    needs("pkg-config", "cmake", "ninja")
    root = tmp_path_factory.mktemp("packages")
    write(root, {path: text.replace("KIND", kind) for path, text in FILES.items()})
    built = open_session(root / "poems", environment={"PATH": PATH}).build()
    moved = root.parent / f"moved {kind}"
    shutil.move(root / "poems" / built.folder / "install", moved)
    shutil.rmtree(root)
    return moved


def test_the_prefix_is_whole(prefix: Path, kind: str) -> None:
    found = {path.relative_to(prefix).as_posix() for path in prefix.rglob("*") if path.is_file()}
    ending = {"shared": "so", "static": "a"}[kind]
    assert {f"lib/libpoems.{ending}", "include/poems.h"} <= found
    assert {path for path in found if "_data/" in path} == {
        "lib/poems_data/poems_big_end_txt",
        "lib/rhymes_data/rhymes_big_hat_txt",
    }


def answered(program: Path, prefix: Path, kind: str) -> str:
    """Run a program; beside one that holds an archive stand the side files, as its build put them there."""
    if kind == "static":
        for folder in ("poems_data", "rhymes_data"):
            shutil.copytree(prefix / "lib" / folder, program.parent / folder, dirs_exist_ok=True)
    return right(program, where=program.parent, env=machine(LD_LIBRARY_PATH=str(prefix / "lib"))).out


def test_cmake_users_need_the_prefix_alone(prefix: Path, kind: str, tmp_path: Path) -> None:
    user = write(tmp_path, {"user.cpp": USER, "CMakeLists.txt": PROJECT.format(name="poems", version="1.1")})
    env = machine(CMAKE_PREFIX_PATH=str(prefix))
    right("cmake", "-G", "Ninja", "-S", ".", "-B", "build", where=user, env=env)
    right("cmake", "--build", "build", where=user, env=env)
    assert answered(user / "build/user", prefix, kind) == POEM


def test_pkg_config_users_need_the_prefix_alone(prefix: Path, kind: str, tmp_path: Path) -> None:
    env = machine(PKG_CONFIG_PATH=f"{prefix}/lib/pkgconfig")
    flags = shlex.split(right("pkg-config", "--cflags", "--libs", "poems", where=tmp_path, env=env).out)
    write(tmp_path, {"user.cpp": USER})
    right("g++", "user.cpp", *flags, "-o", "user", where=tmp_path)
    assert answered(tmp_path / "user", prefix, kind) == POEM


def test_pack_takes_the_side_files_along(kind: str, tmp_path: Path) -> None:
    write(tmp_path, {path: text.replace("KIND", kind) for path, text in FILES.items()})
    packed = right(ATOLL, "pack", where=tmp_path / "poems").out.strip()
    place = tmp_path / "poems" / packed
    rows = {item["path"] for item in json.loads((place / "index.json").read_text())["artifacts"]}
    own = f"lib/libpoems.{'a' if kind == 'static' else 'so'}"
    embedded = {f"lib/lib{name}.embedded-files.a" for name in ("poems", "rhymes")}
    assert rows == {own, "lib/librhymes.rhymes.a", "include", *embedded}
    assert (place / "lib/rhymes_data/rhymes_big_hat_txt").read_text() == "hat"
