"""C++20 modules from scan to program, with each compiler: right, in order, and rebuilt exactly where used."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.graph import EdgeStory, explain
from atoll.session import Built, open_session
from unit.plugins.lane_project import ENVIRONMENT, write

COMPILERS = ["g++", "clang++-19", "clang++-22"]
MANIFEST = """\
[package]
name = "shop"
[build]
include = ["include"]
[targets.stock]
kind = "static"
sources = ["stock/**/*.cppm", "stock/**/*.cpp"]
[targets.shop]
kind = "executable"
sources = ["app/*.cppm", "app/*.cpp", "app/plain.c"]
links = ["stock"]
[lane.host]
compiler = "COMPILER"
"""
# The module `shop.stock` of a library: an exported partition, an internal one, a re-export, two units that
# implement it. The program has a module of its own, and a unit that imports nothing.
FILES = {
    "include/limit.h": "#define LIMIT 5\n",
    "stock/stock.cppm": """\
module;
#include "limit.h"
export module shop.stock;
export import :item;
import :rules;
export import shop.money;
export int total(int count) { return allowed(count) ? cents(price() * count) : LIMIT; }
export const char* name();
""",
    "stock/parts/item.cppm": "export module shop.stock : item;\nexport inline int price() { return 3; }\n",
    "stock/parts/rules.cppm": "module shop.stock:rules;\nbool allowed(int count) { return count < 100; }\n",
    "stock/name.cpp": 'module shop.stock;\nconst char* name() { return "stock"; }\n',
    "stock/money.cppm": "export module shop.money;\nexport int cents(int units);\n",
    "stock/money.cpp": "module shop.money;\nint cents(int units) { return units * 100; }\n",
    "app/report.cppm": "export module report;\nimport shop.money;\n"
    "export int tax() { return cents(1) / 10; }\n",
    "app/main.cpp": """\
#include <cstdio>
import shop.stock;
import report;
extern "C" int plain(void);
const char* text = R"(
import nothing;
)";
int main() { std::printf("%s %d %d %d %d\\n", name(), total(2), cents(1), tax(), plain()); }
""",
    "app/alone.cpp": "int alone() { return 1; }\n",
    "app/plain.c": "int plain(void) { int import = 4, module = 5; return import + module; }\n",
}
PRINTED = "stock 600 100 10 9\n"


@pytest.fixture(scope="module", params=COMPILERS)
def compiler(request: pytest.FixtureRequest) -> str:
    """A compiler that is here with its scanner."""
    name = str(request.param)
    for tool in (name, name.replace("clang++", "clang-scan-deps")):
        if shutil.which(tool, path=ENVIRONMENT["PATH"]) is None:
            pytest.skip(f"{tool} is not installed")
    return name


def project(root: Path, compiler: str) -> Path:
    """Write the project."""
    return write(root, {**FILES, "atoll.toml": MANIFEST.replace("COMPILER", compiler)})


def build(root: Path) -> Built:
    """Build, and check that the program answers."""
    built = open_session(root, environment=ENVIRONMENT).build()
    found = built.output("shop")
    assert found is not None
    done = subprocess.run([root / found.path], capture_output=True, text=True, check=True)
    assert done.stdout == PRINTED
    return built


@pytest.fixture(scope="module")
def first(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """One build for the tests that change nothing."""
    return build(project(tmp_path_factory.mktemp("modules"), compiler))


@pytest.fixture(scope="module")
def place(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the project that the tests edit one after another."""
    return tmp_path_factory.mktemp("edited") / "p"


@pytest.fixture
def root(place: Path, compiler: str) -> Path:
    """Return that project as it was written, and built: what the test before left of it is taken back."""
    written = set(FILES) | {"atoll.toml"}
    for path in [*place.rglob("*")]:
        name = path.relative_to(place).as_posix()
        if path.is_file() and not name.startswith(".atoll/") and name not in written:
            path.unlink()
    for name, text in {**FILES, "atoll.toml": MANIFEST.replace("COMPILER", compiler)}.items():
        if not (place / name).is_file() or (place / name).read_text() != text:
            write(place, {name: text})
    build(place)
    return place


def edit(root: Path, path: str, was: str, now: str) -> set[str]:
    """Edit a file and return the actions that ran after it."""
    place = root / path
    text = place.read_text()
    assert was in text
    place.write_text(text.replace(was, now))
    return set(build(root).result.ran)


EDITS = [
    # An implementation unit: itself.
    ("stock/name.cpp", 'return "stock"', 'return ("stock")', {"stock/name.cpp"}, {"stock/name.cpp"}),
    # A partition: itself, its module, all who import that; no other unit is scanned.
    (
        "stock/parts/item.cppm",
        "return 3; }",
        "return 3; } export inline int unused() { return 1; }",
        {"stock/parts/item.cppm"},
        {"stock/parts/item.cppm", "stock/stock.cppm", "stock/name.cpp", "app/main.cpp"},
    ),
    # An interface at the bottom: everyone that sees it, through re-exports too.
    (
        "stock/money.cppm",
        "cents(int units);",
        "cents(int units); export int never();",
        {"stock/money.cppm"},
        {
            *("stock/money.cppm", "stock/money.cpp", "stock/stock.cppm", "stock/name.cpp"),
            *("app/report.cppm", "app/main.cpp"),
        },
    ),
    # A program's own module.
    (
        "app/report.cppm",
        "/ 10; }",
        "/ 10; } export int other();",
        {"app/report.cppm"},
        {"app/report.cppm", "app/main.cpp"},
    ),
]


def words(ran: set[str], start: str) -> set[str]:
    """Return the units of the actions that start so."""
    return {name.split()[-1] for name in ran if name.startswith(start)}


