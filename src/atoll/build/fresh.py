"""Is the last plan still right? The record of a build call, read without importing the planner.

A record is named by what the call asked for; it holds stamps of everything the plan was made from, and
the plan's graph. Where one stamp differs, or the record cannot be read, the planner is asked again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from stat import S_ISREG
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


def engine_stamp(found: Mapping[str, list[int] | None] | None = None) -> str:
    """Return a digest over the names, sizes and times of the engine's and first-party plugins' files.

    Args:
        found: What :func:`engine_stamps` returned; asked for where None.
    """
    listed = engine_stamps() if found is None else found
    rows = [f"{path} {was}\n" for path, was in listed.items() if path.endswith(_ENGINE_FILES)]
    return hashlib.sha256("".join(rows).encode("utf-8", "surrogateescape")).hexdigest()[:24]


def engine_stamps() -> dict[str, list[int] | None]:
    """Return the stamps of the files of the engine and of the first-party plugins, and of their folders."""
    base = Path(__file__).resolve().parents[2]
    found: dict[str, list[int] | None] = {}
    for package in _ENGINE:
        for here, names, files in os.walk(f"{base}/{package}"):
            names[:] = sorted(name for name in names if name != "__pycache__")
            found[here] = stamp(here)
            for name in sorted(files):
                if name.endswith(_ENGINE_FILES):
                    found[f"{here}/{name}"] = stamp(f"{here}/{name}")
    return found


def stamp(path: str | Path) -> list[int] | None:
    """Return what changes when a file is written or a folder gains or loses a file; None where nothing is."""
    try:
        found = os.stat(path)  # noqa: PTH116 - of each file that a build looks at
    except OSError:
        return None
    size = found.st_size if S_ISREG(found.st_mode) else 0
    # An edit of equal size whose time was set back shows in the time of the change alone.
    return [found.st_mtime_ns, size, found.st_ino, found.st_ctime_ns]


def stamps(root: Path, paths: Iterable[str]) -> dict[str, list[int] | None]:
    """Return the stamp of each path, taken below the root where it is relative."""
    base = str(root)
    return {path: stamp(os.path.join(base, path)) for path in paths}  # noqa: PTH118 - as for `stamp`


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
        known = value["stamps"] | value["written"]
        if stamps(root, known) != known:
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
    found = tuple(values)
    return found if set(map(type, found)) <= {str} else tuple(map(_text, found))  # type: ignore[return-value]


def _action(row: Mapping[str, Any]) -> Action:
    tuples = {name: _texts(row[name]) for name in ("argv", "inputs", "outputs")}
    env = tuple((_text(name), _text(text)) for name, text in row["env"])
    return Action(**{**row, **tuples, "role": Role(row["role"]), "env": env})
