"""How does a graph run? One build of a folder at a time, by ninja, with every edge reported.

Nothing here knows what an action does. The process that runs a build holds a pipe open, the life line;
where it dies, however it dies, the runners stop their commands and leave nothing half-written.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from atoll._util.files import write_atomic
from atoll._util.machine import free_memory, processors
from atoll._util.spelling import this_python
from atoll._util.values import dataclass, field
from atoll.diagnostics import Diagnostic
from atoll.errors import BuildError
from atoll.graph import lookups, pools, runner
from atoll.graph.edge import digest
from atoll.graph.event import Event, Result
from atoll.graph.failure import failures
from atoll.graph.graph import Graph, check
from atoll.graph.ninja_file import pools_text
from atoll.graph.program import ninja_program
from atoll.graph.state import FOLDER, State, command, lay_out, reasons

LOCK = "lock"
RUNNING = "running"
# Set off in ninja's own status, which no file name can contain.
_STATUS = "\x1d%f %t\x1d"
# Imported, not run as a script: so what Python made of its text is kept.
_START = (
    "import sys; sys.path.insert(0, {folder!r}); import runner; del sys.path[0]; "
    "runner.leave(runner.main(sys.argv[1]))"
)
_STOP_SECONDS = 10.0

Listener = Callable[[Event], None]


def execute(
    graph: Graph,
    *,
    root: Path,
    folder: str,
    jobs: int | None = None,
    on_event: Listener | None = None,
    memory: int | None = None,
) -> Result:
    """Run what must run, and return what ran.

    Args:
        graph: The actions.
        root: The project root; commands run in it.
        folder: The build folder relative to it.
        jobs: How many actions run at once; as many as there are processors where None.
        on_event: Called for everything that happens, in this thread.
        memory: Bytes that may be used; what is really free where None.

    Raises:
        BuildError: Where the graph is wrong, or with every action that failed.
    """
    check(graph, folder)
    state = State(root.absolute(), folder)
    listen = on_event or _silent
    state.path.mkdir(parents=True, exist_ok=True)
    with _alone(state, listen) as held:
        begin = time.monotonic()
        removed = lay_out(state, graph)
        free = free_memory() if memory is None else memory
        bound = pools.plan((action.memory for action in graph.actions), jobs or processors(), free)
        write_atomic(state.path / "pools.ninja", pools_text(graph, bound))
        looked = lookups.look(state, graph)
        why = reasons(state, graph, lookups.reasons(state, graph, looked))
        run = _Run(graph, state, listen, held)
        try:
            run.through(bound.jobs)
        finally:
            _remember(state, graph, run, why)
            lookups.keep(state, graph, looked, run.ran)
            seconds = round(time.monotonic() - begin, 3)
            listen(Event(kind="end", done=len(run.ran), total=len(run.ran), seconds=seconds))
        return Result(
            ran=tuple(run.ran),
            total=len(graph.actions),
            seconds=seconds,
            removed=removed,
            jobs=bound.jobs,
            memory_bound=bound.bound,
        )


def _silent(event: Event) -> None:
    pass


@contextmanager
def _alone(state: State, listen: Listener) -> Iterator[int]:
    """Wait until nobody builds here; give the file that says so, held also by what a killed build leaves.

    A build that is killed alone leaves runners that stop their commands and clean up behind it.
    """
    # The locks go with the files, also where the process is killed.
    with (state.path / LOCK).open("ab") as lock, (state.path / RUNNING).open("ab") as held:
        for file in (lock.fileno(), held.fileno()):
            if not _hold(file, wait=False):
                listen(Event(kind="wait", name=state.folder))
                _hold(file, wait=True)
        yield held.fileno()


def _hold(file: int, *, wait: bool) -> bool:
    """Take the lock of an open file, which whoever inherits it shares."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_busy(folder: Path) -> bool:
    """Tell whether a build runs in a build folder."""
    path = folder / FOLDER / LOCK
    if not path.is_file():
        return False
    with path.open("ab") as lock, (folder / FOLDER / RUNNING).open("ab") as held:
        return not all(_hold(file.fileno(), wait=False) for file in (lock, held))


def _remember(state: State, graph: Graph, run: _Run, why: dict[str, list[str]]) -> None:
    """Keep why each action ran, and what it ran as, for `explain` and the next build."""
    earlier = state.read("commands.json")
    commands = dict(earlier) if isinstance(earlier, dict) else {}
    finished = {*run.ran, *(name for name, _ in run.failed)}
    for name in run.ran:
        commands[graph.by_name[name].outputs[0]] = command(graph.by_name[name])
    kept = {action.outputs[0] for action in graph.actions}
    state.write("commands.json", {path: value for path, value in commands.items() if path in kept})
    if finished:
        state.write("ran.json", {name: why.get(name) or _followed(graph, name, run.ran) for name in finished})
    state.write("graph.json", _outline(graph))


