"""Fat binaries, cubins and PTX: what they carry, and that broken ones are refused."""

from __future__ import annotations

import pytest

from atoll.artifact import Fact
from atoll.errors import UnreadableError
from atoll.testing.readers import READER_CHECKS, ReaderCheck
from atoll_plugins.cuda.reader import FatBinaryReader
from unit.packaging.binaries import CUBIN, blob, elf, entry, fatbin, findings

SECTION = "section:.nv_fatbin"
PTX = b"""//
// Cuda compilation tools, release 13.0, V13.0.88
//

.version 9.0
.target sm_90
.address_size 64
"""
TOOLS = b"Cuda compilation tools, release 12.8, V12.8.93"
NOTE = b"\x0c\0\0\0\x40\0\0\0\xd0\x07\0\0NVIDIA Corp\0ptxas\0" + TOOLS + b"\0-arch sm_90a -m 64 "


def cubin(level: int = 90, note: bytes = NOTE) -> bytes:
    flags = 0x6000004 | level << 8
    return elf({".note.nv.tkinfo": note}, machine=CUBIN, flags=flags, abi_version=8, section_flags=0)


def archs(data: bytes, kind: str = SECTION) -> list[str]:
    found = findings(FatBinaryReader(), data, kind=kind)
    return [
        item.arch or (f"{item.floor_word}>={item.floor}" if item.floor else item.note[:3]) for item in found
    ]


SAMPLES = [
    blob(fatbin(entry(2, 80), entry(2, 90, flags=0x100011), entry(1, 90, payload=PTX)), kind=SECTION),
    blob(fatbin(entry(2, 100, flags=0x1200011, header=112)) + bytes(8) + fatbin(entry(1, 75)), kind=SECTION),
    blob(cubin(), "a.cubin"),
    blob(PTX, "a.ptx"),
]


@pytest.mark.parametrize("check", READER_CHECKS, ids=lambda check: str(check.__name__))
def test_it_keeps_the_promises_of_the_door(check: ReaderCheck) -> None:
    check(FatBinaryReader(), SAMPLES)


def test_machine_code_keeps_its_letter_and_ptx_is_a_floor() -> None:
    data = fatbin(
        entry(2, 80),
        entry(2, 90, flags=0x100011),
        entry(2, 100, flags=0x1200011, header=112),
        entry(2, 103, flags=0x1000011, header=112),
        entry(1, 90, flags=0x8011, header=80),
    )
    assert archs(data) == ["sm_80", "sm_90a", "sm_100f", "sm_103", "ptx>=90"]


def test_ptx_of_one_arch_or_family_is_no_portable_floor() -> None:
    assert archs(fatbin(entry(1, 90, flags=0x100011), entry(1, 120, flags=0x200011))) == [
        "compute_90a",
        "compute_120f",
    ]


def test_of_several_ptx_of_one_code_the_least_is_the_floor_and_the_others_are_named() -> None:
    assert archs(fatbin(entry(1, 90), entry(1, 75))) == ["PTX", "ptx>=75"]


def test_ptx_of_two_codes_gives_two_floors_of_which_the_greatest_must_hold() -> None:
    assert archs(fatbin(entry(1, 90)) + fatbin(entry(1, 75))) == ["ptx>=90", "ptx>=75"]


def test_the_ptx_isa_is_required() -> None:
    (found,) = findings(FatBinaryReader(), fatbin(entry(1, 90, isa=(8, 8))), kind=SECTION)
    assert found.requires == (Fact(name="ptx.isa", relation=">=", value="8.8"),)


def test_every_fat_binary_of_a_section_counts_and_padding_between_them_does_not() -> None:
    data = fatbin(entry(2, 80)) + bytes(16) + fatbin(entry(2, 90)) + bytes(8)
    assert archs(data) == ["sm_80", "sm_90"]


def test_equal_entries_are_told_once() -> None:
    assert archs(fatbin(*[entry(2, 80)] * 1000)) == ["sm_80"]


