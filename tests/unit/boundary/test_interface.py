"""Several roots are one interface, and its generated text depends on declarations alone."""

from __future__ import annotations

import itertools
from pathlib import Path

from atoll.boundary import default_module, header, python_files, python_source
from unit.boundary.kit import SAXPY, compiled, interface, scanned, write

PLAIN = "ATOLL_EXPORT_C int app_{0}(int n) {{ return n; }}\n"


def test_entries_are_sorted_by_namespace_and_name(tmp_path: Path) -> None:
    root = scanned(
        tmp_path / "cpu",
        {"z.cpp": PLAIN.format("b"), "a/a.cpp": PLAIN.format("z"), "b.cpp": PLAIN.format("a")},
    )
    found = [(item.entry.namespace, item.name) for item in interface(root).entries]
    assert found == [((), "app_a"), ((), "app_b"), (("a",), "app_z")]


def test_the_layout_root_names_the_namespace(tmp_path: Path) -> None:
    flat = scanned(tmp_path / "cpu", PLAIN.format("f"))
    deep = scanned(tmp_path / "gpu", {"image/f.cpp": PLAIN.format("f"), "only/g.cpp": PLAIN.format("g")})
    for layout, expected in (("cpu", ()), ("gpu", ("image",)), ("", ())):
        made = interface(flat, deep, layout_root=layout)
        assert {item.name: item.entry.namespace for item in made.entries} == {
            "app_f": expected,
            "app_g": ("only",),
        }


def test_an_entry_that_a_root_lacks_is_listed(tmp_path: Path) -> None:
    made = interface(
        scanned(tmp_path / "cpu", PLAIN.format("f") + PLAIN.format("g")),
        scanned(tmp_path / "gpu", PLAIN.format("f")),
    )
    assert made.lacking == (("app_g", ("gpu",)),)


def test_the_processor_is_last_in_the_order_of_choice(tmp_path: Path) -> None:
    roots = [scanned(tmp_path / name, PLAIN.format("f")) for name in ("cpu", "b", "a")]
    assert interface(*roots).roots == ("b", "a", "cpu")


def test_a_prefix_gives_a_second_name_beside_the_first(tmp_path: Path) -> None:
    text = (
        PLAIN.format("scale")
        + PLAIN.format("class")
        + PLAIN.format("2d")
        + "ATOLL_EXPORT_C int app_() { return 0; }"
    )
    made = interface(scanned(tmp_path / "cpu", text), strip_prefix="app_")
    assert {item.name: item.names for item in made.entries} == {
        "app_": ("app_",),
        "app_2d": ("app_2d",),
        "app_class": ("app_class", "class_"),
        "app_scale": ("app_scale", "scale"),
    }


def test_which_roots_lack_an_entry_changes_no_generated_byte(tmp_path: Path) -> None:
    cpu = scanned(tmp_path / "a" / "cpu", PLAIN.format("f") + PLAIN.format("g"))
    less = scanned(tmp_path / "a" / "gpu", PLAIN.format("f"))
    more = scanned(tmp_path / "b" / "gpu", PLAIN.format("f") + PLAIN.format("g"))
    one, other = interface(cpu, less), interface(cpu, more)
    assert one.lacking != other.lacking
    assert (header(one), python_source(one), python_files(one)) == (
        header(other),
        python_source(other),
        python_files(other),
    )


def test_the_order_of_roots_changes_names_of_nothing(tmp_path: Path) -> None:
    roots = [scanned(tmp_path / name, PLAIN.format("f")) for name in ("cpu", "b", "a")]
    headers = {header(interface(*order, layout_root="cpu")) for order in itertools.permutations(roots)}
    assert len(headers) == 1


def test_the_package_name_becomes_an_identifier() -> None:
    assert [default_module(name) for name in ("my-app", "class", "3d")] == ["my_app", "class_", "_3d"]


def test_the_header_serves_c_and_cxx_by_force_and_plainly(tmp_path: Path) -> None:
    text = (
        SAXPY
        + "ATOLL_EXPORT_AS(p[n]) bool odd(bool *p, size_t n, int64_t k, long double d, void *q) { return k; }"
    )
    made = interface(scanned(tmp_path / "cpu", text))
    write(
        tmp_path,
        {"app_kernels.h": header(made), "forced.cpp": text, "plain.cpp": '#include "app_kernels.h"\n' + text},
    )
    write(
        tmp_path,
        {"c.c": '#include "app_kernels.h"\n#include "app_kernels.h"\nint main(void) { return 0; }\n'},
    )
    for compiler in ("g++", "clang++-19"):
        strict = (compiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-c")
        compiled(
            *strict,
            "-D_Bool=bool",
            "-include",
            "app_kernels.h",
            "forced.cpp",
            "-o",
            "forced.o",
            where=tmp_path,
        )
        compiled(*strict, "plain.cpp", "-o", "plain.o", where=tmp_path)
    for compiler in ("gcc", "clang-19"):
        compiled(
            compiler,
            "-std=c11",
            "-pedantic",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-c",
            "c.c",
            "-o",
            "c.o",
            where=tmp_path,
        )


def test_a_renamed_marker_is_defined_to_nothing(tmp_path: Path) -> None:
    made = interface(scanned(tmp_path / "cpu", SAXPY), marker="MINE")
    assert "#define MINE_AS(...)" in header(made)
    assert "ATOLL_EXPORT" not in header(made)
