"""Is this a graph that can be run? The value, and every fault of one found in a single walk."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache

from atoll._util.values import dataclass
from atoll.diagnostics import Diagnostic
from atoll.errors import BuildError
from atoll.graph.action import Action


@dataclass(frozen=True, kw_only=True)
class Graph:
    """A set of actions.

    Attributes:
        actions: In any order; their names and outputs are unique.
        defaults: The outputs to make; empty for all of those that are not made on demand.
        searched: The folders in which actions with a depfile look files up by name, there or not: a new file
            in one may be found in the place of another.
    """

    actions: tuple[Action, ...]
    defaults: tuple[str, ...] = ()
    searched: tuple[str, ...] = ()

    @cached_property
    def producers(self) -> Mapping[str, Action]:
        """The action that makes each output."""
        return {output: action for action in self.actions for output in action.outputs}

    @property
    def made_unasked(self) -> tuple[str, ...]:
        """The outputs that are made whether or not something needs them."""
        return tuple(path for path, action in self.producers.items() if not action.on_demand)

    @cached_property
    def by_name(self) -> Mapping[str, Action]:
        """The actions by name."""
        return {action.name: action for action in self.actions}


def check(graph: Graph, folder: str) -> None:
    """Refuse a graph that cannot be run as it says.

    Args:
        graph: What to run.
        folder: The build folder relative to the project root; every output lies below it.

    Raises:
        BuildError: With every fault.
    """
    faults = [
        *_twice(graph),
        *(fault for action in graph.actions for fault in _action(action, folder)),
        *_unmade(graph, folder),
        *_nested(graph),
    ]
    cycle = None if faults else find_cycle(graph)
    if cycle:
        faults.append(_cycle(cycle))
    if faults:
        raise BuildError(*faults)


def _twice(graph: Graph) -> Iterator[Diagnostic]:
    makers: defaultdict[str, list[str]] = defaultdict(list)
    names: defaultdict[str, int] = defaultdict(int)
    for action in graph.actions:
        names[action.name] += 1
        for output in action.outputs:
            makers[output].append(action.name)
    for output, found in sorted(makers.items()):
        if len(found) > 1:
            yield Diagnostic(
                code="ATL0611",
                message=f"two actions write `{output}`",
                notes=tuple(f"written by: {name}" for name in found),
            )
    for name, count in sorted(names.items()):
        if count > 1:
            yield Diagnostic(
                code="ATL0612",
                message=f"two actions are named `{name}`",
                notes=tuple(
                    f"one writes: {', '.join(action.outputs)}"
                    for action in graph.actions
                    if action.name == name
                ),
            )


def _bad(action: Action, what: str) -> Diagnostic:
    return Diagnostic(code="ATL0613", message=f"the action `{action.name}` cannot be run: {what}")


def _action(action: Action, folder: str) -> Iterator[Diagnostic]:
    if not action.argv or not action.argv[0]:
        yield _bad(action, "it has no program")
    if not action.outputs:
        yield _bad(action, "it has no output")
    if "\n" in action.name or not action.name:
        yield _bad(action, "its name is empty or has a line break")
    if action.depfile is not None and action.depfile in action.outputs:
        yield _bad(action, "its depfile is one of its outputs")
    if action.dyndep is not None and action.dyndep not in action.inputs:
        yield _bad(action, "its list of further inputs is none of its inputs")
    if action.depfile_style not in {"make", "raw"}:
        yield _bad(action, f"no depfile style `{action.depfile_style}`")
    if "\0" in "".join(action.argv) or any("\0" in part for pair in action.env for part in pair):
        yield _bad(action, "an argument has a NUL")
    yield from _paths(action, folder)


def _paths(action: Action, folder: str) -> Iterator[Diagnostic]:
    written = action.outputs if action.depfile is None else (*action.outputs, action.depfile)
    for path in dict.fromkeys((*written, *action.inputs)):
        if _crooked(path):
            yield _bad(action, f"the path is not in its plain form: {path!r}")
    for path in written:
        if "\t" in path:
            yield _bad(action, f"the executor's log cannot hold a tab in an output: {path!r}")
        if not _below(path, folder):
            yield _bad(action, f"it writes outside the build folder `{folder}`: {path}")


@lru_cache(maxsize=1 << 14)
def _crooked(path: str) -> bool:
    return not path or posixpath.normpath(path) != path or "\n" in path or "\r" in path or "\0" in path


def _below(path: str, folder: str) -> bool:
    return path.startswith(f"{folder}/") and not path.startswith(f"{folder}/.graph/")


def _unmade(graph: Graph, folder: str) -> Iterator[Diagnostic]:
    for action in graph.actions:
        for path in action.inputs:
            if path.startswith(f"{folder}/") and path not in graph.producers:
                yield Diagnostic(
                    code="ATL0614",
                    message=f"no action makes `{path}`",
                    notes=(f"needed by: {action.name}", f"below the build folder: {folder}"),
                )
    for path in graph.defaults:
        if path not in graph.producers:
            yield Diagnostic(code="ATL0614", message=f"no action makes `{path}`", notes=("asked for",))


def _nested(graph: Graph) -> Iterator[Diagnostic]:
    for output in graph.producers:
        for parent in _parents(output):
            if parent in graph.producers:
                yield Diagnostic(
                    code="ATL0611",
                    message=f"`{parent}` is written as a file and as a folder",
                    notes=(
                        f"as a file by: {graph.producers[parent].name}",
                        f"as a folder by: {graph.producers[output].name}",
                    ),
                )


def _parents(path: str) -> Iterator[str]:
    while "/" in path.strip("/"):
        path = path.rpartition("/")[0]
        yield path


def find_cycle(graph: Graph) -> tuple[Action, ...]:
    """Return the actions of one cycle in order, or nothing."""
    done: set[str] = set()
    for start in graph.actions:
        trail: dict[str, Action] = {}
        stack = [(start, iter(start.inputs))]
        trail[start.name] = start
        while stack:
            inputs = stack[-1][1]
            needed = next((graph.producers[path] for path in inputs if path in graph.producers), None)
            if needed is None:
                stack.pop()
                done.add(trail.popitem()[0])
            elif needed.name in trail:
                names = list(trail)
                return tuple(trail[name] for name in names[names.index(needed.name) :])
            elif needed.name not in done:
                trail[needed.name] = needed
                stack.append((needed, iter(needed.inputs)))
    return ()


def _cycle(cycle: tuple[Action, ...]) -> Diagnostic:
    pairs = zip(cycle, (*cycle[1:], cycle[0]), strict=True)
    return Diagnostic(
        code="ATL0615",
        message="the actions need each other in a circle",
        notes=tuple(
            f"{one.name} needs {next(path for path in one.inputs if path in other.outputs)} of {other.name}"
            for one, other in pairs
        ),
    )