def test_an_arch_newer_than_any_known_toolkit_is_an_arch() -> None:
    assert archs(fatbin(entry(2, 997))) == ["sm_997"]


def test_lto_ir_beside_machine_code_adds_no_arch() -> None:
    data = fatbin(entry(8, 75), entry(2, 90))
    assert archs(data) == ["LTO", "sm_90"]
    assert "LTO IR for sm_75" in findings(FatBinaryReader(), data, kind=SECTION)[0].note


@pytest.mark.parametrize("kind", [4, 8, 16, 64, 999])
def test_a_section_of_nothing_that_runs_is_unknown(kind: int) -> None:
    assert findings(FatBinaryReader(), fatbin(entry(kind, 75)), kind=SECTION)[-1].backend == ""


def test_the_toolkit_is_read_from_ptx_text() -> None:
    (found, *_) = findings(FatBinaryReader(), fatbin(entry(2, 90), entry(1, 90, payload=PTX)), kind=SECTION)
    assert found.version == "13.0"


def test_the_toolkit_is_read_from_a_cubins_note() -> None:
    (found,) = findings(FatBinaryReader(), fatbin(entry(2, 90, payload=cubin())), kind=SECTION)
    assert found.version == "12.8"


def test_compressed_entries_state_their_arch_and_their_toolkit() -> None:
    import zstandard

    packed = zstandard.ZstdCompressor().compress(PTX + bytes(5000))
    (found,) = findings(FatBinaryReader(), fatbin(entry(1, 75, flags=0x8011, payload=packed)), kind=SECTION)
    assert (found.floor, found.version) == ("75", "13.0")


def test_an_entry_compressed_in_an_unknown_way_still_states_its_arch() -> None:
    (found,) = findings(
        FatBinaryReader(), fatbin(entry(2, 75, flags=0x8011, payload=b"garbage")), kind=SECTION
    )
    assert (found.arch, found.version) == ("sm_75", "")


def test_an_lz4_prefix_is_inflated() -> None:
    literal = PTX[:60]
    block = bytes([0xF0, 45]) + literal + b"\x3c\x00" + bytes([0x50]) + b"tail!"
    (found,) = findings(FatBinaryReader(), fatbin(entry(1, 75, flags=0x2011, payload=block)), kind=SECTION)
    assert found.version == "13.0"


def test_a_cubin_states_number_letter_and_toolkit() -> None:
    (found,) = findings(FatBinaryReader(), cubin())
    assert (found.arch, found.version, found.note) == ("sm_90a", "12.8", "")


def test_a_cubin_whose_note_is_gone_says_that_the_letter_is_not_known() -> None:
    (found,) = findings(FatBinaryReader(), cubin(note=b""))
    assert found.arch == "sm_90"
    assert "does not state" in found.note or "do not state" in found.note


@pytest.mark.parametrize("name", ["a.ptx", "a.cubin", "a.fatbin"])
def test_a_file_that_claims_to_be_device_code_and_is_none_is_unknown(name: str) -> None:
    assert FatBinaryReader().recognises(blob(b"something else", name))
    (found,) = findings(FatBinaryReader(), b"something else", name)
    assert found.backend == ""


def test_ptx_text_is_measured() -> None:
    (found,) = findings(FatBinaryReader(), PTX)
    assert (found.floor, found.floor_word, found.version) == ("90", "ptx", "13.0")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (fatbin(entry(2, 80, header=0)), "a header of 0 bytes"),
        (fatbin(entry(2, 80))[:-4], "lies outside"),
        (fatbin(entry(2, 80))[:-8] + b"\xff" * 8 + b"more" * 9, "no fat binary starts"),
        (fatbin(entry(2, 80)[:40]), "lies outside"),
        (b"\x50\xed\x55\xba\x07\0\x10\0" + bytes(8), "version 7"),
        (fatbin(entry(2, 80)) + b"rest", "follow the last"),
    ],
)
def test_broken_fat_binaries_are_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        archs(data)
