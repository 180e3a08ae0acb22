"""Where the C files are that a root or a program is built from.

The interface is ``atoll_launch.h``; ``atoll_core.c`` holds the state of a thread; a driver's launcher
comes from the driver itself (:meth:`atoll.plugin.Driver.launcher`).
"""

from __future__ import annotations

from pathlib import Path


def include_folder() -> Path:
    """Return the folder with ``atoll_launch.h``, ``atoll_record.h`` and ``atoll_launcher.h``."""
    return Path(__file__).parent / "include"


def core_source() -> Path:
    """Return the path of ``atoll_core.c``, C11, compiled into every library that launches."""
    return include_folder() / "atoll_core.c"
