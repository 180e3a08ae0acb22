"""In what may a lane differ by host? The names of programs and libraries; see also where each lane plans."""

from __future__ import annotations

LINUX, MACOS, WINDOWS = "linux", "macos", "windows"
HOSTS = (LINUX, MACOS, WINDOWS)


def program_name(name: str, host: str) -> str:
    """Return the file name of a program on a host."""
    return f"{name}.exe" if host == WINDOWS else name
