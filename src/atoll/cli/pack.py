"""`atoll pack`: build the project, measure what was built, and write the wheel."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from atoll.cli._building import Talk

if TYPE_CHECKING:
    from atoll.errors import AtollError
    from atoll.packaging import Packed
    from atoll.packaging.library import PackedLibrary
    from atoll.packaging.variants import Labelled
    from atoll.session import Built, Session


@click.command(name="pack")
@click.option(
    "--wheel", is_flag=True, expose_value=False, help="Write one wheel with every backend; the default."
)
@click.option("--variants", is_flag=True, help="Write a variant wheel for each `[[pack.variant]]` (PEP 825).")
@click.option("--out", metavar="DIR", default="dist", show_default=True, help="Where the wheel is written.")
@click.option("-j", "--jobs", type=click.IntRange(min=1), metavar="N", help="Actions at once.")
@click.option("--offline", is_flag=True, help="Fetch nothing; work from the store.")
@click.option("--json", "as_data", is_flag=True, help="Print one JSON object.")
@click.option("-v", "--verbose", is_flag=True, help="Print each command.")
def command(variants: bool, out: str, jobs: int | None, offline: bool, as_data: bool, verbose: bool) -> None:
    """Pack the project as one wheel: the processor's code and every backend of the manifest's set.

    A project of libraries is packed as a folder: headers, libraries, and how CMake and pkg-config find them.
    """
    from atoll.errors import AtollError
    from atoll.session import open_session

    talk = Talk(as_data=False, verbose=verbose)
    try:
        if variants:
            _answer_variants(*_pack_variants(Path(out), talk, jobs, offline=offline), talk, as_data=as_data)
            return
        session = open_session(Path.cwd(), offline=offline, say=talk.say)
        built = session.build(elsewhere=True, jobs=jobs, on_event=talk.event, on_plan=talk.plan)
        talk.diagnostics(built.diagnostics)
        if libraries := _libraries(built, session.manifest.package.name):
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


def _pack_variants(out: Path, talk: Talk, jobs: int | None, *, offline: bool) -> tuple[list[Packed], Path]:
    """Build, measure and write each variant of the manifest, and last the index of them."""
    from atoll.packaging.variants import write_index
    from atoll.session import open_session

    base = open_session(Path.cwd(), offline=offline, say=talk.say)
    written = []
    for table, variant in zip(base.manifest.pack.variant, _asked_variants(base), strict=True):
        session = open_session(
            Path.cwd(),
            accel=table.accel or None,
            no_accel=not table.accel,
            features=table.features,
            offline=offline,
            say=talk.say,
        )
        built = session.build(elsewhere=True, jobs=jobs, on_event=talk.event, on_plan=talk.plan)
        talk.diagnostics(built.diagnostics)
        written.append(session.pack(built, out, variant=variant))
    found = tuple(each.variant for each in written if each.variant is not None)
    return written, write_index(base.metadata().stem, found, out)


def _asked_variants(session: Session) -> list[Labelled]:
    """Return the variants as the manifest asks for them; refused before anything is built."""
    from atoll._util.values import replace
    from atoll.accel import AccelSet, parse_option
    from atoll.packaging.variants import check_label, labelled
    from atoll.plugin.rules import backend_rules

    rules, asked = backend_rules(), []
    for table in session.manifest.pack.variant:
        accel = parse_option(table.accel, option="accel") if table.accel else AccelSet()
        check_label(table.label, accel)
        asked.append(labelled(table.label, accel, (), rules))
    known = {each.namespace: each for variant in asked for each in variant.properties}
    if not known:
        raise _no_variants(session)
    return [replace(variant, beside=tuple(known.values())) for variant in asked]


def _no_variants(session: Session) -> Exception:
    from atoll.diagnostics import Diagnostic
    from atoll.errors import UsageError

    labels = ", ".join(table.label for table in session.manifest.pack.variant)
    return UsageError(
        Diagnostic(
            code="ATL0472",
            message=f"`{session.manifest.package.name}` has no variants to choose among",
            notes=(f"manifest: {session.manifest_path}", f"its variants: {labels or 'none'}"),
            hint="describe one with device code in `[[pack.variant]]`: `label`, `accel`, `features`",
        )
    )


def _answer_variants(written: list[Packed], index: Path, talk: Talk, *, as_data: bool) -> None:
    if as_data:
        wheels = [
            {key: value for key, value in _data(each).items() if key != "diagnostics"} for each in written
        ]
        talk.emit({"wheels": wheels, "index": str(index), "diagnostics": []})
        return
    for each in written:
        talk.say(each.path.name)
        for line in _lines(each):
            talk.say(line)
    for path in (*(each.path for each in written), index):
        click.echo(path)


def _libraries(built: Built, package: str) -> list[str]:
    """Return the libraries of a project that has nothing for a wheel, as they lie in the prefix."""
    if built.modules:
        return []
    from atoll.build.install import installed_file

    found = (output for output in built.outputs if output.kind in ("static", "shared"))
    return [f"lib/{installed_file(output.target, output.path, package)}" for output in found]


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
