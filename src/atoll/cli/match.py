"""`atoll match`: which of these prebuilt artifacts does a build get, and why not the others?"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atoll.cli._answer import answering, one_line

if TYPE_CHECKING:
    from atoll.accel import BackendRules
    from atoll.artifact import BuildRequest, Choice, Index, Verdict
    from atoll.diagnostics import Diagnostic

_DESCRIPTOR = "atoll.json"


@click.command(name="match")
@click.argument("indexes", metavar="INDEX...", nargs=-1, required=True)
@click.option("--want", metavar="SPEC", help="The accel set a build asks for.")
@click.option("--no-accel", is_flag=True, help="Ask explicitly for none: refuse what has device code.")
@click.option("--abi", "abi", metavar="TAG", default="", help="The ABI a build asks for.")
@click.option("--json", "as_data", is_flag=True, help="Print one JSON object.")
def command(indexes: tuple[str, ...], want: str | None, no_accel: bool, abi: str, as_data: bool) -> None:
    """Choose among prebuilt artifacts: index files, wheels, or what `measure --json` printed."""
    from atoll.plugin.rules import backend_rules

    with answering(as_data) as answer:
        request = _request(want, no_accel=no_accel, abi=abi)
        rules = backend_rules()
        _check(request, rules)
        session = _Session(request)
        for index in _grouped(session.load(indexes)):
            session.one(index, rules)
        if as_data:
            answer |= session.data()
        else:
            session.print()
    sys.exit(session.code)


def _request(want: str | None, *, no_accel: bool, abi: str) -> BuildRequest:
    from atoll.accel import AccelSet, parse_option
    from atoll.artifact import Abi, BuildRequest
    from atoll.diagnostics import Diagnostic
    from atoll.errors import AtollError, UsageError

    if want is not None and no_accel:
        raise UsageError(
            Diagnostic(
                code="ATL0119",
                message="a set and none are asked for at once",
                notes=(f"--want: {want}", "--no-accel: given"),
                hint="give one of the two",
            )
        )
    try:
        tag = Abi.parse(abi)
    except AtollError as error:
        raise UsageError(*error.diagnostics) from error
    if no_accel:
        return BuildRequest(accel=AccelSet(), abi=tag)
    return BuildRequest(accel=None if want is None else parse_option(want, option="--want"), abi=tag)


def _check(request: BuildRequest, rules: Mapping[str, BackendRules]) -> None:
    """Refuse an asked entry that its lane knows to name nothing."""
    from atoll.accel import refused_entries
    from atoll.errors import UsageError

    refused = refused_entries(request.accel, rules, "<--want>") if request.accel else ()
    if refused:
        raise UsageError(*refused)


def _load(path: Path) -> Index:
    """Return the index of a JSON file, or of a wheel: what it says of itself, else what it measures to."""
    from atoll.artifact import Index, read_index
    from atoll.artifact.descriptor import MAX_BYTES

    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        from atoll.diagnostics import Diagnostic
        from atoll.errors import UnreadableError

        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableError(
            Diagnostic(code="ATL0002", message=f"cannot read `{path}`", notes=(f"reason: {reason}",))
        ) from error
    name, version = _wheel_name(path)
    if data[:2] != b"PK":
        return _named(read_index(data, str(path)), path.stem, "")
    inside = _inside(path)
    if inside is not None:
        return _named(read_index(inside, f"{path}!{_DESCRIPTOR}"), name, version)
    return Index(package=name, version=version, artifacts=(_measured(path),))


def _named(index: Index, package: str, version: str) -> Index:
    """Return an index that has a name, its file's where it says none."""
    from atoll._util.values import replace

    return index if index.package else replace(index, package=package, version=index.version or version)


