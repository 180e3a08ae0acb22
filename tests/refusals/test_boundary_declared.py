"""A header that declares by hand holds marked declarations, and nothing else that is marked."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.boundary import clause, compare, cxx_module, declaration, header
from atoll.boundary.roots import scan_declared
from atoll.diagnostics import Diagnostic
from atoll.errors import BuildError, UnreadableError
from atoll.session import open_session
from unit.boundary.kit import SAXPY, refused, scanned, write

LEGACY = """\
#pragma once
/* Scales in place. */
ATOLL_EXPORT_AS(x[n])
void app_scale(float factor, float *x, unsigned n);

ATOLL_EXPORT_C const char *app_words(void);
"""


def made(folder: Path, text: str) -> Path:
    return write(folder, {"legacy.h": text}) / "legacy.h"


def test_marked_declarations_join_every_root(tmp_path: Path) -> None:
    declared = scan_declared(made(tmp_path, LEGACY), shown=tmp_path)
    assert [declaration(entry) for entry in declared] == [
        "void app_scale(float factor, float *x, unsigned n)",
        "const char *app_words(void)",
    ]
    assert clause(declared[0]) == "x[n]"
    assert declared[0].doc == "Scales in place."
    roots = [scanned(tmp_path / name, SAXPY) for name in ("cpu", "gpu")]
    found = compare(roots, module="app.k", package="app", declared=declared)
    assert [item.name for item in found.entries] == ["app_saxpy", "app_scale", "app_words"]
    assert found.lacking == ()
    assert "void app_scale(float factor, float *x, unsigned n);" in header(found)
    assert "inline void app_scale(float factor, float *x, unsigned n) {" in cxx_module(found)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "ATOLL_EXPORT_C int f(int n) { return n; }",
            "it has a body; a header that declares by hand has none",
        ),
        ("ATOLL_EXPORT_C int f(int n), g(int n);", "it declares two things"),
        ("ATOLL_EXPORT_C extern int f(int n);", "it is declared `extern`"),
        ("namespace n { ATOLL_EXPORT_C int f(int n); }", "it stands inside a namespace"),
    ],
)
def test_what_is_no_declaration_of_one_function_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (fault,) = refused(lambda: scan_declared(made(tmp_path, text)))
    assert fault.code == "ATL0305"
    assert message in fault.message


def test_a_header_without_a_mark_is_refused(tmp_path: Path) -> None:
    (fault,) = refused(lambda: scan_declared(made(tmp_path, "int f(int n);\n"), shown=tmp_path))
    assert (fault.code, fault.message) == ("ATL0309", "the header `legacy.h` declares no marked entry")
    assert fault.notes == ("header: legacy.h", "marker: ATOLL_EXPORT")


def test_a_header_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError) as caught:
        scan_declared(tmp_path / "none.h", shown=tmp_path)
    (fault,) = caught.value.diagnostics
    assert isinstance(fault, Diagnostic)
    assert fault.message == "the file `none.h` could not be read"


def test_a_programs_registry_takes_none(tmp_path: Path) -> None:
    manifest = """\
[package]
name = "app"
[targets.app]
kind = "executable"
boundary = "k"
sources = ["*.cpp", "cpu/*.cpp"]
[boundary.k]
module = "app.k"
roots = ["cpu"]
shape = "registry"
declared = ["legacy.h"]
"""
    main = "int main() { return 0; }"
    write(tmp_path, {"atoll.toml": manifest, "legacy.h": LEGACY, "cpu/a.cpp": SAXPY, "main.cpp": main})
    with pytest.raises(BuildError) as caught:
        open_session(tmp_path, environment={"PATH": "/usr/bin:/bin"}).build()
    (fault,) = caught.value.diagnostics
    assert fault.code == "ATL0320"
    assert fault.message == "the registry of `app` cannot send calls to entries declared by hand"
    assert fault.notes == ("declared by hand: app_scale, app_words", "in: legacy.h")
