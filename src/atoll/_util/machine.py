"""How much of this machine may be used? Processors and free memory, control groups counted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path("/")


def processors(root: Path = _ROOT) -> int:
    """Return how many processors this process may use, at least 1."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for group in _groups(root):
        words = _read(group / "cpu.max").split()
        if len(words) == 2 and words[0].isdigit() and words[1].isdigit() and int(words[1]):
            count = min(count, max(1, int(words[0]) // int(words[1])))
    return count


def free_memory(root: Path = _ROOT, available: int | None = None) -> int:
    """Return the bytes that can be had before something is swapped out or killed.

    Args:
        root: The root of `/proc` and `/sys`, for tests.
        available: What the system says is available; asked of it where None.
    """
    if available is None:
        import psutil

        available = int(psutil.virtual_memory().available)
    return max(0, min([available, *(_room(group) for group in _groups(root))]))


def _groups(root: Path) -> Iterator[Path]:
    """Yield this process's control group and those above it (version 2)."""
    base = root / "sys/fs/cgroup"
    name = _read(root / "proc/self/cgroup").rpartition("::")[2].strip().strip("/")
    group = base / name
    while True:
        yield group
        if group == base or base not in group.parents:
            return
        group = group.parent


def _room(group: Path) -> int:
    limit, used = _read(group / "memory.max").strip(), _read(group / "memory.current").strip()
    if not limit.isdigit() or not used.isdigit():
        return 1 << 62
    return int(limit) - int(used) + _reclaimable(group)


def _reclaimable(group: Path) -> int:
    """Return the bytes of file cache that the kernel gives back under pressure."""
    lines = (line.split() for line in _read(group / "memory.stat").splitlines())
    return sum(int(words[1]) for words in lines if len(words) == 2 and words[0] == "inactive_file")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
