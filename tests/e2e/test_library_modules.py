"""`import std`: built where a unit asks for it and the C++ library has it, once for a set of flags."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.session import Built, open_session
from unit.plugins.lane_project import ENVIRONMENT, write

COMPILERS = ["clang++-19", "clang++-22"]
MANIFEST = """\
[package]
name = "counts"
[build]
cxxflags = ["-stdlib=libc++"]
cxx-std = "STANDARD"
[targets.words]
kind = "static"
sources = ["words/*.cppm"]
[targets.counts]
kind = "executable"
sources = ["app/*.cpp"]
links = ["words"]
[lane.host]
compiler = "COMPILER"
"""
WORDS = """\
export module words;
import std;
export int count(const std::string& text) {
    std::istringstream in{text};
    return int(std::ranges::distance(std::views::istream<std::string>(in)));
}
"""
PLAIN = "export module words;\nexport int count(const char* text) { return text[0] == 'a' ? 3 : 0; }\n"
MAIN = """\
import std.compat;
import words;
int main() { std::cout << count("a b c") << ' ' << std::flush; ::printf("%d\\n", int(::strlen("four"))); }
"""
QUIET = """\
extern "C" int printf(const char*, ...);
import words;
int main() { printf("%d 4\\n", count("a b c")); }
"""


@pytest.fixture(scope="module", params=COMPILERS)
def compiler(request: pytest.FixtureRequest) -> str:
    """A clang whose libc++ lists its modules."""
    name = str(request.param)
    if shutil.which(name, path=ENVIRONMENT["PATH"]) is None:
        pytest.skip(f"{name} is not installed")
    if not (Path(f"/usr/bin/{name}").resolve().parents[1] / "share/libc++/v1/std.cppm").is_file():
        pytest.skip(f"the modules of {name}'s libc++ are not installed")
    return name


def build(root: Path, compiler: str, standard: str, **files: str) -> Built:
    """Write the project, build it, and check that the program answers."""
    manifest = MANIFEST.replace("COMPILER", compiler).replace("STANDARD", standard)
    wanted = {"atoll.toml": manifest, **files}
    held = {name: (root / name).read_text() for name in wanted if (root / name).exists()}
    write(root, {name: text for name, text in wanted.items() if held.get(name) != text})
    built = open_session(root, environment=ENVIRONMENT).build()
    found = built.output("counts")
    assert found is not None
    done = subprocess.run([root / found.path], capture_output=True, text=True, check=True)
    assert done.stdout == "3 4\n"
    return built


def library(built: Built) -> set[str]:
    """Return the modules of the library that a build made."""
    return {name.split()[1] for name in built.result.ran if name.startswith("module ")}


def test_import_std_is_built_once_and_only_where_a_unit_asks(
    tmp_path: Path, compiler: str, tell: Callable[[str], None]
) -> None:
    files = {"words/words.cppm": PLAIN, "app/main.cpp": QUIET}
    first = build(tmp_path, compiler, "c++23", **files)
    assert library(first) == set()
    second = build(tmp_path, compiler, "c++23", **files)
    assert second.result.ran == ()
    files["words/words.cppm"] = WORDS
    asked = build(tmp_path, compiler, "c++23", **files | {"app/main.cpp": MAIN})
    assert library(asked) == {"std", "std.compat"}
    edited = build(tmp_path, compiler, "c++23", **files | {"app/main.cpp": MAIN + "// edited\n"})
    assert set(edited.result.ran) == {"scan counts app/main.cpp", "host counts app/main.cpp"}
    tell(f"{compiler}: {[name for name in asked.result.ran if name.startswith('module ')]}")


def test_the_command_line_has_nothing_to_do_where_nobody_asked(tmp_path: Path, compiler: str) -> None:
    build(tmp_path, compiler, "c++20", **{"words/words.cppm": PLAIN, "app/main.cpp": QUIET})
    atoll = Path(sys.executable).with_name("atoll")
    for _ in range(2):
        subprocess.run([str(atoll), "build"], cwd=tmp_path, env=ENVIRONMENT, check=True, capture_output=True)
    assert (tmp_path / ".atoll/plan/unchanged").is_file()
