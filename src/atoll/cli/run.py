"""`atoll run`: build a target and become it. Standard input, signals and the exit code are its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from atoll.cli._building import Talk, build, building, session_of

if TYPE_CHECKING:
    from atoll.build import Output
    from atoll.errors import UsageError
    from atoll.session import Built


ARGS = "atoll.cli.run.args"


class _Run(click.Command):
    """What stands after ``--`` is the program's, whatever it looks like."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Set the program's arguments aside."""
        if "--" in args:
            at = args.index("--")
            ctx.meta[ARGS] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)


@click.command(name="run", cls=_Run, options_metavar="[OPTIONS]")
@click.argument("target", required=False)
@building
@click.pass_context
def command(
    context: click.Context,
    target: str | None,
    accel: str | None,
    no_accel: bool,
    profile: str,
    jobs: int | None,
    offline: bool,
    as_data: bool,
    verbose: bool,
) -> None:
    """Build TARGET and run it with what stands after ``--``.

    A Python package runs the interpreter with these arguments and the package importable.
    """
    talk = Talk(as_data, verbose)
    session = session_of(accel, no_accel, profile, offline, talk)
    built = build(session, talk, targets=(target,) if target else (), jobs=jobs)
    output = _chosen(built, target, talk)
    argv, environment = start(built, output, context.meta.get(ARGS, ()))
    _check_libraries(output, argv[0], environment, talk)
    if as_data:
        _events(argv, environment, talk)
    sys.stdout.flush()
    os.execve(argv[0], argv, environment)  # noqa: S606 - no shell is wanted


def start(built: Built, output: Output, args: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """Return the command that starts a target, and its environment."""
    environment = environment_of(output)
    if output.kind == "python":
        words = (*output.args, *args)
        tree = str((built.root / output.path).parent)
        # What is built comes first: the sources of the package may lie beside the script, under its own name.
        path = (tree, _beside(words), environment.get("PYTHONPATH", ""))
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, path))
        return [sys.executable, "-P", *words], environment
    return [str(built.root / output.path), *output.args, *args], environment


def _beside(words: Sequence[str]) -> str:
    """Return the folder that the interpreter itself would import from first: its script's, or this one."""
    script = Path(words[0]) if words and not words[0].startswith("-") else None
    return str(script.resolve().parent if script and script.is_file() else script or Path.cwd())


def environment_of(output: Output) -> dict[str, str]:
    """Return the caller's environment with what a target's libraries need; what the caller sets stays."""
    told = dict(setting.split("=", 1) for setting in output.environment)
    environment = {**told, **os.environ}
    if output.search:
        paths = (*output.search, environment.get("LD_LIBRARY_PATH", ""))
        environment["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, paths))
    return environment


def _check_libraries(output: Output, program: str, environment: dict[str, str], talk: Talk) -> None:
    """Name the library that keeps a program from starting; ends the process."""
    if output.kind == "python":
        return
    from atoll.build.loading import cannot_start, missing_libraries
    from atoll.errors import BuildError

    missing = missing_libraries(Path(program), environment)
    if missing:
        talk.fail(BuildError(cannot_start(output.target, output.path, missing)))


def _chosen(built: Built, target: str | None, talk: Talk) -> Output:
    runnable = [out for out in built.outputs if out.kind in ("executable", "python", "test")]
    named = [out for out in runnable if out.target == target]
    programs = [out for out in runnable if out.kind == "executable"] or runnable
    if not named and (target is not None or len(programs) != 1):
        talk.fail(_not_runnable(built, target, runnable))
    return (named or programs)[0]


def _not_runnable(built: Built, target: str | None, runnable: list[Output]) -> UsageError:
    from atoll.diagnostics import Diagnostic
    from atoll.errors import UsageError

    kind = next((out.kind for out in built.outputs if out.target == target), "")
    listed = ", ".join(out.target for out in runnable) or "none"
    return UsageError(
        Diagnostic(
            code="ATL0562",
            message=f"`{target}` is a {kind} library and cannot be run" if kind else "no target is named",
            notes=(f"targets that run: {listed}",),
            hint="name one of them: `atoll run TARGET`",
        )
    )


def _events(argv: list[str], environment: dict[str, str], talk: Talk) -> None:
    """Run with events: each line of the program's standard output is one."""
    with subprocess.Popen(
        argv, env=environment, stdout=subprocess.PIPE, cwd=Path.cwd(), text=True, errors="replace"
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            talk.emit({"event": "output", "text": line.rstrip("\n")})
    code = process.returncode if process.returncode >= 0 else 128 - process.returncode
    talk.emit({"event": "exit", "code": code})
    talk.result((), ok=code == 0)
    sys.exit(code)
