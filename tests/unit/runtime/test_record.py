"""Embedded code: what is written is read back, survives a linker, and hostile bytes are refused."""

from __future__ import annotations

import struct
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given, settings
from hypothesis import strategies as st

from atoll.runtime import Record, c_array, read_records, record
from atoll.runtime.record import SECTION

FLAGS = ("-O2", "-Wall", "-Werror", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections")
TEXT = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=30)
RECORDS = st.builds(
    Record,
    backend=TEXT,
    kind=TEXT,
    entry=TEXT,
    arch=TEXT,
    floor=TEXT,
    version=TEXT,
    declared=st.booleans(),
    payload=st.binary(max_size=200),
)


@given(st.lists(RECORDS, max_size=4), st.integers(0, 3))
def test_records_read_back_as_written_with_padding_between(values: list[Record], gap: int) -> None:
    data = b"".join(record(value) + bytes(8 * gap) for value in values)
    assert list(read_records(memoryview(data))) == values


@given(RECORDS)
def test_a_payload_is_aligned_and_followed_by_a_zero_byte(value: Record) -> None:
    data = record(value)
    start = struct.unpack_from("<Q", data, 24)[0]
    assert len(data) % 8 == 0
    assert start % 8 == 0
    assert data[start : start + len(value.payload)] == value.payload
    assert data[start + len(value.payload)] == 0


@given(RECORDS, st.data())
@settings(max_examples=300)
def test_damaged_bytes_are_refused_or_read_but_never_crash(value: Record, data: st.DataObject) -> None:
    raw = bytearray(record(value))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(raw)))
    with suppress(ValueError):
        assert len(list(read_records(memoryview(raw)[:cut]))) <= 1 + cut // 48


def test_a_cut_record_says_where() -> None:
    whole = record(Record(backend="toy", kind="text", entry="main", payload=b"x"))
    with pytest.raises(ValueError, match="record at 0 states sizes"):
        list(read_records(memoryview(whole)[:-8]))


def test_a_text_with_a_zero_byte_is_refused() -> None:
    with pytest.raises(ValueError, match="entry"):
        Record(backend="toy", kind="text", entry="a\0b", payload=b"")


def test_an_array_needs_a_c_identifier() -> None:
    with pytest.raises(ValueError, match="identifier"):
        c_array("a-b", Record(backend="toy", kind="text", entry="main", payload=b""))


@pytest.mark.parametrize(("compiler", "language"), [("gcc", "c"), ("g++", "c++")])
def test_the_array_survives_the_linker_and_is_measured_in_the_file(
    tmp_path: Path, compiler: str, language: str
) -> None:
    values = [
        Record(backend="toy", kind="text", entry="main", payload=b"hello", floor="7", declared=True),
        Record(backend="other", kind="machine", entry="k", payload=bytes(range(256)), arch="a1"),
    ]
    arrays = [c_array(f"code_{number}", value) for number, value in enumerate(values)]
    body = f'int main(void) {{ return __builtin_strcmp((const char *){arrays[0].data}, "hello"); }}\n'
    source = "".join(array.text for array in arrays) + body
    program = tmp_path / "program"
    subprocess.run(
        [compiler, "-x", language, *FLAGS, "-o", str(program), "-"],
        input=source.encode(),
        check=True,
    )
    assert subprocess.run([str(program)]).returncode == 0
    with program.open("rb") as file:
        section = ELFFile(file).get_section_by_name(SECTION)
        assert section is not None
        found = list(read_records(memoryview(section.data())))
    assert sorted(found, key=lambda item: item.backend, reverse=True) == sorted(
        values, key=lambda item: item.backend, reverse=True
    )
