"""Small files of each format, made here byte by byte, so that each rule can be broken alone."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from atoll.artifact import Fact, Finding
from atoll.plugin import Blob, Member, Reader

X86_64, CUBIN, CODE_OBJECT = 62, 190, 224
# An offload binary of a form that nobody reads: version 3, compressed.
UNREAD = b"\x10\xff\x10\xad" + struct.pack("<IQQQQ", 3, 40, 40, 1, 99)


def blob(data: bytes, name: str = "file", kind: str = "") -> Blob:
    """Return bytes as a reader gets them."""
    return Blob(name=name, data=memoryview(data), kind=kind)


def read(reader: Reader, data: bytes, name: str = "file", kind: str = "") -> list[Member | Finding | Fact]:
    """Return all that a reader says of bytes."""
    return list(reader.read(blob(data, name, kind)))


def findings(reader: Reader, data: bytes, name: str = "file", kind: str = "") -> list[Finding]:
    """Return what a reader found, without facts and members."""
    return [event for event in read(reader, data, name, kind) if isinstance(event, Finding)]


def elf(
    sections: Mapping[str, bytes] | None = None,
    *,
    machine: int = X86_64,
    flags: int = 0,
    abi_version: int = 0,
    section_flags: int = 2,
    needed: Iterable[str] = (),
) -> bytes:
    """Return a 64-bit little-endian ELF file with sections of these names."""
    parts: list[tuple[str, int, int, bytes, int]] = [
        (name, 1, section_flags, data, 0) for name, data in (sections or {}).items()
    ]
    libraries = list(needed)
    if libraries:
        strings, tags = b"\0", b""
        for library in libraries:
            tags += struct.pack("<qQ", 1, len(strings))
            strings += library.encode() + b"\0"
        parts.append((".dynstr", 3, 2, strings, 0))
        parts.append((".dynamic", 6, 3, tags + struct.pack("<qQ", 0, 0), len(parts)))
    names = b"\0" + b"".join(name.encode() + b"\0" for name, *_ in parts) + b".shstrtab\0"
    body, table, at = b"", struct.pack("<IIQQQQIIQQ", *([0] * 10)), 64
    for name, kind, bits, data, link in [*parts, (".shstrtab", 3, 0, names, 0)]:
        padding = -at % 16
        body += bytes(padding) + data
        at += padding
        spot = names.index(name.encode() + b"\0")
        table += struct.pack("<IIQQQQIIQQ", spot, kind, bits, 0, at, len(data), link, 0, 16, 0)
        at += len(data)
    padding = -at % 8
    count = len(parts) + 2
    header = b"\x7fELF" + bytes([2, 1, 1, 0x41 if machine == CUBIN else 0, abi_version]) + bytes(7)
    header += struct.pack(
        "<HHIQQQIHHHHHH", 3, machine, 1, 0, 0, at + padding, flags, 64, 0, 0, 64, count, count - 1
    )
    return header + body + bytes(padding) + table


def entry(
    kind: int,
    level: int,
    *,
    flags: int = 0x11,
    isa: tuple[int, int] = (9, 0),
    payload: bytes = b"payload.",
    header: int = 64,
) -> bytes:
    """Return one entry of a fat binary."""
    head = struct.pack("<HHIQ", kind, 0x101, header, len(payload)) + bytes(8)
    head += struct.pack("<HHI", isa[1], isa[0], level) + bytes(8) + struct.pack("<Q", flags)
    return head.ljust(max(64, min(header, 4096)), b"\0") + payload


def fatbin(*entries: bytes) -> bytes:
    """Return a fat binary of these entries."""
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def words(*values: int) -> bytes:
    """Return little-endian 32-bit words."""
    return struct.pack(f"<{len(values)}I", *values)


def spirv(
    *,
    minor: int = 5,
    model: int = 5,
    capabilities: Iterable[int] = (1,),
    extensions: Iterable[str] = (),
    bound: int = 20,
) -> bytes:
    """Return a SPIR-V module with an empty function and one entry point."""
    data = words(0x07230203, 0x10000 | minor << 8, 0, bound, 0)
    data += b"".join(words(2 << 16 | 17, number) for number in capabilities)
    for text in extensions:
        raw = text.encode() + b"\0" * (4 - len(text) % 4)
        data += words((1 + len(raw) // 4) << 16 | 10) + raw
    data += words(3 << 16 | 14, 0, 1)
    data += words(5 << 16 | 15, model, 4) + b"main\0\0\0\0"
    return data + words(2 << 16 | 19, 2, 3 << 16 | 33, 3, 2, 5 << 16 | 54, 2, 4, 0, 3, 1 << 16 | 56)


def archive(members: Mapping[str, bytes]) -> bytes:
    """Return an `ar` archive with short names."""
    data = b"!<arch>\n"
    for name, body in members.items():
        data += f"{name + '/':<16}{0:<12}{0:<6}{0:<6}{'644':<8}{len(body):<10}`\n".encode() + body
        data += b"\n" * (len(body) % 2)
    return data


def zipped(members: Mapping[str, bytes], *, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip file."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as file:
        for name, body in members.items():
            file.writestr(zipfile.ZipInfo(name), body, method)
    return stream.getvalue()


def put(path: Path, data: bytes) -> Path:
    """Write a file and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path
