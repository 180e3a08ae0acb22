"""What lies in a zip file, where, and is it safe to inflate? Every entry is checked before one is opened.

Own code over the central directory and not :mod:`zipfile`: members are inflated from the mapped file
in pieces, without a copy of the packed bytes (docs/decisions/0081). Format: PKWARE APPNOTE 6.3.10.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from dataclasses import dataclass

from atoll_plugins.formats.inflated import CHUNK, PIECE, RATIO_FROM, RATIO_LIMIT, fast
from atoll_plugins.formats.parse import bomb, broken, check_name, part, refused, unpack

MAGIC, EMPTY = b"PK\x03\x04", b"PK\x05\x06"
ENTRY_LIMIT = 200_000
TOTAL_LIMIT = 64 << 30
STORED, DEFLATED = 0, 8


@dataclass(frozen=True, slots=True)
class ZipEntry:
    """One member: its name, how it is packed, and its packed bytes' place."""

    name: str
    method: int
    packed: int
    size: int
    crc: int
    start: int


def entries(data: memoryview, archive: str) -> tuple[ZipEntry, ...]:
    """Return the members in the order of their bytes, each checked.

    Raises:
        UnreadableError: Where the tables are broken, or an entry is one that is refused.
    """
    start, size, count = _directory(data, archive)
    if count > ENTRY_LIMIT:
        raise broken(archive, f"the directory states {count} entries, the limit is {ENTRY_LIMIT}")
    table = part(data, start, size, archive, "the central directory")
    found, names, at, total = [], set[str](), 0, 0
    for _ in range(count):
        entry, header, at = _entry(table, at, archive)
        if entry is None:
            continue
        if entry.name in names:
            raise refused(archive, entry.name, "two entries have this name")
        names.add(entry.name)
        total += entry.size
        _sized(archive, entry, total)
        found.append((header, entry))
    return tuple(_placed(data, archive, found, start))


def _directory(data: memoryview, archive: str) -> tuple[int, int, int]:
    """Return offset, bytes and entry count of the central directory, of the zip64 record if there is one."""
    tail = bytes(data[max(0, len(data) - 65557) :])
    spot = tail.rfind(EMPTY)
    if spot < 0:
        raise broken(archive, "a zip file without an end record")
    at = len(data) - len(tail) + spot
    row = unpack("<4sHHHHIIH", data, at, archive, "the end record")
    count, size, start = row[4], row[5], row[6]
    if at >= 20 and bytes(data[at - 20 : at - 16]) == b"PK\x06\x07":
        where = unpack("<4sIQI", data, at - 20, archive, "the zip64 locator")[2]
        wide = unpack("<4sQHHIIQQQQ", data, where, archive, "the zip64 end record")
        if wide[0] != b"PK\x06\x06":
            raise broken(archive, "the zip64 locator points to no end record")
        count, size, start = wide[7], wide[8], wide[9]
    return start, size, count


def _entry(table: memoryview, at: int, archive: str) -> tuple[ZipEntry | None, int, int]:
    row = unpack("<4sHHHHHHIIIHHHHHII", table, at, archive, "a directory entry")
    if row[0] != b"PK\x01\x02":
        raise broken(archive, f"no directory entry at {at}")
    flags, method, crc, packed, size = row[3], row[4], row[7], row[8], row[9]
    length, extra, comment, mode, header = row[10], row[11], row[12], row[15] >> 16, row[16]
    raw = bytes(part(table, at + 46, length, archive, "a name"))
    more = part(table, at + 46 + length, extra, archive, "an extra field")
    name = raw.decode("utf-8" if flags & 0x800 else "cp437", "backslashreplace")
    size, packed, header = _wide(more, archive, size, packed, header)
    following = at + 46 + length + extra + comment
    _named(archive, name, flags, mode)
    if name.endswith("/"):
        return None, header, following
    if method not in (STORED, DEFLATED):
        raise broken(archive, f"`{name}` is packed by method {method}")
    return ZipEntry(name, method, packed, size, crc, 0), header, following


