"""Hostile wheels and source distributions are refused, and nothing of them is kept or lies outside."""

from __future__ import annotations

import contextlib
import io
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atoll.errors import StoreError
from atoll.store import unpack
from unit.store.wheels import wheel


def refused(archive: Path, root: Path, reason: str) -> None:
    root.mkdir(exist_ok=True)
    around = {path for path in root.parent.rglob("*") if root not in path.parents}
    with pytest.raises(StoreError) as caught:
        unpack.unpack(archive, root)
    (found,) = caught.value.diagnostics
    assert found.code == "ATL0584"
    assert reason in found.notes[0], found.notes
    assert {path for path in root.parent.rglob("*") if root not in path.parents} == around


@pytest.mark.parametrize(
    "name", ["../x", "/etc/x", "a/../../x", "a\\..\\x", "C:/x", "a//b", "./a", "a/./b", "", "x" * 5000]
)
def test_a_member_that_leaves_the_folder(tmp_path: Path, name: str) -> None:
    archive = tmp_path / "a.whl"
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("placeholder", "x")
        opened.filelist[0].filename = name
    refused(archive, tmp_path / "root", "leaves the folder")


def test_a_link_in_a_wheel(tmp_path: Path) -> None:
    archive = tmp_path / "a.whl"
    with zipfile.ZipFile(archive, "w") as opened:
        entry = zipfile.ZipInfo("link")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        opened.writestr(entry, "/etc/passwd")
    refused(archive, tmp_path / "root", "no file")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name(tmp_path: Path) -> None:
    archive = tmp_path / "a.whl"
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("a", "1")
        opened.writestr("a", "2")
    refused(archive, tmp_path / "root", "one name")


def test_two_distributions_with_other_bytes_for_one_file(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    unpack.unpack(wheel(tmp_path, files={"k/a": ("1", 0o644)}), root)
    refused(wheel(tmp_path, "other", files={"k/a": ("2", 0o644)}), root, "other bytes")


def test_a_member_that_grows_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "RATIO_FROM", 1 << 16)
    archive = tmp_path / "a.whl"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("zeros", b"\0" * (8 << 20))
    refused(archive, tmp_path / "root", "grows more than")


def test_too_many_bytes_or_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = wheel(tmp_path)
    monkeypatch.setattr(unpack, "MAX_BYTES", 10)
    refused(archive, tmp_path / "root", "unpacks to more than")
    monkeypatch.setattr(unpack, "MAX_BYTES", 1 << 30)
    monkeypatch.setattr(unpack, "MAX_FILES", 2)
    refused(archive, tmp_path / "root2", "more than 2 members")


@pytest.mark.parametrize("offset", [10, 500, 1030])
def test_members_that_overlap(tmp_path: Path, offset: int) -> None:
    """The second member starts in the first one's header, in its bytes, one byte before their end."""
    archive = tmp_path / "a.whl"
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("a", "x" * 1000)
        opened.writestr("b", "y" * 1000)
    data = bytearray(archive.read_bytes())
    second = data.rindex(b"PK\x01\x02")
    data[second + 42 : second + 46] = struct.pack("<I", offset)
    archive.write_bytes(data)
    refused(archive, tmp_path / "root", "overlap")


def _tar(path: Path, *members: tuple[str, bytes, str]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, kind, value in members:
            entry = tarfile.TarInfo(name)
            entry.type = kind
            if kind == tarfile.REGTYPE:
                entry.size = len(value)
                tar.addfile(entry, io.BytesIO(value.encode()))
            else:
                entry.linkname = value
                tar.addfile(entry)
    return path


FILE, LINK, HARD = tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ([("../x", FILE, "1")], "leaves the folder"),
        ([("/x", FILE, "1")], "leaves the folder"),
        ([("a", LINK, "/etc"), ("a/x", FILE, "1")], "leads to no file"),
        ([("a", LINK, "../../x")], "leads to no file"),
        ([("a", HARD, "/etc/passwd")], "leads to no file"),
        ([("a", LINK, "a")], "leads to no file"),
        ([("a", tarfile.CHRTYPE, "")], "no file"),
        ([("a", tarfile.FIFOTYPE, "")], "no file"),
        ([("a", FILE, "1"), ("a", FILE, "2")], "one name"),
        ([("a", FILE, "1"), ("a/b", FILE, "2")], "Error"),
    ],
)
def test_a_source_distribution_with_a_hostile_member(
    tmp_path: Path, members: list[tuple[str, bytes, str]], reason: str
) -> None:
    refused(_tar(tmp_path / "a.tar.gz", *members), tmp_path / "root", reason)


def test_a_link_to_a_file_of_the_archive_becomes_a_copy(tmp_path: Path) -> None:
    archive = _tar(
        tmp_path / "a.tar.gz", ("p/l", LINK, "q/f"), ("p/q/f", FILE, "text"), ("p/h", HARD, "p/q/f")
    )
    root = tmp_path / "root"
    root.mkdir()
    found = unpack.unpack(archive, root)
    assert [(root / file.path).read_text() for file in found] == ["text"] * 3
    assert not (root / "p/l").is_symlink()


CUTS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "half": lambda data: data[: len(data) // 2],
    "no end": lambda data: data[:-10],
    "text": lambda data: b"hello",
}


@pytest.mark.parametrize("cut", sorted(CUTS))
@pytest.mark.parametrize("kind", ["whl", "tar.gz"])
def test_a_damaged_archive(tmp_path: Path, cut: str, kind: str) -> None:
    whole = wheel(tmp_path / "w") if kind == "whl" else _tar(tmp_path / "t.tar.gz", ("a", FILE, "x" * 5000))
    archive = tmp_path / f"a.{kind}"
    archive.write_bytes(CUTS[cut](whole.read_bytes()))
    refused(archive, tmp_path / "root", "damaged")


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_wheel_with_changed_bytes_is_unpacked_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("f")
    archive = wheel(folder)
    raw = bytearray(archive.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    archive.write_bytes(raw)
    root = folder / "root"
    root.mkdir()
    with contextlib.suppress(StoreError):
        unpack.unpack(archive, root)
    assert {path.name for path in folder.iterdir()} == {"root", archive.name}
