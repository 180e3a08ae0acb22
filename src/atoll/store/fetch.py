"""How do distributions come here? By the user's own pip, with the user's own index settings.

Atoll names packages and versions and no registry. pip runs as a child under this Python; it resolves
nothing, because the requirements of a payload are exact and complete.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

from atoll._util.child import run
from atoll._util.files import sha256
from atoll._util.values import replace
from atoll.diagnostics import Diagnostic
from atoll.errors import StoreError
from atoll.store.payload import Payload

TIMEOUT = 3600.0


def arguments(payload: Payload, folder: Path) -> list[str]:
    """Return the command that downloads a payload into a folder."""
    # -P: a file in the current folder must not pass for pip.
    base = [sys.executable, "-P", "-m", "pip", "--no-input", "--disable-pip-version-check", "download"]
    options = ["--no-deps", "--progress-bar", "off", "--dest", str(folder)]
    names = ",".join(re.split(r"[<>=!~]", requirement)[0] for requirement in payload.requirements)
    kind = ["--no-binary", names] if payload.sdist else ["--only-binary", ":all:"]
    return [*base, *options, *kind, *payload.requirements]


def fetch(payload: Payload, folder: Path, say: Callable[[str], None]) -> dict[str, str]:
    """Download the distributions of a payload; return the SHA-256 of each file by its name.

    Raises:
        StoreError: Where pip fails, or a file is not what was pinned.
    """
    folder.mkdir(parents=True)
    try:
        ended = run(arguments(payload, folder), env=os.environ, timeout=TIMEOUT, on_line=say, cwd=folder)
    except OSError as error:
        raise _failed(payload, str(error)) from error
    if ended.code is None:
        raise _failed(payload, f"it took more than {TIMEOUT:g} s")
    if ended.code != 0:
        raise _failed(payload, ended.output)
    found = {path.name: sha256(path) for path in sorted(folder.iterdir()) if path.is_file()}
    if len(found) != len(payload.requirements):
        raise _failed(payload, f"it left {len(found)} files for {len(payload.requirements)} requirements")
    _pinned(payload, found)
    return found


def newest(payload: Payload, folder: Path, say: Callable[[str], None]) -> tuple[str, bool]:
    """Ask pip which version serves one requirement; a wheel before sources.

    Returns:
        The version, and whether there are only sources.

    Raises:
        StoreError: Where there is neither.
    """
    from packaging.utils import parse_sdist_filename, parse_wheel_filename

    last: StoreError | None = None
    for sdist in (False, True):
        try:
            found = fetch(replace(payload, sdist=sdist), folder / ("source" if sdist else "wheel"), say)
        except StoreError as error:
            last = last or error
            continue
        (name,) = found
        version = parse_sdist_filename(name)[1] if sdist else parse_wheel_filename(name)[1]
        return str(version), sdist
    assert last is not None
    raise last


def _failed(payload: Payload, output: str) -> StoreError:
    lines = [line for line in output.strip().splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")] or lines
    hint = "mend the reason that pip gives"
    if any("No module named pip" in line for line in lines):
        hint = "give this Python pip: `python -m ensurepip`"
    return StoreError(
        Diagnostic(
            code="ATL0581",
            message=f"the payload `{payload.name}` could not be fetched",
            notes=(
                f"wanted: {' '.join(payload.requirements)}",
                f"by: {sys.executable} -m pip download",
                *(f"pip: {line}" for line in errors[-8:]),
            ),
            hint=hint,
        )
    )


def _pinned(payload: Payload, found: dict[str, str]) -> None:
    pins = dict(payload.hashes)
    if not pins:
        return
    faults = [
        Diagnostic(
            code="ATL0582",
            message=f"`{name}` is not the file that the payload `{payload.name}` pins",
            notes=(
                f"pinned SHA-256: {pins.get(name, 'none for a file of this name')}",
                f"fetched SHA-256: {sha}",
            ),
            hint="ask why the published file changed before you change the pin",
        )
        for name, sha in found.items()
        if pins.get(name) != sha
    ]
    if faults:
        raise StoreError(*faults)