def _wide(extra: memoryview, archive: str, *values: int) -> tuple[int, int, int]:
    """Replace values of all ones by those of the zip64 extra field."""
    size, packed, header = values
    at = 0
    while at + 4 <= len(extra):
        kind, length = unpack("<HH", extra, at, archive, "an extra field")
        if kind == 1:
            body, spot, fixed = extra[at + 4 : at + 4 + length], 0, []
            for value in (size, packed, header):
                if value == 0xFFFFFFFF:
                    value = unpack("<Q", body, spot, archive, "a zip64 value")[0]
                    spot += 8
                fixed.append(value)
            return fixed[0], fixed[1], fixed[2]
        at += 4 + length
    return size, packed, header


def _named(archive: str, name: str, flags: int, mode: int) -> None:
    check_name(archive, name)
    if flags & 1:
        raise refused(archive, name, "it is encrypted")
    kind = stat.S_IFMT(mode)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise refused(archive, name, "it is a link or a special file")


def _sized(archive: str, entry: ZipEntry, total: int) -> None:
    if total > TOTAL_LIMIT:
        raise bomb(archive, entry.name, f"the members state over {TOTAL_LIMIT} bytes")
    if entry.method == STORED and entry.size != entry.packed:
        raise broken(archive, f"`{entry.name}` is stored as {entry.packed} bytes but states {entry.size}")
    if entry.size > RATIO_FROM and entry.size > RATIO_LIMIT * max(entry.packed, 1):
        raise bomb(archive, entry.name, f"{entry.packed} bytes state to inflate to {entry.size}")


def _placed(
    data: memoryview, archive: str, found: list[tuple[int, ZipEntry]], directory: int
) -> Iterator[ZipEntry]:
    """Find where packed bytes start; no two members may share a byte."""
    free = 0
    for header, entry in sorted(found, key=lambda item: item[0]):
        row = unpack("<4sHHHHHIIIHH", data, header, archive, "a member header")
        if row[0] != MAGIC:
            raise broken(archive, f"`{entry.name}` points to no member header")
        start = header + 30 + row[9] + row[10]
        if header < free or start + entry.packed > directory:
            raise refused(archive, entry.name, "its bytes overlap others")
        free = start + entry.packed
        yield ZipEntry(entry.name, entry.method, entry.packed, entry.size, entry.crc, start)


def inflate(data: memoryview, entry: ZipEntry, archive: str, limit: int | None = None) -> Iterator[bytes]:
    """Give the bytes of a member in pieces, the first `limit` of them or all; check size and sum at the end.

    Raises:
        UnreadableError: Where it inflates to more or less than it states, or its sum is another.
    """
    want = entry.size if limit is None else min(limit, entry.size)
    packed = data[entry.start : entry.start + entry.packed]
    got, crc = 0, 0
    for piece in _pieces(packed, entry, archive, want):
        got += len(piece)
        if got > entry.size:
            raise bomb(archive, entry.name, f"it inflates past the {entry.size} bytes that it states")
        crc = fast.crc32(piece, crc)
        yield piece
    if got < want:
        raise broken(archive, f"`{entry.name}` inflates to {got} bytes but states {entry.size}")
    if limit is None and crc != entry.crc:
        raise broken(archive, f"the bytes of `{entry.name}` do not have the sum that is stated")


def _pieces(packed: memoryview, entry: ZipEntry, archive: str, want: int) -> Iterator[bytes]:
    if entry.method == STORED:
        for at in range(0, want, CHUNK):
            yield bytes(packed[at : min(at + CHUNK, want)])
        return
    machine, got, at, rest = fast.decompressobj(-15), 0, 0, b""
    # One byte more than wanted is asked of a whole member, so that a longer one shows itself.
    more = want + (want == entry.size)
    while got < more and not machine.eof:
        source = rest or packed[at : at + CHUNK]
        at += 0 if rest else CHUNK
        if not len(source):
            return
        try:
            piece = machine.decompress(source, min(PIECE, more - got))
        except fast.error as error:
            raise broken(archive, f"`{entry.name}` cannot be inflated: {error}") from error
        rest = machine.unconsumed_tail
        got += len(piece)
        yield piece
