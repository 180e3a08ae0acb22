"""`atoll doctor`: every lane and driver, what was found, what is usable, why not, what to do. Exits 0."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from atoll.build.doctor import Row

# Cells that are empty because nothing is wanted there.
_NOTHING_MISSES = ("it needs none:", "a driver has none:")
_TITLES = ("", "found", "payload", "devices", "can build", "can run")


#: What of the environment Atoll reads; `docs/reference/cli.md` says what each is for.
VARIABLES = (
    *("ATOLL_DEVICE", "ATOLL_REQUIRE_DEVICE", "ATOLL_STORE", "ATOLL_CACHE", "ATOLL_OFFLINE"),
    *("ATOLL_DUMP", "ATOLL_KERNEL_LINES", "ATOLL_BARRIERS", "NO_COLOR"),
)


@click.command(name="doctor")
@click.option("--json", "as_data", is_flag=True, help="Print one JSON object.")
def command(as_data: bool) -> None:
    """Show every lane and driver; why a cell is empty and what to do stand below, once each."""
    from atoll.build.doctor import examine
    from atoll.plugin import registry
    from atoll.store import Store

    environment = dict(os.environ)
    rows = examine(registry(), environment, Store.open(environment).names())
    found = {name: environment[name] for name in VARIABLES if name in environment}
    if as_data:
        data = {"rows": [row.as_json() for row in rows], "environment": found, "diagnostics": []}
        click.echo(json.dumps(data, indent=1, ensure_ascii=False))
        return
    _table(rows)
    for name, value in found.items():
        click.echo(f"{name}={value}")


def _table(rows: tuple[Row, ...]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from atoll.build.doctor import CELLS

    width = shutil.get_terminal_size((160, 24)).columns if sys.stdout.isatty() else 120
    width = int(os.environ["COLUMNS"]) if os.environ.get("COLUMNS", "").isdigit() else width
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in _TITLES:
        table.add_column(title, overflow="fold")
    for row in rows:
        table.add_row(f"{row.kind} {row.name}", *(Text(_cell(row, cell)) for cell in CELLS))
    Console(width=max(width, 60), highlight=False).print(table)
    for line in _reasons(rows):
        click.echo(line)


def _cell(row: Row, cell: str) -> str:
    from atoll.diagnostics.render import printable

    return printable(row.cells.get(cell, "–"))


def _reasons(rows: tuple[Row, ...]) -> Iterator[str]:
    """Give why cells are empty and what to do, each reason once, at the driver where it is a driver's."""
    from atoll.diagnostics.render import printable

    said: set[tuple[str, str]] = set()
    for row in sorted(rows, key=lambda row: row.kind != "driver"):
        for why in row.why.values():
            if why in said or why[0].startswith(_NOTHING_MISSES):
                continue
            said.add(why)
            reason, fix = why
            yield printable(f"{row.kind} {row.name}: {reason}")
            if fix:
                yield printable(f"  fix: {fix}")
