"""The command line: one module a command, imported only when its command is called.

Exit codes: 0 right; 1 refused or failed, with diagnostics; 2 wrong usage or something unreadable.
stdout is data, stderr is talk.
"""

from __future__ import annotations

import importlib
import sys

import click

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


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"atoll.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="atoll")
def command() -> None:
    """Compile device code onto islands of one ordinary program, and measure what it runs on."""


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit."""
    from atoll.errors import AtollError

    try:
        command.main(args=args, prog_name="atoll", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except AtollError as error:
        print(error, file=sys.stderr)  # noqa: T201 - the one place where a refusal is printed
        sys.exit(error.exit_code)
    sys.exit(0)
