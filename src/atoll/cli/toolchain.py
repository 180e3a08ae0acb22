"""`atoll toolchain`: which payloads are here, which tools did a build take and why; add and prune."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atoll.cli._answer import answering, day, plain, project_root, size
from atoll.cli._group import WholeGroup

if TYPE_CHECKING:
    from atoll.store import Store, Stored

_JSON = click.option("--json", "as_data", is_flag=True, help="Print one JSON object.")


@click.group(name="toolchain", cls=WholeGroup)
def command() -> None:
    """List, explain, add and prune payloads: the files of toolchains in the user's store."""


def _store() -> Store:
    from atoll.store import Store

    return Store.default()


@command.command(name="list")
@_JSON
def list_(as_data: bool) -> None:
    """List what the store holds, and what installed lanes would take from it."""
    with answering(as_data) as answer:
        store = _store()
        stored = _merged(store.stored())
        wanted = _lanes(store.names())
        answer.update({"store": str(store.folder), "payloads": [_facts(item) for item in stored]})
        answer["lanes"] = wanted
        if as_data:
            return
        click.echo(f"store: {store.folder}")
        for item in stored:
            facts = (item.name, size(item.size), f"{item.files} files", f"fetched {day(item.fetched)}")
            click.echo(plain("  ".join(facts)))
            click.echo(plain(f"  from: {' '.join(item.requirements)}"))
            click.echo(f"  digest: {item.digest[:16]}")
        if not stored:
            click.echo("  it holds no payload")
        for row in wanted:
            click.echo(plain(f"lane {row['lane']}: {row['found'] or row['reason'] or 'nothing found'}"))
            if row["payload"]:
                click.echo(plain(f"  payload: {row['payload']}"))


def _merged(stored: tuple[Stored, ...]) -> list[Stored]:
    """Return each set of bytes once: several requests may have led to the same files."""
    from atoll._util.values import replace

    found: dict[tuple[str, str], Stored] = {}
    for item in stored:
        known = found.get((item.name, item.digest), item)
        found[item.name, item.digest] = replace(
            known,
            fetched=min(known.fetched, item.fetched),
            used=max(known.used, item.used),
            started={**known.started, **item.started},
        )
    return list(found.values())


def _lanes(names: frozenset[str]) -> list[dict[str, Any]]:
    import os

    from atoll.errors import PluginError
    from atoll.plugin import registry

    rows = []
    for name in registry().lanes:
        try:
            status = registry().lanes[name].status(dict(os.environ), names)
            rows.append(
                {
                    "lane": name,
                    "found": status.found,
                    "payload": status.payload,
                    "reason": status.reason,
                }
            )
        except PluginError as error:
            rows.append({"lane": name, "found": "", "payload": "", "reason": error.diagnostics[0].message})
    return rows


def _facts(item: Stored) -> dict[str, Any]:
    return {
        "name": item.name,
        "requirements": list(item.requirements),
        "distributions": item.distributions,
        "root": str(item.root),
        "digest": item.digest,
        "bytes": item.size,
        "files": item.files,
        "fetched": day(item.fetched),
        "used": day(item.used),
        "started": item.started,
    }


@command.command(name="why")
@click.argument("name", required=False)
@_JSON
def why(name: str | None, as_data: bool) -> None:
    """Say which tools the last build took and why, and from which bytes a payload was made.

    NAME is a lane, a tool or a payload; without it everything is listed.
    """
    with answering(as_data) as answer:
        taken = [row for row in _taken() if name in {None, row["lane"], row["name"]}]
        stored = [_facts(item) for item in _store().stored() if name in {None, item.name}]
        if name is not None and not taken and not stored:
            raise _unknown(name)
        answer.update({"taken": taken, "payloads": stored})
        if as_data:
            return
        for row in taken:
            click.echo(plain(f"{row['lane']}: {row['name']} {row['version']}".rstrip()))
            click.echo(plain(f"  at:  {row['path']}"))
            click.echo(plain(f"  why: {row['why']}"))
        for item in stored:
            click.echo(plain(f"payload {item['name']}, in {item['root']}"))
            for file, sha in sorted(item["distributions"].items()):
                click.echo(plain(f"  {sha}  {file}"))
            for program, said in sorted(item["started"].items()):
                click.echo(plain(f"  started: {program}: {said}"))
        if not taken and not stored:
            click.echo("nothing was built here and the store is empty")


def _taken() -> list[dict[str, Any]]:
    """Return what the last build of this project took, from its ``resolution.json``."""
    from atoll.errors import AtollError

    try:
        root = project_root()
    except AtollError:
        return []
    found = sorted(root.glob(".atoll/build/*/resolution.json"), key=lambda path: path.stat().st_mtime_ns)
    lanes = _read(found[-1]).get("lanes", {}) if found else {}
    return [row for lane, facts in sorted(lanes.items()) for row in _of_lane(lane, facts)]


def _of_lane(lane: str, facts: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for tool in facts.get("tools", ()):
        yield {"lane": lane, **{key: str(tool.get(key, "")) for key in _KEYS}}
    for payload in facts.get("payloads", ()):
        yield {
            "lane": lane,
            "name": str(payload.get("name", "")),
            "path": str(payload.get("root", "")),
            "version": " ".join(map(str, payload.get("requirements", ()))),
            "why": str(payload.get("why", "")),
        }


_KEYS = ("name", "path", "version", "why")


def _read(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _unknown(name: str) -> Exception:
    from atoll._util.near import nearest
    from atoll.diagnostics import Diagnostic
    from atoll.errors import UsageError

    known = sorted({row[key] for row in _taken() for key in ("lane", "name")} | _store().names())
    near = nearest(name, known)
    return UsageError(
        Diagnostic(
            code="ATL0588",
            message=f"no lane, tool or payload `{name}` is known here",
            notes=("known: " + (", ".join(known) or "none"),),
            hint=f"did you mean `{near}`?" if near else "`atoll build` records what it takes",
        )
    )


@command.command(name="add")
@click.option("--accel", metavar="SPEC", help="The accel set, instead of the manifest's.")
@_JSON
def add(accel: str | None, as_data: bool) -> None:
    """Fetch what this project's lanes need for its set, and build nothing."""
    from atoll.session import open_session

    with answering(as_data) as answer:
        resolution = open_session(Path.cwd(), accel=accel).add()
        payloads = [row for lane in resolution["lanes"].values() for row in lane["payloads"]]
        answer["payloads"] = payloads
        if as_data:
            return
        for row in payloads:
            click.echo(plain(f"{row['name']}: {row['why']}, in {row['root']}"))
        if not payloads:
            click.echo("this project needs no payload for its set")


@command.command(name="prune")
@click.option("--unused-days", type=click.FloatRange(min=0), default=30.0, show_default=True)
@_JSON
def prune(unused_days: float, as_data: bool) -> None:
    """Remove payloads that nothing used for some days."""
    with answering(as_data) as answer:
        removed = _store().prune(unused_for=unused_days * 86400)
        answer["removed"] = [_facts(item) for item in removed]
        if not as_data:
            for item in removed:
                click.echo(plain(f"removed {item.name} ({size(item.size)})"))
            click.echo(f"{len(removed)} payloads removed")
