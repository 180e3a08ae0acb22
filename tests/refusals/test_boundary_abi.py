"""Refused: a type with no C ABI."""

from __future__ import annotations

from pathlib import Path

import pytest

from unit.boundary.kit import one, scanned


@pytest.mark.parametrize(
    ("parameter", "shown"),
    [
        ("std::vector<float> x", "std::vector<float>"),
        ("const std::string &s", "std::string"),
        ("float &x", "float &x"),
        ("struct P p", "struct P"),
        ("Thing t", "Thing"),
        ("void (*call)(int)", "void (*call)(int)"),
        ("float x[4]", "float x[4]"),
        ("half x", "half"),
    ],
)
def test_the_type_is_named_at_its_place(tmp_path: Path, parameter: str, shown: str) -> None:
    fault = one(lambda: scanned(tmp_path / "cpu", f"ATOLL_EXPORT_C int f({parameter}) {{ return 0; }}"))
    assert fault.code == "ATL0304"
    assert shown.split("<")[0].removeprefix("std::") in fault.message
    assert fault.span is not None
    assert fault.span.column == 22


def test_a_result_has_one_too(tmp_path: Path) -> None:
    fault = one(lambda: scanned(tmp_path / "cpu", "ATOLL_EXPORT_C std::string f() { return {}; }"))
    assert fault.message == "the type `string` has no C ABI that a boundary knows"


def test_a_variadic_list_has_none(tmp_path: Path) -> None:
    fault = one(lambda: scanned(tmp_path / "cpu", "ATOLL_EXPORT_C int f(int n, ...) { return n; }"))
    assert "variadic" in fault.message


def test_a_type_may_not_be_volatile(tmp_path: Path) -> None:
    fault = one(lambda: scanned(tmp_path / "cpu", "ATOLL_EXPORT_C int f(volatile int *n) { return *n; }"))
    assert "volatile" in fault.message


@pytest.mark.parametrize(
    ("struct", "reason"),
    [
        ("struct P { float *x; };", "its field `float *x` is no number"),
        ("struct P { float x[3]; };", "its field `float x[3]` is no number"),
        ("struct P { unsigned n : 3; };", "its field `unsigned n : 3` is no number"),
        ("struct P { int n = 2; };", "its field `int n = 2` is no number"),
        ("struct P { int f(); };", "its field `int f()` is no number"),
        ("struct B { int b; }; struct P : B { int n; };", "it has a base class clause"),
        ("struct P { struct Q { int a; } q; };", "its field `struct Q { int a; } q` is no number"),
        ("struct P { };", "it has 0 fields"),
        ("struct P { private: int n; };", "it has `private`"),
        ("struct P { int \u00fc; };", "its field `\u00fc` is not ASCII"),
        (
            "#if 1\nstruct P { int a; };\n#else\nstruct P { int b; };\n#endif",
            "it is defined twice, and differently",
        ),
    ],
)
def test_a_struct_that_is_not_plain_is_refused_with_the_reason(
    tmp_path: Path, struct: str, reason: str
) -> None:
    text = f"{struct}\nATOLL_EXPORT_C int f(P p) {{ return 0; }}"
    fault = one(lambda: scanned(tmp_path / "cpu", text))
    assert (fault.code, fault.message) == ("ATL0304", "the struct `P` cannot cross a boundary")
    assert fault.notes == (f"reason: {reason}",)
