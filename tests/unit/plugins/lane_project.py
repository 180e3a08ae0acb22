"""What the tests of lanes share: a project on disk, a scrubbed environment, a request."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from atoll.accel import AccelSet, Entry
from atoll.plugin import LaneRequest, Unit

# Nothing of the developer's own PATH: a toolkit that stands there must not be found by accident.
ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


def write(root: Path, files: Mapping[str, str]) -> Path:
    """Write files below a project root and return it."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def request(
    root: Path, units: tuple[Unit, ...], *entries: Entry, options: Mapping[str, object] | None = None
) -> LaneRequest:
    """Return a request for a scrubbed Linux machine."""
    return LaneRequest(
        root=root,
        build=".atoll/build/test",
        package="demo",
        units=units,
        accel=AccelSet(entries),
        options=options or {},
        environment=ENVIRONMENT,
    )


def program(folder: Path, name: str, script: str) -> Path:
    """Write an executable shell script."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path
