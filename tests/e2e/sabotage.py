"""Change one operation in a built device artifact, in place, so that a right answer afterwards is a fallback.

Works on any ELF file that holds records of embedded code. The file's size and layout stay as they are.
Which operation was changed is printed, so that a check that sabotages nothing is seen.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

from elftools.elf.elffile import ELFFile

from atoll.runtime.record import SECTION, read_records

FADD, FSUB, FMUL = 129, 131, 133
Change = Callable[[str, bytes], tuple[bytes, str]]


def sabotage(library: Path, change: Change | None = None) -> list[str]:
    """Change the first arithmetic operation of every record in `library`; return what was changed.

    `change` takes a record's kind and payload and returns the changed payload and what it did; without it
    the forms of the first-party targets are known.

    Raises:
        AssertionError: Where the file holds no record, or a record in which nothing could be changed.
    """
    with library.open("rb") as file:
        section = ELFFile(file).get_section_by_name(SECTION)
        assert section is not None, f"{library.name} holds no {SECTION}"
        records = list(read_records(memoryview(section.data())))
    content = library.read_bytes()
    changes = []
    for record in records:
        changed, what = (change or _changed)(record.kind, record.payload)
        assert changed != record.payload, f"nothing to change in {record.entry} ({record.kind})"
        assert content.count(record.payload) == 1
        content = content.replace(record.payload, changed)
        changes.append(f"{library.name}: {record.entry}: {what}")
    assert changes, f"{library.name} holds no record"
    library.write_bytes(content)
    return changes


def _changed(kind: str, payload: bytes) -> tuple[bytes, str]:
    if payload[:4] == b"\x03\x02\x23\x07":
        return _change_spirv(payload)
    for old, new in (
        (b"add.rn.f32", b"sub.rn.f32"),
        (b"] + ", b"] - "),
        (b" + y[", b" - y["),
        (b" + ", b" - "),
    ):
        if old in payload:
            at = payload.rindex(old)
            return payload[:at] + new + payload[
                at + len(old) :
            ], f"{old.decode()} -> {new.decode()} in {kind}"
    return payload, "nothing"


def _change_spirv(payload: bytes) -> tuple[bytes, str]:
    words = list(struct.unpack(f"<{len(payload) // 4}I", payload))
    at = 5
    while at < len(words):
        count, opcode = words[at] >> 16, words[at] & 0xFFFF
        if opcode in {FADD, FMUL}:
            words[at] = count << 16 | FSUB
            return struct.pack(f"<{len(words)}I", *words), f"opcode {opcode} -> {FSUB} at word {at}"
        at += max(count, 1)
    return payload, "nothing"
