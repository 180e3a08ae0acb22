"""Which entries does a root export? Its files are walked in sorted order and parsed where a marker stands.

A root is a folder on disk, or one file. What is found depends on the files alone: never on the accel set,
on what is built, or on the order in which the file system lists. Parsing is bounded in size and time.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from atoll._util.values import dataclass, field, replace
from atoll.boundary import grammar
from atoll.boundary.declare import Source, entry_at
from atoll.boundary.includes import included_structs
from atoll.boundary.lex import MARKER_LIMIT, Marked, blanked, find_markers
from atoll.boundary.names import is_identifier, safe
from atoll.boundary.structs import found_structs
from atoll.boundary.values import Entry
from atoll.diagnostics import Diagnostic, Span
from atoll.errors import BoundaryError, UnreadableError

MARKER = "ATOLL_EXPORT"
"""The marker's stem: ``ATOLL_EXPORT_C`` alone, ``ATOLL_EXPORT_AS(…)`` with a clause."""
FILE_LIMIT = 1 << 20
"""Bytes that a file with a marker may have."""
READ_LIMIT = 64 << 20
"""Bytes up to which a file is looked through for a marker; a larger one is no source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """One implementation of a boundary.

    Attributes:
        name: The root's name (its folder's, in a manifest).
        path: Where it lies, as diagnostics show it.
        entries: What it exports, in the order of its files.
        place: Where it lies on disk, links resolved; no part of equality.
    """

    name: str
    path: str
    entries: tuple[Entry, ...] = ()
    place: Path | None = field(default=None, compare=False)


def marker_stem(marker: str) -> str:
    """Return the stem of a marker given as ``NAME``, ``NAME_C`` or ``NAME_AS``.

    Raises:
        BoundaryError: Where it is no identifier.
    """
    stem = re.sub(r"_(C|AS)$", "", marker)
    if not is_identifier(stem):
        raise BoundaryError(
            Diagnostic(
                code="ATL0311",
                message=f"the marker `{marker}` is no identifier",
                notes=(f"the marker is: {marker}", "it must be made of letters, digits and `_`"),
            )
        )
    return stem


def scan(
    folder: Path,
    *,
    name: str = "",
    marker: str = MARKER,
    shown: Path | None = None,
    extensions: tuple[str, ...] | None = None,
) -> Root:
    """Return the entries that a root marks.

    Args:
        folder: The root: a folder, or a single file.
        name: The root's name; the folder's own by default.
        marker: The marker's stem, or either of its two spellings.
        shown: The folder that paths in diagnostics are relative to.
        extensions: What to scan instead of every extension that some grammar reads.

    Raises:
        BoundaryError: With every fault of the root.
        UnreadableError: Where the root is missing or a file cannot be read.
    """
    stem = marker_stem(marker)
    shown_root = _shown(folder, shown)
    if not folder.exists():
        raise UnreadableError(missing_root(shown_root))
    entries: list[Entry] = []
    faults: list[Diagnostic] = []
    for path in _files(folder, extensions or grammar.extensions()):
        found, wrong = _scan_file(path, _shown(path, shown), stem)
        if found:
            found, more = _placed(found, path, folder, _shown(path, shown))
            wrong = [*wrong, *more]
        entries += found
        faults += wrong
    if faults:
        raise BoundaryError(*faults)
    root = name or (folder.stem if folder.is_file() else folder.resolve().name)
    exported = tuple(replace(entry, root=root) for entry in entries)
    return Root(name=root, path=shown_root, entries=exported, place=folder.resolve())


def scan_declared(path: Path, *, marker: str = MARKER, shown: Path | None = None) -> tuple[Entry, ...]:
    """Return the entries that a header declares by hand: marked declarations without a body.

    Raises:
        BoundaryError: With every fault of the header.
        UnreadableError: Where it cannot be read.
    """
    entries, faults = _scan_file(path, _shown(path, shown), marker_stem(marker), by_hand=True)
    if not entries and not faults:
        faults = [
            Diagnostic(
                code="ATL0309",
                message=f"the header `{_shown(path, shown)}` declares no marked entry",
                span=Span(file=_shown(path, shown)),
                notes=(f"header: {_shown(path, shown)}", f"marker: {marker_stem(marker)}"),
                hint=f"write {marker_stem(marker)}_C, or {marker_stem(marker)}_AS with a clause, before each",
            )
        ]
    if faults:
        raise BoundaryError(*faults)
    return tuple(entries)


def missing_root(
    shown: str, span: Span | None = None, notes: tuple[str, ...] = (), near: str | None = None
) -> Diagnostic:
    """Return the refusal of a root that is not there; `near` is one that would be."""
    return Diagnostic(
        code="ATL0314",
        message=f"the root `{shown}` does not exist",
        span=span,
        notes=notes,
        hint=f"write `{near}`" if near else "make the folder or the file, or leave the root out",
    )


def _shown(path: Path, base: Path | None) -> str:
    if base is not None and path.is_relative_to(base):
        return path.relative_to(base).as_posix()
    return path.as_posix()


def _files(folder: Path, extensions: tuple[str, ...]) -> Iterator[Path]:
    """Give the regular files to scan, sorted by their path's parts; links to folders are not followed."""
    if not folder.is_dir():
        yield folder
        return
    found: list[Path] = []
    for here, folders, names in os.walk(folder, followlinks=False):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(here) / name for name in names if Path(name).suffix in extensions]
    for path in sorted(found, key=lambda item: item.relative_to(folder).parts):
        if _is_regular(path):
            yield path


