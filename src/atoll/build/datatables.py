"""Which files do ``[data.NAME]`` tables embed, and how is each one kept? By its size, within limits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from atoll._util.values import dataclass, replace
from atoll.boundary import DataItem
from atoll.boundary.data import data_item
from atoll.diagnostics import Diagnostic
from atoll.errors import BoundaryError
from atoll.manifest import Data, Manifest, Storage, glob
from atoll.manifest.merge import DATA_TARGET, placed

HEADER_LIMIT = 4 << 10
"""Up to here ``auto`` keeps bytes in the header: they cost each includer, and a compiler may fold them."""
OBJECT_LIMIT = 16 << 20
"""Up to here ``auto`` keeps bytes in an object; beyond it in a file that is mapped when it is asked for."""
HEADER_MOST = 1 << 20
OBJECT_MOST = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """One file of a ``[data.NAME]`` table.

    Attributes:
        item: Its name in every language.
        path: The file as actions name it.
        storage: How its bytes are kept; never ``auto``.
        package: The package it belongs to.
        target: The archive that its object enters.
    """

    item: DataItem
    path: str
    storage: Storage
    package: str
    target: str


def embedded_files(root: Path, manifest: Manifest) -> tuple[Embedded, ...]:
    """Return the files of every table.

    Raises:
        BoundaryError: With every file that cannot be embedded.
    """
    faults: list[Diagnostic] = []
    found = [
        one for name, table in manifest.data.items() for one in _table(root, manifest, name, table, faults)
    ]
    if faults:
        raise BoundaryError(*faults)
    return tuple(found)


def _table(
    root: Path, manifest: Manifest, name: str, table: Data, faults: list[Diagnostic]
) -> Iterator[Embedded]:
    base = root / table.origin.base
    package = table.origin.package or manifest.package.name
    target = f"{table.origin.package}.{DATA_TARGET}" if table.origin.package else DATA_TARGET
    files = dict.fromkeys(
        path for pattern in table.files for path in _matched(base, name, table, pattern, faults)
    )
    for path in sorted(files):
        if table.base and not PurePosixPath(path).is_relative_to(table.base):
            faults.append(_not_below(name, table, path))
            continue
        size = (base / path).stat().st_size
        storage = _storage(table, path, size, faults)
        try:
            item = data_item(path, path, package=package, base=table.base)
        except BoundaryError as error:
            faults += error.diagnostics
            continue
        if storage is Storage.HEADER and size <= HEADER_MOST:
            item = replace(item, inline=(base / path).read_bytes())
        place = placed(table.origin.base, path)
        yield Embedded(item=item, path=place, storage=storage, package=package, target=target)


def _matched(base: Path, name: str, table: Data, text: str, faults: list[Diagnostic]) -> list[str]:
    pattern = glob.parse(text)
    if isinstance(pattern, str):
        faults.append(
            Diagnostic(
                code="ATL0214",
                message=f"the glob `{text[:80]}` cannot be used: {pattern}",
                span=table.span,
                notes=("allowed: a path below the project root, with forward slashes, without `..`",),
            )
        )
        return []
    try:
        found = glob.expand(base, pattern)
    except glob.TooMany:
        faults.append(
            Diagnostic(
                code="ATL0227",
                message=f"the glob `{text}` looks at too many files",
                span=table.span,
                notes=(f"bound: {glob.MAX_ENTRIES} entries, {glob.MAX_DEPTH} folders deep",),
            )
        )
        return []
    if not found:
        faults.append(
            Diagnostic(
                code="ATL0317",
                message=f"`{text}` of `data.{name}` matches no file",
                span=table.span,
                hint="mend the glob or remove it",
            )
        )
    wrong = {path: glob.link_fault(base, path, text, table.span) for path in found}
    faults += [fault for fault in wrong.values() if fault is not None]
    return [path for path, fault in wrong.items() if fault is None]


def _storage(table: Data, path: str, size: int, faults: list[Diagnostic]) -> Storage:
    most = {Storage.HEADER: HEADER_MOST, Storage.OBJECT: OBJECT_MOST}.get(table.storage)
    if most is not None and size > most:
        faults.append(
            Diagnostic(
                code="ATL0316",
                message=f"`{path}` is too large to be kept in the {table.storage}",
                span=table.span,
                notes=(f"it has: {size} bytes", f'`storage = "{table.storage}"` takes: {most} bytes'),
                hint='write `storage = "auto"`, or "file"',
            )
        )
    if table.storage is not Storage.AUTO:
        return table.storage
    if size <= HEADER_LIMIT:
        return Storage.HEADER
    return Storage.OBJECT if size <= OBJECT_LIMIT else Storage.FILE


def _not_below(name: str, table: Data, path: str) -> Diagnostic:
    return Diagnostic(
        code="ATL0318",
        message=f"`{path}` does not lie below the base of `data.{name}`",
        span=table.span,
        notes=(f"base: {table.base}", "names are made of the folders below it"),
        hint="narrow `files`, or remove `base`",
    )
