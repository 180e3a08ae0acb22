"""Programs of other systems are searched; packed archives are unknown, never free of device code."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable

import pytest
import zstandard

from atoll.artifact import Finding
from atoll.errors import UnreadableError
from atoll.plugin import Member
from atoll.testing.readers import READER_CHECKS, ReaderCheck
from atoll_plugins.formats.scan import PackedReader, ProgramReader
from unit.packaging.binaries import blob, entry, fatbin, findings, read, spirv

DLL = (b"MZ" + bytes(58) + (64).to_bytes(4, "little") + b"PE\0\0").ljust(512, b"\0")
MACH_O = b"\xcf\xfa\xed\xfe".ljust(512, b"\0")


@pytest.mark.parametrize("check", READER_CHECKS, ids=lambda check: str(check.__name__))
def test_the_program_reader_keeps_the_promises_of_the_door(check: ReaderCheck) -> None:
    data = fatbin(entry(2, 80)).ljust(128, b"\0")
    check(ProgramReader(), [blob(DLL + data, "a.dll"), blob(MACH_O + spirv(), "a.dylib")])


@pytest.mark.parametrize("check", READER_CHECKS, ids=lambda check: str(check.__name__))
def test_the_packed_reader_keeps_the_promises_of_the_door(check: ReaderCheck) -> None:
    check(PackedReader(), [blob(gzip.compress(b"data"), "a.tar.gz")])


def test_device_code_in_a_windows_library_is_found() -> None:
    data = DLL + fatbin(entry(2, 80)).ljust(128, b"\0") + fatbin(entry(2, 90))
    said = [event.blob for event in read(ProgramReader(), data) if isinstance(event, Member)]
    assert [(item.name, item.kind) for item in said] == [
        ("file!data+0x200", "embedded:fatbin"),
        ("file!data+0x280", "embedded:fatbin"),
    ]


def test_a_java_class_is_no_program() -> None:
    assert not ProgramReader().recognises(blob(b"\xca\xfe\xba\xbe\0\0\0\x3d".ljust(100, b"\0")))


def test_a_text_that_starts_like_one_is_no_program() -> None:
    assert not ProgramReader().recognises(blob(b"MZ is not enough".ljust(100, b" ")))


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_packed_file_by_itself_is_inflated(suffix: str) -> None:
    (inner,) = read(PackedReader(), PACKERS[suffix](spirv()), f"a.spv.{suffix}")
    assert isinstance(inner, Member)
    assert (inner.blob.name, bytes(inner.blob.data)) == (f"a.spv.{suffix}!a.spv", spirv())


@pytest.mark.parametrize("suffix", PACKERS)
def test_several_streams_one_after_the_other_are_all_inflated(suffix: str) -> None:
    pack = PACKERS[suffix]
    (inner,) = read(PackedReader(), pack(b"one ") + pack(b"two"), f"a.{suffix}")
    assert isinstance(inner, Member)
    assert bytes(inner.blob.data) == b"one two"


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_packed_file_that_ends_early_or_lies_is_refused(suffix: str) -> None:
    data = PACKERS[suffix](bytes(range(256)) * 400)
    for broken in (data[: len(data) // 2], data[:20] + b"\xff" * 40 + data[60:]):
        with pytest.raises(UnreadableError, match=r"ends early|cannot be inflated"):
            read(PackedReader(), broken, f"a.{suffix}")


def test_a_packed_bomb_is_refused() -> None:
    with pytest.raises(UnreadableError, match="inflates past its limits"):
        read(PackedReader(), gzip.compress(bytes(96 << 20)), "a.gz")


def test_a_7z_file_by_itself_is_unknown() -> None:
    (found,) = findings(PackedReader(), b"7z\xbc\xaf\x27\x1c" + bytes(60), "a.7z")
    assert found == Finding(member="a.7z", backend="", note="a 7z file, which is not opened")


def test_packed_data_of_a_package_is_left() -> None:
    assert not PackedReader().recognises(blob(gzip.compress(b"data"), "a.whl!data.gz"))
