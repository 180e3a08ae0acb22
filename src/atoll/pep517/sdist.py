"""What stands in a source distribution? Every file that an author wrote; equal bytes each time.

Left out are hidden files, ``dist`` and ``build`` beside the manifest, byte code, virtual environments and
``*.egg-info``. A link to a file inside the project becomes that file; one that leads outside is refused.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from atoll._util.files import write_atomic
from atoll.diagnostics import Diagnostic
from atoll.errors import UsageError

if TYPE_CHECKING:
    from atoll.session import Session

LIMIT = 1 << 30
"""Bytes that the files may have together."""
_EPOCH = 315532800  # 1980-01-01: what a zip of these files could state, too
_TOP = ("dist", "build")
_HIDDEN_KEPT = (".gitkeep",)


def write_sdist(session: Session, out: Path) -> Path:
    """Write the source distribution of a project and return its path.

    Raises:
        UsageError: Where a file cannot become part of it, or the metadata break the standards.
    """
    metadata = session.metadata()
    _check_inside(session)
    stem = metadata.stem
    files = dict(project_files(session.root, out))
    if sum(path.stat().st_size for path in files.values()) > LIMIT:
        raise UsageError(_refused(session.root, f"the files have more than {LIMIT} bytes"))
    packed = io.BytesIO()
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        _add(archive, f"{stem}/PKG-INFO", metadata.text())
        for name, path in files.items():
            if name != "PKG-INFO":
                _add(archive, f"{stem}/{name}", path.read_bytes(), program=os.access(path, os.X_OK))
    result = out / f"{stem}.tar.gz"
    out.mkdir(parents=True, exist_ok=True)
    write_atomic(result, packed.getvalue())
    return result


def _add(archive: tarfile.TarFile, name: str, data: bytes, *, program: bool = False) -> None:
    item = tarfile.TarInfo(name)
    item.size, item.mtime = len(data), _EPOCH
    item.mode = 0o755 if program else 0o644
    archive.addfile(item, io.BytesIO(data))


def project_files(root: Path, out: Path | None = None) -> Iterator[tuple[str, Path]]:
    """Give the files of a project by name, sorted; `out`, where results are written, is none of it.

    Raises:
        UsageError: At a link that leads outside, a special file, or a name that no archive can carry.
    """
    skipped = out.resolve() if out is not None else None
    yield from _below(root.resolve(), root, "", skipped)


def _below(root: Path, folder: Path, prefix: str, skipped: Path | None) -> Iterator[tuple[str, Path]]:
    for entry in sorted(os.scandir(folder), key=lambda item: item.name):
        path, name = Path(entry.path), f"{prefix}{entry.name}"
        if _is_left_out(entry, prefix) or path.resolve() == skipped:
            continue
        if re.search(r"[\x00-\x1f\x7f\\]", name) or not name.isprintable():
            raise UsageError(_refused(path, "an archive cannot carry this name"))
        if entry.is_symlink() and not path.resolve().is_relative_to(root):
            raise UsageError(_refused(path, "it is a link that leads outside the project"))
        if entry.is_dir(follow_symlinks=False):
            yield from _below(root, path, f"{name}/", skipped)
        elif entry.is_file():
            yield name, path
        else:
            raise UsageError(_refused(path, "it is a special file, or a link to a folder or to nothing"))


def _is_left_out(entry: os.DirEntry[str], prefix: str) -> bool:
    name = entry.name
    if name.startswith("."):
        return name not in _HIDDEN_KEPT
    if name == "__pycache__" or name.endswith((".pyc", ".egg-info")):
        return True
    if not entry.is_dir():
        return False
    return (not prefix and name in _TOP) or os.path.lexists(os.path.join(entry.path, "pyvenv.cfg"))  # noqa: PTH118


def _check_inside(session: Session) -> None:
    """Refuse a dependency on a folder that the archive cannot hold: the build from it would not find it."""
    root = session.root.resolve()
    faults = []
    for name, row in session.unresolved.dependencies.items():
        path = row.path
        if path and not (root / path).resolve().is_relative_to(root):
            faults.append(_refused(Path(path), f"the dependency `{name}` lies outside the project"))
    if faults:
        raise UsageError(*faults)


def _refused(path: Path, reason: str) -> Diagnostic:
    return Diagnostic(
        code="ATL0483",
        message=f"`{path}` cannot become part of a source distribution",
        notes=(f"path: {path}", f"reason: {reason}"),
        hint="move it into the project, or remove it",
    )
