"""Which commands are there? The group, and how the whole ends: diagnostics and the exit code."""

from __future__ import annotations

import importlib
import sys

import click

from atoll._util.near import nearest
from atoll.cli import COMMANDS


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"atoll.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the nearest command of one that is not there: click knows only those that are imported."""
        word = args[0]
        if word not in COMMANDS and not word.startswith("-") and not ctx.resilient_parsing:
            near = nearest(word, COMMANDS)
            ctx.fail(f"No such command {word!r}." + (f" Did you mean {near!r}?" if near else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


class WholeGroup(click.Group):
    """A group whose list of commands says each first sentence to its end."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list; click itself would cut each line where the window ends."""
        rows = [
            (name, self.commands[name].get_short_help_str(limit=1000)) for name in self.list_commands(ctx)
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="atoll")
def command() -> None:
    """Compile device code onto islands of one ordinary program, and measure what it runs on."""


def run(args: list[str] | None = None) -> None:
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
    if args is None and sys.argv[1:2] == ["build"]:
        from atoll._util.process import leave

        leave(0)
    sys.exit(0)
