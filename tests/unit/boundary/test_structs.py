"""Structs of numbers cross by value, in and out, from an island that defines them, in C, C++ and Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.boundary import cxx_module, header, header_name, python_files
from unit.boundary.kit import Built, compiled, interface, scanned

STRUCTS = """
#include <stdint.h>
struct Point { double x; float y; };
typedef struct Mixed { int8_t a; bool b; uint64_t c; int64_t d; float e; unsigned short f; } Mixed;
"""
ENTRIES = """
ATOLL_EXPORT_C Point app_add(Point one, struct Point other) {
  return Point{one.x + other.x, one.y + other.y};
}
ATOLL_EXPORT_C Mixed app_same(Mixed value) { return value; }
ATOLL_EXPORT_AS(points[n], status) int app_move(Point by, Point *points, unsigned n) {
  for (unsigned i = 0; i < n; ++i) { points[i].x += by.x; points[i].y += by.y; }
  return n > 3 ? 1 : 0;
}
"""
ISLAND = STRUCTS + ENTRIES
HEAD = """
from types import SimpleNamespace as S
from app import kernels as k
def said(call):
    try:
        print(call())
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("structs")
    made = Built(folder, interface(scanned(folder / "cpu", ISLAND)))
    made.module()
    made.module("clang-19")
    # The island defines the structs; its objects are compiled as a build compiles the units of a root.
    made.root("cpu", ISLAND, own_structs=True)
    return made


def test_fields_are_kept_in_both_directions(built: Built) -> None:
    code = """
print(k.app_add(S(x=1, y=2), S(x=0.5, y=0.25)))
low = S(a=-128, b=True, c=2**64 - 1, d=-2**63, e=1.5, f=65535)
print(k.app_same(low) == low, k.app_same(k.app_same(low)) == low)
"""
    assert built.run(HEAD + code).splitlines() == ["namespace(x=1.5, y=2.25)", "True True"]


def test_a_field_that_is_missing_or_does_not_fit_is_named(built: Built) -> None:
    code = """
said(lambda: k.app_add(S(x=1), S(x=1, y=2)))
said(lambda: k.app_same(S(a=128, b=True, c=0, d=0, e=0, f=0)))
said(lambda: k.app_same(S(a=1, b=1, c=0, d=0, e=0, f=0)))
"""
    assert built.run(HEAD + code).splitlines() == [
        "TypeError: app_add: argument `one` is a Point, and has no field `y`",
        "OverflowError: app_same: argument `value.a` is 128, which does not fit int",
        "TypeError: app_same: argument `value.b` must be a bool, not int",
    ]


def test_an_array_of_structs_is_written_in_place(built: Built) -> None:
    code = """
import numpy as np
t = np.dtype([("x", "f8"), ("y", "f4")], align=True)
points = np.zeros(3, t)
k.app_move(S(x=1, y=2), points)
print(points.tolist())
"""
    assert built.run(HEAD + code).strip() == "[(1.0, 2.0), (1.0, 2.0), (1.0, 2.0)]"


def test_no_call_with_structs_leaks(built: Built) -> None:
    code = """
import sys
p = S(x=1.0, y=2.0)
before = sys.getrefcount(p), sys.getrefcount(S)
for _ in range(1000):
    k.app_add(p, p)
print(before == (sys.getrefcount(p), sys.getrefcount(S)))
"""
    assert built.run(HEAD + code).strip() == "True"


def test_every_language_sees_the_struct_and_the_island_keeps_its_own(tmp_path: Path) -> None:
    made = interface(scanned(tmp_path / "cpu", ISLAND))
    name = header_name(made.module)
    (tmp_path / name).write_text(header(made))
    body = "int f(void);\nint f(void) { Point p = {1, 2}; return (int)app_add(p, p).x; }\n"
    (tmp_path / "user.c").write_text(f'#include "{name}"\n{body}')
    (tmp_path / "island.cpp").write_text(f'#include "{name}"\n{ISLAND}')
    for compiler in ("gcc", "clang-19"):
        compiled(
            compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "user.c", where=tmp_path
        )
    for compiler in ("g++", "clang++-19"):
        island = ("-std=c++20", "-DATOLL_OWN_STRUCTS", "-fsyntax-only", "island.cpp")
        compiled(compiler, *island, where=tmp_path)
        with pytest.raises(AssertionError, match="redefinition"):
            compiled(compiler, "-std=c++20", "-fsyntax-only", "island.cpp", where=tmp_path)
    assert "using Point = ::Point;" in cxx_module(made)
    assert "def app_add(one: Any, other: Any) -> Any:" in python_files(made)["app/kernels.pyi"]