def _is_regular(path: Path) -> bool:
    """Tell whether a name leads to a file; one that leads nowhere is left to the reading to refuse."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return True


def _scan_file(
    path: Path, shown: str, stem: str, *, by_hand: bool = False
) -> tuple[list[Entry], list[Diagnostic]]:
    with_clause, without = f"{stem}_AS".encode(), f"{stem}_C".encode()
    text = _read(path, shown)
    if with_clause not in text and without not in text:
        return [], []
    if len(text) > FILE_LIMIT:
        return [], [_too_much(shown, f"it has {len(text)} bytes", f"{FILE_LIMIT} bytes")]
    marked = find_markers(text, with_clause, without)
    if len(marked) > MARKER_LIMIT:
        return [], [_too_much(shown, f"it has more than {MARKER_LIMIT} markers", f"{MARKER_LIMIT} markers")]
    source = Source(path=shown, text=text, by_hand=by_hand)
    return _parse(source, marked, path) if marked else ([], [])


def _read(path: Path, shown: str) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(READ_LIMIT)
    except OSError as error:
        raise UnreadableError(
            Diagnostic(
                code="ATL0002",
                message=f"the file `{shown}` could not be read",
                notes=(f"reason: {error.strerror or error}",),
            )
        ) from error


def _parse(source: Source, marked: tuple[Marked, ...], path: Path) -> tuple[list[Entry], list[Diagnostic]]:
    known = path.suffix if path.suffix in grammar.extensions() else grammar.FALLBACK
    tree = grammar.parse(blanked(source.text, marked), known)
    if tree is None:
        limit = f"{grammar.TIME_LIMIT:g} seconds"
        return [], [_too_much(source.path, f"parsing it takes more than {limit}", limit)]
    source.structs = found_structs(tree.root_node)
    source.elsewhere = lambda: included_structs(tree.root_node, path, FILE_LIMIT)
    found = [entry_at(source, tree.root_node, item) for item in marked]
    return [entry for entry in found if entry is not None], source.faults


def _too_much(shown: str, has: str, limit: str) -> Diagnostic:
    return Diagnostic(
        code="ATL0313",
        message="a file with a marker is too large to scan",
        span=Span(file=shown),
        notes=(has, f"the limit is: {limit}"),
        hint="move the marked functions to a file of their own",
    )


def _placed(
    entries: list[Entry], path: Path, folder: Path, shown: str
) -> tuple[list[Entry], list[Diagnostic]]:
    """Give the entries of a file the namespace of its folders below the root."""
    parts = path.parent.relative_to(folder).parts if folder.is_dir() else ()
    bad = [part for part in parts if not is_identifier(part)]
    faults = [
        Diagnostic(
            code="ATL0311",
            message=f"the folder `{part}` cannot be a segment of a name",
            span=entries[0].span or Span(file=shown),
            notes=(f"the folder is: {part}", "a segment is made of ASCII letters, digits and `_`"),
            hint="rename the folder, or move the marked functions out of it",
        )
        for part in bad
    ]
    namespace = tuple(safe(part) for part in parts)
    return [replace(entry, namespace=namespace) for entry in entries], faults
