"""Which packages are installed, and which plugins do they name? Read without `importlib.metadata`.

That module imports `email`, `csv` and `zipfile`, which takes longer than reading the few text files that
answer. Format and order are those of the entry-points specification: folders of `sys.path` in their order,
the first of a name counts. Where files cannot tell (a zip file), `importlib.metadata` is asked.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from typing import Any

from atoll._util.values import dataclass

_INFO = re.compile(r"([^-]+)-([^-]+?)(?:-[^-]+)*\.(?:dist|egg)-info")


@dataclass(frozen=True, slots=True)
class Point:
    """One entry point: a name in a group, and the object that it stands for.

    Attributes:
        name / value / group: As the package writes them; `value` is ``module:object``.
        package: The package that names it; empty where that is not known.
    """

    name: str
    value: str
    group: str
    package: str = ""

    def load(self) -> Any:
        """Import the object.

        Raises:
            ImportError: Where its module cannot be imported.
            AttributeError: Where the module has no such object.
        """
        module, _, inner = self.value.partition("[")[0].partition(":")
        found = import_module(module.strip())
        for part in filter(None, inner.strip().split(".")):
            found = getattr(found, part)
        return found


def points(group: str) -> list[Point]:
    """Return the entry points of a group, in the order of `sys.path`."""
    rows = _all(tuple(sys.path))
    if rows is not None:
        return [Point(name, value, group, package) for package, at, name, value in rows if at == group]
    from importlib.metadata import entry_points

    return [
        Point(point.name, point.value, group, point.dist.name if point.dist else "")
        for point in entry_points(group=group)
    ]


def version(package: str) -> str:
    """Return the version of an installed package.

    Raises:
        importlib.metadata.PackageNotFoundError: Where it is not installed.
    """
    wanted = _plain(package)
    for _, name, found in _infos(tuple(sys.path)) or ():
        if _plain(name) == wanted:
            return found
    from importlib.metadata import version as asked

    return asked(package)


@lru_cache(maxsize=4)
def _all(path: tuple[str, ...]) -> list[tuple[str, str, str, str]] | None:
    """Return package, group, name and value of every entry point; None where files cannot tell."""
    infos = _infos(path)
    return None if infos is None else [row for place, name, _ in infos for row in _read(place, name)]


@lru_cache(maxsize=4)
def _infos(path: tuple[str, ...]) -> list[tuple[str, str, str]] | None:
    """Return folder, name and version of each installed package; None where files cannot tell."""
    found: dict[str, tuple[str, str, str]] = {}
    for folder in path:
        try:
            with os.scandir(folder or ".") as entries:
                here = [entry for entry in entries if entry.name.endswith(("-info", ".egg-link"))]
        except NotADirectoryError:
            return None
        except OSError:
            continue
        for entry in sorted(here, key=lambda entry: entry.name):
            parts = _INFO.fullmatch(entry.name)
            if parts is None or not entry.is_dir():
                return None
            found.setdefault(_plain(parts[1]), (entry.path, parts[1], parts[2]))
    return list(found.values())


def _read(place: str, package: str) -> Iterator[tuple[str, str, str, str]]:
    try:
        with open(f"{place}/entry_points.txt", encoding="utf-8") as stream:  # noqa: PTH123 - of each package
            lines = stream.read().splitlines()
    except OSError:
        return
    group = ""
    for line in map(str.strip, lines):
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1]
        elif "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            yield package, group, name.strip(), value.strip()


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
