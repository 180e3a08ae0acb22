"""Is the last plan still right? The record of a build call, read without importing the planner.

A record is named by what the call asked for; it holds stamps of everything the plan was made from, and
the plan's graph. Where one stamp differs, or the record cannot be read, the planner is asked again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from atoll._util.files import write_atomic
from atoll.artifact import Fact
from atoll.build.values import BuildPlan, Output
from atoll.diagnostics import Diagnostic, Severity, Span
from atoll.graph import Action, Graph, Role

FORMAT = 4
RECORDS = ".atoll/plan/records"
_ENGINE = ("atoll", "atoll_plugins")
_ENGINE_FILES = (".py", ".c", ".h", ".txt")


def call_key(asked: Mapping[str, Any], engine: str) -> str:
    """Return the name of the record of a call: what was asked, and the engine that was asked."""
    text = json.dumps({**asked, "format": FORMAT, "engine": engine}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def engine_stamp() -> str:
    """Return a digest over the names, sizes and times of the engine's and first-party plugins' files."""
    whole = hashlib.sha256()
    for path in engine_files():
        if path.suffix in _ENGINE_FILES:
            whole.update(f"{path} {stamp(path)}\n".encode())
    return whole.hexdigest()[:24]


def engine_files() -> Iterator[Path]:
    """Give the files of the engine and of the first-party plugins, and the folders they lie in."""
    base = Path(__file__).resolve().parents[2]
    for package in _ENGINE:
        for here, names, files in os.walk(base / package):
            names[:] = sorted(name for name in names if name != "__pycache__")
            yield Path(here)
            yield from (Path(here, name) for name in sorted(files) if name.endswith(_ENGINE_FILES))


def stamp(path: Path) -> list[int] | None:
    """Return what changes when a file is written or a folder gains or loses a file; None where nothing is."""
    try:
        found = path.stat()
    except OSError:
        return None
    size = found.st_size if path.is_file() else 0
    # An edit of equal size whose time was set back shows in the time of the change alone.
    return [found.st_mtime_ns, size, found.st_ino, found.st_ctime_ns]


def stamps(root: Path, paths: Iterable[str]) -> dict[str, list[int] | None]:
    """Return the stamp of each path."""
    return {path: stamp(root / path) for path in paths}


def remember(root: Path, key: str, plan: BuildPlan, before: Mapping[str, list[int] | None]) -> None:
    """Write the record of a plan.

    Args:
        root: The project root.
        key: The call.
        plan: What was planned.
        before: Stamps of the plan's inputs. One that changed while the plan was made is found stale.
    """
    # Only where edges ran too; a plan alone does without.
    from dataclasses import asdict

    kept = ("folder", "plan_folder")
    value = {
        **{name: getattr(plan, name) for name in kept},
        "stamps": dict(before),
        "written": stamps(root, plan.written),
        "searched": list(plan.graph.searched),
        "actions": [asdict(action) for action in plan.graph.actions],
        "outputs": [asdict(output) for output in plan.outputs],
        "floors": [asdict(floor) for floor in plan.floors],
        "diagnostics": [asdict(item) for item in plan.diagnostics],
    }
    write_atomic(root / RECORDS / f"{key}.json", json.dumps(value, separators=(",", ":")))


def recall(root: Path, key: str) -> BuildPlan | None:
    """Return the last plan of a call where everything it was made from is as it was; else None."""
    try:
        value = json.loads((root / RECORDS / f"{key}.json").read_text(encoding="utf-8"))
        if any(stamp(root / path) != was for path, was in (value["stamps"] | value["written"]).items()):
            return None
        return _plan(value)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _plan(value: Mapping[str, Any]) -> BuildPlan:
    return BuildPlan(
        folder=_text(value["folder"]),
        plan_folder=_text(value["plan_folder"]),
        graph=Graph(
            actions=tuple(_action(row) for row in value["actions"]), searched=_texts(value["searched"])
        ),
        outputs=tuple(
            Output(
                **{**row, **{name: _texts(row[name]) for name in ("args", "files", "search", "environment")}}
            )
            for row in value["outputs"]
        ),
        floors=tuple(Fact(**row) for row in value["floors"]),
        diagnostics=tuple(_diagnostic(row) for row in value["diagnostics"]),
    )


def _diagnostic(row: Mapping[str, Any]) -> Diagnostic:
    """Return a warning or note of the plan, to be said again."""
    span = None if row["span"] is None else Span(**row["span"])
    notes = _texts(row["notes"])
    return Diagnostic(**{**row, "severity": Severity(row["severity"]), "span": span, "notes": notes})


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise TypeError(f"{value!r} is no text")


def _texts(values: Iterable[object]) -> tuple[str, ...]:
    return tuple(_text(value) for value in values)


def _action(row: Mapping[str, Any]) -> Action:
    tuples = {name: _texts(row[name]) for name in ("argv", "inputs", "outputs")}
    env = tuple((_text(name), _text(text)) for name, text in row["env"])
    return Action(**{**row, **tuples, "role": Role(row["role"]), "env": env})
