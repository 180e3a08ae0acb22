"""A struct of a header that the file includes by quotes crosses as one that the file defines does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from atoll.boundary import header, header_name
from atoll.boundary.includes import FILES
from unit.boundary.kit import Built, interface, one, scanned

CAN_CROSS = (
    "can cross: numbers, pointers to them, and structs of numbers that this file defines, or a header "
    "that it includes by quotes"
)
TYPES = """
#ifndef TYPES_H
#define TYPES_H
#include <stdint.h>
struct Point { double x; float y; };
struct Cell { float at[3]; };
#endif
"""
ENTRY = "ATOLL_EXPORT_C Point app_turned(Point it) { return Point{it.y, static_cast<float>(it.x)}; }\n"
READ = "ATOLL_EXPORT_C int app_read(Point it) { return it.y > 0; }\n"
ISLAND = f'#include "../common/types.h"\n{ENTRY}'


def files(island: str = ISLAND, **headers: str) -> dict[str, str]:
    """Return the files of a root: an island in a folder, and headers beside it."""
    return {"inner/island.cpp": island, **{f"common/{name}.h": text for name, text in headers.items()}}


def test_it_crosses_in_c_and_python_and_the_island_keeps_its_header(tmp_path: Path) -> None:
    root = scanned(tmp_path / "cpu", files(types=TYPES))
    made = interface(root)
    (struct,) = made.structs
    assert (struct.name, struct.authored, struct.place) == (
        "Point",
        True,
        str(tmp_path / "cpu/common/types.h"),
    )
    assert "typedef struct Point { double x; float y; } Point;" in header(made)
    built = Built(tmp_path, made)
    built.module()
    island = f'#include "{header_name(made.module)}"\n{TYPES}{ENTRY}'
    built.root("cpu", island, own_structs=True)
    code = "from types import SimpleNamespace as S\nfrom app import kernels as k\n"
    code += "print(k.inner.app_turned(S(x=1, y=2)))"
    assert built.run(code).strip() == "namespace(x=2.0, y=1.0)"


def test_headers_of_headers_are_followed_and_a_circle_ends(tmp_path: Path) -> None:
    first = '#pragma once\n#include "first.h"\n#include "second.h"\n'
    root = scanned(
        tmp_path / "cpu", files(f'#include "../common/first.h"\n{ENTRY}', first=first, second=TYPES)
    )
    assert [struct.name for struct in interface(root).structs] == ["Point"]


def test_the_files_own_definition_is_the_one_that_counts(tmp_path: Path) -> None:
    own = "struct Point { int x; int y; };\n"
    root = scanned(tmp_path / "cpu", files(f'#include "../common/types.h"\n{own}{ENTRY}', types=TYPES))
    (struct,) = interface(root).structs
    assert (struct.fields, struct.place) == ((("x", "int"), ("y", "int")), "")


def test_two_roots_whose_headers_differ_are_refused(tmp_path: Path) -> None:
    cpu = scanned(tmp_path / "cpu", files(types=TYPES))
    gpu = scanned(tmp_path / "gpu", files(types=TYPES.replace("double x", "float x")))
    assert one(lambda: interface(cpu, gpu)).code == "ATL0307"


@pytest.mark.parametrize(
    ("island", "headers", "reason"),
    [
        (
            ISLAND.replace(ENTRY, READ.replace("Point", "Cell")),
            {"types": TYPES},
            "its field `float at[3]` is no number, in `types.h`",
        ),
        (
            f'#include "../common/types.h"\n#include "../common/other.h"\n{READ}',
            {"types": TYPES, "other": TYPES.replace("double", "int")},
            "headers define it twice, and differently",
        ),
    ],
)
def test_one_that_cannot_cross_says_why_and_where(
    tmp_path: Path, island: str, headers: dict[str, str], reason: str
) -> None:
    found = one(lambda: scanned(tmp_path / "cpu", files(island, **headers)))
    assert (found.code, found.notes) == ("ATL0304", (f"reason: {reason}",))


@pytest.mark.parametrize(
    "island",
    [
        f"#include <types.h>\n{READ}",  # a matter of include paths
        f'// #include "../common/types.h"\n{READ}',
        f'#include "../common/missing.h"\n{READ}',
        f'#include "../common/pipe.h"\n{READ}',
        f'#include "../common/{"n" * 5000}.h"\n{READ}',
        f'#include "../common"\n{READ}',
        READ,
    ],
)
def test_one_that_nothing_defines_is_refused_with_both_sides(tmp_path: Path, island: str) -> None:
    (tmp_path / "cpu/common").mkdir(parents=True)
    os.mkfifo(tmp_path / "cpu/common/pipe.h")
    found = one(lambda: scanned(tmp_path / "cpu", files(island, types=TYPES)))
    assert found.message == "the type `Point` has no C ABI that a boundary knows"
    assert found.notes == (
        "declared: Point it",
        CAN_CROSS,
    )


def test_a_chain_of_headers_is_followed_no_further_than_its_bound(tmp_path: Path) -> None:
    chain = {f"h{n}": f'#include "h{n + 1}.h"\n' for n in range(FILES + 5)}
    chain[f"h{FILES + 5}"] = TYPES
    island = f'#include "../common/h0.h"\n{READ}'
    assert one(lambda: scanned(tmp_path / "cpu", files(island, **chain))).code == "ATL0304"
