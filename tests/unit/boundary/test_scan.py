"""A marker selects: what a root exports is read by a real parser, and nothing that only looks like it."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

import pytest

from atoll.boundary import Access, Extent, clause, declaration, scan
from atoll.boundary.grammar import extensions
from atoll.errors import BoundaryError
from unit.boundary.kit import SAXPY, one, refused, scanned, write


def test_an_entry_has_its_types_extents_and_place(tmp_path: Path) -> None:
    (entry,) = scanned(tmp_path / "cpu", SAXPY).entries
    assert declaration(entry) == (
        "int app_saxpy(float a, const float *x, const float *y, float *out, unsigned n)"
    )
    assert clause(entry) == "x[n], y[n], out[n], status"
    assert [item.access for item in entry.parameters if item.element] == [
        Access.READ,
        Access.READ,
        Access.WRITE,
    ]
    assert entry.parameters[1].extent == Extent(dimensions=("n",))
    assert entry.root == "cpu"
    assert entry.span is not None
    assert (entry.span.file, entry.span.line, entry.span.column) == ("cpu/island.cpp", 3, 5)


def test_only_marked_functions_are_exported(tmp_path: Path) -> None:
    root = scanned(
        tmp_path / "cpu", "int helper() { return 1; }\nATOLL_EXPORT_C int shown() { return helper(); }"
    )
    assert [entry.name for entry in root.entries] == ["shown"]


@pytest.mark.parametrize(
    "text",
    [
        "// ATOLL_EXPORT_C\nint f() { return 0; }",
        "/* ATOLL_EXPORT_C */ int f() { return 0; }",
        "// one \\\n ATOLL_EXPORT_C\nint f() { return 0; }",
        'const char *s = "ATOLL_EXPORT_C"; int f() { return 0; }',
        'const char *s = R"(\nATOLL_EXPORT_C int g() { return 0; }\n)"; int f() { return 0; }',
        'const char *s = R"ATOLL_EXPORT_C( )ATOLL_EXPORT_C"; int f() { return 0; }',
        "int MY_ATOLL_EXPORT_C; int f() { return 0; }",
        "int ATOLL_EXPORT_CC; int f() { return 0; }",
        "int ATOLL_EXPORT; int f() { return 0; }",
        "#define ATOLL_EXPORT_C\nint f() { return 0; }",
        "#ifndef ATOLL_EXPORT_AS\n#define ATOLL_EXPORT_AS(...)\n#endif\nint f() { return 0; }",
        "#define BOTH ATOLL_EXPORT_C \\\n ATOLL_EXPORT_C\nint f() { return 0; }",
    ],
)
def test_comments_strings_directives_and_look_alikes_never_match(tmp_path: Path, text: str) -> None:
    assert scanned(tmp_path / "cpu", text).entries == ()


@pytest.mark.parametrize(
    "text",
    [
        "ATOLL_EXPORT_C int f(int n) { return n; }",
        "ATOLL_EXPORT_C\n/* why */\nint f(int n) { return n; }",
        'extern "C" ATOLL_EXPORT_C int f(int n) { return n; }',
        'ATOLL_EXPORT_C extern "C" int f(int n) { return n; }',
        'extern "C" {\nATOLL_EXPORT_C int f(int n) { return n; }\n}',
        "#if 1\nATOLL_EXPORT_C int f(int n) { return n; }\n#endif",
        "int k = 1'000'000;\nATOLL_EXPORT_C int f(int n) { return n; }",
        "ATOLL_EXPORT_C int f(int n) noexcept { return n; }",
        "ATOLL_EXPORT_C [[nodiscard]] int f(int n) { return n; }",
        "ATOLL_EXPORT_C int f(int n) { broken( ; return n; }",
        "ATOLL_EXPORT_AS() int f(int n) { return n; }",
    ],
)
def test_a_definition_is_found_however_it_is_laid_out(tmp_path: Path, text: str) -> None:
    (entry,) = scanned(tmp_path / "cpu", text).entries
    assert declaration(entry) == "int f(int n)"


@pytest.mark.parametrize(
    ("written", "folded"),
    [
        ("float const * x", "const float *x"),
        ("const float*const x", "const float *const x"),
        ("float * __restrict__ x", "float *x"),
        ("std::uint32_t n", "uint32_t n"),
        ("unsigned   long\nlong n", "unsigned long long n"),
        ("const double** x", "const double **x"),
    ],
)
def test_a_type_is_folded_to_one_spelling(tmp_path: Path, written: str, folded: str) -> None:
    (entry,) = scanned(tmp_path / "cpu", f"ATOLL_EXPORT_C void f({written}) {{}}").entries
    assert declaration(entry) == f"void f({folded})"


def test_the_clause_knows_shapes_results_and_comments(tmp_path: Path) -> None:
    text = """ATOLL_EXPORT_AS(w[rows][cols], // the weights
        out[rows], out=out, k[3])
    void f(const float *w, float *out, const int *k, size_t rows, size_t cols) {}"""
    (entry,) = scanned(tmp_path / "cpu", text).entries
    assert clause(entry) == "w[rows][cols], out[rows], k[3], out=out"
    assert [item.returned for item in entry.parameters] == [False, True, False, False, False]


def test_a_parameter_may_be_named_like_a_word_of_the_clause(tmp_path: Path) -> None:
    text = "ATOLL_EXPORT_AS(status[n], out[n], status) int f(int *status, int *out, int n) { return 0; }"
    (entry,) = scanned(tmp_path / "cpu", text).entries
    assert clause(entry) == "status[n], out[n], status"


def test_folders_are_namespaces_and_a_keyword_gets_an_underscore(tmp_path: Path) -> None:
    body = "ATOLL_EXPORT_C int {}() {{ return 0; }}"
    root = scanned(tmp_path / "k", {"a.cpp": body.format("f"), "image/class/b.cpp": body.format("g")})
    assert [entry.namespace for entry in root.entries] == [(), ("image", "class_")]


def test_moving_a_function_between_files_of_a_folder_changes_nothing(tmp_path: Path) -> None:
    body = "ATOLL_EXPORT_C int f() { return 0; }"
    one_file = scanned(tmp_path / "a" / "k", {"s/one.cpp": body})
    other = scanned(tmp_path / "b" / "k", {"s/other.cpp": body})
    assert one_file.entries == other.entries


def test_a_comment_above_is_the_documentation(tmp_path: Path) -> None:
    text = (
        "/** Scale\n * and add. */\nATOLL_EXPORT_C int f() { return 0; }\n"
        "// Two\n// lines\nATOLL_EXPORT_C int g() { return 0; }"
    )
    assert [entry.doc for entry in scanned(tmp_path / "cpu", text).entries] == [
        "Scale\nand add.",
        "Two\nlines",
    ]


def test_the_marker_can_be_renamed(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "cpu", {"a.cpp": "MINE_C int f() { return 0; }\nATOLL_EXPORT_C int g() { return 0; }"}
    )
    for marker in ("MINE", "MINE_C", "MINE_AS"):
        assert [entry.name for entry in scan(folder, marker=marker).entries] == ["f"]


def test_a_single_file_is_a_root(tmp_path: Path) -> None:
    folder = write(tmp_path, {"one.inc": "ATOLL_EXPORT_C int f() { return 0; }"})
    root = scan(folder / "one.inc")
    assert (root.name, [entry.name for entry in root.entries]) == ("one", ["f"])


def test_the_default_extensions_are_those_of_the_specification() -> None:
    assert set(extensions()) == {".c", ".cc", ".cpp", ".cxx", ".cu", ".hip", ".sycl", ".asc", ".cce"}


def test_every_default_extension_is_read_with_device_syntax_in_it(tmp_path: Path) -> None:
    files = {
        f"f{index}{end}": f"ATOLL_EXPORT_C int f{index}() {{ return 0; }}"
        for index, end in enumerate(extensions())
    }
    assert len(scanned(tmp_path / "k", files).entries) == len(extensions())
    device = "__global__ void k(float *x) {}\nATOLL_EXPORT_C int f() { k<<<1, 2>>>(nullptr); return 0; }"
    assert len(scanned(tmp_path / "d", {"a.cu": device}).entries) == 1


def test_links_to_folders_hidden_folders_and_pipes_are_passed_over(tmp_path: Path) -> None:
    body = "ATOLL_EXPORT_C int f() { return 0; }"
    outside = write(tmp_path / "outside", {"a.cpp": body})
    folder = write(tmp_path / "k", {".git/b.cpp": body, "notes.txt": body})
    (folder / "link").symlink_to(outside)
    os.mkfifo(folder / "pipe.cpp")
    assert scan(folder).entries == ()


def test_a_file_that_is_not_utf8_keeps_its_columns(tmp_path: Path) -> None:
    folder = write(tmp_path / "k", {})
    (folder / "a.cpp").write_bytes(b"/* \xff\xe9 */ ATOLL_EXPORT_C int f() { return 0; }")
    (entry,) = scan(folder).entries
    assert entry.span is not None
    assert entry.span.column == 29


def _seconds(folder: Path, text: str) -> float:
    write(folder, {"a.cpp": text})
    started = time.monotonic()
    with contextlib.suppress(BoundaryError):
        scan(folder)
    return time.monotonic() - started


@pytest.mark.parametrize(
    "text",
    [
        "ATOLL_EXPORT_C " + "(" * 200_000,
        "ATOLL_EXPORT_C (" * 1000,
        "ATOLL_EXPORT_C (" * 40_000,
        "ATOLL_EXPORT_C int f" + "(" * 50_000 + ")" * 50_000 + "{}",
        "ATOLL_EXPORT_C int f() {" + "{" * 100_000,
        "ATOLL_EXPORT_C int f() { return 0; }" + "/*" * 100_000,
        'ATOLL_EXPORT_C int f() { return 0; } R"aaaa(' + ")aaa" * 100_000,
        "ATOLL_EXPORT_C int f() { return 0; }" + "'" * 200_000,
        "ATOLL_EXPORT_AS(" + "x[n]," * 100_000 + ") int f() { return 0; }",
        "ATOLL_EXPORT_C " + "*" * 200_000 + "f() {}",
        "ATOLL_EXPORT_C " + "namespace a {" * 50_000,
        "#if 1\n" * 30_000 + "ATOLL_EXPORT_C int f() { return 0; }",
        "ATOLL_EXPORT_C int f(" + "int a," * 2000 + "int b) { return 0; }",
        "\0" * 100_000 + "ATOLL_EXPORT_C int f() { return 0; }",
    ],
    ids=lambda text: text[:24],
)
def test_hostile_text_ends_in_bounded_time_without_a_traceback(tmp_path: Path, text: str) -> None:
    assert _seconds(tmp_path / "k", text) < 15


def test_every_fault_of_a_root_is_reported_at_once(tmp_path: Path) -> None:
    text = "ATOLL_EXPORT_C static int f() { return 0; }\nATOLL_EXPORT_C int g(int a = 1) { return a; }"
    assert [item.code for item in refused(lambda: scanned(tmp_path / "k", text))] == ["ATL0305", "ATL0305"]


def test_a_diagnostic_points_at_the_marker(tmp_path: Path) -> None:
    fault = one(lambda: scanned(tmp_path / "k", "\n  ATOLL_EXPORT_C static int f() { return 0; }"))
    assert fault.span is not None
    assert (fault.span.file, fault.span.line, fault.span.column) == ("k/island.cpp", 2, 3)
    assert fault.span.end_column == 3 + len("ATOLL_EXPORT_C")
