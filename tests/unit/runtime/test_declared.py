"""What a header declares is known from a file the second time, and from the header where that is damaged."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from atoll.runtime import declared
from atoll.runtime.native import LibraryMissingError, declarations, open_table

HEADER = """\
typedef struct pair { int32_t first; double second; const char *name; } pair;
typedef struct thing_T *thing;
#define PAIR_MOST 7
int32_t abs(int32_t value);
"""


@pytest.fixture
def header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ATOLL_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "abi.h"
    path.write_text(HEADER)
    return path


def anew(path: Path) -> Any:
    clear: Any = declarations
    clear.cache_clear()
    return declarations(path)


def check(ffi: Any) -> None:
    made = ffi.new("pair *", {"first": 3, "second": 0.5})
    assert (made.first, made.second, ffi.sizeof("pair")) == (3, 0.5, 24)
    assert ffi.new("thing[2]")[1] == ffi.NULL
    assert ffi.dlopen(None).PAIR_MOST == 7


def test_a_header_is_read_once_and_known_from_a_file_then(
    header: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(anew(header))
    (file,) = (tmp_path / "cache" / "declarations").iterdir()
    with monkeypatch.context() as patch:
        patch.setattr(declared, "_parsed", None)
        check(anew(header))
    header.write_text(HEADER + "typedef uint64_t word;\n")
    assert anew(header).sizeof("word") == 8
    assert len(list(file.parent.iterdir())) == 2


@pytest.mark.parametrize("damage", [b"", b"\0" * 500, b"short"])
def test_a_damaged_file_is_passed_over_and_written_again(damage: bytes, header: Path, tmp_path: Path) -> None:
    anew(header)
    (file,) = (tmp_path / "cache" / "declarations").iterdir()
    whole = file.read_bytes()
    file.write_bytes(damage)
    check(anew(header))
    assert file.read_bytes() == whole


def test_a_folder_that_cannot_be_written_costs_time_alone(header: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    check(anew(header))


def test_a_cffi_that_says_it_otherwise_is_used_as_it_is(
    header: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cffi import recompiler

    def strange(ffi: Any, name: str, out: Any) -> None:
        out.write("value = 1\n")

    monkeypatch.setattr(recompiler, "make_py_source", strange)
    check(anew(header))


def test_a_function_that_is_not_there_is_named(header: Path) -> None:
    table = open_table(header, "libc.so.6")
    assert (table.abs(-3), table.PAIR_MOST) == (3, 7)
    header.write_text("int32_t no_such_function(int32_t value);\n")
    clear: Any = declarations
    clear.cache_clear()
    with pytest.raises(LibraryMissingError, match=re.escape("libc.so.6 has no no_such_function")):
        open_table(header, "libc.so.6")
