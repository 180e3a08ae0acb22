"""A record that the assembler places has the bytes that a record has."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from atoll.runtime import stored_source
from atoll.runtime.record import SECTION, Record, record, stored_defines

COMPILERS = [name for name in ("gcc", "clang-19", "clang-22") if shutil.which(name, path="/usr/bin")]
HEADER = """
#include <stddef.h>
typedef struct { const void *data; size_t size; } atoll_data;
atoll_data code(void);
"""
USE = """
#include "code.h"
extern const unsigned char code_stored[] __attribute__((visibility("hidden")));
extern const unsigned char code_stored_end[] __attribute__((visibility("hidden")));
int main(void) {
  atoll_data found = code();
  if (found.data != code_stored || found.size != (size_t)(code_stored_end - code_stored)) return 255;
  return (int)found.size + code_stored[0];
}
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
    defines = stored_defines("code", value(b"", declared=len(payload) > 7), name, header="code.h")
    (tmp_path / "a.c").write_text(USE, encoding="utf-8")
    (tmp_path / "code.h").write_text(HEADER, encoding="utf-8")
    plain = [flag for flag in flags if not flag.startswith("-Wl")]
    words = [compiler, "-std=c11", "-Wall", "-Werror", "-fPIC", "-I."]
    for command in (
        [*words, *plain, *(f"-D{one}" for one in defines), "-c", str(stored_source()), "-o", "stored.o"],
        [*words, *flags, "a.c", "stored.o", "-o", "a.out"],
    ):
        subprocess.run(command, cwd=tmp_path, check=True, env={"PATH": "/usr/bin:/bin"})
    assert section(tmp_path / "a.out") == record(value(payload, declared=len(payload) > 7))
    assert subprocess.run([tmp_path / "a.out"], check=False).returncode == (len(payload) + payload[0]) % 256


def test_the_text_does_not_wait_for_the_bytes() -> None:
    one, other = (stored_defines("code", value(payload), "x", header="h") for payload in (b"", b"other"))
    assert one == other


def test_a_symbol_is_an_identifier() -> None:
    with pytest.raises(ValueError, match="no C identifier"):
        stored_defines('a"; .byte 1', value(b""), "x", header="h")
