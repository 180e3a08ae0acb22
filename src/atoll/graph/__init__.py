"""Actions and their execution. Knows no language, no compiler and no device.

Words: an *action* is one command with declared inputs and outputs, a value; a *graph* is a set of
actions with default outputs; an *edge* is an action as the executor runs it.
Lanes describe actions (:mod:`atoll.plugin`); the planner joins them (:mod:`atoll.build`).
"""

from atoll.graph.action import Action, Role
from atoll.graph.event import Event, Result
from atoll.graph.executor import execute
from atoll.graph.graph import Graph, check

__all__ = ["Action", "Event", "Graph", "Result", "Role", "check", "execute"]
