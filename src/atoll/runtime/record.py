"""How device code lies in a linked file, so that it can be launched and measured there.

A *record* is one piece of device code with what it is for; records stand in the ELF section
``.atoll.kernels``. The format is docs/reference/record-format.md and ``include/atoll_record.h``.
Generators embed :func:`c_array`; readers call :func:`read_records`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from atoll._util.values import dataclass

SECTION = ".atoll.kernels"
MAGIC = b"ATOLLKRN"
VERSION = 1
DECLARED = 1

_HEADER = struct.Struct("<8sIIQQQQ")
_TEXTS = ("backend", "arch", "floor", "version", "entry", "kind")
_TEXT_LIMIT = 4096
# The same lines as in atoll_record.h, so that generated text needs no header.
_PLACED = f"""\
#ifndef ATOLL_RECORD_PLACED
#if __has_attribute(retain)
#define ATOLL_RECORD_PLACED __attribute__((section("{SECTION}"), used, retain, aligned(8)))
#else
#define ATOLL_RECORD_PLACED __attribute__((section("{SECTION}"), used, aligned(8)))
#endif
#endif
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One piece of embedded device code.

    Attributes:
        backend: The accel backend it is for.
        kind: The form of the payload, an emitter's stage (``spirv``, ``text`` …).
        entry: The entry point's name in the payload.
        arch: The architecture of machine code, or empty.
        floor: The value of a portable floor, or empty.
        version: The toolkit or API version that the code asks of a driver, or empty.
        declared: True where the backend is not in the payload's bytes.
        payload: The code.
        name: What an accessor calls the payload, so that it can be found in a file by name; or empty.
    """

    backend: str
    kind: str
    entry: str
    payload: bytes
    arch: str = ""
    floor: str = ""
    version: str = ""
    declared: bool = False
    name: str = ""

    def __post_init__(self) -> None:
        for name in (*_TEXTS, "name"):
            value = getattr(self, name)
            if "\0" in value or len(value.encode()) > _TEXT_LIMIT:
                raise ValueError(f"{name} of a record holds a zero byte or over {_TEXT_LIMIT} bytes")


@dataclass(frozen=True, slots=True)
class Embedded:
    """C text that embeds a record.

    Attributes:
        text: The definition of a static array; needs no header.
        data: The C expression of the payload's address.
        size: The C expression of its bytes.
    """

    text: str
    data: str
    size: str


def _texts(value: Record) -> list[str]:
    """Return the texts of a record; the name is the seventh, where it has one."""
    return [getattr(value, name) for name in _TEXTS] + ([value.name] if value.name else [])


def record(value: Record) -> bytes:
    """Return the bytes of a record; a zero byte always follows the payload."""
    texts = b"".join(text.encode() + b"\0" for text in _texts(value))
    start = _align(_HEADER.size + len(texts))
    total = _align(start + len(value.payload) + 1)
    flags = DECLARED if value.declared else 0
    header = _HEADER.pack(MAGIC, VERSION, flags, total, start, len(value.payload), 0)
    return ((header + texts).ljust(start, b"\0") + value.payload).ljust(total, b"\0")


def stored_defines(symbol: str, value: Record, path: str, *, header: str) -> tuple[str, ...]:
    """Return the macros of ``atoll_stored.c``, by which the assembler places a record around a file's bytes.

    They depend on what the record says and not on the bytes, so that they are known before those are there.
    The object defines ``SYMBOL`` and, hidden, ``SYMBOL_stored`` and ``SYMBOL_stored_end`` around the payload.

    Args:
        symbol: A C identifier, the accessor.
        value: What the record says; its payload is not looked at.
        path: The payload's file, as the assembler finds it.
        header: The file name of the header that declares the accessor.
    """
    if not (symbol.isascii() and symbol.isidentifier()):
        raise ValueError(f"{symbol!r} is no C identifier")
    texts = "".join([f".asciz {_string(text)}\n" for text in _texts(value)])
    return (
        f"ATOLL_STORED={symbol}",
        f'ATOLL_STORED_HEADER="{header}"',
        f'ATOLL_STORED_RECORD="{VERSION}, {DECLARED if value.declared else 0}"',
        f"ATOLL_STORED_TEXTS={_inner(texts)}",
        f"ATOLL_STORED_PATH={_inner(_string(path))}",
    )


def _inner(text: str) -> str:
    """Return assembler text as a C string; `??` would begin a trigraph in strict modes."""
    return _string(text).replace("\n", "\\n").replace("??", '?""?')


def _string(text: str) -> str:
    """Return a text as a string literal; C and the assembler escape alike."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def c_array(name: str, value: Record) -> Embedded:
    """Return C text (also C++) that embeds a record in the section under a static name."""
    if not (name.isascii() and name.isidentifier()):
        raise ValueError(f"{name!r} is no C identifier")
    data = record(value)
    start = _HEADER.unpack_from(data)[4]
    rows = (", ".join(map(str, data[at : at + 24])) for at in range(0, len(data), 24))
    text = (
        f"{_PLACED}ATOLL_RECORD_PLACED\n"
        f"static const unsigned char {name}[{len(data)}] = {{\n  " + ",\n  ".join(rows) + "\n};\n"
    )
    return Embedded(text, f"({name} + {start})", f"{len(value.payload)}u")


def read_records(data: memoryview) -> Iterator[Record]:
    """Give the records of a section's bytes, which may come from anyone.

    Raises:
        ValueError: Where the bytes break the format; the message says at which offset and why.
    """
    at, end = 0, len(data)
    while at < end:
        if not any(data[at : at + 8]):
            at += 8
            continue
        total, value = _read_one(data[at:], at)
        yield value
        at += total


def _read_one(data: memoryview, at: int) -> tuple[int, Record]:
    if len(data) < _HEADER.size:
        raise ValueError(f"record at {at} is cut: {len(data)} bytes are left")
    magic, version, flags, total, start, size, _ = _HEADER.unpack_from(data)
    if magic != MAGIC:
        raise ValueError(f"no record starts at {at}")
    if version != VERSION:
        raise ValueError(f"record at {at} has format {version}, known is {VERSION}")
    if total % 8 or start % 8 or not _HEADER.size < start <= start + size < total <= len(data):
        raise ValueError(f"record at {at} states sizes that do not fit in {len(data)} bytes")
    return total, _value(data, at, flags, start, size)


def _value(data: memoryview, at: int, flags: int, start: int, size: int) -> Record:
    area = bytes(data[_HEADER.size : min(start, _HEADER.size + (len(_TEXTS) + 1) * (_TEXT_LIMIT + 1))])
    parts = area.split(b"\0", len(_TEXTS) + 1)
    if len(parts) <= len(_TEXTS):
        raise ValueError(f"record at {at} has fewer than {len(_TEXTS)} texts")
    try:
        texts = {name: part.decode() for name, part in zip((*_TEXTS, "name"), parts, strict=False)}
    except UnicodeDecodeError as error:
        raise ValueError(f"record at {at} has a text that is not UTF-8") from error
    payload = bytes(data[start : start + size])
    return Record(**texts, declared=bool(flags & DECLARED), payload=payload)


def _align(size: int) -> int:
    return -(-size // 8) * 8
