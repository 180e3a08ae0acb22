"""Why did an action run, what did it read, and would it run again? From what the last build recorded."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from atoll._util.near import nearest
from atoll._util.values import dataclass
from atoll.diagnostics import Diagnostic
from atoll.errors import UsageError
from atoll.graph.runner import stamp
from atoll.graph.state import FOLDER, State, differences


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeStory:
    """What is known of one action.

    Attributes:
        name / argv / inputs / outputs: As the last graph has them.
        ran: Whether it ran in the last build that ran anything.
        why: Why it ran then; empty where it did not.
        pending: Why it would run in a build now, by itself; empty where nothing says so.
        found: Inputs that it found while running, beside those that were declared.
        seconds / memory: What its last whole run took, and the most bytes its largest process held.
    """

    name: str
    argv: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    ran: bool
    why: tuple[str, ...]
    pending: tuple[str, ...]
    found: tuple[str, ...]
    seconds: float
    memory: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStory:
    """What is known of one file.

    Attributes:
        path: Relative to the project root.
        maker: The action that writes it, or empty.
        users: The actions that read it, declared or found.
    """

    path: str
    maker: str
    users: tuple[str, ...]


def build_folders(root: Path, base: str) -> list[str]:
    """Return the build folders below `base` that have a graph, the one built last first."""
    graphs = (root / base).glob(f"*/{FOLDER}/graph.json")
    newest = sorted(graphs, key=lambda path: path.stat().st_mtime_ns, reverse=True)
    return [str(path.parent.parent.relative_to(root)) for path in newest]


def explain(root: Path, folder: str, what: str) -> EdgeStory | FileStory:
    """Return the story of an action (by name) or a file (by path) of one build folder.

    Raises:
        UsageError: Where the last graph knows neither.
    """
    state = State(root, folder)
    graph = _graph(state)
    if what in graph:
        return _edge(state, graph, what)
    path = _relative(root, what)
    story = _file(state, graph, path)
    if story is not None:
        return story
    near = nearest(what, [*graph, *(out for edge in graph.values() for out in edge["outputs"])])
    raise UsageError(
        Diagnostic(
            code="ATL0621",
            message=f"the last build knows no action and no file `{what}`",
            notes=(f"build folder: {folder}", f"actions: {len(graph)}"),
            hint=f"did you mean `{near}`?" if near else "`atoll explain` without a name lists the actions",
        )
    )


def edges(root: Path, folder: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the actions of the last graph, each with why it ran in the last build that ran anything."""
    state = State(root, folder)
    ran = _ran(state)
    return [(name, tuple(ran.get(name, ()))) for name in sorted(_graph(state))]


def _graph(state: State) -> dict[str, Any]:
    graph = state.read("graph.json")
    return graph if isinstance(graph, dict) else {}


def _ran(state: State) -> dict[str, list[str]]:
    ran = state.read("ran.json")
    return ran if isinstance(ran, dict) else {}


def _relative(root: Path, what: str) -> str:
    if what.startswith("/"):
        inside = Path(posixpath.normpath(what))
        return str(inside.relative_to(root)) if root in inside.parents else str(inside)
    return posixpath.normpath(what)


def _record(state: State, edge: dict[str, Any]) -> dict[str, Any]:
    record = state.read(f"done/{edge['digest']}.json")
    return record if isinstance(record, dict) else {}


def _edge(state: State, graph: dict[str, Any], name: str) -> EdgeStory:
    edge, ran = graph[name], _ran(state)
    record = _record(state, edge)
    made = {output for other in graph.values() for output in other["outputs"]}
    pending = differences(record, edge["outputs"], made, lambda path: stamp(str(state.root / path)))
    return EdgeStory(
        name=name,
        argv=tuple(edge["argv"]),
        inputs=tuple(edge["inputs"]),
        outputs=tuple(edge["outputs"]),
        ran=name in ran,
        why=tuple(ran.get(name, ())),
        pending=tuple(pending) if record else ("it has not run to its end",),
        found=tuple(path for path in record.get("inputs", {}) if path not in edge["inputs"]),
        seconds=float(record.get("seconds", 0.0)),
        memory=int(record.get("memory", 0)),
    )


def _file(state: State, graph: dict[str, Any], path: str) -> FileStory | None:
    maker = next((name for name, edge in graph.items() if path in edge["outputs"]), "")
    users = tuple(sorted(_users(state, graph, path)))
    return FileStory(path=path, maker=maker, users=users) if maker or users else None


def _users(state: State, graph: dict[str, Any], path: str) -> Iterable[str]:
    for name, edge in graph.items():
        if path in edge["inputs"] or path in _record(state, edge).get("inputs", {}):
            yield name
