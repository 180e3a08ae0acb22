"""Why was something made although a cache is there? How the parts of its key differ from what was kept.

Beside an entry lies ``KEY.why``: what it is of, the parts that its key was made from, and why it was made. A
part is a word for people and a short text; no entry depends on it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from atoll._util.files import write_atomic

SUFFIX = ".why"
#: How many earlier entries are looked at.
_MOST = 500


def note(folder: Path, key: str, name: str, parts: Mapping[str, str]) -> None:
    """Write down why the entry of a key is made now; a folder that cannot be written is no fault."""
    because = reasons(folder, key, name, parts)
    text = json.dumps({"name": name, "parts": dict(parts), "because": because}, indent=1, sort_keys=True)
    with suppress(OSError):
        write_atomic(folder / f"{key}{SUFFIX}", text)


def reasons(folder: Path, key: str, name: str, parts: Mapping[str, str]) -> list[str]:
    """Return why a key is not found: what differs from the entry of the same name that is nearest to it."""
    known = [item for item in _known(folder) if item[1]["name"] == name]
    if any(found == key for found, _ in known):
        return ["what was kept under this key was damaged or is gone"]
    if not known:
        return [f"nothing was kept of {name}"]
    other, nearest = min(known, key=lambda item: (len(_differing(parts, item[1]["parts"])), item[0]))
    old = nearest["parts"]
    return [
        f"{word}: {parts.get(word, 'not stated')}; in {other[:12]}: {old.get(word, 'not stated')}"
        for word in _differing(parts, old)
    ]


def read(path: Path) -> dict[str, Any] | None:
    """Return what stands beside an entry, or None where it cannot be believed."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        good = isinstance(found["name"], str) and isinstance(found["parts"], dict)
        good = good and all(isinstance(item, str) for item in found["because"])
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return found if good else None


def _known(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    try:
        paths = sorted(folder.glob(f"*{SUFFIX}"))[:_MOST]
    except OSError:
        return []
    found = ((path.name.removesuffix(SUFFIX), read(path)) for path in paths)
    return [(key, item) for key, item in found if item is not None]


def _differing(mine: Mapping[str, str], other: Mapping[str, Any]) -> list[str]:
    return sorted(word for word in {*mine, *other} if mine.get(word) != other.get(word))
