"""Actions and their execution. Knows no language, no compiler and no device.

Words: an *action* is one command with declared inputs and outputs, a value; a *graph* is a set of
actions with default outputs; an *edge* is an action as the executor runs it.
Lanes describe actions (:mod:`atoll.plugin`); the planner joins them (:mod:`atoll.build`).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from atoll.graph.action import Action, Role
from atoll.graph.graph import Graph, check

if TYPE_CHECKING:
    from atoll.graph.event import Event, Result
    from atoll.graph.executor import execute, is_busy
    from atoll.graph.program import ninja_program
    from atoll.graph.story import EdgeStory, FileStory, build_folders, edges, explain

_LATE = {
    **dict.fromkeys(("Event", "Result"), "event"),
    **dict.fromkeys(("execute", "is_busy"), "executor"),
    **dict.fromkeys(("EdgeStory", "FileStory", "build_folders", "edges", "explain"), "story"),
    "ninja_program": "program",
}

__all__ = [
    "Action",
    "EdgeStory",
    "Event",
    "FileStory",
    "Graph",
    "Result",
    "Role",
    "build_folders",
    "check",
    "edges",
    "execute",
    "explain",
    "is_busy",
    "ninja_program",
]


def __getattr__(name: str) -> Any:
    """Import what runs a graph only where one is run: who describes actions starts nothing."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
