"""How is a thing that has several names spelled, so that what names it compares equal?

The Python that runs (``python``, ``python3``, a link to the environment's folder) and a search path
(two names of one folder, a folder twice, a folder that is not there).
"""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path


@cache
def this_python() -> str:
    """Return the one spelling of the Python that runs: ``bin/python`` of its environment, links resolved.

    Where that is not this Python (a system without the plain name), its numbered names are tried, and
    last what the interpreter calls itself.
    """
    return python_in(sys.prefix, sys.executable)


def python_in(prefix: str, executable: str) -> str:
    """Return the fixed name of `executable` within its environment `prefix`."""
    folder = Path(os.path.realpath(prefix), "bin")
    major, minor = sys.version_info[:2]
    for name in ("python", f"python{major}", f"python{major}.{minor}"):
        path = folder / name
        if path.exists() and os.path.realpath(path) == os.path.realpath(executable):
            return str(path)
    return executable


def search_path(text: str) -> str:
    """Return a PATH with each folder once, by its resolved name, and without what is no folder."""
    folders = (os.path.realpath(folder) for folder in text.split(os.pathsep) if folder)
    return os.pathsep.join(dict.fromkeys(folder for folder in folders if Path(folder).is_dir()))


def suffix(path: str) -> str:
    """Return what `PurePosixPath.suffix` says of a path of one spelling, without making one."""
    name = path.rpartition("/")[2]
    at = name.rfind(".")
    return name[at:] if 0 < at < len(name) - 1 else ""