def _inside(path: Path) -> bytes | None:
    """Return the descriptor that a wheel holds beside its metadata, or None; every byte is hostile."""
    import zipfile
    import zlib

    from atoll.artifact.descriptor import MAX_BYTES

    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                folder, _, name = info.filename.rpartition("/")
                if name == _DESCRIPTOR and folder.endswith(".dist-info") and "/" not in folder:
                    with archive.open(info) as member:
                        return member.read(MAX_BYTES + 1)
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, ValueError) as error:
        from atoll.diagnostics import Diagnostic
        from atoll.errors import UnreadableError

        reason = f"{type(error).__name__}: {error}"
        raise UnreadableError(
            Diagnostic(code="ATL0002", message=f"`{path}` is no readable wheel", notes=(f"reason: {reason}",))
        ) from error
    return None


def _wheel_name(path: Path) -> tuple[str, str]:
    """Return name and version from a wheel's file name, or the stem where it is none."""
    parts = path.stem.split("-")
    return (parts[0], parts[1]) if len(parts) >= 5 else (path.stem, "")


def _measured(path: Path) -> Any:
    from atoll.artifact import Descriptor
    from atoll.packaging import measure

    found = measure(path)
    return Descriptor(
        role="wheel", path=str(path), accel=found.accel, requires=found.requires, declared=found.declared
    )


def _grouped(indexes: list[Index]) -> list[Index]:
    """Join the indexes of one package and version, so that several mirrors are one offer."""
    from atoll.artifact import Index

    groups: dict[tuple[str, str], list[Index]] = {}
    for each in indexes:
        groups.setdefault((each.package, each.version), []).append(each)
    return [
        Index(
            package=package,
            version=version,
            artifacts=tuple(one for each in group for one in each.artifacts),
            diagnostics=tuple(one for each in group for one in each.diagnostics),
        )
        for (package, version), group in groups.items()
    ]


class _Session:
    """The packages of one call, the answer for each, and the exit code."""

    def __init__(self, request: BuildRequest) -> None:
        self.request = request
        self.answers: list[tuple[Index, Choice]] = []
        self.diagnostics: list[Diagnostic] = []
        self.code = 0

    def load(self, names: tuple[str, ...]) -> list[Index]:
        """Return the indexes that can be read; what cannot is a diagnostic and exit code 2."""
        from atoll.errors import UnreadableError

        found = []
        for name in names:
            try:
                found.append(_load(Path(name)))
            except UnreadableError as error:
                self.diagnostics += error.diagnostics
                self.code = 2
        return found

    def one(self, index: Index, rules: Any) -> None:
        from atoll.artifact import Subject, choose, refusal

        choice = choose(index.artifacts, self.request, rules)
        self.answers.append((index, choice))
        self.diagnostics += (*index.diagnostics, *choice.notes)
        if not choice:
            self.code = self.code or 1
            self.diagnostics.append(
                refusal(Subject.BUILD, index.package, index.version, self.request, choice)
            )

    def data(self) -> dict[str, Any]:
        """Return the one object of `--json`."""
        from atoll.diagnostics import as_json

        packages = [_data(index, choice) for index, choice in self.answers]
        return {"packages": packages, "diagnostics": [as_json(item) for item in self.diagnostics]}

    def print(self) -> None:
        """Print the data on stdout and what is to be said on stderr."""
        from atoll.diagnostics import render

        for index, choice in self.answers:
            click.echo(one_line(f"{index.package} {index.version}".rstrip()))
            first = choice.accepted[0] if choice else None
            for verdict in choice.verdicts():
                click.echo(one_line(_line(verdict, taken=verdict.descriptor is first)))
        for item in self.diagnostics:
            click.echo(render(item), err=True)


def _data(index: Index, choice: Choice) -> dict[str, Any]:
    return {
        "package": index.package,
        "version": index.version,
        "accepted": [each.path for each in choice.accepted],
        "artifacts": [verdict.as_json() for verdict in choice.verdicts()],
    }


def _line(verdict: Verdict, *, taken: bool) -> str:
    word = "takes" if taken else "accepts" if verdict.relation else "refuses"
    path = verdict.descriptor.path
    side = verdict.descriptor.side
    what = side if path in ("", verdict.descriptor.left) else f"{path}  {side}"
    why = "; ".join(str(each) for each in verdict.relation.differences)
    return f"  {word:<8} {what}{f'  ({why})' if why else ''}"
