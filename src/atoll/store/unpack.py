"""How does a downloaded distribution become files? Every byte of it is hostile.

A member that leaves the folder, a link in a wheel, two members of one name, overlapping members, and
more files or bytes than the bounds allow are refused before or while they are written. Modes are reduced
to two: files are read-only, executable where the archive says so. Times are one constant, so that a
fetched header never looks newer than what was built with it.
"""

from __future__ import annotations

import hashlib
import lzma
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import IO

from atoll._util.values import dataclass
from atoll.diagnostics import Diagnostic
from atoll.errors import StoreError

MAX_FILES = 300_000
MAX_BYTES = 16 << 30
# A member may not grow more than this many times, once it is larger than the next number.
MAX_RATIO, RATIO_FROM = 1000, 64 << 20
TIME = 1_500_000_000
_CHUNK = 1 << 20
# What the standard library raises for archives that break their own rules.
_DAMAGED = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, struct.error, EOFError),
    *(ValueError, IndexError, KeyError, NotImplementedError, RuntimeError),
)


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file of a payload: its path below the root, size, SHA-256, and whether it is executable."""

    path: str
    size: int
    sha256: str
    executable: bool


def refuse(archive: Path, reason: str) -> StoreError:
    """Return the refusal of a distribution."""
    return StoreError(
        Diagnostic(
            code="ATL0584",
            message=f"the distribution `{archive.name}` cannot be unpacked",
            notes=(f"reason: {reason}",),
            hint="nothing of it was kept; report it to whoever published it",
        )
    )


def unpack(archive: Path, root: Path) -> list[StoredFile]:
    """Unpack a wheel or a source distribution below `root`.

    Raises:
        StoreError: Where a member is refused; what was written until then stays for the caller to remove.
    """
    try:
        if archive.name.endswith((".whl", ".zip")):
            with zipfile.ZipFile(archive) as opened:
                return list(_zip(archive, opened, root))
        with tarfile.open(archive) as tar:
            return list(_tar(archive, tar, root))
    except _DAMAGED as error:
        raise refuse(archive, f"it is damaged: {error}") from error
    except OSError as error:
        raise refuse(archive, f"{type(error).__name__}: {error}") from error


def safe_name(name: str) -> bool:
    """Tell whether a member's name stays below the folder on every system."""
    if not name or "\\" in name or "\0" in name or ":" in name or name.startswith("/") or len(name) > 4096:
        return False
    return all(part not in {"", ".", ".."} for part in name.split("/"))


def _zip(archive: Path, opened: zipfile.ZipFile, root: Path) -> Iterator[StoredFile]:
    members = opened.infolist()
    _overlapping(archive, members)
    total, seen = 0, set[str]()
    for number, member in enumerate(members):
        folder = member.filename.endswith("/")
        name = member.filename.rstrip("/")
        mode = member.external_attr >> 16
        if not safe_name(name):
            raise refuse(archive, f"a member leaves the folder: {name!r}")
        if stat.S_IFMT(mode) not in {0, stat.S_IFREG, stat.S_IFDIR}:
            raise refuse(archive, f"a member is no file: {name!r}")
        total += member.file_size
        _bounds(archive, number, total)
        if member.file_size > RATIO_FROM and member.file_size > MAX_RATIO * max(1, member.compress_size):
            raise refuse(archive, f"a member grows more than {MAX_RATIO} times: {name!r}")
        if folder:
            continue
        if name in seen:
            raise refuse(archive, f"two members have one name: {name!r}")
        seen.add(name)
        with opened.open(member) as stream:
            yield _write(archive, root, name, stream, member.file_size, bool(mode & 0o111))


def _overlapping(archive: Path, members: list[zipfile.ZipInfo]) -> None:
    ordered = sorted(members, key=lambda member: member.header_offset)
    for one, other in pairwise(ordered):
        spelled = len(one.orig_filename.encode("utf-8" if one.flag_bits & 0x800 else "cp437", "replace"))
        if one.header_offset + 30 + spelled + one.compress_size > other.header_offset:
            raise refuse(archive, f"members overlap: {one.filename!r} and {other.filename!r}")


