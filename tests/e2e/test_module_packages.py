"""Modules of another package: imported through a dependency, re-exported, read by clangd, missing by name."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.errors import AtollError
from atoll.session import Built, open_session
from unit.plugins.lane_project import ENVIRONMENT, write

COMPILERS = ["g++", "clang++-19", "clang++-22"]
# The program imports `shapes`, which re-exports `numbers` of a third package; that has a partition.
FILES = {
    "numbers/atoll.toml": """\
[package]
name = "numbers"
version = "1.0"
[targets.numbers]
kind = "static"
sources = ["*.cppm", "*.cpp"]
""",
    "numbers/numbers.cppm": "export module numbers;\nexport import :base;\nexport int twice(int number);\n",
    "numbers/base.cppm": "export module numbers:base;\nexport inline int base() { return 10; }\n",
    "numbers/twice.cpp": "module numbers;\nint twice(int number) { return 2 * number; }\n",
    "shapes/atoll.toml": """\
[package]
name = "shapes"
version = "1.0"
[targets.shapes]
kind = "static"
sources = ["*.cppm"]
links = ["numbers"]
[dependencies]
numbers = { path = "../numbers" }
""",
    "shapes/shapes.cppm": "export module shapes;\nexport import numbers;\n"
    "export int area(int side) { return side * side; }\n",
    "app/atoll.toml": """\
[package]
name = "app"
[targets.app]
kind = "executable"
sources = ["src/*.cpp"]
links = ["shapes", "m"]
[dependencies]
shapes = { path = "../shapes" }
[lane.host]
compiler = "COMPILER"
""",
    "app/src/main.cpp": """\
#include <cstdio>
import shapes;
int main() { std::printf("%d %d %d\\n", area(3), twice(4), base()); }
""",
}


@pytest.fixture(scope="module", params=COMPILERS)
def compiler(request: pytest.FixtureRequest) -> str:
    """A compiler that is here with its scanner."""
    name = str(request.param)
    for tool in (name, name.replace("clang++", "clang-scan-deps")):
        if shutil.which(tool, path=ENVIRONMENT["PATH"]) is None:
            pytest.skip(f"{tool} is not installed")
    return name


@pytest.fixture(scope="module")
def root(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write three packages side by side; return the folder that holds them."""
    folder = tmp_path_factory.mktemp("packages")
    return write(folder, {path: text.replace("COMPILER", compiler) for path, text in FILES.items()})


def build(root: Path, printed: str = "9 8 10\n") -> Built:
    """Build the program, and check what it prints."""
    built = open_session(root / "app", environment=ENVIRONMENT).build()
    found = built.output("app")
    assert found is not None
    program = root / "app" / found.path
    assert subprocess.run([program], capture_output=True, text=True, check=True).stdout == printed
    return built


def test_modules_of_packages_are_built_once_and_followed(root: Path) -> None:
    build(root)
    assert build(root).result.ran == ()
    base = root / "numbers/base.cppm"
    base.write_text(base.read_text().replace("return 10", "return 11"))
    ran = {
        name.split()[-1].rpartition("/")[2] for name in build(root, "9 8 11\n").result.ran if "host" in name
    }
    assert ran == {"base.cppm", "numbers.cppm", "twice.cpp", "shapes.cppm", "main.cpp"}
    base.write_text(base.read_text().replace("return 11", "return 10"))
    build(root)
    assert not list((root / "numbers").rglob("*.bmi")), "a dependency's folder is only read"


def test_a_module_of_a_package_that_is_not_linked_is_named(root: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(root, tmp_path / "copied", ignore=shutil.ignore_patterns(".atoll"))
    main = copied / "app/src/main.cpp"
    main.write_text("import other;\n" + main.read_text())
    with pytest.raises(AtollError) as caught:
        open_session(copied / "app", environment=ENVIRONMENT).build()
    (fault,) = caught.value.diagnostics
    assert fault.code == "ATL0516"
    assert fault.message == "nothing provides the module `other`"
    assert fault.notes == ("asked at: src/main.cpp:1", "provided here: numbers, numbers:base, shapes")


def test_clangd_reads_module_units(root: Path, compiler: str, tell: Callable[[str], None]) -> None:
    """What clangd makes of each unit: without its module files of clang it could not see an import."""
    clangd = compiler.replace("clang++", "clangd")
    if shutil.which(clangd, path=ENVIRONMENT["PATH"]) is None or compiler == "g++":
        pytest.skip(f"clangd of {compiler} is not installed" if compiler != "g++" else "g++ has no clangd")
    built = build(root)
    folder = root / "app" / built.folder
    rows = json.loads((folder / "compile_commands.json").read_text())
    read = []
    for row in rows:
        done = subprocess.run(
            [clangd, f"--compile-commands-dir={folder}", f"--check={root / 'app' / row['file']}"],
            cwd=root / "app",
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        assert "All checks completed, 0 errors" in done.stderr
        read.append(row["file"].rpartition("/")[2])
    tell(f"{clangd}: {' '.join(read)}")
    assert {"main.cpp", "shapes.cppm", "numbers.cppm", "base.cppm", "twice.cpp"} <= set(read)
