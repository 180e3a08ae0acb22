"""What did an action reach, and which of it came from the host? Sorted by where each file lies.

A file is the project's, the store's (fetched and verified), Atoll's own, or the *host's*: whatever the
machine happens to have. The question of a leak is which C and C++ library is in use, so that what the loader
would map into a linked file is asked of the loader itself.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

PROJECT, STORE, OWN, HOST = "project", "store", "atoll", "host"


def origin(path: str, root: Path, store: Path) -> str:
    """Return where a file comes from: ``project``, ``store``, ``atoll`` or ``host``.

    Args:
        path: As an action names it: relative to the project, or absolute.
        root: The project root.
        store: The folder of the store.
    """
    whole = os.path.normpath(root / path)
    package = str(Path(__file__).resolve().parents[2])
    for folder, name in ((str(store), STORE), (str(root), PROJECT), (package, OWN), (sys.prefix, OWN)):
        if whole == folder or whole.startswith(folder + os.sep):
            return name
    return HOST


def host_folders(paths: Iterable[str], root: Path, store: Path) -> dict[str, int]:
    """Return for each folder of the host how many of these files lie in it; most files first.

    A folder below another that holds files too is counted with it.
    """
    counted = Counter(
        str(PurePosixPath(os.path.normpath(path)).parent)
        for path in paths
        if origin(path, root, store) == HOST
    )
    tops: Counter[str] = Counter()
    for folder, count in sorted(counted.items()):
        top = next((known for known in tops if folder.startswith(known + "/")), folder)
        tops[top] += count
    return dict(sorted(tops.items(), key=lambda item: (-item[1], item[0])))


def mapped(program: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the libraries that the loader maps for a linked file, by name, with their paths.

    Empty where the loader cannot be asked; a library that is not found has an empty path.
    """
    from atoll.build.loading import listed

    found = {}
    for line in listed(program, environment).splitlines():
        name, arrow, where = line.strip().partition(" => ")
        if arrow:
            found[name] = "" if where.startswith("not found") else where.partition(" (")[0]
    return found
