"""What are the parts of an ELF file? Header, sections, segments, names; lazily, bounded, no copies.

Own code and not pyelftools: hostile files need bounds on every count, and device libraries hold
hundreds of megabytes (docs/decisions/0080). Layout: System V gABI, chapters 4 and 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from atoll_plugins.formats.parse import broken, c_text, part, unpack

MAGIC = b"\x7fELF"
SECTION_LIMIT = 1 << 20
DYNAMIC_LIMIT = 1 << 16
SHT_NOBITS, SHT_DYNAMIC, SHT_VERNEED = 8, 6, 0x6FFFFFFE
PT_LOAD, PT_DYNAMIC = 1, 2


@dataclass(frozen=True, slots=True)
class Section:
    """One section, or one loaded segment of a file that has no section table."""

    name: str
    type: int
    flags: int
    offset: int
    size: int
    link: int
    info: int

    @property
    def loaded(self) -> bool:
        """Whether it is in memory at run time (SHF_ALLOC) and has bytes in the file."""
        return bool(self.flags & 2) and self.type != SHT_NOBITS

    @property
    def executable(self) -> bool:
        """Whether it holds the processor's own code (SHF_EXECINSTR)."""
        return bool(self.flags & 4)


@dataclass(frozen=True, slots=True)
class Elf:
    """The header of an ELF file and its sections."""

    name: str
    data: memoryview
    wide: bool
    order: str
    abi_version: int
    machine: int
    flags: int
    sections: tuple[Section, ...]

    def body(self, section: Section) -> memoryview:
        """Return the bytes of a section; refuse one that lies outside of the file."""
        if section.type == SHT_NOBITS:
            return self.data[:0]
        return part(self.data, section.offset, section.size, self.name, f"section `{section.name}`")

    def find(self, name: str) -> Section | None:
        """Return the first section of a name."""
        return next((item for item in self.sections if item.name == name), None)

    def linked(self, section: Section) -> memoryview:
        """Return the bytes of the string table that a section points to; empty where it has none."""
        if not 0 < section.link < len(self.sections):
            return self.data[:0]
        return self.body(self.sections[section.link])


def machine_of(head: memoryview) -> int | None:
    """Return the machine number from the first bytes, or None where they are no ELF header."""
    if len(head) < 20 or head[:4] != MAGIC:
        return None
    return int.from_bytes(head[18:20], "big" if head[5] == 2 else "little")


def parse(data: memoryview, name: str) -> Elf:
    """Return the parts of an ELF file.

    Raises:
        UnreadableError: Where a table lies outside of the file or states sizes that cannot be.
    """
    unpack("<16s", data, 0, name, "the ELF identification")
    if data[:4] != MAGIC or data[4] not in (1, 2) or data[5] not in (1, 2):
        raise broken(name, "the ELF identification names no known class or byte order")
    wide, order = data[4] == 2, "<" if data[5] == 1 else ">"
    layout = order + ("HHIQQQIHHHHHH" if wide else "HHIIIIIHHHHHH")
    head = unpack(layout, data, 16, name, "the ELF header")
    sections = _sections(data, name, wide, order, head) or _segments(data, name, wide, order, head)
    return Elf(name, data, wide, order, data[8], head[1], head[6], sections)


def _sections(
    data: memoryview, name: str, wide: bool, order: str, head: tuple[int, ...]
) -> tuple[Section, ...]:
    at, size, count, names = head[5], head[10], head[11], head[12]
    if at == 0:
        return ()
    layout = order + ("IIQQQQIIQQ" if wide else "IIIIIIIIII")
    if size != (64 if wide else 40):
        raise broken(name, f"section headers state {size} bytes each")
    first = unpack(layout, data, at, name, "the section table")
    count = count or first[5]
    names = first[6] if names == 0xFFFF else names
    if count > SECTION_LIMIT:
        raise broken(name, f"the section table states {count} sections, the limit is {SECTION_LIMIT}")
    part(data, at, count * size, name, "the section table")
    rows = [unpack(layout, data, at + size * index, name, "a section header") for index in range(count)]
    table = data[:0]
    if 0 < names < count and rows[names][1] != SHT_NOBITS:
        table = part(data, rows[names][4], rows[names][5], name, "the section names")
    return tuple(
        Section(c_text(table, row[0], 256), row[1], row[2], row[4], row[5], row[6], row[7]) for row in rows
    )


def _segments(
    data: memoryview, name: str, wide: bool, order: str, head: tuple[int, ...]
) -> tuple[Section, ...]:
    """Give the loaded segments as sections, for files whose section table was stripped."""
    at, size, count = head[4], head[8], head[9]
    if at == 0 or count == 0:
        return ()
    layout, want = (order + "IIQQQQQQ", 56) if wide else (order + "IIIIIIII", 32)
    if size != want:
        raise broken(name, f"program headers state {size} bytes each")
    found = []
    for index in range(count):
        row = unpack(layout, data, at + size * index, name, "a program header")
        flags, offset, length = (row[1], row[2], row[5]) if wide else (row[6], row[1], row[4])
        if row[0] == PT_LOAD:
            found.append(Section(f"segment {index}", 1, 2 | (4 if flags & 1 else 0), offset, length, 0, 0))
    return tuple(found)


def needed(elf: Elf) -> tuple[str, ...]:
    """Return the libraries that the loader must find, in file order."""
    section = next((item for item in elf.sections if item.type == SHT_DYNAMIC), None)
    if section is None:
        return ()
    body, names = elf.body(section), elf.linked(section)
    layout, size = (elf.order + "qQ", 16) if elf.wide else (elf.order + "iI", 8)
    found = []
    for at in range(0, min(len(body) // size, DYNAMIC_LIMIT) * size, size):
        tag, value = unpack(layout, body, at, elf.name, "a dynamic entry")
        if tag == 0:
            break
        if tag == 1:
            found.append(c_text(names, value))
    return tuple(found)


def needed_versions(elf: Elf) -> Iterator[tuple[str, str]]:
    """Give (library, version name) for every symbol version that the file asks of its libraries."""
    section = next((item for item in elf.sections if item.type == SHT_VERNEED), None)
    if section is None:
        return
    body, names = elf.body(section), elf.linked(section)
    at, budget = 0, DYNAMIC_LIMIT
    while budget > 0:
        _, count, file, auxiliary, following = unpack(
            elf.order + "HHIII", body, at, elf.name, "a version need"
        )
        spot = at + auxiliary
        for _ in range(min(count, budget)):
            entry = unpack(elf.order + "IHHII", body, spot, elf.name, "a needed version")
            yield c_text(names, file), c_text(names, entry[3])
            budget -= 1
            spot += entry[4]
        budget -= 1
        if following == 0:
            return
        at += following
    raise broken(elf.name, f"over {DYNAMIC_LIMIT} needed versions")