def _followed(graph: Graph, name: str, ran: list[str]) -> list[str]:
    makers = (graph.producers.get(path) for path in graph.by_name[name].inputs)
    again = dict.fromkeys(maker.name for maker in makers if maker is not None and maker.name in ran)
    return [f"`{maker}` made what it reads anew" for maker in again] or ["an input is newer than its output"]


def _outline(graph: Graph) -> dict[str, Any]:
    return {
        action.name: {
            "argv": list(action.argv),
            "env": [list(pair) for pair in action.env],
            "inputs": list(action.inputs),
            "outputs": list(action.outputs),
            "role": str(action.role),
            "on_demand": action.on_demand,
            "digest": digest(action),
        }
        for action in graph.actions
    }


@dataclass
class _Run:
    """One run of ninja."""

    graph: Graph
    state: State
    listen: Listener
    held: int
    ran: list[str] = field(default_factory=list)
    failed: list[tuple[str, Diagnostic]] = field(default_factory=list)
    talk: list[str] = field(default_factory=list)
    total: int = 0

    def through(self, jobs: int) -> None:
        """Run to the end and raise what failed."""
        reader, writer = os.pipe()
        try:
            process = self._start(jobs, reader)
        finally:
            os.close(reader)
        try:
            code = self._follow(process)
        except BaseException:
            _interrupt(process)
            raise
        finally:
            os.close(writer)
        if code != 0 or self.failed:
            raise BuildError(*self._faults(code))

    def _start(self, jobs: int, lifeline: int) -> subprocess.Popen[str]:
        environment = {
            "PATH": "/usr/bin:/bin",
            "LC_ALL": "C.UTF-8",
            "NINJA_STATUS": _STATUS,
            "ATOLL_GRAPH_PYTHON": this_python(),
            "ATOLL_GRAPH_START": _START.format(folder=str(Path(runner.__file__).absolute().parent)),
            "ATOLL_GRAPH_STATE": self.state.relative,
            "ATOLL_GRAPH_LIFELINE": str(lifeline),
            "ATOLL_GRAPH_HELD": str(self.held),
        }
        program = str(ninja_program())
        arguments = [program, "-f", f"{self.state.relative}/build.ninja", "-k", "0", "-j", str(jobs)]
        return subprocess.Popen(
            arguments,
            cwd=self.state.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(lifeline, self.held),
            process_group=0,
            encoding="utf-8",
            errors="replace",
        )

    def _follow(self, process: subprocess.Popen[str]) -> int:
        assert process.stdout is not None
        with process.stdout as stream:
            for line in stream:
                if line.startswith(runner.MARK):
                    self._report(json.loads(line.removeprefix(runner.MARK)))
                elif line.startswith("\x1d"):
                    # What turns out to need no run leaves the executor's count; the one that is shown stays.
                    self.total = max(self.total, int(line.split("\x1d")[1].split()[1]))
                else:
                    self.talk.append(line.rstrip("\n"))
        return process.wait()

    def _report(self, report: dict[str, Any]) -> None:
        action = self.graph.by_name[report["name"]]
        good = report["end"] == "exit" and report["code"] == 0
        if good:
            self.ran.append(action.name)
        elif report["end"] != "interrupt":
            self.failed += [(action.name, fault) for fault in failures(action, report)]
        self.listen(
            Event(
                kind="finish" if good else "fail",
                name=action.name,
                done=len(self.ran) + len(self.failed),
                total=self.total,
                seconds=report["seconds"],
                memory=report.get("memory", 0),
                output=report["output"],
            )
        )

    def _faults(self, code: int) -> list[Diagnostic]:
        if self.failed:
            return [fault for _, fault in sorted(self.failed, key=lambda pair: pair[0])]
        said = [line for line in self.talk if line.startswith("ninja: error:")] or self.talk[-5:]
        return [
            Diagnostic(
                code="ATL0620",
                message="the executor could not run the graph",
                notes=(f"exit code: {code}", *(line.removeprefix("ninja: error: ") for line in said)),
            )
        ]


def _interrupt(process: subprocess.Popen[str]) -> None:
    """Stop ninja, which stops its edges; returns when it is gone."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        process.send_signal(number)
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            continue
