"""How does a tree become a wheel? PEP 427: a zip of sorted members, fixed times, RECORD; whole or not at all.

Equal input gives equal bytes. `zipfile` writes; reading foreign archives is a reader's job.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from atoll._util.values import dataclass
from atoll.diagnostics import Diagnostic
from atoll.errors import UsageError
from atoll.packaging.metadata import Metadata

EPOCH = (1980, 1, 1, 0, 0, 0)
CHUNK = 1 << 20
_LEFT_OUT = frozenset(("__pycache__", ".DS_Store"))


@dataclass(frozen=True, slots=True)
class Written:
    """One member of a written wheel: its name, its bytes and its packed bytes."""

    name: str
    size: int
    packed: int


def tree_files(folder: Path, tree: Path) -> dict[str, Path]:
    """Return the files of a folder by their name in the wheel, which is that below `tree`, sorted.

    Raises:
        UsageError: Where the tree holds a link or a special file, a name no wheel can carry, or nothing.
    """
    prefix = "" if folder == tree else f"{folder.relative_to(tree).as_posix()}/"
    found = dict(_below(folder, prefix)) if folder.is_dir() else {}
    if not found:
        raise UsageError(_tree(folder, "it holds no file"))
    return dict(sorted(found.items()))


def _below(folder: Path, prefix: str) -> Iterator[tuple[str, Path]]:
    # Without recursion: folders may lie in one another as deep as the system lets them.
    waiting = [(folder, prefix)]
    while waiting:
        place, start = waiting.pop()
        with os.scandir(place) as found:
            entries = list(found)
        for entry in entries:
            path, name = Path(entry.path), f"{start}{entry.name}"
            if entry.name in _LEFT_OUT or entry.name.endswith(".pyc"):
                continue
            if not entry.name.isprintable() or "\\" in entry.name:
                raise UsageError(_tree(path, "a wheel cannot carry this name"))
            if entry.is_symlink() or not (entry.is_dir() or entry.is_file()):
                raise UsageError(_tree(path, "it is a link or a special file"))
            if entry.is_dir():
                waiting.append((path, f"{name}/"))
            else:
                yield name, path


def _tree(path: Path, reason: str) -> Diagnostic:
    return Diagnostic(
        code="ATL0464",
        message=f"`{path}` cannot become part of a wheel",
        notes=(f"reason: {reason}",),
        hint="build the package anew, or remove it",
    )


def wheel_name(metadata: Metadata, tag: str, label: str = "") -> str:
    """Return the file name of a wheel; a variant's label is its last field."""
    return "-".join(filter(None, (metadata.stem, tag, label))) + ".whl"


def write_wheel(
    files: Mapping[str, Path],
    metadata: Metadata,
    out: Path,
    *,
    tag: str,
    extra: Mapping[str, bytes] | None = None,
    label: str = "",
) -> tuple[Path, tuple[Written, ...]]:
    """Write a wheel and return its path and members.

    Args:
        files: File on disk by name in the wheel.
        metadata: What METADATA says.
        out: The folder to write into.
        tag: ``cp311-abi3-manylinux_2_34_x86_64``.
        extra: Further files of the ``dist-info``, by name in it.
        label: The variant's label, the last field of the name; empty for a wheel that is none.

    Raises:
        UsageError: Where the metadata break the standards.
    """
    info = f"{metadata.stem}.dist-info"
    made = {f"{info}/{name}": data for name, data in _made(metadata, tag, extra or {}).items()}
    licenses = {f"{info}/licenses/{name}": path for name, path in metadata.license_files}
    path = out / wheel_name(metadata, tag, label)
    with (
        _whole(path) as stream,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive,
    ):
        rows = [_add_file(archive, name, file) for name, file in sorted(files.items())]
        rows += [_add_file(archive, name, file) for name, file in sorted(licenses.items())]
        rows += [_add(archive, name, data) for name, data in sorted(made.items())]
        _add(archive, f"{info}/RECORD", _record(rows, f"{info}/RECORD"))
        written = tuple(
            Written(item.filename, item.file_size, item.compress_size) for item in archive.filelist
        )
    return path, written


def write_info(metadata: Metadata, folder: Path) -> str:
    """Write the ``dist-info`` of a wheel that is not built yet, without WHEEL and RECORD; return its name.

    Raises:
        UsageError: Where the metadata break the standards.
    """
    name = f"{metadata.stem}.dist-info"
    files = {"METADATA": metadata.text()}
    if metadata.entry_points:
        files["entry_points.txt"] = metadata.entry_points.encode()
    files |= {f"licenses/{inside}": path.read_bytes() for inside, path in metadata.license_files}
    for inside, data in files.items():
        path = folder / name / inside
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return name


def _made(metadata: Metadata, tag: str, extra: Mapping[str, bytes]) -> dict[str, bytes]:
    from importlib.metadata import version

    python, abi, platforms = tag.split("-")
    tags = "".join(f"Tag: {python}-{abi}-{platform}\n" for platform in platforms.split("."))
    pure = str(platforms == "any").lower()
    head = f"Wheel-Version: 1.0\nGenerator: atoll {version('atoll')}\nRoot-Is-Purelib: {pure}\n"
    points = {"entry_points.txt": metadata.entry_points.encode()} if metadata.entry_points else {}
    return {"METADATA": metadata.text(), "WHEEL": (head + tags).encode(), **points, **extra}


def _member(name: str, *, program: bool = False) -> zipfile.ZipInfo:
    if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
        raise UsageError(_tree(Path(name), "the name leads outside"))
    item = zipfile.ZipInfo(name, EPOCH)
    item.compress_type = zipfile.ZIP_DEFLATED
    item.create_system = 3
    item.external_attr = (0o100755 if program else 0o100644) << 16
    return item


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> tuple[str, str, int]:
    archive.writestr(_member(name), data, compresslevel=9)
    return name, _digest(hashlib.sha256(data)), len(data)


def _add_file(archive: zipfile.ZipFile, name: str, file: Path) -> tuple[str, str, int]:
    state, total = hashlib.sha256(), 0
    item = _member(name, program=bool(file.stat().st_mode & 0o100))
    item.file_size = file.stat().st_size
    with file.open("rb") as source, archive.open(item, "w") as target:
        while piece := source.read(CHUNK):
            state.update(piece)
            target.write(piece)
            total += len(piece)
    return name, _digest(state), total


def _digest(state: hashlib._Hash) -> str:
    return "sha256=" + base64.urlsafe_b64encode(state.digest()).rstrip(b"=").decode()


def _record(rows: list[tuple[str, str, int]], own: str) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows(rows)
    writer.writerow((own, "", ""))
    return text.getvalue().encode()


@contextmanager
def _whole(path: Path) -> Iterator[io.BufferedWriter]:
    """Open a neighbour of a file and rename it at the end; nothing is left where writing broke off."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
