"""`atoll build`: build the project's targets and print where they lie."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from atoll.cli._building import Talk, build, building, session_of

if TYPE_CHECKING:
    from atoll.session import Built, Session


@click.command(name="build")
@click.option(
    "--elsewhere", is_flag=True, help="The result runs on another machine: a missed floor only warns."
)
@building
def command(
    elsewhere: bool,
    accel: str | None,
    no_accel: bool,
    profile: str,
    jobs: int | None,
    offline: bool,
    as_data: bool,
    verbose: bool,
) -> None:
    """Build the project's targets; a missed floor refuses unless the result runs elsewhere."""
    talk = Talk(as_data, verbose)
    session = session_of(accel, no_accel, profile, offline, talk)
    built = build(session, talk, elsewhere=elsewhere, jobs=jobs)
    outputs = [{"target": out.target, "kind": out.kind, "path": out.path} for out in built.outputs]
    talk.result(built.diagnostics, ok=True, outputs=outputs, folder=built.folder, ran=len(built.result.ran))
    if not as_data:
        said = "".join(f"{output.path}\n" for output in built.outputs)
        click.echo(said, nl=False)
        _keep(session, built, said)


def _keep(session: Session, built: Built, said: str) -> None:
    """Let the next call of this kind answer at once where nothing has changed by then."""
    from atoll.build.unchanged import keep
    from atoll.cli import question

    # A warning is said again by each build, and what a floor is compared with is no file.
    if not built.diagnostics and not built.floors:
        keep(session.root, built.key, built.engine, built.folder, question(sys.argv[1:]), said)
