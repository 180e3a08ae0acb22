"""`atoll cache`: what was kept of compiled kernels, is it whole, and remove it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import click

from atoll._util.files import sha256
from atoll._util.values import dataclass
from atoll._util.why import SUFFIX, read
from atoll.cli._answer import answering, day, plain, size
from atoll.cli._group import WholeGroup

_JSON = click.option("--json", "as_data", is_flag=True, help="Print one JSON object.")


_STATE = {True: "whole", False: "damaged: made again when it is next wanted", None: "no checksum"}


@dataclass(frozen=True, slots=True)
class Kept:
    """One entry: the files of one key, below the folder of what keeps them.

    Attributes:
        kind: Who keeps it.
        key: Its key, a digest over everything that decides its bytes.
        files: Its files.
        bytes: Their size together.
        made: When, in seconds since 1970.
    """

    kind: str
    key: str
    files: tuple[Path, ...]
    bytes: int
    made: float

    @property
    def whole(self) -> bool | None:
        """Whether its bytes are those its checksum states; None where it has none."""
        stated = next((path for path in self.files if path.suffix == ".sha256"), None)
        value = next((path for path in self.files if path.suffix not in (".sha256", SUFFIX)), None)
        if stated is None or value is None:
            return None
        return stated.read_text(encoding="ascii", errors="replace").strip() == sha256(value)

    @property
    def why(self) -> dict[str, Any]:
        """What it is of and why it was made, where that was written down; else empty."""
        path = next((path for path in self.files if path.suffix == SUFFIX), None)
        return (read(path) if path is not None else None) or {}


def folder() -> Path:
    """Return the cache folder of this process's environment."""
    from atoll.plugin.tools import cache_folder

    return cache_folder(os.environ)


def entries(base: Path) -> list[Kept]:
    """Return what is kept; the store of toolchains, which may lie beside it, is none of it."""
    groups: dict[tuple[str, str], list[Path]] = {}
    for kind in sorted(base.iterdir()) if base.is_dir() else []:
        if kind.name == "store" or not kind.is_dir():
            continue
        for path in sorted(kind.iterdir()):
            if path.is_file() and not path.name.startswith("."):
                groups.setdefault((kind.name, path.name.partition(".")[0]), []).append(path)
    return [_kept(kind, key, files) for (kind, key), files in groups.items()]


def _kept(kind: str, key: str, files: list[Path]) -> Kept:
    found = [path.stat() for path in files]
    return Kept(kind, key, tuple(files), sum(f.st_size for f in found), max(f.st_mtime for f in found))


@click.group(name="cache", cls=WholeGroup)
def command() -> None:
    """Explain, count or prune what was kept of compiled kernels."""


@command.command(name="stats")
@_JSON
def stats(as_data: bool) -> None:
    """Count what is kept."""
    with answering(as_data) as answer:
        base = folder()
        kinds: dict[str, dict[str, int]] = {}
        for item in entries(base):
            row = kinds.setdefault(item.kind, {"entries": 0, "bytes": 0})
            row["entries"] += 1
            row["bytes"] += item.bytes
        answer.update({"folder": str(base), "kinds": kinds})
        if as_data:
            return
        click.echo(f"cache: {base}")
        for kind, row in kinds.items():
            click.echo(plain(f"  {kind}: {row['entries']} entries, {size(row['bytes'])}"))
        if not kinds:
            click.echo("  it is empty")


@command.command(name="explain")
@click.argument("key", required=False)
@_JSON
def explain(key: str | None, as_data: bool) -> None:
    """Say of each entry what it is of, whether it would be taken, and why it was made.

    KEY narrows: the start of a key, or a part of the name of what is kept. What was made because something
    kept before did not serve says what differed.
    """
    with answering(as_data) as answer:
        found = [item for item in entries(folder()) if key is None or _is_meant(item, key)]
        if key is not None and not found:
            raise _missed(key)
        answer["entries"] = [_facts(item) for item in found]
        if as_data:
            return
        for item in found:
            click.echo(
                plain(f"{item.kind} {item.key}  {size(item.bytes)}  {day(item.made)}  {_STATE[item.whole]}")
            )
            if item.why:
                click.echo(plain(f"  of {item.why['name']}, made because"))
            for reason in item.why.get("because", ()):
                click.echo(plain(f"    {reason}"))
        if not found:
            click.echo("the cache is empty: whatever is wanted next is made")


def _is_meant(item: Kept, asked: str) -> bool:
    return item.key.startswith(asked) or asked in item.why.get("name", "")


def _facts(item: Kept) -> dict[str, Any]:
    why = item.why
    return {
        "name": why.get("name"),
        "parts": why.get("parts", {}),
        "because": why.get("because", []),
        "kind": item.kind,
        "key": item.key,
        "files": [str(path) for path in item.files],
        "bytes": item.bytes,
        "made": day(item.made),
        "whole": item.whole,
    }


def _missed(key: str) -> Exception:
    from atoll.diagnostics import Diagnostic
    from atoll.errors import UsageError

    return UsageError(
        Diagnostic(
            code="ATL0624",
            message=f"nothing is kept under `{key}`",
            notes=(
                f"cache: {folder()}",
                f"entries: {len(entries(folder()))}",
                "a key is a digest over code, target, options, versions and tools: one differs, the key does",
            ),
            hint="`atoll cache explain` lists every key",
        )
    )


@command.command(name="prune")
@click.option("--older-days", type=click.FloatRange(min=0), default=30.0, show_default=True)
@_JSON
def prune(older_days: float, as_data: bool) -> None:
    """Remove entries made more than some days ago."""
    with answering(as_data) as answer:
        limit = time.time() - older_days * 86400
        removed = [item for item in entries(folder()) if item.made <= limit]
        for item in removed:
            for path in item.files:
                path.unlink(missing_ok=True)
        answer["removed"] = [_facts_gone(item) for item in removed]
        if not as_data:
            click.echo(f"{len(removed)} entries removed ({size(sum(item.bytes for item in removed))})")


def _facts_gone(item: Kept) -> dict[str, Any]:
    return {"kind": item.kind, "key": item.key, "bytes": item.bytes}
