"""Where the C files are that a root or a program is built from.

The interface is ``atoll_launch.h``; ``atoll_core.c`` holds the state of a thread; a driver's launcher
comes from the driver itself (:meth:`atoll.plugin.Driver.launcher`).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from atoll.plugin import LauncherSource


@cache
def include_folder() -> Path:
    """Return the folder with ``atoll_launch.h``, ``atoll_record.h`` and ``atoll_launcher.h``."""
    return Path(__file__).resolve().parent / "include"


@cache
def core_source() -> Path:
    """Return the path of ``atoll_core.c``, C11, compiled into every library that launches."""
    return include_folder() / "atoll_core.c"


@cache
def stored_source() -> Path:
    """Return the path of ``atoll_stored.c``, compiled once for each file that a lane made."""
    return include_folder() / "atoll_stored.c"


def launcher_source(folder: Path) -> LauncherSource:
    """Return the C launcher of a driver from its folder: ``abi.h`` (optional) and ``launcher.c``.

    The declarations in ``abi.h`` are the ones that the Python driver reads, so they are pasted and not
    included: a launcher is one text against the headers of :func:`include_folder`.
    """
    parts = ['#define _GNU_SOURCE\n#include "atoll_launcher.h"\n']
    for name in ("abi.h", "launcher.c"):
        path = folder / name
        if path.is_file():
            parts.append(f'#line 1 "{folder.name}/{name}"\n{path.read_text(encoding="utf-8")}')
    return LauncherSource(text="".join(parts), libraries=("-ldl", "-lpthread"))
