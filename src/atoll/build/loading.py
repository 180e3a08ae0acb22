"""Can the loader start a program? Its own answer, asked before the program is run.

A program whose library is missing ends with a line of the loader and exit code 127, which says nothing of
what to do. The loader that the program itself names is asked to list what it would load; the program does
not run.
"""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path

from atoll.diagnostics import Diagnostic

SECONDS = 10.0
_INTERPRETER = 3
_HEAD_BYTES = 64 << 10


def missing_libraries(program: Path, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the libraries that the loader does not find for a program; empty where it cannot be asked."""
    return read_answer(listed(program, environment))


def listed(program: Path, environment: Mapping[str, str]) -> str:
    """Return what the loader says that it would map for a program; empty where it cannot be asked."""
    loader = _loader(program)
    if loader is None:
        return ""
    try:
        said = subprocess.run(
            [loader, "--list", str(program)],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (said.stdout + said.stderr).decode("utf-8", "replace")


def read_answer(text: str) -> tuple[str, ...]:
    """Return the names that a loader's list calls missing, once each, in its order."""
    found: dict[str, None] = {}
    for line in text.splitlines():
        name, arrow, where = line.strip().partition(" => ")
        if arrow and where.startswith("not found"):
            found[name] = None
        elif "error while loading shared libraries: " in line:
            found[line.partition("error while loading shared libraries: ")[2].partition(":")[0]] = None
    return tuple(found)


def _loader(program: Path) -> str | None:
    """Return the loader that an ELF program of 64 bits names, or None."""
    try:
        with program.open("rb") as file:
            head = file.read(_HEAD_BYTES)
        if head[:6] != b"\x7fELF\x02\x01":
            return None
        start = struct.unpack_from("<Q", head, 32)[0]
        size, count = struct.unpack_from("<HH", head, 54)
        for index in range(count):
            kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", head, start + index * size)
            if kind == _INTERPRETER:
                name = head[offset : offset + length].partition(b"\0")[0].decode()
                return name if name.startswith("/") and Path(name).is_file() else None
    except (OSError, OverflowError, struct.error, UnicodeDecodeError):
        return None
    return None


def cannot_start(target: str, path: str, missing: tuple[str, ...]) -> Diagnostic:
    """Return the refusal of a program that lacks libraries."""
    what = "a library is" if len(missing) == 1 else "libraries are"
    return Diagnostic(
        code="ATL0576",
        message=f"`{target}` cannot start: {what} missing",
        notes=(f"the loader does not find: {', '.join(missing)}", f"program: {path}"),
        hint="install what brings it, or link it in",
    )
