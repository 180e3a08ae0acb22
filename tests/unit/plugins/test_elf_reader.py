"""ELF files of the host: sections, embedded modules, libraries; and archives of them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.artifact import Fact, Finding
from atoll.errors import UnreadableError
from atoll.plugin import Blob, Mark, Member
from atoll.testing.readers import READER_CHECKS, ReaderCheck
from atoll_plugins.formats.archive import ArchiveReader
from atoll_plugins.formats.elf import ElfReader
from atoll_plugins.formats.elf_file import needed_versions, parse
from unit.packaging.binaries import CUBIN, archive, blob, elf, entry, fatbin, findings, read, spirv

FAT = fatbin(entry(2, 80))
SAMPLES = [
    blob(elf({".text": b"code", ".rodata": b"constant data" * 30}), "a.o"),
    blob(
        elf({".nv_fatbin": FAT, ".rodata": bytes(64) + spirv()}, needed=["libcuda.so.1", "libc.so.6"]), "b.so"
    ),
]


def members(data: bytes) -> list[tuple[str, str]]:
    return [
        (event.blob.name, event.blob.kind) for event in read(ElfReader(), data) if isinstance(event, Member)
    ]


def facts(data: bytes) -> list[str]:
    return [str(event) for event in read(ElfReader(), data) if isinstance(event, Fact)]


@pytest.mark.parametrize("check", READER_CHECKS, ids=lambda check: str(check.__name__))
def test_it_keeps_the_promises_of_the_door(check: ReaderCheck) -> None:
    check(ElfReader(), SAMPLES)


@pytest.mark.parametrize(
    "name", [".nv_fatbin", "__nv_relfatbin", ".llvm.offloading", ".hip_fatbin", ".atoll.kernels"]
)
def test_a_section_of_device_code_is_a_member(name: str) -> None:
    assert members(elf({name: b"anything"})) == [(f"file!{name}", f"section:{name}")]


class ForeignReader:
    """A reader of another package: a section, a word in constant data, a machine, a library of its own."""

    name = "foreign"
    marks = (Mark(word=b"FOREIGN\x01", form="foreign", step=8),)
    machines = frozenset((247,))
    libraries = ("libforeign.",)

    def recognises(self, blob: Blob) -> bool:
        return blob.kind in ("section:.foreign_code", "embedded:foreign")

    def read(self, blob: Blob) -> Iterator[Member | Finding | Fact]:
        yield Finding(member=blob.name, backend="foreign")


def test_a_section_that_a_foreign_reader_takes_is_a_member() -> None:
    data = elf({".foreign_code": b"anything", ".comment": b"text"})
    assert members(data) == []
    given = read(ElfReader(lambda: (ForeignReader(),)), data)
    assert [event.blob.kind for event in given if isinstance(event, Member)] == ["section:.foreign_code"]


def test_what_a_foreign_reader_says_of_its_format_is_asked() -> None:
    def foreign() -> tuple[ForeignReader, ...]:
        return (ForeignReader(),)

    data = elf({".rodata": bytes(8) + b"FOREIGN\x01" + bytes(4) + b"FOREIGN\x01"}, needed=["libforeign.so.3"])
    given = read(ElfReader(foreign), data)
    assert [(event.blob.name, event.blob.kind) for event in given if isinstance(event, Member)] == [
        ("file!.rodata+0x8", "embedded:foreign")
    ]
    assert "needed = libforeign.so.3" in [str(event) for event in given if isinstance(event, Fact)]
    assert members(data) == []
    assert not ElfReader(foreign).recognises(blob(elf(machine=247)))
    assert ElfReader().recognises(blob(elf(machine=247)))


def test_spirv_in_constant_data_is_found_where_it_is_aligned() -> None:
    assert members(elf({".rodata": bytes(32) + spirv()})) == [("file!.rodata+0x20", "embedded:spirv")]
    assert members(elf({".rodata": bytes(33) + spirv()})) == []


def test_every_one_of_many_modules_is_found() -> None:
    one = spirv() + bytes(4)
    assert len(members(elf({".rodata": one * 500}))) == 500


def test_modules_across_a_window_are_found() -> None:
    at = (4 << 20) - 4
    assert members(elf({".rodata": bytes(at) + spirv() + bytes(8 << 20)})) == [
        (f"file!.rodata+{at:#x}", "embedded:spirv")
    ]


MAGIC = spirv()[:4]
MISSED = b"".join(b"\0" if at % 251 == 0 else MAGIC[at % 4 :][:1] for at in range(4 * 251))


@pytest.mark.parametrize("padding", [b"\x03", b"\x07\x23", b"\x00", MAGIC, MISSED])
def test_a_byte_that_is_not_rare_after_all_hides_nothing(padding: bytes) -> None:
    """What is rare in the sample may fill the rest; every place is found whichever way is taken."""
    size = 3 << 18  # so that the module lies in the middle of what is searched at once
    around = (padding * (size // len(padding) + 1))[:size]
    data = bytes(3 << 18) + around + spirv() + around
    at = (3 << 18) + size
    assert members(elf({".rodata": data})) == [(f"file!.rodata+{at:#x}", "embedded:spirv")]


def test_the_magic_word_alone_is_no_module() -> None:
    assert members(elf({".rodata": spirv()[:4] + bytes(60)})) == []


def test_code_of_the_processor_is_not_searched() -> None:
    assert members(elf({".text": spirv()}, section_flags=6)) == []


def test_a_fat_binary_a_cubin_and_ptx_in_constant_data_are_found() -> None:
    cubin = elf(machine=CUBIN)
    data = elf({".a": FAT, ".b": cubin, ".c": b"text\0.version 8.0\n.target sm_80\n.address_size 64\0"})
    assert [kind for _, kind in members(data)] == ["embedded:fatbin", "embedded:elf", "embedded:ptx"]


def test_format_strings_of_a_compiler_are_no_ptx() -> None:
    assert members(elf({".rodata": b".version %d.%d\n.target sm_%d\n and .target sm_90 in prose"})) == []


def test_only_libraries_of_vendors_are_facts_that_must_hold() -> None:
    said = facts(elf(needed=["libcuda.so.1", "libvulkan.so.1", "libc.so.6", "libm.so.6"]))
    assert [text for text in said if text.startswith("needed")] == [
        "needed = libcuda.so.1",
        "needed = libvulkan.so.1",
    ]


def test_machine_code_of_another_machine_is_unknown() -> None:
    assert not ElfReader().recognises(blob(elf(machine=CUBIN)))
    (found,) = findings(ElfReader(), elf(machine=247))
    assert found == Finding(member="file", backend="", note="machine code of ELF machine 247")


def test_symbol_versions_equal_those_of_readelf(tmp_path: Path) -> None:
    source = tmp_path / "a.c"
    source.write_text(
        '#include <stdio.h>\n#include <math.h>\nint PyInit_demo(void) { return printf("%f", pow(2, 3.5)); }\n'
    )
    library = tmp_path / "a.so"
    subprocess.run(
        ["/usr/bin/gcc", "-shared", "-fPIC", "-fno-builtin", source, "-o", library, "-lm"], check=True
    )
    parsed = parse(memoryview(library.read_bytes()), "a.so")
    ours = {version for _, version in needed_versions(parsed)}
    printed = subprocess.run(
        ["/usr/bin/readelf", "-W", "--version-info", library], check=True, capture_output=True, text=True
    ).stdout
    theirs = {
        line.split("Name: ")[1].split()[0]
        for line in printed.splitlines()
        if "Name: " in line and "Flags" in line
    }
    assert ours == theirs != set()
    assert "abi.module = demo" in facts(library.read_bytes())


def test_a_file_without_section_table_is_read_by_its_segments(tmp_path: Path) -> None:
    source = tmp_path / "a.c"
    data = ",".join(str(byte) for byte in spirv())
    source.write_text(f"__attribute__((aligned(16))) const unsigned char shader[] = {{{data}}};\n")
    library = tmp_path / "a.so"
    subprocess.run(["/usr/bin/gcc", "-shared", "-fPIC", source, "-o", library], check=True)
    raw = bytearray(library.read_bytes())
    assert [kind for _, kind in members(bytes(raw))] == ["embedded:spirv"]
    raw[0x28:0x30] = bytes(8)  # e_shoff
    raw[0x3C:0x40] = bytes(4)  # e_shnum, e_shstrndx
    assert [kind for _, kind in members(bytes(raw))] == ["embedded:spirv"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda data: data[:30], "the ELF header"),
        (lambda data: data[:0x28] + b"\xff" * 8 + data[0x30:], "the section table"),
        (lambda data: data[:0x3A] + b"\x08\0" + data[0x3C:], "state 8 bytes each"),
        (lambda data: data[:4] + b"\x07" + data[5:], "no known class"),
        (lambda data: data[:0x3C] + b"\0\xff" + data[0x3E:], "the section table"),
    ],
)
def test_broken_headers_are_refused_with_the_reason(change: object, reason: str) -> None:
    assert callable(change)
    with pytest.raises(UnreadableError, match=reason):
        read(ElfReader(), change(elf({".rodata": b"data"})))


ARCHIVE = archive({"a.o": elf({".nv_fatbin": FAT}), "b.o": elf({".rodata": b"odd"})})


@pytest.mark.parametrize("check", READER_CHECKS, ids=lambda check: str(check.__name__))
def test_the_archive_reader_keeps_the_promises_of_the_door(check: ReaderCheck) -> None:
    check(ArchiveReader(), [blob(ARCHIVE, "lib.a"), blob(b"!<arch>\n", "empty.a")])


def test_members_of_an_archive_of_binutils_have_their_names(tmp_path: Path) -> None:
    names = ["short.o", "a_name_that_is_longer_than_sixteen_bytes.o", "also_a_long_name_for_a_member.o"]
    for name in names:
        (tmp_path / name).write_bytes(elf({".rodata": name.encode()}))
    subprocess.run(["/usr/bin/ar", "rcs", "lib.a", *names], check=True, cwd=tmp_path)
    said = read(ArchiveReader(), (tmp_path / "lib.a").read_bytes(), "lib.a")
    assert [event.blob.name for event in said if isinstance(event, Member)] == [
        f"lib.a!{name}" for name in names
    ]


def test_a_thin_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.o").write_bytes(elf())
    subprocess.run(["/usr/bin/ar", "rcsT", "thin.a", "a.o"], check=True, cwd=tmp_path)
    with pytest.raises(UnreadableError, match="thin archive"):
        read(ArchiveReader(), (tmp_path / "thin.a").read_bytes())


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (ARCHIVE[:70], "lies outside"),
        (ARCHIVE[:8] + b" " * 60, "does not end as one"),
        (ARCHIVE[:56] + b"-1        `\n"[:10] + ARCHIVE[66:], "states no size"),
    ],
)
def test_broken_archives_are_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        read(ArchiveReader(), data)
