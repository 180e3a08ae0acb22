"""A record that the assembler places has the bytes that a record has."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from atoll.runtime.record import SECTION, Record, assembled, record

COMPILERS = [name for name in ("gcc", "clang-19", "clang-22") if shutil.which(name, path="/usr/bin")]
USE = """
#include <stddef.h>
extern const unsigned char code_stored[] __attribute__((visibility("hidden")));
extern const unsigned char code_stored_end[] __attribute__((visibility("hidden")));
int main(void) { return (int)(code_stored_end - code_stored) + code_stored[0]; }
"""


def value(payload: bytes, declared: bool = False) -> Record:
    return Record(
        backend="toy",
        kind='a "kind" \\ of ?? ü',
        entry="main",
        version="1.2",
        declared=declared,
        payload=payload,
    )


def section(program: Path) -> bytes:
    with program.open("rb") as stream:
        found = ELFFile(stream).get_section_by_name(SECTION)
        assert found is not None
        return bytes(found.data())


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("flags", [(), ("-flto", "-fno-lto"), ("-ffunction-sections", "-Wl,--gc-sections")])
@pytest.mark.parametrize("payload", [b"\x01", b"1234567", bytes(range(200))])
def test_the_assemblers_record_is_the_record(
    tmp_path: Path, compiler: str, flags: tuple[str, ...], payload: bytes
) -> None:
    name = 'it\'s "a" $HOME # % ?? back\\slash ü.spv'
    (tmp_path / name).write_bytes(payload)
    text = assembled("code", value(b"", declared=len(payload) > 7), name)
    (tmp_path / "a.c").write_text(text + USE, encoding="utf-8")
    command = [compiler, "-std=c11", "-Wall", "-Werror", "-fPIC", *flags, "a.c", "-o", "a.out"]
    subprocess.run(command, cwd=tmp_path, check=True, env={"PATH": "/usr/bin:/bin"})
    assert section(tmp_path / "a.out") == record(value(payload, declared=len(payload) > 7))
    assert subprocess.run([tmp_path / "a.out"], check=False).returncode == (len(payload) + payload[0]) % 256


def test_the_text_does_not_wait_for_the_bytes() -> None:
    assert assembled("code", value(b""), "x") == assembled("code", value(b"other"), "x")


def test_a_symbol_is_an_identifier() -> None:
    with pytest.raises(ValueError, match="no C identifier"):
        assembled('a"; .byte 1', value(b""), "x")
