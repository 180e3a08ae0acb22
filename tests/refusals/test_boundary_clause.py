"""Refused: a clause that cannot be read, or does not fit its declaration."""

from __future__ import annotations

from pathlib import Path

import pytest

from unit.boundary.kit import one, scanned


@pytest.mark.parametrize(
    ("clause", "item", "reason"),
    [
        ("x[n], y", "y", "it is none of"),
        ("x[n],", "", "it is none of"),
        ("x[n + 1]", "x[n + 1]", "it is none of"),
        ("x[]", "x[]", "it is none of"),
        ("x[0]", "x[0]", "neither a parameter's name nor a positive integer"),
        ("x[n], x[n]", "x[n]", "`x` has two extents"),
        ("out=x, out=x", "out=x", "`x` is returned twice"),
        ("space=moon", "space=moon", "the spaces are `host` and `device`"),
        ("space=host, space=host", "space=host", "`space` is stated twice"),
        ("x[n] y[n]", "x[n] y[n]", "it is none of"),
    ],
)
def test_the_first_item_that_cannot_be_read_is_named(
    tmp_path: Path, clause: str, item: str, reason: str
) -> None:
    text = f"ATOLL_EXPORT_AS({clause}) int f(float *x, int n) {{ return n; }}"
    fault = one(lambda: scanned(tmp_path / "cpu", text))
    assert (fault.code, fault.message) == ("ATL0302", f"the clause cannot be understood at `{item}`")
    assert reason in fault.notes[0]
    assert fault.span is not None
    assert fault.span.column == 17


def test_the_marker_that_takes_a_clause_has_one(tmp_path: Path) -> None:
    fault = one(lambda: scanned(tmp_path / "cpu", "ATOLL_EXPORT_AS int f(int n) { return n; }"))
    assert fault.code == "ATL0302"


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ("z[n]", "the clause names `z`, which is no parameter"),
        ("n[n]", "the clause gives an extent to `n`, which is no pointer"),
        ("x[m]", "the extent of `x` names `m`, which is no parameter"),
        ("x[a]", "the extent of `x` names `a`, which is no integer"),
        ("x[x]", "the extent of `x` names `x`, which is no integer"),
        ("out=x", "`x` cannot be allocated and returned"),
        ("c[n], out=c", "`c` cannot be allocated and returned"),
        ("out=z", "the clause names `z`, which is no parameter"),
        ("stream=s", "the clause names `s`, which is no parameter"),
        ("status", "`status` needs a function that returns `int`"),
    ],
)
def test_a_clause_is_held_against_its_declaration(tmp_path: Path, clause: str, message: str) -> None:
    text = f"ATOLL_EXPORT_AS({clause}) long f(float *x, const float *c, int n, float a) {{ return n; }}"
    fault = one(lambda: scanned(tmp_path / "cpu", text))
    assert (fault.code, fault.message) == ("ATL0303", message)
