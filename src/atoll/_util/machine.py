"""How much of this machine may be used? Processors and free memory, control groups counted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path("/")


def machine() -> str:
    """Return the processor's architecture as the system spells it."""
    if hasattr(os, "uname"):  # what `platform` asks too, which imports slowly
        return os.uname().machine
    import platform

    return platform.machine()


def processors(root: Path = _ROOT) -> int:
    """Return how many processors this process may use, at least 1."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for group in _groups(root, ""):
        count = min(count, _share(*(_read(group / "cpu.max").split() or ("", ""))[:2]))
    for group in _groups(root, "cpu"):
        quota, period = _read(group / "cpu.cfs_quota_us"), _read(group / "cpu.cfs_period_us")
        count = min(count, _share(quota.strip(), period.strip()))
    return count


def _share(quota: str, period: str) -> int:
    """Return the whole processors of a quota; a large number where there is none."""
    if not quota.isdigit() or not period.isdigit() or not int(period):
        return 1 << 30
    return max(1, int(quota) // int(period))


def free_memory(root: Path = _ROOT, available: int | None = None) -> int:
    """Return the bytes that can be had before something is swapped out or killed.

    Args:
        root: The root of `/proc` and `/sys`, for tests.
        available: What the system says is available; asked of it where None.
    """
    if available is None:
        available = _available(_read(root / "proc/meminfo"))
    names = ("memory.max", "memory.current", "inactive_file")
    older = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
    rooms = [_room(group, *names) for group in _groups(root, "")]
    rooms += [_room(group, *older) for group in _groups(root, "memory")]
    return max(0, min([available, *rooms]))


def _available(text: str) -> int:
    """Return what the system says is available, from the text of ``/proc/meminfo`` where it says so."""
    rows = (line.split() for line in text.splitlines())
    found = {row[0]: int(row[1]) << 10 for row in rows if len(row) == 3 and row[1].isdigit()}
    available = found.get("MemAvailable:", 0)
    # Older kernels do not say, and some containers say more than there is.
    if 0 < available <= found.get("MemTotal:", 0):
        return available
    import psutil

    return int(psutil.virtual_memory().available)


def _groups(root: Path, controller: str) -> Iterator[Path]:
    """Yield this process's control group and those above it.

    Args:
        root: The root of `/proc` and `/sys`.
        controller: A controller of version 1, or empty for version 2.
    """
    base = root / "sys/fs/cgroup" / controller
    name = _name(_read(root / "proc/self/cgroup"), controller)
    group = base / name.strip("/")
    while True:
        yield group
        if group == base or base not in group.parents:
            return
        group = group.parent


def _name(text: str, controller: str) -> str:
    """Return the group's name in the text of ``/proc/self/cgroup`` (lines ``4:memory:/name``)."""
    for line in text.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, name = rest.partition(":")
        if controllers.split(",").count(controller) and (controller or number == "0"):
            return name
    return ""


def _room(group: Path, most: str, used: str, cache: str) -> int:
    limit, current = _read(group / most).strip(), _read(group / used).strip()
    if not limit.isdigit() or not current.isdigit():
        return 1 << 62
    # File cache that is not in use is given back under pressure.
    lines = (line.split() for line in _read(group / "memory.stat").splitlines())
    kept = sum(int(words[1]) for words in lines if len(words) == 2 and words[0] == cache)
    return int(limit) - int(current) + kept


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
