"""The command line: one module a command, imported only when its command is called.

Exit codes: 0 right; 1 refused or failed, with diagnostics; 2 wrong usage or something unreadable.
stdout is data, stderr is talk.
"""

from __future__ import annotations

import os
import sys

# As `typing` has it: a build that has nothing to do imports nothing that it can do without.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import click

    from atoll.cli._group import command as command

# Command name -> one line for `atoll --help`. The module is atoll.cli.NAME, its click object `command`.
COMMANDS = {
    "boundary": "Generate header and Python module from marked declarations.",
    "build": "Build the project's targets.",
    "cache": "Explain, count or prune what was kept.",
    "clean": "Remove the project's build folder.",
    "device": "List and describe the devices that drivers reach.",
    "doctor": "Show every lane and driver: found, usable, why not, what to do.",
    "explain": "Say why an edge ran, where a file comes from, or what a code means.",
    "kernel": "Show, check and run kernels written in Python.",
    "match": "Choose among descriptors the one that fits, or say why none does.",
    "measure": "Measure which devices a file runs on.",
    "new": "Start a project from a template.",
    "pack": "Pack the built project as a wheel.",
    "run": "Build and run a target.",
    "test": "Build and run the test targets.",
    "toolchain": "List, explain, add and prune payloads.",
}


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit."""
    argv = sys.argv[1:] if args is None else args
    if sys.stdin is None or sys.stdout is None or sys.stderr is None:
        from atoll.cli._system import open_closed

        open_closed()
    said = _kept(argv)
    if said is not None:
        try:
            sys.stdout.write(said)
            sys.stdout.flush()
        except OSError as error:
            _refuse(error, argv)
        os._exit(0)
    if args is None:
        from atoll._util.process import collect_rarely

        collect_rarely()
    from atoll.cli._group import run

    try:
        try:
            run(args)
        finally:
            # Python itself would say at its end that it could not, and with another exit code.
            sys.stdout.flush()
    except OSError as error:
        _refuse(error, argv)


def _refuse(error: OSError, argv: list[str]) -> None:
    from atoll.cli._system import refuse

    refuse(error, argv)


def question(argv: list[str]) -> str:
    """Return what a call asks, as the answer of an earlier one is kept under it."""
    from atoll._util.unchanged import question as spelled

    return spelled(argv, os.environ, (sys.version, sys.executable, __file__))


def _kept(argv: list[str]) -> str | None:
    """Return what `atoll build` prints where it has nothing to do, before anything else is imported."""
    if argv[:1] != ["build"]:
        return None
    from atoll._util.unchanged import answer

    try:
        return answer(os.getcwd(), question(argv))
    except OSError:
        return None


def __getattr__(name: str) -> click.Command:
    """Import the group where something other than a kept answer is wanted."""
    if name != "command":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from atoll.cli._group import command

    return command
