"""Where is the manifest of the project that a folder lies in? Found without reading what it says."""

from __future__ import annotations

import os
from pathlib import Path

from atoll.diagnostics import Diagnostic
from atoll.errors import AtollError, ManifestError, UnreadableError

FILE = "atoll.toml"
SHARED_FILE = "pyproject.toml"


def find(start: Path) -> Path:
    """Return the manifest of the project that `start` lies in: in the folder or the nearest above.

    Raises:
        UnreadableError: Where there is none.
        ManifestError: Where one folder has both.
    """
    start = start.absolute()
    for folder in (start, *start.parents):
        found = manifest_in(folder)
        if found is not None:
            return found
    raise UnreadableError(
        Diagnostic(
            code="ATL0208",
            message="no manifest was found",
            notes=(
                f"looked for: {FILE}, or [tool.atoll] in {SHARED_FILE}",
                f"in: {start} and every folder above",
            ),
            hint="`atoll new NAME` starts a project",
        )
    )


def manifest_in(folder: Path) -> Path | None:
    """Return the manifest of the project whose root a folder is, or None where it is none's.

    Raises:
        ManifestError: Where it has both.
    """
    own, shared = folder / FILE, folder / SHARED_FILE
    in_shared = shared.is_file() and _mentions(shared)
    # Also a link that leads nowhere, a folder: nobody means the project above who has put one here.
    if not os.path.lexists(own):
        return shared if in_shared else None
    if in_shared:
        raise ManifestError(
            Diagnostic(
                code="ATL0207",
                message="one project has two manifests",
                notes=(f"one is {own}", f"the other is [tool.atoll] in {shared}"),
                hint="keep one of them",
            )
        )
    return own


def _mentions(shared: Path) -> bool:
    from atoll.manifest.document import MAX_BYTES, parse
    from atoll.manifest.reader import own_table

    try:
        with shared.open("rb") as stream:
            text = stream.read(MAX_BYTES).decode("utf-8-sig", "replace")
        return "atoll" in text and own_table(parse(text, str(shared))) is not None
    except (AtollError, OSError):
        return False
