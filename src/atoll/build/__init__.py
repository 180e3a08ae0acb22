"""From manifest, set and lanes to one graph, and from the graph to files.

Words: a *part* is one linked file of a target; a *root* is one implementation of a boundary; the *record*
of a call lets a build that has nothing to do skip the planner. Names are imported on first use, so that
such a build imports no planner.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from atoll.build.floors import diagnostics, gather, missed
    from atoll.build.planner import plan
    from atoll.build.request import BuildRequest, build_identity
    from atoll.build.run import carry_out, check_floors, write_plan
    from atoll.build.values import BuildPlan, Output

_LATE = {
    "BuildPlan": "values",
    "BuildRequest": "request",
    "Output": "values",
    "build_identity": "request",
    "carry_out": "run",
    "check_floors": "run",
    "diagnostics": "floors",
    "gather": "floors",
    "missed": "floors",
    "plan": "planner",
    "write_plan": "run",
}

__all__ = [
    "BuildPlan",
    "BuildRequest",
    "Output",
    "build_identity",
    "carry_out",
    "check_floors",
    "diagnostics",
    "gather",
    "missed",
    "plan",
    "write_plan",
]


def __getattr__(name: str) -> Any:
    """Import a room's part only where it is used."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
