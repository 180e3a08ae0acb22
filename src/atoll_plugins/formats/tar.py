"""Which files lie in a tar archive, such as an unpacked sdist? Each regular one; links carry nothing.

Format: POSIX.1-2017 pax, "ustar Interchange Format"; GNU tar, "Basic Tar Format" for long names and base 256.
Own code and not :mod:`tarfile`: members stay slices of the mapped file, and every field is checked first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from atoll.artifact import Fact, Finding
from atoll.plugin import Blob, Member
from atoll_plugins.formats.parse import broken, c_text, check_name, part, refused

BLOCK = 512
ENTRY_LIMIT = 200_000
TEXT_LIMIT = 1 << 16
_FILES, _CARRY_NOTHING, _TEXTS = ("0", "\0", "7"), ("1", "2", "5"), ("L", "K", "x", "g")


class TarReader:
    """Reads tar archives."""

    name = "tar"

    def recognises(self, blob: Blob) -> bool:
        """Tell by the magic of the first header."""
        return not blob.kind and bytes(blob.data[257:262]) == b"ustar"

    def read(self, blob: Blob) -> Iterator[Member | Finding | Fact]:
        """Give every regular file."""
        names = set[str]()
        for name, body in _entries(blob):
            check_name(blob.name, name)
            if name in names:
                raise refused(blob.name, name, "two entries have this name")
            names.add(name)
            yield Member(Blob(name=f"{blob.name}!{name}", data=body))


@dataclass(slots=True)
class _Header:
    name: str
    size: int
    type: str


def _entries(blob: Blob) -> Iterator[tuple[str, memoryview]]:
    at, told = 0, dict[str, str]()
    for _ in range(ENTRY_LIMIT):
        head = part(blob.data, at, BLOCK, blob.name, "a header") if at < len(blob.data) else b""
        if not any(head):
            return
        entry = _header(memoryview(head), at, blob.name)
        size = entry.size if entry.type not in _FILES else _number(told.get("size"), entry.size, blob.name)
        body = part(blob.data, at + BLOCK, size, blob.name, "a member")
        at += BLOCK + (size + BLOCK - 1) // BLOCK * BLOCK
        if entry.type in _TEXTS:
            told |= _told(entry.type, body, blob.name)
            continue
        if entry.type in _FILES:
            yield told.get("path", entry.name).removeprefix("./"), body
        elif entry.type not in _CARRY_NOTHING:
            raise refused(blob.name, entry.name, "it is a special file, or packed in a way that is not read")
        told = {}
    raise broken(blob.name, f"over {ENTRY_LIMIT} members")


def _header(head: memoryview, at: int, archive: str) -> _Header:
    stated = bytes(head[148:156]).strip(b" \0")
    if sum(head[:148]) + sum(head[156:]) + 8 * 32 != _octal(stated):
        raise broken(archive, f"the header at {at} does not have the sum that it states")
    raw = bytes(head[124:136])
    size = int.from_bytes(raw[1:], "big") if raw[0] == 0x80 else _octal(raw.strip(b" \0"))
    if size is None:
        raise broken(archive, f"the member at {at} states no size")
    prefix = c_text(head[345:500], 0, 155) if bytes(head[257:263]) == b"ustar\0" else ""
    name = c_text(head, 0, 100)
    return _Header(f"{prefix}/{name}" if prefix else name, size, chr(head[156]))


def _octal(text: bytes) -> int | None:
    return int(text, 8) if text and not text.strip(b"01234567") else None


def _number(text: str | None, other: int, archive: str) -> int:
    if text is None:
        return other
    if not text.isdecimal() or len(text) > 20:
        raise broken(archive, f"a member states the size {text[:40]!r}")
    return int(text)


def _told(kind: str, body: memoryview, archive: str) -> dict[str, str]:
    """Return what an entry before its file tells of it: its long name, or pax records of name and size."""
    if len(body) > TEXT_LIMIT:
        raise broken(archive, f"an entry of texts of {len(body)} bytes")
    if kind == "L":
        return {"path": c_text(body, 0, TEXT_LIMIT)}
    if kind != "x":
        return {}
    found, rest = {}, bytes(body)
    while rest:
        digits, _, _ = rest.partition(b" ")
        length = int(digits) if digits.isdigit() and len(digits) < 8 else 0
        if not len(digits) + 1 < length <= len(rest):
            raise broken(archive, "a pax record states a length that cannot be")
        key, _, value = rest[len(digits) + 1 : length - 1].partition(b"=")
        found[key.decode("utf-8", "backslashreplace")] = value.decode("utf-8", "backslashreplace")
        rest = rest[length:]
    return {key: value for key, value in found.items() if key in ("path", "size")}
