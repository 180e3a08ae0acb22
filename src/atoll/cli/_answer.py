"""How does a command that answers a question print: lines for a person, or one object for a machine?"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click


@contextmanager
def answering(as_data: bool) -> Iterator[dict[str, Any]]:
    """Collect the answer; with ``--json`` print it as one object, a refusal too.

    Without ``--json`` nothing is printed here, and a refusal goes on to the one place that prints it.
    """
    from atoll.diagnostics import as_json
    from atoll.errors import AtollError

    answer: dict[str, Any] = {}
    try:
        yield answer
    except AtollError as error:
        if not as_data:
            raise
        click.echo(json.dumps({"diagnostics": [as_json(item) for item in error.diagnostics]}, indent=2))
        sys.exit(error.exit_code)
    if as_data:
        click.echo(json.dumps({"diagnostics": []} | answer, indent=2))


def project_root() -> Path:
    """Return the root of the project that the current folder lies in."""
    from atoll.manifest import find

    return find(Path.cwd()).parent


def plain(text: str) -> str:
    """Return text from a file name or a log so that it cannot drive the terminal."""
    from atoll.diagnostics.render import printable

    return printable(text)


def one_line(text: str) -> str:
    """Return text as one line that cannot drive the terminal."""
    return plain(text).replace("\n", "\\n")


def day(moment: float) -> str:
    """Return the day of a moment in seconds since 1970, in UTC."""
    return time.strftime("%Y-%m-%d", time.gmtime(moment))


def size(count: float) -> str:
    """Return a number of bytes for a person."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"
