"""Tar archives and sdists: each regular file; what leads outside or is special is refused."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from atoll.errors import UnreadableError
from atoll.packaging import measure
from atoll.plugin import Member
from atoll.testing.readers import READER_CHECKS, ReaderCheck
from atoll_plugins.formats.tar import TarReader
from unit.packaging.binaries import blob, put, read, spirv

FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}
LONG = f"demo-1.0/{'folder/' * 12}{'n' * 120}.spv"


def tar(files: Mapping[str, bytes], form: int = tarfile.PAX_FORMAT, **changes: object) -> bytes:
    """Return an archive as Python's own library writes it; `changes` go into each header."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=form) as archive:
        for name, data in files.items():
            item = tarfile.TarInfo(name)
            item.size = len(data)
            for key, value in changes.items():
                setattr(item, key, value)
            archive.addfile(item, io.BytesIO(data))
    return stream.getvalue()


def members(data: bytes) -> dict[str, bytes]:
    return {
        event.blob.name.partition("!")[2]: bytes(event.blob.data)
        for event in read(TarReader(), data, "a.tar")
        if isinstance(event, Member)
    }


@pytest.mark.parametrize("check", READER_CHECKS, ids=lambda check: str(check.__name__))
def test_it_keeps_the_promises_of_the_door(check: ReaderCheck) -> None:
    small = {"demo/a.spv": spirv(), "demo/b.py": b"x = 1\n"}
    check(TarReader(), [blob(tar(small, kind), f"{name}.tar") for name, kind in FORMATS.items()])


@pytest.mark.parametrize("name", FORMATS)
def test_every_regular_file_is_a_member_in_each_form_of_the_format(name: str) -> None:
    files = {"demo-1.0/a.spv": spirv(), "demo-1.0/empty": b"", "demo-1.0/b.py": b"x" * 1000}
    if name != "ustar":
        files[LONG] = b"long"
    assert members(tar(files, FORMATS[name])) == files


def test_folders_and_links_carry_nothing(tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "a").write_bytes(b"data")
    (tmp_path / "demo" / "soft").symlink_to("/etc/passwd")
    (tmp_path / "demo" / "hard").hardlink_to(tmp_path / "demo" / "a")
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.add(tmp_path / "demo", "demo")
    found = members((tmp_path / "a.tar").read_bytes())
    assert b"data" in found.values()
    assert len(found) == 1


@pytest.mark.parametrize("name", ["../a", "/a", "a/../../b", "a//b", "C:/a", "a\\b"])
def test_names_that_lead_outside_are_refused(name: str) -> None:
    with pytest.raises(UnreadableError, match=r"no relative path|leads outside"):
        members(tar({name: b"x"}, tarfile.USTAR_FORMAT))


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.GNUTYPE_SPARSE])
def test_special_files_are_refused(kind: bytes) -> None:
    with pytest.raises(UnreadableError, match="special file"):
        members(tar({"a": b""}, type=kind))


def test_two_members_of_one_name_are_refused() -> None:
    one = tar({"a": b"1"})
    with pytest.raises(UnreadableError, match="two entries have this name"):
        members(one[:1024] + one)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda data: data[:700], "lies outside"),
        (lambda data: b"b" + data[1:], "does not have the sum"),
        (lambda data: data[:300], "a header"),
    ],
)
def test_broken_archives_are_refused_with_the_reason(change: object, reason: str) -> None:
    assert callable(change)
    with pytest.raises(UnreadableError, match=reason):
        members(change(tar({"a": b"x" * 400})))


def test_an_sdist_is_measured_through_its_packing(tmp_path: Path) -> None:
    import gzip

    files = {
        "demo-1.0/k.spv": spirv(),
        "demo-1.0/k.cl": b"kernel void f() {}",
        "demo-1.0/PKG-INFO": b"Name: demo",
    }
    found = measure(put(tmp_path / "demo-1.0.tar.gz", gzip.compress(tar(files))))
    assert (str(found.accel), found.declared) == ("vulkan1.2", ("opencl",))
    assert [item.member.rpartition("!")[2] for item in found.findings] == ["demo-1.0/k.spv", "demo-1.0/k.cl"]
