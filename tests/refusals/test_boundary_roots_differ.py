"""Refused: one name in two roots with declarations or clauses that differ."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from atoll.boundary import compare
from atoll.boundary.roots import scan_declared
from atoll.diagnostics import Diagnostic
from unit.boundary.kit import SAXPY, compiled, interface, one, refused, scanned, write


def compared(folder: Path, other: str) -> Diagnostic:
    return one(lambda: interface(scanned(folder / "cpu", SAXPY), scanned(folder / "gpu", other)))


def test_unsigned_against_size_t_is_refused_with_both_declarations(tmp_path: Path) -> None:
    fault = compared(tmp_path, SAXPY.replace("unsigned n)", "size_t n)"))
    assert (fault.code, fault.message) == ("ATL0307", "`app_saxpy` is declared differently in two roots")
    said = "int app_saxpy(float a, const float *x, const float *y, float *out, {} n)"
    clause = "   clause: x[n], y[n], out[n], status"
    assert fault.notes == (
        f"cpu/island.cpp:3: {said.format('unsigned')}{clause}",
        f"gpu/island.cpp:3: {said.format('size_t')}{clause}",
    )
    assert fault.span is not None
    assert fault.span.file == "gpu/island.cpp"


def test_a_linker_takes_the_drift_without_a_word_and_the_generator_does_not(tmp_path: Path) -> None:
    """Shows that the fault is real: the same two declarations link clean, and the length is read wrong."""
    caller = """\
#include <stdio.h>
int app_count(unsigned n);
unsigned long long seen;
__attribute__((noinline)) int pass(unsigned long long n) { return app_count(n); }
int main(void) { pass(0x700000004ull); printf("%llu\\n", seen); return 0; }
"""
    island = "#include <stddef.h>\nextern unsigned long long seen;\n"
    island += "int app_count(size_t n) { seen = n; return 0; }\n"
    write(tmp_path, {"caller.c": caller, "island.c": island})
    strict = ("-O2", "-Wall", "-Wextra", "-Werror")
    for name in ("caller", "island"):
        compiled("gcc", *strict, "-c", f"{name}.c", "-o", f"{name}.o", where=tmp_path)
    compiled("gcc", "caller.o", "island.o", "-Wl,--fatal-warnings", "-o", "program", where=tmp_path)
    run = subprocess.run([tmp_path / "program"], capture_output=True, text=True, check=True)
    assert run.stdout.strip() != "4", "the island reads a length that nobody passed"
    marked = "ATOLL_EXPORT_C int app_count({} n) {{ return 0; }}"
    roots = [
        scanned(tmp_path / name, marked.format(n)) for name, n in (("cpu", "unsigned"), ("gpu", "size_t"))
    ]
    fault = one(lambda: interface(*roots))
    assert fault.code == "ATL0307"
    assert fault.notes == (
        "cpu/island.cpp:1: int app_count(unsigned n)",
        "gpu/island.cpp:1: int app_count(size_t n)",
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("const float* x", "float* x"),
        ("float a", "float b"),
        ("out[n], status", "out[n]"),
        ("y[n]", "y[4]"),
        ("y[n], out[n]", "y[n], out[n], out=out"),
    ],
)
def test_every_difference_of_declaration_or_clause_counts(tmp_path: Path, old: str, new: str) -> None:
    assert old in SAXPY
    fault = compared(tmp_path, SAXPY.replace(old, new).replace("a * x", "1 * x"))
    assert fault.code == "ATL0307"


@pytest.mark.parametrize(
    ("old", "new"), [("const float* x", "const  float\n*x"), ("float* out", "float *out")]
)
def test_white_space_is_no_difference(tmp_path: Path, old: str, new: str) -> None:
    assert old in SAXPY
    interface(scanned(tmp_path / "cpu", SAXPY), scanned(tmp_path / "gpu", SAXPY.replace(old, new)))


def test_a_struct_that_differs_is_shown_with_its_fields(tmp_path: Path) -> None:
    text = "struct P {{ {} }};\nATOLL_EXPORT_C int app_f(P p) {{ return 0; }}"
    cpu = scanned(tmp_path / "cpu", text.format("float x, y;"))
    gpu = scanned(tmp_path / "gpu", text.format("float y, x;"))
    fault = one(lambda: interface(cpu, gpu))
    assert (fault.code, fault.message) == ("ATL0307", "`app_f` is declared differently in two roots")
    assert fault.notes == (
        "cpu/island.cpp:2: int app_f(P p)   P: float x, float y",
        "gpu/island.cpp:2: int app_f(P p)   P: float y, float x",
    )


def test_a_declaration_by_hand_that_differs_is_refused(tmp_path: Path) -> None:
    cpu = scanned(tmp_path / "cpu", "ATOLL_EXPORT_C int app_f(unsigned n) { return 0; }")
    header = write(tmp_path, {"more.h": "ATOLL_EXPORT_C int app_f(size_t n);\n"}) / "more.h"
    declared = scan_declared(header, shown=tmp_path)
    (fault,) = refused(lambda: compare([cpu], module="app.k", package="app", declared=declared))
    assert fault.code == "ATL0307"
    assert fault.notes == ("cpu/island.cpp:1: int app_f(unsigned n)", "more.h:1: int app_f(size_t n)")
