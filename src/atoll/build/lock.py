"""Which versions and bytes did this project take? ``atoll.lock``: names, versions, hashes, no address.

One file beside the manifest, for payloads of lanes and for packages from an index or a distribution. It is
written whole, sorted, with the rows of other sets and platforms kept; where the bytes that come differ from
those that are locked, the build is refused.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from atoll._util.files import write_if_changed
from atoll._util.values import dataclass, field, replace
from atoll.diagnostics import Diagnostic, Span
from atoll.errors import StoreError, UnreadableError
from atoll.store import PayloadRoot

FILE = "atoll.lock"
FORMAT = 1
MAX_BYTES = 16 << 20
_HEAD = "# Names, versions and hashes of what is taken. Written by atoll; keep it under version control.\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Locked:
    """One row.

    Attributes:
        name: The payload or package.
        requirement: What was asked for; exact requirements of a payload, one a line.
        version: What was taken; empty for a payload, whose requirements are exact.
        sdist: Whether a package is a source distribution.
        payload: Whether it is a lane's payload.
        sha256: The hash of each distribution by its file name.
    """

    name: str
    requirement: str
    version: str = ""
    sdist: bool = False
    payload: bool = False
    sha256: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lock:
    """What ``atoll.lock`` says."""

    path: Path
    rows: tuple[Locked, ...] = ()

    def package(self, name: str, requirement: str) -> Locked | None:
        """Return the row of a package where it was made from the same requirement."""
        return next(
            (
                row
                for row in self.rows
                if not row.payload and row.name == name and row.requirement == requirement and row.version
            ),
            None,
        )

    def taken(self, name: str, requirement: str, found: Mapping[str, str]) -> None:
        """Compare a distribution that a path names with its row.

        Raises:
            StoreError: Where its bytes are others than those locked.
        """
        for row in self.rows:
            if not row.payload and (row.name, row.requirement) == (name, requirement):
                self.check(name, row.sha256, found)

    def payload(self, root: PayloadRoot) -> None:
        """Compare a payload with its row.

        Raises:
            StoreError: Where its bytes are others than those locked.
        """
        asked = "\n".join(root.payload.requirements)
        for row in self.rows:
            if row.payload and row.name == root.payload.name and row.requirement == asked:
                self.check(row.name, row.sha256, root.distributions)

    def check(self, name: str, locked: Mapping[str, str], found: Mapping[str, str]) -> None:
        """Refuse bytes that differ from those locked; a file of another platform concludes nothing.

        Raises:
            StoreError: With both hashes.
        """
        faults = [
            Diagnostic(
                code="ATL0583",
                message=f"`{file}` of `{name}` is not the file that `{FILE}` pins",
                notes=(f"pinned SHA-256: {locked[file]}", f"fetched SHA-256: {sha}"),
                hint=f"ask why the published file changed before you remove its row from `{FILE}`",
            )
            for file, sha in sorted(found.items())
            if file in locked and locked[file] != sha
        ]
        if faults:
            raise StoreError(*faults)

    def with_rows(self, rows: Iterable[Locked]) -> Lock:
        """Return the lock with rows added; a row of the same name and requirement gets their hashes too."""
        known = {(row.payload, row.name): row for row in self.rows}
        for row in rows:
            old = known.get((row.payload, row.name))
            same = old is not None and (old.requirement, old.version) == (row.requirement, row.version)
            known[row.payload, row.name] = (
                replace(row, sha256={**old.sha256, **row.sha256}) if same and old is not None else row
            )
        return Lock(self.path, tuple(known.values()))

    def write(self) -> bool:
        """Write the file where its bytes differ; nothing where there is no row and no file."""
        if not self.rows and not self.path.exists():
            return False
        return write_if_changed(self.path, self.text())

    def text(self) -> str:
        """Return the file's text: equal rows give equal bytes."""
        rows = sorted(self.rows, key=lambda row: (not row.payload, row.name))
        return f"{_HEAD}format = {FORMAT}\n" + "".join(_row(row) for row in rows)


def _row(row: Locked) -> str:
    lines = ["", f"[[{'payload' if row.payload else 'package'}]]", f"name = {_quoted(row.name)}"]
    if row.payload:
        lines.append(f"requirements = [{', '.join(_quoted(text) for text in row.requirement.splitlines())}]")
    else:
        lines += [f"requirement = {_quoted(row.requirement)}", f"version = {_quoted(row.version)}"]
        lines += ["source-distribution = true"] if row.sdist else []
    hashes = [f"  {_quoted(file)} = {_quoted(sha)}" for file, sha in sorted(row.sha256.items())]
    lines += [f"[{'payload' if row.payload else 'package'}.sha256]", *(line.strip() for line in hashes)]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    body = "".join(
        f"\\u{ord(char):04X}"
        if ord(char) < 32 or char == "\x7f"
        else {'"': '\\"', "\\": "\\\\"}.get(char, char)
        for char in text
    )
    return f'"{body}"'


def payload_row(root: PayloadRoot) -> Locked:
    """Return the row of a payload."""
    return Locked(
        name=root.payload.name,
        requirement="\n".join(root.payload.requirements),
        payload=True,
        sha256=root.distributions,
    )


def read_lock(root: Path) -> Lock:
    """Return what a project's lock says; no rows where it has none.

    Raises:
        UnreadableError: Where it is no lock.
    """
    path = root / FILE
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return Lock(path)
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    try:
        if len(data) > MAX_BYTES:
            raise ValueError(f"it is larger than {MAX_BYTES >> 20} MiB")
        value = tomllib.loads(data.decode("utf-8"))
        if value.get("format") != FORMAT:
            raise ValueError(f"its format is {value.get('format')!r}, this Atoll reads {FORMAT}")
        rows = [*map(_payload, value.get("payload", ())), *map(_package, value.get("package", ()))]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _unreadable(path, str(error) or type(error).__name__) from error
    return Lock(path, tuple(rows))


def _payload(row: Mapping[str, Any]) -> Locked:
    return Locked(
        name=_text(row["name"]),
        requirement="\n".join(_text(text) for text in row["requirements"]),
        payload=True,
        sha256=_hashes(row),
    )


def _package(row: Mapping[str, Any]) -> Locked:
    return Locked(
        name=_text(row["name"]),
        requirement=_text(row["requirement"]),
        version=_text(row["version"]),
        sdist=row.get("source-distribution") is True,
        sha256=_hashes(row),
    )


def _hashes(row: Mapping[str, Any]) -> dict[str, str]:
    return {_text(name): _text(sha) for name, sha in row.get("sha256", {}).items()}


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _unreadable(path: Path, reason: str) -> UnreadableError:
    return UnreadableError(
        Diagnostic(
            code="ATL0549",
            message=f"`{FILE}` could not be read",
            span=Span(file=str(path)),
            notes=(f"reason: {reason}",),
            hint="take it from version control; without it, the next build writes a new one",
        )
    )
