"""What `build`, `run` and `test` share: options, and how a running build talks.

stdout is data: paths, or with ``--json`` one event a line. stderr is talk: which tools were taken and why,
what runs, what a compiler says.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from atoll._util.values import dataclass
from atoll.cli._progress import Bar

if TYPE_CHECKING:
    from atoll.build import BuildPlan
    from atoll.diagnostics import Diagnostic
    from atoll.errors import AtollError
    from atoll.graph import Event
    from atoll.session import Built, Session

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--accel", metavar="SPEC", help="The accel set, instead of the manifest's."),
    click.option(
        "--no-accel", is_flag=True, help="Build for no accelerator; fetch and probe nothing of one."
    ),
    click.option(
        "--profile",
        metavar="NAME",
        default="release",
        show_default=True,
        help="debug, release, or one of the manifest.",
    ),
    click.option("-j", "--jobs", type=click.IntRange(min=1), metavar="N", help="Actions at once."),
    click.option("--offline", is_flag=True, help="Fetch nothing; work from the store."),
    click.option("--json", "as_data", is_flag=True, help="Print one event a line."),
    click.option("-v", "--verbose", is_flag=True, help="Print each command."),
)


def building(function: F) -> F:
    """Add the options that every building command takes."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@dataclass(slots=True)
class Talk:
    """How one call speaks.

    Attributes:
        as_data: One JSON event a line on stdout.
        verbose: Whether commands are printed.
        bar: The progress bar, where stderr is a terminal.
    """

    as_data: bool
    verbose: bool
    bar: Bar | None = None

    def __post_init__(self) -> None:
        if not self.as_data and Bar.wanted():
            self.bar = Bar()

    def event(self, event: Event) -> None:
        """Say what happened in a running build."""
        if self.bar is not None:
            self.bar.event(event)
        if event.kind == "wait":
            self.say(f"waiting for another build of {event.name}")
        if event.kind not in ("finish", "fail"):
            return
        if self.as_data:
            self.emit(event.as_json() | {"event": "edge", "failed": event.kind == "fail"})
            return
        # What a failed action printed stands in its diagnostic.
        mark = "failed" if event.kind == "fail" else f"{event.seconds:.1f} s"
        self.say(f"[{event.done}/{event.total}] {event.name}  {mark}")
        if event.kind == "finish" and event.output.strip():
            self.say(event.output.rstrip())

    def emit(self, value: dict[str, Any]) -> None:
        """Print one event."""
        sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
        sys.stdout.flush()

    def say(self, text: str) -> None:
        """Talk to a person."""
        from atoll.diagnostics.render import printable

        if self.bar is not None:
            self.bar.say(printable(text))
        else:
            sys.stderr.write(printable(text) + "\n")

    def plan(self, plan: BuildPlan) -> None:
        """Say which set is built and which tools were taken, and why."""
        found = plan.resolution
        if self.as_data:
            self.emit({"event": "plan", "accel": found["accel"], "lanes": found["lanes"]})
            return
        self.say(f"set: {found['accel_text'] or 'none'} ({found['accel_source']})")
        for lane, row in found["lanes"].items():
            for tool in row["tools"]:
                words = [tool["name"], tool["version"], tool["path"] and f"at {tool['path']}"]
                self.say(f"{lane}: {' '.join(word for word in words if word)}: {tool['why']}")

    def diagnostics(self, found: Iterable[Diagnostic]) -> None:
        """Print warnings and notes; with ``--json`` they stand in the result."""
        from atoll.diagnostics import render

        if not self.as_data:
            for item in found:
                self.say(render(item))

    def result(self, found: Iterable[Diagnostic], **facts: Any) -> None:
        """End the events."""
        from atoll.diagnostics import as_json

        if self.as_data:
            self.emit({"event": "result", **facts, "diagnostics": [as_json(item) for item in found]})

    def fail(self, error: AtollError) -> NoReturn:
        """Report a refusal and end."""
        if self.bar is not None:
            self.bar.close()
        self.result(error.diagnostics, ok=False)
        self.diagnostics(error.diagnostics)
        sys.exit(error.exit_code)


def build(
    session: Session,
    talk: Talk,
    *,
    targets: tuple[str, ...] = (),
    elsewhere: bool = False,
    jobs: int | None = None,
) -> Built:
    """Build with talk; ends the process where something refuses."""
    from atoll.errors import AtollError

    try:
        built = session.build(
            targets=targets, elsewhere=elsewhere, jobs=jobs, on_event=talk.event, on_plan=talk.plan
        )
    except AtollError as error:
        talk.fail(error)
    except KeyboardInterrupt:
        talk.result((), ok=False, interrupted=True)
        raise
    if talk.verbose and not talk.as_data:
        _commands(built, talk)
    talk.diagnostics(built.diagnostics)
    return built


def _commands(built: Built, talk: Talk) -> None:
    ran = set(built.result.ran)
    outline = json.loads((built.root / built.folder / ".graph/graph.json").read_text(encoding="utf-8"))
    import shlex

    for name in built.result.ran:
        if name in ran and name in outline:
            talk.say(shlex.join(outline[name]["argv"]))


def session_of(accel: str | None, no_accel: bool, profile: str, offline: bool, talk: Talk) -> Session:
    """Open the session of the working folder."""
    from atoll.errors import AtollError
    from atoll.session import open_session

    try:
        return open_session(
            Path.cwd(), accel=accel, no_accel=no_accel, profile=profile, offline=offline, say=talk.say
        )
    except AtollError as error:
        talk.fail(error)
