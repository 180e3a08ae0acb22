"""How is a file written whole or not at all, and which bytes does it have?"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
from pathlib import Path


def write_atomic(path: Path, data: bytes | str, *, mode: int = 0o644) -> None:
    """Write a file through a neighbour and a rename: a reader sees the old or the new bytes."""
    raw = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    name, handle = _neighbour(path, mode)
    try:
        try:
            _write(handle, raw)
            os.fchmod(handle, mode)
        finally:
            os.close(handle)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _write(handle: int, raw: bytes) -> None:
    view = memoryview(raw)
    while view:
        view = view[os.write(handle, view) :]


_COUNT = itertools.count()


def _neighbour(path: Path, mode: int) -> tuple[str, int]:
    """Open a new file beside `path`; its name is one of this process, and never one that is there."""
    folder, last = os.path.split(path)
    while True:
        name = os.path.join(folder, f".{last[:40]}.{os.getpid()}-{next(_COUNT)}")
        try:
            return name, os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        except FileExistsError:
            continue
        except FileNotFoundError:
            os.makedirs(folder, exist_ok=True)


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal.

    Raises:
        OSError: Where it cannot be read.
    """
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_if_changed(path: Path, data: bytes | str, *, mode: int = 0o644) -> bool:
    """Write a file only where its bytes differ; tell whether it was written."""
    raw = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    with contextlib.suppress(OSError), open(path, "rb") as stream:
        if stream.read() == raw:
            return False
    write_atomic(path, raw, mode=mode)
    return True
