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
