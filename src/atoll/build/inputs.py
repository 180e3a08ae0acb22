"""What was the plan made from? Files and folders whose change makes it stale.

Checking them is :mod:`atoll.build.fresh`, which imports nothing of the planner.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from atoll.build.request import BuildRequest
from atoll.manifest import Source
from atoll.manifest.selection import DEFAULT_SOURCES


def plan_inputs(request: BuildRequest, tools: Iterable[str]) -> tuple[str, ...]:
    """Return files and folders, relative to the root where they lie below it."""
    found = [
        request.manifest.path,
        *(folder for base, pattern in _globs(request) for folder in _globbed(request.root / base, pattern)),
        *(request.packages.inputs if request.packages is not None else ()),
        str(request.root / "atoll.lock"),
        *(
            path
            for table in request.manifest.boundary.values()
            for root in table.roots
            for path in _scanned(request.root / table.origin.base, root)
        ),
        *(
            str(request.root / table.origin.base / path)
            for table in request.manifest.boundary.values()
            for path in table.declared
        ),
        *(str(path) for name in _packages(request) for path in _folders(request.root / name)),
        *tools,
        *(folder for folder in request.environment.get("PATH", "").split(os.pathsep) if folder),
        *_plugin_files(request),
    ]
    return tuple(sorted({_shown(request.root, path) for path in found}))


def _shown(root: Path, path: str) -> str:
    place = Path(path)
    return place.relative_to(root).as_posix() if place.is_relative_to(root) else path


def _globs(request: BuildRequest) -> Iterator[tuple[str, str]]:
    manifest = request.manifest
    for target in manifest.targets.values():
        for source in (Source(glob=DEFAULT_SOURCES),) if target.sources is None else target.sources:
            yield target.origin.base, source.glob
        yield from ((target.origin.base, source.glob) for source in target.added)
    for data in manifest.data.values():
        yield from ((data.origin.base, pattern) for pattern in data.files)


def _globbed(root: Path, pattern: str) -> Iterator[str]:
    """Give the folders in which a new file could match."""
    parts = pattern.split("/")
    plain = next((index for index, part in enumerate(parts) if _is_wild(part)), len(parts) - 1)
    base = root.joinpath(*parts[:plain])
    if plain >= len(parts) - 1:
        yield str(base)
        return
    yield from (str(folder) for folder in _folders(base))


def _is_wild(part: str) -> bool:
    return any(char in part for char in "*?[")


def _folders(base: Path) -> Iterator[Path]:
    yield base
    for here, names, _ in os.walk(base):
        names[:] = sorted(name for name in names if not name.startswith(".") and name != "__pycache__")
        yield from (Path(here) / name for name in names)


def _scanned(root: Path, folder: str) -> Iterator[str]:
    """Give the folders of a boundary root and every file in them that is scanned."""
    base = root / folder
    if base.is_file():
        yield str(base)
        return
    from atoll.boundary import grammar

    read = grammar.extensions()
    for inner in _folders(base):
        yield str(inner)
        if inner.is_dir():
            yield from (str(path) for path in inner.iterdir() if path.suffix in read)


def _packages(request: BuildRequest) -> Iterator[str]:
    for target in request.manifest.targets.values():
        yield from target.packages


def _plugin_files(request: BuildRequest) -> Iterator[str]:
    """Give the modules of the plugins that took part; those of the engine are stamped as a whole."""
    doors = (request.registry.lanes, request.registry.drivers)
    for plugin in (plugin for door in doors for plugin in door.made.values()):
        module = sys.modules.get(type(plugin).__module__)
        path = getattr(module, "__file__", None)
        if isinstance(path, str):
            yield path
