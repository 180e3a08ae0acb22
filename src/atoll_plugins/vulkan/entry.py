"""Which entry points does SPIR-V have, and which work-group size does it fix for one.

From the SPIR-V specification: the header is five words, an instruction's first word holds its length in
words and its opcode.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

MAGIC = 0x07230203
_HEADER_WORDS = 5
_OP_ENTRY_POINT = 15
_OP_EXECUTION_MODE = 16
_LOCAL_SIZE = 17

Size = tuple[int, int, int]


def is_spirv(code: bytes) -> bool:
    """Tell whether bytes start and are sized like a SPIR-V module of this byte order."""
    return len(code) >= 4 * _HEADER_WORDS and len(code) % 4 == 0 and code[:4] == struct.pack("<I", MAGIC)


def entry_points(code: bytes) -> dict[str, Size | None]:
    """Return the entry points with the work-group size each fixes, or None where it fixes none."""
    words = struct.unpack(f"<{len(code) // 4}I", code[: len(code) // 4 * 4])
    names: dict[int, str] = {}
    sizes: dict[int, Size] = {}
    for opcode, operands in _instructions(words):
        if opcode == _OP_ENTRY_POINT and len(operands) >= 3:
            raw = struct.pack(f"<{len(operands) - 2}I", *operands[2:])
            names[operands[1]] = raw.split(b"\0", 1)[0].decode(errors="replace")
        if opcode == _OP_EXECUTION_MODE and len(operands) == 5 and operands[1] == _LOCAL_SIZE:
            sizes[operands[0]] = (operands[2], operands[3], operands[4])
    return {name: sizes.get(identity) for identity, name in names.items()}


def _instructions(words: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
    at = _HEADER_WORDS
    while at < len(words):
        length = words[at] >> 16
        if length == 0 or at + length > len(words):
            return
        yield words[at] & 0xFFFF, words[at + 1 : at + length]
        at += length
