"""Which boundaries does the project have, and what does each root of them define?

Scanning and writing are :mod:`atoll.boundary`'s; which roots a build takes is decided in
:mod:`atoll.build.roots`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from atoll._util.near import nearest
from atoll._util.values import dataclass, replace
from atoll.build.request import BuildRequest
from atoll.diagnostics import Diagnostic
from atoll.errors import BuildError
from atoll.manifest import Boundary
from atoll.manifest.merge import placed
from atoll.plugin import SourceProduct

if TYPE_CHECKING:
    from atoll.boundary import Entry as BoundaryEntry
    from atoll.boundary import Interface, Root


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """One boundary of the manifest, its roots scanned.

    Attributes:
        name: Its name in the manifest.
        table: What the manifest says.
        roots: What each root marks, in the manifest's order.
        folders: Where each root lies, relative to the project, by the root's name.
        missing: Names of the roots whose folder is not there. That is right only for a root whose entries
            are all generated.
        declared: Entries that headers declare by hand.
    """

    name: str
    table: Boundary
    roots: tuple[Root, ...]
    folders: dict[str, str]
    missing: frozenset[str] = frozenset()
    declared: tuple[BoundaryEntry, ...] = ()

    @property
    def owns_structs(self) -> bool:
        """Whether some file of a root defines a struct that crosses."""
        entries = (entry for root in self.roots for entry in root.entries)
        return any(struct.authored for entry in entries for struct in entry.structs)

    @property
    def headers(self) -> tuple[str, ...]:
        """The headers that define structs for the files of a root, on disk."""
        entries = (*(entry for root in self.roots for entry in root.entries), *self.declared)
        return tuple(struct.place for entry in entries for struct in entry.structs if struct.place)

    def root_of(self, path: str) -> str:
        """Return the name of the root that a source lies under, or an empty text."""
        place = PurePosixPath(path)
        return next((name for name, folder in self.folders.items() if place.is_relative_to(folder)), "")

    def generated(self, products: Iterable[SourceProduct]) -> tuple[Root, ...]:
        """Return the roots with the entries that lanes generate added to those they join."""
        added: dict[str, list[BoundaryEntry]] = {}
        for product in products:
            added.setdefault(product.root, []).extend(product.entries)
        return tuple(replace(root, entries=(*root.entries, *added.get(root.name, ()))) for root in self.roots)


def scan_boundaries(request: BuildRequest) -> dict[str, Scanned]:
    """Scan every root of every boundary, whatever the set of the build.

    Raises:
        BoundaryError: With every fault of a root.
    """
    return {name: _scan(request, name, table) for name, table in request.manifest.boundary.items()}


def _scan(request: BuildRequest, name: str, table: Boundary) -> Scanned:
    from atoll.boundary import Root, scan
    from atoll.boundary.roots import scan_declared

    listed = [placed(table.origin.base, folder) for folder in table.roots]
    folders = {root_name(folder): PurePosixPath(folder).as_posix() for folder in listed}
    missing = frozenset(root for root, folder in folders.items() if not (request.root / folder).exists())
    roots = tuple(
        Root(name=root_name(folder), path=folder)
        if root_name(folder) in missing
        else scan(request.root / folder, name=root_name(folder), marker=table.marker, shown=request.root)
        for folder in listed
    )
    declared = tuple(
        entry
        for path in table.declared
        for entry in scan_declared(
            request.root / placed(table.origin.base, path), marker=table.marker, shown=request.root
        )
    )
    return Scanned(name=name, table=table, roots=roots, folders=folders, missing=missing, declared=declared)


def check_declared(target: str, scanned: Scanned) -> None:
    """Refuse entries declared by hand in a program's registry: their one symbol is the registry's own.

    Raises:
        BuildError: With the headers.
    """
    if not scanned.declared:
        return
    raise BuildError(
        Diagnostic(
            code="ATL0320",
            message=f"the registry of `{target}` cannot send calls to entries declared by hand",
            span=scanned.table.span,
            notes=(
                f"declared by hand: {', '.join(sorted(entry.name for entry in scanned.declared))}",
                f"in: {', '.join(scanned.table.declared)}",
            ),
            hint='declare them in a boundary of their own with `shape = "link"`',
        )
    )


def missing_roots(
    scanned: Scanned, products: Iterable[SourceProduct], served: Container[str]
) -> tuple[Diagnostic, ...]:
    """Return a refusal for each root without a folder that nothing is generated for either.

    Args:
        scanned: The boundary.
        products: What lanes generate for it in this build.
        served: Backends that code is generated for where the set has them: where a lane generates
            entries of this boundary, their roots need no folder whatever the set.
    """
    from atoll.boundary.roots import missing_root

    filled = {product.root for product in products}
    strange = sorted(root for root in scanned.missing - filled if not (filled and root in served))
    notes = (
        f"roots of the boundary `{scanned.name}`: {', '.join(scanned.folders)}",
        f"generated entries join: {', '.join(sorted(filled)) or 'none'}",
    )
    return tuple(
        missing_root(scanned.folders[root], scanned.table.span, notes, nearest(root, filled))
        for root in strange
    )


def root_name(folder: str) -> str:
    """Return the name of a root: its folder's last segment, or a single file's stem."""
    place = PurePosixPath(folder)
    return place.stem if place.suffix else place.name


def interface_of(request: BuildRequest, scanned: Scanned, products: Iterable[SourceProduct]) -> Interface:
    """Return the one interface of a boundary, generated entries included.

    Raises:
        BoundaryError: With every disagreement between roots.
    """
    from atoll.boundary import compare
    from atoll.boundary.roots import marker_stem

    table = scanned.table
    return compare(
        scanned.generated(products),
        module=table.module,
        package=table.origin.package or request.manifest.package.name,
        layout_root=root_name(table.layout_root) if table.layout_root else "",
        strip_prefix=table.strip_prefix,
        marker=marker_stem(table.marker),
        declared=scanned.declared,
    )


def header_path(request: BuildRequest, scanned: Scanned) -> str:
    """Return where the generated C header stands, relative to the root."""
    from atoll.boundary import header_name

    return f"{include_folder(request)}/{header_name(scanned.table.module)}"


def include_folder(request: BuildRequest) -> str:
    """Return the folder of generated headers, relative to the root."""
    return f"{request.plan_folder}/include"


def header_text(interface: Interface) -> str:
    """Return the generated C header."""
    from atoll.boundary import header

    return header(interface)
