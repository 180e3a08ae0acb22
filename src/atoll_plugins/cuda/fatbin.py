"""Which entries does a fat binary hold? Header, then entries; several may follow one another.

Little endian, 8-aligned. Header `<IHHQ`: magic, version, header bytes, payload bytes. Entry `<HHIQ`:
kind, version, header bytes, payload bytes; `<HHI` at 24: PTX ISA minor and major, architecture number;
`<Q` at 40: flags; `<Q` at 56: bytes once inflated. Measured on toolkits 11.8 to 13.5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from atoll.artifact import Finding
from atoll_plugins.cuda import cubin
from atoll_plugins.cuda.inflate import prefix
from atoll_plugins.formats.parse import broken, part, unpack

MAGIC = b"\x50\xed\x55\xba"
ENTRY_LIMIT = 1 << 20
KINDS = {1: "PTX", 2: "machine code", 4: "machine code of an old form", 8: "LTO IR", 16: "host text"}
ACCELERATED, FAMILY, LZ4, ZSTD = 0x100000, 0x200000, 0x2000, 0x8000
# What is inflated of one entry, and of one section, to find the toolkit that made it.
INFLATE_PTX, INFLATE_CUBIN, INFLATE_TOTAL = 2048, 4 << 20, 64 << 20


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a fat binary; two fat binaries hold different ones of equal value.

    Attributes:
        kind / isa / level / flags: As its header states them.
        payload: Its bytes, perhaps compressed.
        whole: Header and payload.
    """

    kind: int
    isa: str
    level: int
    flags: int
    payload: memoryview
    whole: memoryview

    @property
    def portable(self) -> bool:
        """Whether it is PTX that later architectures take too."""
        return self.kind == 1 and not self.letter

    @property
    def letter(self) -> str:
        """``a`` for one arch only, ``f`` for its family, else empty."""
        return "a" if self.flags & ACCELERATED else "f" if self.flags & FAMILY else ""


def findings(data: memoryview, name: str, *, one: bool = False) -> Iterator[Finding]:
    """Give what the fat binaries of a section carry; of fat binaries with equal entries one is enough.

    Args:
        data: The section, or bytes that start with one fat binary.
        name: Where they lie.
        one: True where only the first one is meant and other bytes follow.
    """
    budget, seen, runs = INFLATE_TOTAL, set[frozenset[Finding]](), False
    for entries in binaries(data, name, one=one):
        version, spent = _toolkit(entries, budget)
        budget -= spent
        runs = runs or any(entry.kind in (1, 2) for entry in entries)
        least = min((entry.level for entry in entries if entry.portable), default=0)
        found = [_finding(entry, name, version, _beside(entry, least)) for entry in entries]
        if frozenset(found) not in seen:
            code = f"{name}#{len(seen)}"
            seen.add(frozenset(found))
            yield from (replace(each, code=code) for each in dict.fromkeys(found))
    if seen and not runs:
        yield Finding(
            member=name, backend="", note="neither machine code nor PTX: nothing that runs by itself"
        )


def _beside(entry: Entry, least: int) -> int:
    """Return the level of the lower PTX of the same code, or 0."""
    return least if entry.portable and entry.level > least else 0


def binaries(data: memoryview, name: str, *, one: bool = False) -> Iterator[list[Entry]]:
    """Give the entries of each fat binary in turn.

    Raises:
        UnreadableError: Where one ends outside, holds an entry without a length, or overlaps.
    """
    at = 0
    while at + 16 <= len(data):
        if data[at : at + 4] != MAGIC:
            if one or any(data[at : at + 8]):
                raise broken(name, f"no fat binary starts at {at}")
            at += 8
            continue
        _, version, head, size = unpack("<IHHQ", data, at, name, "a fat binary header")
        if head < 16 or version != 1:
            raise broken(
                name, f"the fat binary at {at} states version {version} and a header of {head} bytes"
            )
        yield _entries(part(data, at + head, size, name, "the payload of a fat binary"), name)
        if one:
            return
        at += (head + size + 7) // 8 * 8
    if any(data[at:]):
        raise broken(name, f"{len(data) - at} bytes follow the last fat binary")


def _entries(data: memoryview, name: str) -> list[Entry]:
    found: list[Entry] = []
    at = 0
    while at < len(data):
        kind, _, head, size = unpack("<HHIQ", data, at, name, "a fat binary entry")
        if head < 64 or head > 1 << 20:
            raise broken(name, f"the entry at {at} states a header of {head} bytes")
        fields = unpack("<HHI", data, at + 24, name, "a fat binary entry")
        flags = unpack("<Q", data, at + 40, name, "a fat binary entry")[0]
        payload = part(data, at + head, size, name, "the payload of an entry")
        whole = data[at : at + head + size]
        found.append(Entry(kind, f"{fields[1]}.{fields[0]}", fields[2], flags, payload, whole))
        if len(found) > ENTRY_LIMIT:
            raise broken(name, f"over {ENTRY_LIMIT} entries")
        at += head + size
    return found


def _finding(entry: Entry, name: str, version: str, beside: int) -> Finding:
    if entry.kind == 1:
        found = cubin.portable(name, isa=entry.isa, level=entry.level, letter=entry.letter, version=version)
        note = f"PTX for {entry.level} beside PTX of the same code for {beside}"
        return replace(found, floor="", floor_word="", note=note) if beside else found
    arch = f"sm_{entry.level}{entry.letter}"
    base = Finding(member=name, backend="cuda", version=version)
    if entry.kind == 2:
        return replace(base, arch=arch)
    kind = KINDS.get(entry.kind, f"an entry of kind {entry.kind}")
    if entry.kind == 8:
        return replace(base, note=f"{kind} for {arch}: neither machine code nor PTX, it needs a device link")
    return Finding(member=name, backend="", note=f"{kind} for {arch}")


def _toolkit(entries: list[Entry], budget: int) -> tuple[str, int]:
    """Return the toolkit that the bytes of a fat binary state, and how many bytes were inflated."""
    spent = 0
    for entry in sorted(entries, key=lambda item: (item.kind != 1, len(item.payload))):
        want = min({1: INFLATE_PTX, 2: INFLATE_CUBIN}.get(entry.kind, 0), budget - spent)
        method = "zstd" if entry.flags & ZSTD else "lz4" if entry.flags & LZ4 else ""
        tail = b""
        for piece in prefix(entry.payload, method, want):
            spent += len(piece)
            version = cubin.toolkit(tail + piece)
            if version:
                return version, spent
            tail = piece[-128:]
        if entry.kind == 2:
            break
    return "", spent
