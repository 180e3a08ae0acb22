"""Refused: an entry that C can call and Python cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.boundary import header, python_source
from unit.boundary.kit import interface, one, refused, scanned


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ATOLL_EXPORT_C int f(const float *x, int n) { return n; }", "the pointer `x` has no extent"),
        ("ATOLL_EXPORT_AS(x[n]) int f(void *x, int n) { return n; }", "`x` is `void *`"),
        ("ATOLL_EXPORT_AS(x[n]) int f(float **x, int n) { return n; }", "`x` is `float **`"),
        ("ATOLL_EXPORT_C const float *f() { return nullptr; }", "its result is `const float *`"),
        ("ATOLL_EXPORT_C long double f() { return 0; }", "its result is `long double`"),
        ("ATOLL_EXPORT_C int f(int in, int in_) { return in; }", "`in_` and `in` are both `in_`"),
    ],
)
def test_the_header_is_made_and_the_module_is_refused(tmp_path: Path, text: str, why: str) -> None:
    made = interface(scanned(tmp_path / "cpu", text))
    assert "f(" in header(made)
    fault = one(lambda: python_source(made))
    assert (fault.code, fault.message) == ("ATL0312", f"`f` has no Python form: {why}")
    assert fault.span is not None
    assert fault.notes[0].startswith("declared: ")


def test_every_entry_without_a_python_form_is_told_at_once(tmp_path: Path) -> None:
    text = (
        "ATOLL_EXPORT_C int f(float *x, float *y) { return 0; }\nATOLL_EXPORT_C void *g() { return nullptr; }"
    )
    made = interface(scanned(tmp_path / "cpu", text))
    assert len(refused(lambda: python_source(made))) == 3
