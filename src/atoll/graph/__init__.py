"""Actions and their execution. Knows no language, no compiler and no device.

Words: an *action* is one command with declared inputs and outputs, a value; a *graph* is a set of
actions with default outputs; an *edge* is an action as the executor runs it.
Lanes describe actions (:mod:`atoll.plugin`); the planner joins them (:mod:`atoll.build`).
"""

from atoll.graph.action import Action, Role
from atoll.graph.event import Event, Result
from atoll.graph.executor import execute, is_busy
from atoll.graph.graph import Graph, check
from atoll.graph.program import ninja_program
from atoll.graph.story import EdgeStory, FileStory, build_folders, edges, explain

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
