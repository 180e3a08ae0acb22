"""Which files does a glob name? One walk of the project, pruned by the pattern.

`*`, `?` and `[…]` match within one component, `**` as a whole component any number of them. Components
that start with a dot are matched only by a component that does. Results are sorted. Nothing outside the
root is ever named: a pattern cannot leave it, and a link that does, or that leads nowhere, is refused by
the caller.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from atoll._util.values import dataclass
from atoll.diagnostics import Diagnostic, Span

MAX_PATTERN = 512
MAX_ENTRIES = 500_000
MAX_DEPTH = 64


class TooMany(Exception):  # noqa: N818 - becomes a diagnostic
    """The folder holds more than is looked at."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A glob, taken apart.

    Attributes:
        text: As written.
        parts: Its components; ``**`` stands for itself.
    """

    text: str
    parts: tuple[str, ...]


def parse(text: str) -> Pattern | str:
    """Return the pattern that `text` spells, or the reason why it is none."""
    if not text or len(text) > MAX_PATTERN:
        return f"it is empty or longer than {MAX_PATTERN} characters"
    if "\\" in text or "\0" in text or "\n" in text:
        return "it has a backslash, a NUL or a line break"
    if text.startswith("/") or re.match(r"[A-Za-z]:", text):
        return "it is absolute"
    parts = text.split("/")
    if any(part in {"", ".", ".."} for part in parts):
        return "it has an empty component, `.` or `..`"
    if any("**" in part and part != "**" for part in parts):
        return "`**` is not a whole component"
    return Pattern(text, tuple(parts))


@lru_cache(maxsize=4096)
def _component(part: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(part))


def _fits(part: str, name: str) -> bool:
    if name.startswith(".") and not part.startswith("."):
        return False
    return _component(part).match(name) is not None


def _advance(parts: tuple[str, ...], at: Iterable[int], name: str) -> frozenset[int]:
    """Return where in the pattern one can be after a component named `name`."""
    after: set[int] = set()
    for index in at:
        if index == len(parts):
            continue
        if parts[index] == "**":
            if not name.startswith("."):
                after.add(index)
        elif _fits(parts[index], name):
            after.add(index + 1)
    return _closed(parts, after)


def _closed(parts: tuple[str, ...], at: Iterable[int]) -> frozenset[int]:
    """Add the places that `**` reaches by matching nothing."""
    found = set(at)
    for index in sorted(found):
        while index < len(parts) and parts[index] == "**":
            index += 1
            found.add(index)
    return frozenset(found)


def expand(root: Path, pattern: Pattern, links: set[str] | None = None) -> list[str]:
    """Return the files that a pattern names, relative to the root, sorted.

    Args:
        root: Where the pattern begins.
        pattern: What to match.
        links: Gets those that a link leads to: the file itself, or a folder above it below the root.

    Raises:
        TooMany: Where the folder holds more than `MAX_ENTRIES` entries or is deeper than `MAX_DEPTH`.
    """
    found = list(_walk(root, pattern))
    if links is not None:
        links.update(path for path, linked in found if linked)
    return sorted(path for path, _ in found)


def _walk(root: Path, pattern: Pattern) -> Iterator[tuple[str, bool]]:
    """Give each file with whether a link leads to it."""
    parts, count = pattern.parts, 0
    todo: list[tuple[str, frozenset[int], tuple[tuple[int, int], ...], bool]]
    todo = [("", _closed(parts, {0}), (_identity(root),), False)]
    while todo:
        folder, at, above, linked = todo.pop()
        for entry in _entries(root / folder):
            count += 1
            if count > MAX_ENTRIES or len(above) > MAX_DEPTH:
                raise TooMany
            after = _advance(parts, at, entry.name)
            if not after:
                continue
            path = f"{folder}/{entry.name}" if folder else entry.name
            through = linked or entry.is_symlink()
            if _is_folder(entry):
                inner = _identity(Path(entry.path))
                # A link to a folder above would be walked for ever.
                if inner not in above:
                    todo.append((path, after, (*above, inner), through))
            elif len(parts) in after and (_is_file(entry) or broken(root, path) is not None):
                yield path, through


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False


def _identity(folder: Path) -> tuple[int, int]:
    try:
        found = folder.stat()
    except OSError:
        return (0, 0)
    return found.st_dev, found.st_ino


def escapes(root: Path, path: str) -> Path | None:
    """Return where a path below the root really lies where that is outside the root, else None."""
    here = str(root)
    for part in path.split("/"):
        here = f"{here}/{part}"
        if os.path.islink(here):  # noqa: PTH114 - asked of every file of a project
            break
    else:
        return None
    real, base = (root / path).resolve(), root.resolve()
    return None if base in real.parents else real


def broken(root: Path, path: str) -> str | None:
    """Return what a link below the root says where that leads nowhere, in a circle included, else None."""
    full = f"{root}/{path}"
    if not os.path.islink(full) or _is_there(Path(full)):  # noqa: PTH114 - asked of every file of a project
        return None
    return str(Path(full).readlink())


def _is_there(path: Path) -> bool:
    try:
        path.stat()
    except OSError:
        return False
    return True


def link_fault(root: Path, path: str, text: str, span: Span | None) -> Diagnostic | None:
    """Return the refusal of a link of the glob `text` that leaves the project or leads nowhere."""
    said = broken(root, path)
    if said is not None:
        return Diagnostic(
            code="ATL0234",
            message=f"`{path}` is a link that leads nowhere",
            span=span,
            notes=(f"glob: {text}", f"it says: {said}"),
            hint="make the link anew, or remove it",
        )
    outside = escapes(root, path)
    if outside is not None:
        return Diagnostic(
            code="ATL0214",
            message=f"`{path}` is a link that leaves the project",
            span=span,
            notes=(f"glob: {text}", f"it leads to: {outside}"),
        )
    return None
