"""Change machine code and PTX of a `.cu` unit in a built file, in place: a sum loses its third operand.

The file is built with `--no-compress`. An instruction of machine code has 16 bytes since sm_70 (measured
with `nvdisasm` 13.5): the operation in the low 12 bits, and the register of a third operand in byte 8, where
255 reads as zero. So ``FFMA R7, R2, R3, R7`` becomes ``FFMA R7, R2, R3, RZ``, whatever the others are.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

from elftools.elf.elffile import ELFFile

from atoll_plugins.cuda.fatbin import LZ4, ZSTD, Entry, binaries

SECTION = ".nv_fatbin"
#: FFMA with operands in registers, constant memory or the instruction: the low byte is the same.
FFMA, ZERO, STEP = 0x23, 0xFF, 16
_SUM = re.compile(rb"fma\.rn\.f32(\s+%f\d+, %f\d+, %f\d+, )(%f\d+);")


def sabotage_cuda(file: Path) -> list[str]:
    """Change every entry of every fat binary of a file that sums; return what was changed.

    Raises:
        AssertionError: Where there is no such section, or an entry is compressed.
    """
    content, changes = bytearray(file.read_bytes()), []
    with file.open("rb") as opened:
        section = ELFFile(opened).get_section_by_name(SECTION)
        assert section is not None, f"{file.name} holds no {SECTION}"
        start, size = section["sh_offset"], section["sh_size"]
    view = memoryview(bytes(content[start : start + size]))
    for entry in (entry for entries in binaries(view, file.name) for entry in entries):
        assert not entry.flags & (LZ4 | ZSTD), "an entry is compressed: build with --no-compress"
        for at, new, said in _changes(entry):
            old = bytes(entry.payload[at : at + len(new)])
            place = start + _offset(view, entry) + at
            assert content[place : place + len(new)] == old
            content[place : place + len(new)] = new
            changes.append(f"{file.name}: sm_{entry.level}: {said}")
    file.write_bytes(content)
    return changes


def _offset(view: memoryview, entry: Entry) -> int:
    """Return where an entry's payload starts in the section; no two entries are equal."""
    whole = bytes(entry.whole)
    assert bytes(view).count(whole) == 1
    return bytes(view).index(whole) + len(whole) - len(entry.payload)


def _changes(entry: Entry) -> Iterator[tuple[int, bytes, str]]:
    payload = bytes(entry.payload)
    if entry.kind == 1:
        for match in _SUM.finditer(payload):
            factor, term = match[1].split(b",")[1].strip(), match[2]
            assert len(factor) <= len(term), match[0]
            yield match.start(2), factor.ljust(len(term)), f"{term.decode()} -> {factor.decode()} in PTX"
        return
    image = ELFFile(io.BytesIO(payload))
    for section in image.iter_sections():
        if not section.name.startswith(".text."):
            continue
        for at in range(section["sh_offset"], section["sh_offset"] + section["sh_size"], STEP):
            if payload[at] == FFMA and payload[at + 8] != ZERO:
                yield at + 8, bytes([ZERO]), f"FFMA R{payload[at + 8]} -> RZ at {at:#x} in machine code"
