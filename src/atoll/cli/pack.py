"""`atoll pack`: build the project, measure what was built, and write the wheel."""

from __future__ import annotations

import sys
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NoReturn

import click

from atoll.cli._building import Talk

if TYPE_CHECKING:
    from atoll.errors import AtollError
    from atoll.packaging import Packed
    from atoll.packaging.library import PackedLibrary
    from atoll.session import Built, Session


@click.command(name="pack")
@click.option(
    "--wheel", is_flag=True, expose_value=False, help="Write one wheel with every backend; the default."
)
@click.option("--out", metavar="DIR", default="dist", show_default=True, help="Where the wheel is written.")
@click.option("-j", "--jobs", type=click.IntRange(min=1), metavar="N", help="Actions at once.")
@click.option("--offline", is_flag=True, help="Fetch nothing; work from the store.")
@click.option("--json", "as_data", is_flag=True, help="Print one JSON object.")
@click.option("-v", "--verbose", is_flag=True, help="Print each command.")
def command(out: str, jobs: int | None, offline: bool, as_data: bool, verbose: bool) -> None:
    """Pack the project as one wheel: the processor's code and every backend of the manifest's set.

    A project of libraries is packed as a folder: headers, libraries, and how CMake and pkg-config find them.
    """
    from atoll.errors import AtollError
    from atoll.session import open_session

    talk = Talk(as_data=False, verbose=verbose)
    try:
        session = open_session(Path.cwd(), offline=offline, say=talk.say)
        built = session.build(elsewhere=True, jobs=jobs, on_event=talk.event, on_plan=talk.plan)
        talk.diagnostics(built.diagnostics)
        if libraries := _libraries(built):
            _answer(_pack_library(session, built, libraries, Path(out)), talk, as_data=as_data)
            return
        packed = session.pack(built, Path(out))
    except AtollError as error:
        _refuse(error, talk, as_data=as_data)
    if as_data:
        talk.emit(_data(packed))
        return
    for line in _lines(packed):
        talk.say(line)
    click.echo(packed.path)


def _libraries(built: Built) -> list[str]:
    """Return the libraries of a project that has nothing for a wheel, as they lie in the prefix."""
    if built.modules:
        return []
    found = (output.path for output in built.outputs if output.kind in ("static", "shared"))
    return [f"lib/{PurePosixPath(path).name}" for path in found]


def _pack_library(session: Session, built: Built, libraries: list[str], out: Path) -> PackedLibrary:
    from atoll.packaging.library import pack_library
    from atoll.plugin.rules import backend_rules

    return pack_library(
        built.root / built.folder / "install",
        libraries,
        session.metadata(),
        out,
        abi=session.abi,
        declared=session.accel,
        rules=backend_rules(),
    )


def _answer(packed: PackedLibrary, talk: Talk, *, as_data: bool) -> None:
    from atoll.artifact.descriptor import accel_text

    if as_data:
        talk.emit({"folder": str(packed.path), "index": packed.index.as_json(), "diagnostics": []})
        return
    for item in packed.index.artifacts:
        if item.role == "library":
            talk.say(f"  {item.path}  {accel_text(item.accel)}")
    click.echo(packed.path)


def _data(packed: Packed) -> dict[str, Any]:
    (artifact,) = packed.index.artifacts
    return {
        "wheel": str(packed.path),
        "platform": packed.platform.tag,
        "reasons": list(packed.platform.reasons),
        "artifact": artifact.as_json(),
        "members": {name: None if accel is None else str(accel) for name, accel in packed.members.items()},
        "sizes": dict(packed.sizes),
        "diagnostics": [],
    }


def _lines(packed: Packed) -> list[str]:
    from atoll.artifact.descriptor import accel_text
    from atoll.packaging.pack import INDEX_LIMIT

    (artifact,) = packed.index.artifacts
    size = packed.path.stat().st_size
    lines = [f"  accel     {accel_text(artifact.accel)}"]
    lines += [f"  declared  {text}" for text in artifact.declared]
    lines.append(
        f"  platform  {packed.platform.tag}: {'; '.join(packed.platform.reasons) or 'no object in it'}"
    )
    lines += [f"  size      {_bytes(count):>10}  {backend}" for backend, count in packed.sizes.items()]
    lines.append(f"  size      {_bytes(size):>10}  in all, of {_bytes(INDEX_LIMIT)} that an index takes")
    return lines


def _bytes(count: int) -> str:
    return f"{count / 1024:.1f} KiB" if count < 1 << 20 else f"{count / (1 << 20):.1f} MiB"


def _refuse(error: AtollError, talk: Talk, *, as_data: bool) -> NoReturn:
    from atoll.diagnostics import as_json

    if as_data:
        talk.emit({"diagnostics": [as_json(item) for item in error.diagnostics]})
    talk.diagnostics(error.diagnostics)
    sys.exit(error.exit_code)
