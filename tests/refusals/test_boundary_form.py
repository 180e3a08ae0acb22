"""Refused: templates, default arguments, members, and what else has no one symbol."""

from __future__ import annotations

from pathlib import Path

import pytest

from unit.boundary.kit import refused, scanned


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("template <class T> ATOLL_EXPORT_C int f(T x) { return 0; }", "it is a template"),
        ("ATOLL_EXPORT_C template <class T> int f(T x) { return 0; }", "it is a template"),
        ("ATOLL_EXPORT_C int f(int a = 3) { return a; }", "a parameter has a default"),
        ("namespace n { ATOLL_EXPORT_C int f() { return 0; } }", "it stands inside a namespace"),
        ("namespace { ATOLL_EXPORT_C int f() { return 0; } }", "it stands inside a namespace"),
        ("struct S { ATOLL_EXPORT_C int f() { return 0; } };", "it is a member of a class"),
        ("ATOLL_EXPORT_C static int f() { return 0; }", "it is declared `static`"),
        ("static ATOLL_EXPORT_C int f() { return 0; }", "it is declared `static`"),
        ("ATOLL_EXPORT_C inline int f() { return 0; }", "it is declared `inline`"),
        ("ATOLL_EXPORT_C constexpr int f() { return 0; }", None),
        ("ATOLL_EXPORT_C int f();", "it has no body; the marker stands at the definition"),
        ("ATOLL_EXPORT_C auto f() -> int { return 0; }", None),
        ("ATOLL_EXPORT_C int f(int) { return 0; }", "a parameter of a marked declaration has no name"),
        ("ATOLL_EXPORT_C int S::f() { return 0; }", None),
        ("ATOLL_EXPORT_C __global__ void f() {}", "it is declared `__global__`"),
        ("ATOLL_EXPORT_C int app_\u00fc(int n) { return n; }", "a name in it is not ASCII"),
        ("ATOLL_EXPORT_C int f(int \u6570) { return 1; }", "a name in it is not ASCII"),
        ("ATOLL_EXPORT_C void atoll_ran_on(int n) {}", "`atoll_ran_on` is a name of the generated code"),
        (
            "ATOLL_EXPORT_C int PyInit_kernels() { return 1; }",
            "`PyInit_kernels` is a name of the generated code",
        ),
        ("ATOLL_EXPORT_C int main() { return 0; }", "`main` is a name of the generated code"),
    ],
)
def test_the_reason_is_said(tmp_path: Path, text: str, why: str | None) -> None:
    faults = refused(lambda: scanned(tmp_path / "cpu", {"a.cu": text}))
    assert why is None or why in faults[0].message
    assert faults[0].code in ("ATL0305", "ATL0301", "ATL0304")
    assert faults[0].span is not None
