"""Refused: one root inside another, or two of one name."""

from __future__ import annotations

from pathlib import Path

from unit.boundary.kit import interface, one, refused, scanned

BODY = "ATOLL_EXPORT_C int f() { return 0; }"


def test_a_root_inside_another_is_named_with_both_paths(tmp_path: Path) -> None:
    outer = scanned(tmp_path / "k", {"a.cpp": BODY})
    inner = scanned(tmp_path / "k" / "inner", {"b.h": ""})
    fault = one(lambda: interface(outer, inner))
    assert fault.code == "ATL0308"
    assert fault.message == "the roots `k` and `inner` overlap"
    assert fault.notes[0].startswith("one is: k")


def test_two_roots_of_one_name_overlap(tmp_path: Path) -> None:
    one_root = scanned(tmp_path / "a" / "cpu", {"a.cpp": BODY})
    other = scanned(tmp_path / "b" / "cpu", {"a.cpp": BODY})
    assert [item.code for item in refused(lambda: interface(one_root, other))] == ["ATL0308"]


def test_names_that_only_begin_alike_do_not_overlap(tmp_path: Path) -> None:
    interface(scanned(tmp_path / "k", {"a.cpp": BODY}), scanned(tmp_path / "k2", {"a.cpp": BODY}))
