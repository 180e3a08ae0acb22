"""What does the executor read? A graph as ninja's text: equal graphs give equal bytes.

Nothing of a command stands in the file: an edge names the digest of its spec, and the runner starts the
spec's arguments without a shell. So only paths need escaping here, and paths that ninja's syntax cannot
spell (`|`) go through a variable, which it can. What follows the memory that happens to be free stands in
a second file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from atoll.graph.action import Action
from atoll.graph.edge import digest
from atoll.graph.graph import Graph

if TYPE_CHECKING:
    from atoll.graph.pools import Pools

# Expanded by the shell that ninja starts, so that the text does not depend on this Python.
COMMAND = 'exec "$$ATOLL_GRAPH_PYTHON" -I -S -X utf8 -c "$$ATOLL_GRAPH_START" $digest $forced'

_HEAD = f"""\
# Written by atoll; edits are lost.
ninja_required_version = 1.13
builddir = {{state}}
include {{state}}/pools.ninja
include {{state}}/forced.ninja

rule run
  command = {COMMAND}
  description = $name
  restat = 1

rule run_with_depfile
  command = {COMMAND}
  description = $name
  depfile = $depfile
  deps = gcc
  restat = 1
"""


def escape_path(path: str) -> str:
    """Return a path as it stands in a build line."""
    return path.replace("$", "$$").replace(" ", "$ ").replace(":", "$:")


def escape_value(text: str) -> str:
    """Return a text as the value of a variable."""
    if "$" not in text and not text.startswith(" "):
        return text
    escaped = text.replace("$", "$$")
    spaces = len(escaped) - len(escaped.lstrip(" "))
    return "$ " * spaces + escaped[spaces:]


class _Paths(dict[str, str]):
    """Spells paths, each behind a space, through variables where the syntax needs it."""

    def __init__(self) -> None:
        self.variables: dict[str, str] = {}

    def __call__(self, paths: Iterable[str]) -> str:
        return "".join(map(self.__getitem__, paths))

    def __missing__(self, path: str) -> str:
        if "|" not in path and not path.startswith("^"):
            self[path] = found = f" {escape_path(path)}"
        else:
            name = self.variables.setdefault(path, f"path{len(self.variables)}")
            self[path] = found = f" ${{{name}}}"
        return found


def graph_text(graph: Graph, state: str, digests: Mapping[str, str] | None = None) -> str:
    """Return the text of ``build.ninja``.

    Args:
        graph: A checked graph.
        state: The executor's own folder relative to the project root.
        digests: The digest of each action by its name, where they are known.
    """
    paths = _Paths()
    known = digests if digests is not None else {action.name: digest(action) for action in graph.actions}
    ordered = sorted(graph.actions, key=lambda item: item.name)
    edges = "".join([_edge(action, known[action.name], paths) for action in ordered])
    wanted = sorted(graph.defaults or graph.made_unasked)
    default = f"\ndefault{paths(wanted)}\n" if wanted else ""
    variables = "".join(f"{name} = {escape_value(path)}\n" for path, name in paths.variables.items())
    return f"{_HEAD.format(state=escape_path(state))}\n{variables}{edges}{default}"


def _edge(action: Action, found: str, paths: _Paths) -> str:
    first, *rest = action.outputs
    more = f" |{paths(rest)}" if rest else ""
    rule = "run" if action.depfile is None else "run_with_depfile"
    depfile = "" if action.depfile is None else f"  depfile = {escape_value(action.depfile)}\n"
    dyndep = "" if action.dyndep is None else f"  dyndep = {escape_value(action.dyndep)}\n"
    # A command that was never started so is started: how a run is forced.
    return (
        f"build{paths[first]}{more}: {rule}{paths(dict.fromkeys(action.inputs))}\n"
        f"  digest = {found}\n  forced = $forced_{found}\n  name = {escape_value(action.name)}\n"
        f"{depfile}{dyndep}  pool = $weight{action.memory}\n"
    )


def pools_text(graph: Graph, pools: Pools) -> str:
    """Return the text of ``pools.ninja``: the pool, and for each weight whether it enters it."""
    weights = sorted({action.memory for action in graph.actions})
    members = "".join(
        f"weight{weight} = {'heavy' if pools.heavy is not None and weight >= pools.heavy else ''}\n"
        for weight in weights
    )
    head = f"# {pools.jobs} at once; at most {pools.bound} bytes of {pools.free} free\n"
    return f"{head}pool heavy\n  depth = {pools.depth}\n{members}"
