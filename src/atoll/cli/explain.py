"""`atoll explain`: why did this action run, who makes and who reads this file, what does this code mean?"""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atoll.cli._answer import answering, plain, project_root

if TYPE_CHECKING:
    from atoll.graph import EdgeStory, FileStory

BASE = ".atoll/build"
_CODE = re.compile(r"[A-Z][A-Z0-9]{1,15}[0-9]{3,}\Z")


@click.command(name="explain")
@click.argument("what", metavar="EDGE|FILE|CODE", required=False)
@click.option(
    "--reach", is_flag=True, help="List every file that the action reached, and which are the host's."
)
@click.option("--build", "build_id", metavar="ID", help="The build folder, where not the last one built.")
@click.option("--json", "as_data", is_flag=True, help="Print one JSON object.")
def command(what: str | None, reach: bool, build_id: str | None, as_data: bool) -> None:
    """Say why an edge ran, where a file comes from, or what a code means. Without a name, list the edges."""
    with answering(as_data) as answer:
        if what is not None and _CODE.match(what):
            answer.update(_code(what, quiet=as_data))
            return
        from atoll.graph import EdgeStory, edges, explain

        root = project_root()
        folder = _folder(root, build_id)
        answer["folder"] = folder
        listed = edges(root, folder)
        if what is None and reach:
            answer["edges"] = [_reached(edge, root) for edge in _stories(root, folder, listed)]
            if not as_data:
                _list_reached(answer["edges"])
            return
        if what is None:
            answer["edges"] = [{"name": name, "ran": bool(why), "why": list(why)} for name, why in listed]
            if not as_data:
                _list(folder, listed)
            return
        known = any(name == what for name, _ in listed)
        story = explain(root, folder, what if known else _from_root(root, what))
        answer.update(_facts(story, reach))
        if reach and isinstance(story, EdgeStory):
            answer.update(_reached(story, root))
        if not as_data:
            _print(story, reach)
            _print_reached(answer)


def _code(code: str, *, quiet: bool) -> dict[str, Any]:
    from atoll.diagnostics import Diagnostic, code_info, codes
    from atoll.errors import UsageError

    info = code_info(code)
    if info is None:
        raise UsageError(
            Diagnostic(
                code="ATL0001",
                message=f"no diagnostic has the code `{code}`",
                notes=(f"codes: {len(codes())}, from {min(codes())} to {max(codes())}",),
            )
        )
    if not quiet:
        click.echo(f"{code}: {info.title}\n\n{click.wrap_text(info.explanation, 88)}")
    return {"code": code, "title": info.title, "explanation": info.explanation}


def _folder(root: Path, build_id: str | None) -> str:
    from atoll.diagnostics import Diagnostic
    from atoll.errors import UsageError
    from atoll.graph import build_folders

    found = build_folders(root, BASE)
    wanted = found[0] if found and build_id is None else f"{BASE}/{build_id}"
    if wanted not in found:
        raise UsageError(
            Diagnostic(
                code="ATL0621",
                message="nothing was built here yet" if not found else f"no build folder `{build_id}`",
                notes=(
                    f"looked in: {root / BASE}",
                    "found: " + (", ".join(name.removeprefix(f"{BASE}/") for name in found) or "none"),
                ),
                hint="run `atoll build` first" if not found else "name one of them",
            )
        )
    return wanted


def _from_root(root: Path, what: str) -> str:
    """Return a path as the graph has it where `what` is a file seen from the current folder."""
    here = Path(os.path.abspath(what))  # noqa: PTH100 - links are not followed
    if here.exists() and root in here.parents:
        return str(here.relative_to(root))
    return what


def _facts(story: EdgeStory | FileStory, reach: bool) -> dict[str, Any]:
    from atoll.graph import EdgeStory

    if not isinstance(story, EdgeStory):
        return {"file": story.path, "maker": story.maker or None, "users": list(story.users)}
    facts: dict[str, Any] = {
        "edge": story.name,
        "command": list(story.argv),
        "ran": story.ran,
        "why": list(story.why),
        "pending": list(story.pending),
        "inputs": list(story.inputs),
        "outputs": list(story.outputs),
        "seconds": story.seconds,
        "memory": story.memory,
    }
    return facts | ({"found": list(story.found)} if reach else {})


def _stories(root: Path, folder: str, listed: Iterable[tuple[str, tuple[str, ...]]]) -> Iterator[EdgeStory]:
    from atoll.graph import EdgeStory, explain

    for name, _ in listed:
        story = explain(root, folder, name)
        if isinstance(story, EdgeStory):
            yield story


def _reached(story: EdgeStory, root: Path) -> dict[str, Any]:
    """Return where the files of an action come from, and what the loader maps for what it linked."""
    from atoll.build.reach import HOST, host_folders, mapped, origin
    from atoll.store import Store

    store = Store.open(os.environ, offline=True).folder
    paths = tuple(dict.fromkeys((*story.inputs, *story.found)))
    libraries: dict[str, str] = {}
    for output in story.outputs:
        libraries |= mapped(root / output, os.environ)
    return {
        "edge": story.name,
        "origins": dict(Counter(origin(path, root, store) for path in paths)),
        "host": host_folders(paths, root, store),
        "host_files": [path for path in paths if origin(path, root, store) == HOST],
        "loads": libraries,
    }


def _list_reached(edges: Iterable[dict[str, Any]]) -> None:
    for edge in edges:
        click.echo(plain(edge["edge"]))
        _print_reached(edge)


def _print_reached(facts: dict[str, Any]) -> None:
    for name, count in sorted(facts.get("origins", {}).items()):
        click.echo(f"  reached: {count} of {name}")
    for folder, count in facts.get("host", {}).items():
        click.echo(plain(f"  host: {folder} ({count})"))
    for name, path in sorted(facts.get("loads", {}).items()):
        click.echo(plain(f"  loads: {name}: {path or 'not found'}"))


def _list(folder: str, listed: list[tuple[str, tuple[str, ...]]]) -> None:
    click.echo(plain(f"{len(listed)} edges in {folder}"))
    for name, why in listed:
        click.echo(plain(f"  {name}{'  ran: ' + why[0] if why else ''}"))


def _print(story: EdgeStory | FileStory, reach: bool) -> None:
    from atoll.graph import EdgeStory

    if isinstance(story, EdgeStory):
        _print_edge(story, reach)
        return
    click.echo(plain(story.path))
    click.echo(plain(f"  made by: {story.maker or 'no action; it is a source or lies on the host'}"))
    for user in story.users:
        click.echo(plain(f"  read by: {user}"))


def _print_edge(story: EdgeStory, reach: bool) -> None:
    click.echo(plain(story.name))
    if story.ran:
        for reason in story.why:
            click.echo(plain(f"  ran because: {reason}"))
    else:
        click.echo("  did not run in the last build that ran anything")
    for reason in story.pending:
        click.echo(plain(f"  would run now: {reason}"))
    if story.seconds:
        click.echo(f"  took {story.seconds:.2f} s; its largest process held {story.memory >> 20} MiB")
    click.echo(plain(f"  command: {shlex.join(story.argv)}"))
    for path in story.outputs:
        click.echo(plain(f"  writes: {path}"))
    for path in story.inputs:
        click.echo(plain(f"  reads: {path}"))
    if reach:
        for path in story.found:
            click.echo(plain(f"  found: {path}"))
    elif story.found:
        click.echo(f"  and {len(story.found)} files that it found (--reach lists them)")
