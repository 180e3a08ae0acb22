"""`atoll clean`: remove what builds of this project left; what was fetched stays."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from atoll.cli._answer import answering, project_root, size

FOLDER = ".atoll"


@click.command(name="clean")
@click.option("--json", "as_data", is_flag=True, help="Print one JSON object.")
def command(as_data: bool) -> None:
    """Remove the project's build folders. The store and the cache stay."""
    with answering(as_data) as answer:
        folder = project_root() / FOLDER
        removed = _bytes(folder)
        _remove(folder)
        answer.update({"folder": str(folder), "removed_bytes": removed})
        if not as_data:
            click.echo(f"removed {folder} ({size(removed)})" if removed else f"nothing to remove in {folder}")


def _bytes(folder: Path) -> int:
    if folder.is_symlink() or not folder.is_dir():
        return 0
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())


def _remove(folder: Path) -> None:
    from atoll.diagnostics import Diagnostic
    from atoll.errors import UsageError
    from atoll.graph import is_busy

    if folder.is_symlink():
        raise UsageError(
            Diagnostic(
                code="ATL0622",
                message="the build folder is a link, and what it leads to is not removed",
                notes=(f"link: {folder}", f"leads to: {folder.readlink()}"),
                hint="remove the link yourself",
            )
        )
    busy = [str(path) for path in sorted(folder.glob("build/*")) if is_busy(path)]
    if busy:
        raise UsageError(
            Diagnostic(
                code="ATL0623",
                message="a build is running",
                notes=tuple(f"in: {path}" for path in busy),
                hint="wait for it, or stop it",
            )
        )
    if folder.is_dir():
        shutil.rmtree(folder)
