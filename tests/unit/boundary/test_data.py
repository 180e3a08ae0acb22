"""Embedded bytes are reached by address and count together, under the name of the author's file."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.boundary import DataItem, data_header, data_items, data_source
from atoll.boundary.data import data_header_name
from atoll.runtime.record import Record, read_records
from atoll.runtime.record import record as packed
from atoll.runtime.sources import include_folder
from unit.boundary.kit import STRICT, compiled, one, write

MAIN = """
#include <cstdio>
int main() {
  const auto a = app::vulcan::a_comp();
  std::fwrite(a.data, 1, a.size, stdout);
  return a.data == app_vulcan_a_comp().data && a.data != app::vulcan::b_comp().data ? 0 : 1;
}
"""
FILES = ["shaders/a/scale.comp", "shaders/b/scale.comp", "shaders/scale.comp", "3d.bin", "class/x.y-z"]


def test_names_come_from_package_folders_and_file() -> None:
    found = {
        item.path: ("::".join((*item.namespace, item.identifier)), item.symbol)
        for item in data_items(FILES, package="my-app")
    }
    assert found == {
        "shaders/a/scale.comp": ("my_app::shaders::a::scale_comp", "my_app_shaders_a_scale_comp"),
        "shaders/b/scale.comp": ("my_app::shaders::b::scale_comp", "my_app_shaders_b_scale_comp"),
        "shaders/scale.comp": ("my_app::shaders::scale_comp", "my_app_shaders_scale_comp"),
        "3d.bin": ("my_app::_3d_bin", "my_app__3d_bin"),
        "class/x.y-z": ("my_app::class_::x_y_z", "my_app_class__x_y_z"),
    }


def test_folders_below_a_base_are_the_segments() -> None:
    (item,) = data_items(["src/shaders/a.comp"], package="app", base="src/shaders")
    assert (item.namespace, item.identifier) == (("app",), "a_comp")


def test_a_folder_that_is_no_identifier_is_refused() -> None:
    fault = one(lambda: data_items(["my-shaders/a.comp"], package="app"))
    assert fault.code == "ATL0311"
    assert "my-shaders" in fault.message


def test_the_order_of_files_changes_nothing() -> None:
    assert data_items(FILES, package="app") == data_items(reversed(FILES), package="app")


def _built(folder: Path, payload: bytes, record: bool) -> tuple[str, Path]:
    items = data_items(["vulcan/a.comp", "vulcan/b.comp"], package="app")
    name = data_header_name("app")
    value = Record(backend="toy", kind="text", entry="main", payload=payload)
    stored = packed(value) if record else payload
    (offset,) = struct.unpack_from("<Q", stored, 24) if record else (0,)
    write(
        folder,
        {
            name: data_header(items, "app"),
            "a.c": data_source(
                items[0], stored, header=name, offset=offset, size=len(payload), record=record
            ),
            "b.c": data_source(
                items[1], stored, header=name, offset=offset, size=len(payload), record=record
            ),
            "main.cpp": f'#include "{name}"\n{MAIN}',
        },
    )
    include = ("-I", include_folder(), "-I", ".")
    for compiler in ("clang-19", "gcc"):
        compiled(compiler, "-std=c11", *STRICT, *include, "-c", "a.c", "-o", "a.o", where=folder)
        compiled(compiler, "-std=c11", *STRICT, *include, "-c", "b.c", "-o", "b.o", where=folder)
    compiled("clang++-19", "-std=c++20", *STRICT, "-c", "main.cpp", "-o", "main.o", where=folder)
    compiled(
        "g++",
        "-std=c++17",
        *STRICT,
        "main.cpp",
        "a.o",
        "b.o",
        "-Wl,--gc-sections",
        "-o",
        "main",
        where=folder,
    )
    done = subprocess.run([folder / "main"], capture_output=True, check=False)
    assert done.returncode == 0
    return done.stdout.decode("latin-1"), folder / "main"


@pytest.mark.parametrize("record", [True, False])
def test_the_accessor_gives_exactly_the_bytes(tmp_path: Path, record: bool) -> None:
    payload = bytes(range(256)) * 3
    assert _built(tmp_path, payload, record)[0] == payload.decode("latin-1")


def test_an_empty_file_has_an_address_and_no_bytes(tmp_path: Path) -> None:
    assert _built(tmp_path, b"", False)[0] == ""


def test_a_stored_record_is_found_in_the_linked_file(tmp_path: Path) -> None:
    from elftools.elf.elffile import ELFFile

    _, program = _built(tmp_path, b"the code", True)
    with program.open("rb") as file:
        section = ELFFile(file).get_section_by_name(".atoll.kernels")
        assert section is not None
        data = section.data()
    assert [item.payload for item in read_records(memoryview(data))] == [b"the code"] * 2


@given(st.binary(max_size=200))
def test_the_text_is_the_bytes(payload: bytes) -> None:
    item = DataItem(path="a.b", namespace=("app",), identifier="a_b")
    text = data_source(item, payload, header="h.h", record=False)
    body = text.split("= {\n")[1].split("\n};")[0]
    assert bytes(int(part) for part in body.replace("\n", "").split(","))[: len(payload)] == payload


def test_a_payload_outside_what_is_stored_is_no_request() -> None:
    item = DataItem(path="a.b", namespace=("app",), identifier="a_b")
    with pytest.raises(ValueError, match="does not lie in 3 bytes"):
        data_source(item, b"abc", header="h.h", offset=2, size=2)


def test_a_path_cannot_end_the_comment_it_stands_in(tmp_path: Path) -> None:
    item = DataItem(path="a*/b.comp", namespace=("app",), identifier="b_comp")
    write(
        tmp_path,
        {"h.h": data_header([item], "app"), "a.c": data_source(item, b"1", header="h.h", record=False)},
    )
    compiled("gcc", "-std=c11", *STRICT, "-c", "a.c", "-o", "a.o", where=tmp_path)
