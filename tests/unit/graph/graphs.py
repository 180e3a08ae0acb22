"""Graphs for tests: actions that run small shell or Python programs, and how to build them."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from atoll.graph import Action, Event, Graph, Result, Role, execute

FOLDER = ".atoll/build/t"


def out(name: str) -> str:
    """Return a path in the build folder."""
    return f"{FOLDER}/{name}"


def sh(name: str, script: str, inputs: Iterable[str], outputs: Iterable[str], **more: object) -> Action:
    """Return an action that runs a shell script; `$1` … are its inputs, then its outputs."""
    reads, writes = tuple(inputs), tuple(outputs)
    known: dict[str, object] = {"role": Role.OBJECT, "memory": 1 << 20, **more}
    return Action(
        name=name,
        argv=("/bin/sh", "-ec", script, "sh", *reads, *writes),
        inputs=reads,
        outputs=writes,
        **known,  # type: ignore[arg-type]
    )


def copy(source: str, target: str, **more: object) -> Action:
    """Return an action that copies a file."""
    return sh(f"copy {source}", 'cat "$1" > "$2"', [source], [target], **more)


def python(name: str, code: str, inputs: Iterable[str], outputs: Iterable[str], **more: object) -> Action:
    """Return an action that runs Python code; `sys.argv[1:]` are inputs, then outputs."""
    reads, writes = tuple(inputs), tuple(outputs)
    known: dict[str, object] = {"role": Role.OBJECT, "memory": 1 << 20, **more}
    argv = (sys.executable, "-I", "-S", "-c", code, *reads, *writes)
    return Action(name=name, argv=argv, inputs=reads, outputs=writes, **known)  # type: ignore[arg-type]


@dataclass
class Project:
    """A folder with sources, and what happened in its builds."""

    root: Path
    events: list[Event] = field(default_factory=list)

    def put(self, name: str, text: str) -> None:
        """Write a source."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def get(self, name: str) -> str:
        """Return a file's text."""
        return (self.root / name).read_text(encoding="utf-8")

    def build(self, *actions: Action, jobs: int = 2) -> Result:
        """Run a graph of these actions."""
        graph = Graph(actions=actions)
        return execute(
            graph, root=self.root, folder=FOLDER, jobs=jobs, on_event=self.events.append, memory=8 << 30
        )

    def files(self) -> dict[str, str]:
        """Return what the build folder holds apart from the executor's own state."""
        base = self.root / FOLDER
        return {
            str(path.relative_to(base)): path.read_text(encoding="utf-8", errors="replace")
            for path in sorted(base.rglob("*"))
            if path.is_file() and ".graph" not in path.relative_to(base).parts
        }
