"""When has a build nothing to do? What the plan and every action looked at, written down beside the answer.

Checking it is :mod:`atoll._util.unchanged`, which runs before anything of the engine is imported.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from atoll._util import unchanged
from atoll._util.files import write_atomic
from atoll.build.fresh import RECORDS, engine_stamp, engine_stamps, stamps
from atoll.graph.lookups import watched
from atoll.graph.state import State

Stamp = list[int] | None


def forget(root: Path) -> None:
    """Remove the record: what follows may change what it says."""
    (root / unchanged.PLACE).unlink(missing_ok=True)


def keep(root: Path, key: str, engine: str, folder: str, asked: str, said: str) -> bool:
    """Write the record of a build that is complete; tell whether there is one now.

    There is none where something changed while the build ran.

    Args:
        root: The project root.
        key: The call's record in :mod:`atoll.build.fresh`.
        engine: The engine's stamp when the call began.
        folder: The build folder relative to the root.
        asked: The question.
        said: What is printed for it.
    """
    own = engine_stamps()
    if engine_stamp(own) != engine:
        return False
    found: dict[str, Stamp] = {}
    state = root / folder / ".graph"
    try:
        for path, was in (*_plan(root, key), *_actions(state), *watched(State(root, folder))):
            if path not in found:
                found[path] = was
                continue
            known = found[path]
            if not _agree(known, was):
                return False
            # What an action wrote has no time of change: putting an equal file back changes that.
            found[path] = min(known, was, key=len) if known and was else known
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
    lock = f"{folder}/.graph/lock"
    text = unchanged.record(unchanged.asked_of(str(root), asked), said, lock, own | found)
    now = stamps(root, found)
    if text is None or any(not _agree(now[path], was) for path, was in found.items()):
        return False
    write_atomic(root / unchanged.PLACE, text)
    return True


def _agree(one: Stamp, other: Stamp) -> bool:
    """Tell whether two stamps of a file are of one state of it, as far as both say."""
    if one is None or other is None:
        return one is other
    length = min(len(one), len(other))
    return one[:length] == other[:length]


def _plan(root: Path, key: str) -> Iterator[tuple[str, Stamp]]:
    value = _read(root / RECORDS / f"{key}.json")
    yield from value["stamps"].items()
    yield from value["written"].items()


def _actions(state: Path) -> Iterator[tuple[str, Stamp]]:
    """Give what each action of the last graph read and wrote."""
    for name, action in _read(state / "graph.json").items():
        record = state / "done" / f"{action['digest']}.json"
        if action["on_demand"] and not record.exists():
            continue  # nothing needed it
        row = _read(record)
        yield from row["inputs"].items()
        yield from row["outputs"].items()
        if not row["outputs"]:
            raise ValueError(f"{name} has no record")


def _read(path: Path) -> dict[str, Any]:
    value = json.loads(path.read_text(encoding="utf-8", errors="surrogateescape"))
    if not isinstance(value, dict):
        raise TypeError(f"{path} holds no table")
    return value
