"""Refused: one name twice in one root."""

from __future__ import annotations

from pathlib import Path

from unit.boundary.kit import interface, one, scanned


def test_both_places_and_both_declarations_are_named(tmp_path: Path) -> None:
    files = {
        "a.cpp": "ATOLL_EXPORT_C int app_f(int n) { return n; }",
        "sub/b.cpp": "\nATOLL_EXPORT_C int app_f(int n) { return n; }",
    }
    fault = one(lambda: interface(scanned(tmp_path / "cpu", files)))
    assert (fault.code, fault.message) == ("ATL0306", "`app_f` is marked twice in the root `cpu`")
    assert fault.notes == ("cpu/a.cpp:1: int app_f(int n)", "cpu/sub/b.cpp:2: int app_f(int n)")


def test_an_overload_is_such_a_name(tmp_path: Path) -> None:
    text = "ATOLL_EXPORT_C int f(int n) { return n; }\nATOLL_EXPORT_C int f(float x) { return x; }"
    fault = one(lambda: interface(scanned(tmp_path / "cpu", text)))
    assert fault.code == "ATL0306"
    assert fault.notes == ("cpu/island.cpp:1: int f(int n)", "cpu/island.cpp:2: int f(float x)")
    assert fault.hint is not None
    assert "overloads" in fault.hint
