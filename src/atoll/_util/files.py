"""How is a file written whole or not at all, and which bytes does it have?"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path


def write_atomic(path: Path, data: bytes | str, *, mode: int = 0o644) -> None:
    """Write a file through a neighbour and a rename: a reader sees the old or the new bytes."""
    raw = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(raw)
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


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
    with contextlib.suppress(OSError):
        if path.read_bytes() == raw:
            return False
    write_atomic(path, raw, mode=mode)
    return True