def _bounds(archive: Path, files: int, total: int) -> None:
    if files >= MAX_FILES:
        raise refuse(archive, f"it has more than {MAX_FILES} members")
    if total > MAX_BYTES:
        raise refuse(archive, f"it unpacks to more than {MAX_BYTES >> 30} GiB")


def _tar(archive: Path, tar: tarfile.TarFile, root: Path) -> Iterator[StoredFile]:
    total, links = 0, list[tarfile.TarInfo]()
    written: dict[str, StoredFile] = {}
    for number, member in enumerate(tar):
        name = member.name.rstrip("/").removeprefix("./")
        if member.isdir() and name in {"", "."}:
            continue
        if not safe_name(name):
            raise refuse(archive, f"a member leaves the folder: {name!r}")
        total += max(0, member.size)
        _bounds(archive, number, total)
        if member.isdir():
            continue
        if member.issym() or member.islnk():
            links.append(member)
            continue
        if not member.isreg():
            raise refuse(archive, f"a member is no file: {name!r}")
        if name in written:
            raise refuse(archive, f"two members have one name: {name!r}")
        stream = tar.extractfile(member)
        assert stream is not None
        with stream:
            written[name] = _write(archive, root, name, stream, member.size, bool(member.mode & 0o111))
    _to_the_end(archive, tar)
    yield from written.values()
    yield from _links(archive, root, links, written)


def _to_the_end(archive: Path, tar: tarfile.TarFile) -> None:
    """Read what follows the last member, so that the checksum of the compression is looked at."""
    assert tar.fileobj is not None
    count = 0
    while data := tar.fileobj.read(_CHUNK):
        count += len(data)
        _bounds(archive, 0, count)


def _links(
    archive: Path, root: Path, links: list[tarfile.TarInfo], written: dict[str, StoredFile]
) -> Iterator[StoredFile]:
    """Turn links to files of the same archive into copies; a link to anything else is refused."""
    for member in links:
        name = member.name.removeprefix("./")
        base = "" if member.islnk() else os.path.dirname(name)  # noqa: PTH120 - a name in an archive
        target = os.path.normpath(f"{base}/{member.linkname}".lstrip("/"))
        if target not in written:
            raise refuse(archive, f"a link leads to no file of the archive: {name!r} -> {member.linkname!r}")
        source = written[target]
        with (root / target).open("rb") as stream:
            yield _write(archive, root, name, stream, source.size, source.executable)


def _write(
    archive: Path, root: Path, name: str, stream: IO[bytes], size: int, executable: bool
) -> StoredFile:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        return _again(archive, path, name, stream)
    digest, count = hashlib.sha256(), 0
    with path.open("xb") as out:
        while data := stream.read(_CHUNK):
            count += len(data)
            if count > size:
                raise refuse(archive, f"a member is longer than it says: {name!r}")
            digest.update(data)
            out.write(data)
    if count != size:
        raise refuse(archive, f"a member is shorter than it says: {name!r}")
    path.chmod(0o555 if executable else 0o444)
    os.utime(path, (TIME, TIME))
    return StoredFile(name, size, digest.hexdigest(), executable)


def _again(archive: Path, path: Path, name: str, stream: IO[bytes]) -> StoredFile:
    """Accept a file that another distribution of the payload brought with the same bytes."""
    with path.open("rb") as there:
        while True:
            data = stream.read(_CHUNK)
            if data != there.read(_CHUNK):
                raise refuse(archive, f"another distribution has other bytes for {name!r}")
            if not data:
                break
    with path.open("rb") as there:
        sha256 = hashlib.file_digest(there, "sha256").hexdigest()
    found = path.stat()
    return StoredFile(name, found.st_size, sha256, bool(found.st_mode & 0o100))