def test_an_edit_rebuilds_exactly_its_users(root: Path) -> None:
    for path, was, now, scanned, compiled in EDITS:
        ran = edit(root, path, was, now)
        assert words(ran, "scan ") == scanned
        assert words(ran, "host ") == compiled
        assert words(ran, "collate ") == set(), "no import changed"


def test_an_edit_that_changes_code_reaches_the_program(root: Path) -> None:
    text = FILES["stock/parts/item.cppm"].replace("return 3", "return 4")
    (root / "stock/parts/item.cppm").write_text(text)
    built = open_session(root, environment=ENVIRONMENT).build()
    assert "link bin/shop" in built.result.ran
    found = built.output("shop")
    assert found is not None
    assert "stock 800 " in subprocess.run([root / found.path], capture_output=True, text=True).stdout


def test_a_second_build_does_nothing(first: Built) -> None:
    second = build(first.root)
    assert len(first.result.ran) == first.result.total
    assert second.result.ran == ()


def test_a_unit_in_c_and_generated_ones_are_never_scanned(first: Built) -> None:
    scans = {name.split()[-1] for name in first.result.ran if name.startswith("scan ")}
    assert scans == {path for path in FILES if path.endswith((".cpp", ".cppm"))}


def test_every_module_file_lies_in_the_build_folder(first: Built) -> None:
    root, folder = first.root, first.root / first.folder
    beside = {path.name for path in root.iterdir()}
    assert beside == {".atoll", "atoll.toml", "app", "include", "stock"}
    found = [path for path in root.rglob("*") if path.suffix in (".bmi", ".gcm", ".pcm")]
    assert len(found) == sum(path.endswith(".cppm") for path in FILES)
    assert all(path.is_relative_to(folder) for path in found)


@pytest.mark.parametrize("name", ["it's a $HOME #1 100% 日本語 a|b quo\"te\\", "-lead"])
def test_folders_of_any_name(tmp_path: Path, compiler: str, name: str) -> None:
    root = project(tmp_path / name, compiler)
    (root / "stock/parts").rename(root / "stock" / name)
    build(root)
    assert build(root).result.ran == ()
    ran = edit(root, f"stock/{name}/item.cppm", "return 3", "return 1 + 2")
    assert any("main.cpp" in step for step in ran)


def test_an_import_that_comes_and_goes_changes_the_order(root: Path) -> None:
    edit(root, "app/alone.cpp", "int alone", "import report;\nint alone")
    assert "host shop app/alone.cpp" in edit(root, "app/report.cppm", "/ 10; }", "/ 10; } export int a();")
    edit(root, "app/alone.cpp", "import report;\n", "")
    assert "host shop app/alone.cpp" not in edit(root, "app/report.cppm", " export int a();", "")


def test_a_module_that_moves_to_another_file_is_found_there(root: Path) -> None:
    (root / "app/report.cppm").rename(root / "app/other.cppm")
    built = build(root)
    assert not list((root / built.folder).rglob("report.cppm*"))


def test_a_broken_build_mends(root: Path) -> None:
    text = (root / "stock/money.cppm").read_text()
    for wrong in (
        text.replace("int units", "int nothing, int units"),
        text + "export import report;\n",
        "not C++",
    ):
        (root / "stock/money.cppm").write_text(wrong)
        with pytest.raises(Exception, match="ATL"):
            build(root)
        (root / "stock/money.cppm").write_text(text)
        build(root)


def test_two_clean_builds_give_equal_programs(first: Built, compiler: str) -> None:
    root, folder = first.root, first.root / first.folder
    # clang 19 writes what a module imports from several partitions in an order of its own, run by run.
    kept = ("*.o", "*.a", "*.dd", "*.modmap", "shop", *(() if compiler == "clang++-19" else ("*.bmi",)))
    one = {path: path.read_bytes() for kind in kept for path in folder.rglob(kind) if path.is_file()}
    shutil.rmtree(root / ".atoll")
    build(root)
    assert [path.name for path, data in one.items() if path.read_bytes() != data] == []


def test_the_database_is_what_a_clang_tool_can_run(
    first: Built, compiler: str, tell: Callable[[str], None]
) -> None:
    tool = compiler if compiler.startswith("clang") else "clang++-19"
    if shutil.which(tool, path=ENVIRONMENT["PATH"]) is None:
        pytest.skip(f"{tool} is not installed")
    root = first.root
    rows = json.loads((root / first.folder / "compile_commands.json").read_text())
    checked = 0
    for row in rows:
        strange = ("-fmodules-ts", "-fmodule-mapper", "-Mno-")
        assert not any(word.startswith(strange) for word in row["arguments"])
        # A module file of g++ is of no use to clang: there, what imports nothing is checked.
        if compiler.startswith("clang") or row["file"] in ("app/alone.cpp", "app/plain.c"):
            command = [tool, *row["arguments"][1:], "-fsyntax-only"]
            done = subprocess.run(command, cwd=row["directory"], capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{shlex.join(command)}\n{done.stderr}"
            checked += 1
    tell(f"{compiler}: {tool} read {checked} of {len(rows)} rows of compile_commands.json")
    assert checked >= 2


def test_explain_names_the_module_files_that_a_unit_read(first: Built) -> None:
    story = explain(first.root, first.folder, "host shop app/main.cpp")
    assert isinstance(story, EdgeStory)
    read = {path.rpartition("/")[2] for path in story.found if path.endswith(".bmi")}
    assert read == {"stock.cppm.bmi", "item.cppm.bmi", "rules.cppm.bmi", "money.cppm.bmi", "report.cppm.bmi"}
