"""What does a call through the C++20 module leave behind? What its island reported, and nothing older."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from atoll.boundary import cxx_module, cxx_module_file, header, header_name
from atoll.runtime.sources import core_source, include_folder
from unit.boundary.kit import ENVIRONMENT, compiled, interface, scanned, write

ISLAND = """
struct Point { float x, y; };
ATOLL_EXPORT_C
int app_loud(int app_loud) { atoll_ran_on("device of the loud one"); return app_loud; }
ATOLL_EXPORT_C
void app_quiet() {}
ATOLL_EXPORT_AS(status)
int app_failing() { atoll_fail("it failed"); return 1; }
ATOLL_EXPORT_C
Point app_mirrored(Point it, const Point* at) { return {it.y + at->x, it.x + at->y}; }
"""
MAIN = """
#include <cstdio>
import app.kernels;
namespace k = app::kernels;
static void say() { std::printf("[%s] [%s]\\n", k::device_name(), k::last_error()); }
int main() {
  const k::Point at{1, 2};
  const int answer = k::loud(7);
  say();
  k::app_quiet();
  say();
  (void)k::loud(7);
  (void)k::failing();
  say();
  const auto pointed = k::quiet;
  pointed();
  say();
  (void)k::app_loud(1);
  const k::Point back = k::mirrored({10, 20}, &at);
  say();
  std::printf("%d %g %g\\n", answer, back.x, back.y);
}
"""
SAID = "[device of the loud one] []\n[] []\n[] [it failed]\n[] []\n[] []\n7 21 12\n"
FLAGS = ("-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-I.", "-I", include_folder())
OWN = ("-DATOLL_OWN_STRUCTS", "-include", "app_kernels.h", "-include", "atoll_launch.h")
CLANG = "clang++-19"


def linked(folder: Path, compiler: str) -> Path:
    """Compile island, module and program by hand, and return the program."""
    made = interface(scanned(folder / "cpu", ISLAND), strip_prefix="app_")
    unit = cxx_module_file(made.module)
    texts = {header_name(made.module): header(made), unit: cxx_module(made), "main.cpp": MAIN}
    write(folder, texts)
    compiled("gcc", "-std=c11", "-I", include_folder(), "-c", core_source(), "-o", "core.o", where=folder)
    compiled("g++", *FLAGS, *OWN, "-c", "cpu/island.cpp", "-o", "island.o", where=folder)
    if compiler == CLANG:
        modules: tuple[str, ...] = ("-fprebuilt-module-path=.",)
        compiled(compiler, *FLAGS, unit, "--precompile", "-o", "app.kernels.pcm", where=folder)
        compiled(compiler, "-c", "app.kernels.pcm", "-o", "module.o", where=folder)
    else:
        modules = ("-fmodules-ts",)
        compiled(compiler, *FLAGS, *modules, "-x", "c++", "-c", unit, "-o", "module.o", where=folder)
    compiled(compiler, *FLAGS, *modules, "-c", "main.cpp", "-o", "main.o", where=folder)
    compiled(compiler, "main.o", "module.o", "island.o", "core.o", "-o", "program", where=folder)
    return folder / "program"


@pytest.mark.parametrize("compiler", ["g++", CLANG])
def test_a_call_forgets_what_the_one_before_reported_and_the_symbol_stays_the_authors(
    tmp_path: Path, compiler: str
) -> None:
    program = linked(tmp_path, compiler)
    assert subprocess.run([program], capture_output=True, text=True, check=True).stdout == SAID
    symbols = subprocess.run(["nm", program], capture_output=True, text=True, check=True, env=ENVIRONMENT)
    assert " T app_quiet\n" in symbols.stdout
