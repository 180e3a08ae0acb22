"""What does a program of this machine always say, and which bytes has it? Kept until its file changes.

An answer lies in a file whose name is a digest over the question and over the stamps of the files that could
change it, so that a changed file asks another question. Nothing is ever found stale; what cannot be read or
written is as if it were not kept.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from atoll._util.files import write_atomic

FORMAT = 1
KIND = "facts"
_NATIVE = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")


def place_of(folder: Path, argv: tuple[str, ...], env: dict[str, str]) -> Path | None:
    """Return where the answer of a program is kept; None where the program is none of machine code."""
    try:
        program = Path(argv[0]).resolve(strict=True)
        with program.open("rb") as stream:
            if stream.read(4) not in _NATIVE:
                return None
    except OSError:
        return None
    # A program reaches others by PATH and beside itself: one that comes or goes changes its folder.
    reached = [Path(name) for name in env.get("PATH", "").split(os.pathsep) if name]
    folders = [_stamp(folder) for folder in (*reached, program.parent)]
    return folder / f"{_digest([argv, sorted(env.items()), _stamp(program), str(program), folders])}.json"


def place_of_files(folder: Path, paths: Iterable[Path]) -> Path:
    """Return where the digest of files is kept."""
    return folder / f"{_digest([[str(path), _stamp(path)] for path in paths])}.json"


def recall(place: Path) -> list[str] | None:
    """Return a kept answer, or None."""
    try:
        found = json.loads(place.read_text(encoding="utf-8", errors="surrogateescape"))
    except (OSError, ValueError, RecursionError):
        return None
    good = isinstance(found, list) and found and all(isinstance(text, str) for text in found)
    return found if good else None


def keep(place: Path, texts: list[str]) -> None:
    """Keep an answer, where the folder may be written."""
    with suppress(OSError):
        write_atomic(place, json.dumps(texts))


def _digest(question: Any) -> str:
    return hashlib.sha256(json.dumps([FORMAT, question]).encode()).hexdigest()[:32]


def _stamp(path: Path) -> list[int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return [found.st_mtime_ns, found.st_size, found.st_ino, found.st_ctime_ns]
