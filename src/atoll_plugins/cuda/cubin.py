"""Which architecture is a cubin for, and which toolkit made it?

A cubin is ELF of machine 190. Its flags state the number; that it is for `a` (this arch only) or `f`
(its family) stands, since ELF ABI version 8, only in the assembler's arguments in `.note.nv.tkinfo`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from atoll.artifact import Fact, Finding
from atoll_plugins.formats.elf_file import parse
from atoll_plugins.formats.parse import broken

MACHINE = 190
RELEASE = re.compile(rb"Cuda compilation tools, release (\d{1,3}\.\d{1,3}), V")
_ARGUMENT = re.compile(rb"-arch[ =]sm_(\d{1,4})([af]?)\b")
# NVIDIA Corp, type 1000: version 2, virtual arch, toolkit times ten.
_CUINFO = re.compile(rb"\x0c\0\0\0\x08\0\0\0\xe8\x03\0\0NVIDIA Corp\0\x02\0(..)(..)", re.DOTALL)
_ACCELERATED = 0x800  # e_flags of ABI version 7


@dataclass(frozen=True, slots=True)
class Toolkit:
    """What notes of a cubin state."""

    version: str = ""
    letter: str = ""


def finding(data: memoryview, name: str) -> Finding:
    """Return the architecture of one cubin.

    Raises:
        UnreadableError: Where its ELF tables are broken or its flags state no architecture.
    """
    elf = parse(data, name)
    level = elf.flags >> 8 & 0xFF if elf.abi_version >= 8 else elf.flags & 0xFF
    if not level:
        raise broken(name, "the ELF flags of a cubin state no architecture")
    notes = b"".join(
        bytes(elf.body(section)[:65536]) for section in elf.sections if section.name.startswith(".note.nv.")
    )
    argument = _ARGUMENT.search(notes)
    letter = argument[2].decode() if argument and int(argument[1]) == level else ""
    if elf.abi_version < 8 and elf.flags & _ACCELERATED:
        letter = "a"
    stated = argument is not None or elf.abi_version < 8 or level < 90
    note = "" if stated else "its bytes do not state whether it is for one arch only"
    return Finding(member=name, backend="cuda", version=toolkit(notes), arch=f"sm_{level}{letter}", note=note)


def toolkit(data: bytes) -> str:
    """Return the toolkit version that bytes of a cubin or of PTX state, or empty."""
    release = RELEASE.search(data)
    if release:
        return release[1].decode()
    info = _CUINFO.search(data)
    if info is None:
        return ""
    number = int.from_bytes(info[2], "little")
    return f"{number // 10}.{number % 10}" if number else ""


def portable(name: str, *, isa: str, level: int, letter: str, version: str) -> Finding:
    """Return the finding of PTX: a floor, or for `a` and `f` forms an arch of its own spelling."""
    requires = (Fact(name="ptx.isa", relation=">=", value=isa),)
    if letter:
        note = "PTX that is not portable"
        arch = f"compute_{level}{letter}"
        return Finding(member=name, backend="cuda", version=version, arch=arch, requires=requires, note=note)
    return Finding(
        member=name,
        backend="cuda",
        version=version,
        floor=str(level),
        floor_word="ptx",
        requires=requires,
    )
