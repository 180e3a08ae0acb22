"""Zip files: only members that can hold device code are inflated whole, and hostile ones are refused."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib

import pytest

from atoll.errors import UnreadableError
from atoll.plugin import Member, Reader
from atoll.testing.readers import READER_CHECKS, ReaderCheck
from atoll_plugins.formats.elf import ElfReader
from atoll_plugins.formats.inflated import IN_MEMORY
from atoll_plugins.spirv.reader import SpirvReader
from atoll_plugins.wheel import zip_file
from atoll_plugins.wheel.reader import WheelReader
from unit.packaging.binaries import blob, elf, read, spirv, zipped


def known() -> tuple[Reader, ...]:
    return ElfReader(), SpirvReader()


READER = WheelReader(known)
LIBRARY = elf({".rodata": b"constants" * 100})
WHEEL = zipped({"pkg/__init__.py": b"import os\n" * 1000, "pkg/a.so": LIBRARY, "pkg/b.spv": spirv()})


def names(data: bytes) -> list[str]:
    return [event.blob.name for event in read(READER, data, "a.whl") if isinstance(event, Member)]


@pytest.mark.parametrize("check", READER_CHECKS, ids=lambda check: str(check.__name__))
def test_it_keeps_the_promises_of_the_door(check: ReaderCheck) -> None:
    check(
        READER, [blob(WHEEL, "a.whl"), blob(zipped({"b.spv": spirv()}, method=zipfile.ZIP_STORED), "b.zip")]
    )


def test_members_that_no_reader_recognises_are_left() -> None:
    assert names(WHEEL) == ["a.whl!pkg/a.so", "a.whl!pkg/b.spv"]


def test_only_the_head_of_a_member_that_is_left_is_inflated(monkeypatch: pytest.MonkeyPatch) -> None:
    spent: list[int | None] = []
    whole = zip_file.inflate

    def counted(*args: object, **kwargs: object) -> object:
        spent.append(args[3] if len(args) > 3 else None)  # type: ignore[arg-type]
        return whole(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(zip_file, "inflate", counted)
    names(zipped({"big.py": b"x = 1\n" * 1_000_000}))
    assert spent == [4096]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("size", [100, IN_MEMORY + 100])
def test_bytes_come_out_as_they_went_in(method: int, size: int) -> None:
    library = elf({".rodata": bytes(range(256)) * (size // 256 + 1)})
    (event,) = read(READER, zipped({"a.so": library}, method=method))
    assert isinstance(event, Member)
    assert event.blob.data == library or bytes(event.blob.data) == library


def test_an_empty_zip_file_holds_nothing() -> None:
    assert names(zipped({})) == []


def raw(name: str, *, mode: int = 0o100644, flags: int = 0) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        item = zipfile.ZipInfo("placeholder")
        item.external_attr = mode << 16
        item.create_system = 3
        file.writestr(item, b"content")
        file.filelist[0].filename = name
        file.filelist[0].flag_bits |= flags
    return stream.getvalue()


@pytest.mark.parametrize(
    "name", ["../evil", "a/../../evil", "/etc/passwd", "a//b", "./a", "c:\\evil", "a\\..\\b", "\0", "C:evil"]
)
def test_names_that_lead_outside_are_refused(name: str) -> None:
    with pytest.raises(UnreadableError) as caught:
        names(raw(name))
    assert caught.value.diagnostics[0].code == "ATL0455"


@pytest.mark.parametrize("mode", [0o120777, 0o060644, 0o010644, 0o140644])
def test_links_and_special_files_are_refused(mode: int) -> None:
    with pytest.raises(UnreadableError, match="a link or a special file"):
        names(raw("a", mode=mode))


def test_encrypted_members_are_refused() -> None:
    with pytest.raises(UnreadableError, match="encrypted"):
        names(raw("a", flags=1))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name_are_refused() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("a", b"1")
        file.writestr("a", b"2")
    with pytest.raises(UnreadableError, match="two entries have this name"):
        names(stream.getvalue())


def test_members_that_share_bytes_are_refused() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a", bytes(100_000))
        file.writestr("b", bytes(100_000))
        file.filelist[1].header_offset = file.filelist[0].header_offset
        file.filelist[1].compress_size = file.filelist[0].compress_size
    with pytest.raises(UnreadableError, match="overlap"):
        names(stream.getvalue())


def test_a_bomb_by_what_it_states_is_refused() -> None:
    with pytest.raises(UnreadableError, match="inflates past its limits") as caught:
        names(zipped({"a.so": bytes(100 << 20)}))
    assert caught.value.diagnostics[0].code == "ATL0456"


def lying(size: int) -> bytes:
    """Return a zip file whose member states another size than it has."""
    data = bytearray(zipped({"a.so": LIBRARY + bytes(1 << 20)}))
    central = data.rindex(b"PK\x01\x02")
    struct.pack_into("<I", data, central + 24, size)
    return bytes(data)


def test_a_member_that_inflates_to_more_than_it_states_is_refused() -> None:
    with pytest.raises(UnreadableError, match="past the 5000 bytes that it states"):
        names(lying(5000))


def test_a_member_that_inflates_to_less_than_it_states_is_refused() -> None:
    with pytest.raises(UnreadableError, match="but states 9000000"):
        names(lying(9_000_000))


def test_a_wrong_sum_is_refused() -> None:
    data = bytearray(zipped({"a.so": LIBRARY}))
    struct.pack_into("<I", data, data.rindex(b"PK\x01\x02") + 16, zlib.crc32(b"other"))
    with pytest.raises(UnreadableError, match="sum"):
        names(bytes(data))


def test_an_unknown_packing_is_refused() -> None:
    data = bytearray(zipped({"a.so": LIBRARY}))
    struct.pack_into("<H", data, data.rindex(b"PK\x01\x02") + 10, 99)
    with pytest.raises(UnreadableError, match="packed by method 99"):
        names(bytes(data))


def test_more_than_65535_members_and_large_files_are_read_by_zip64() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        for index in range(65_600):
            file.writestr(zipfile.ZipInfo(f"{index}"), b"")
        with file.open(zipfile.ZipInfo("a.so"), "w", force_zip64=True) as member:
            member.write(LIBRARY)
    assert names(stream.getvalue()) == ["a.whl!a.so"]


def test_a_directory_that_states_millions_of_members_is_refused() -> None:
    data = zipped({"a.so": LIBRARY})
    end = data.rindex(b"PK\x05\x06")
    wide = struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 1 << 40, 1 << 40, 46, 0)
    locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, end, 1)
    with pytest.raises(UnreadableError, match="the directory states 1099511627776 entries"):
        names(data[:end] + wide + locator + data[end:])
