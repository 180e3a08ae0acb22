"""How do the tables of a dependency stand in its consumer's manifest? Merged, each with its origin.

What a consumer gets of a package: its libraries (targets of kind ``static`` and ``shared``), their
boundaries, its embedded files, its lanes. Its programs, tests and Python packages are its own matter. A
library of the package ``other`` is the target ``other.NAME`` here, so that linking, modules and run paths
of the project's own targets hold for it too.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping

from atoll._util.values import dataclass, replace
from atoll.manifest.model import Boundary, LaneTable, Link, Manifest, Origin, Target, TargetKind

DATA_TARGET = "@data"
"""The archive of a package's embedded files; no authored target can be called so."""
LIBRARIES = (TargetKind.STATIC, TargetKind.SHARED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One package in a merge.

    Attributes:
        manifest: Resolved and with its features on.
        base: Where it lies, relative to the project root or absolute; empty for the project itself.
        uses: The packages it depends on.
        prebuilt: Libraries that it brings as files, in link order.
        include: Include folders that it brings beside its sources'.
    """

    manifest: Manifest
    base: str = ""
    uses: tuple[str, ...] = ()
    prebuilt: tuple[str, ...] = ()
    include: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The package's name."""
        return self.manifest.package.name


def merge_packages(project: Part, others: Iterable[Part]) -> Manifest:
    """Return the project's manifest with what it gets of its dependencies."""
    parts = {part.name: part for part in others}
    if not parts:
        return project.manifest
    own = project.manifest
    targets = {name: _consuming(table, project, parts) for name, table in own.targets.items()}
    boundary, data = dict(own.boundary), dict(own.data)
    lane: dict[str, LaneTable] = dict(own.lane)
    lanes = dict.fromkeys(own.build.lanes)
    for part in parts.values():
        origin = origin_of(part)
        targets |= {
            f"{part.name}.{name}": _library(table, part, parts, origin)
            for name, table in part.manifest.targets.items()
            if table.kind in LIBRARIES
        }
        boundary |= _boundaries(part, origin)
        data |= {
            f"{part.name}.{name}": replace(table, origin=origin) for name, table in part.manifest.data.items()
        }
        lanes |= dict.fromkeys(part.manifest.build.lanes)
        # The nearest declaration of a compiler or a pin wins: packages come nearest first.
        for name, table in part.manifest.lane.items():
            lane[name] = _nearest(lane.get(name), table)
    return replace(
        own,
        build=replace(own.build, lanes=tuple(lanes), cxx_std=_standard(own, parts.values())),
        targets=targets,
        boundary=boundary,
        data=data,
        lane=lane,
    )


def origin_of(part: Part) -> Origin:
    """Return what tables of a package carry with them."""
    build = part.manifest.build
    flags = {name: table.flags for name, table in part.manifest.lane.items() if table.flags}
    general = {"cflags": build.cflags, "cxxflags": build.cxxflags}
    return Origin(
        package=part.name,
        base=part.base,
        accelerators=part.manifest.package.accelerators,
        flags={**flags, **{name: value for name, value in general.items() if value}},
    )


def _library(table: Target, part: Part, parts: Mapping[str, Part], origin: Origin) -> Target:
    build = part.manifest.build
    own = {target for target, row in part.manifest.targets.items() if row.kind in LIBRARIES}
    renamed = tuple(_renamed(link, part.name, own) for link in table.links)
    consuming = _consuming(replace(table, links=renamed), part, parts)
    return replace(
        consuming,
        include=(
            *(placed(part.base, path) for path in (*build.include, *table.include)),
            *consuming.include[len(table.include) :],
        ),
        defines=(*build.defines, *table.defines),
        boundary=f"{part.name}.{table.boundary}" if table.boundary else None,
        origin=origin,
    )


def _renamed(link: Link, package: str, own: set[str]) -> Link:
    return replace(link, name=f"{package}.{link.name}") if link.name in own else link


def _consuming(table: Target, part: Part, parts: Mapping[str, Part]) -> Target:
    """Return a target with the libraries and include folders of the packages that its own uses."""
    if not part.uses:
        return table
    reached = _reached(part, parts)
    links = tuple(
        Link(name=f"{name}.{target}")
        for name in part.uses
        for target, row in parts[name].manifest.targets.items()
        if row.kind in LIBRARIES
    )
    return replace(
        table,
        links=(*(link for link in table.links if not _names_a_package(link, part)), *links),
        include=(*table.include, *(folder for name in reached for folder in _public(parts[name]))),
        prebuilt=(*table.prebuilt, *(path for name in reached for path in parts[name].prebuilt)),
    )


def _names_a_package(link: Link, part: Part) -> bool:
    """Tell whether a name in `links` is a package that is linked anyway, and no library of its own."""
    return link.name in part.uses and link.name not in part.manifest.targets


def _reached(part: Part, parts: Mapping[str, Part]) -> list[str]:
    """Return the packages that a package uses, directly or not, each before what it uses itself."""
    found: dict[str, None] = {}
    todo = list(part.uses)
    while todo:
        name = todo.pop(0)
        if name not in found:
            found[name] = None
            todo += parts[name].uses
    return list(found)


def _public(part: Part) -> Iterable[str]:
    """Give the include folders that a package offers: its general ones and those of its libraries."""
    folders = dict.fromkeys(part.manifest.build.include)
    for table in part.manifest.targets.values():
        if table.kind in LIBRARIES:
            folders |= dict.fromkeys(table.include)
    return (*(placed(part.base, folder) for folder in folders), *part.include)


def _boundaries(part: Part, origin: Origin) -> dict[str, Boundary]:
    used = {table.boundary for table in part.manifest.targets.values() if table.kind in LIBRARIES}
    return {
        f"{part.name}.{name}": replace(table, origin=origin)
        for name, table in part.manifest.boundary.items()
        if name in used
    }


def _nearest(near: LaneTable | None, far: LaneTable) -> LaneTable:
    """Return a lane's table where the nearer one's words win; flags stay with their package."""
    if near is None:
        return replace(far, flags=())
    return replace(
        near,
        compiler=near.compiler if near.compiler is not None else far.compiler,
        version=near.version if near.version is not None else far.version,
        time_limit=near.time_limit if near.time_limit is not None else far.time_limit,
        extra={**far.extra, **near.extra},
    )


def _standard(own: Manifest, parts: Iterable[Part]) -> str:
    """Return the one C++ standard of the image: the greatest that a package asks for."""
    return max((own.build.cxx_std, *(part.manifest.build.cxx_std for part in parts)), key=_year)


def _year(standard: str) -> int:
    digits = standard[-2:]
    number = int(digits) if digits.isdigit() else 0
    return 1900 + number if number >= 90 else 2000 + number


def placed(base: str, path: str) -> str:
    """Return a path of a package as actions name it."""
    return posixpath.normpath(f"{base}/{path}") if base else path


def with_data_target(manifest: Manifest) -> Manifest:
    """Return the manifest with the archive of its embedded files, linked by every target that links."""
    if not manifest.data:
        return manifest
    link = Link(name=DATA_TARGET)
    targets = {name: replace(table, links=(*table.links, link)) for name, table in manifest.targets.items()}
    targets[DATA_TARGET] = Target(kind=TargetKind.STATIC, sources=())
    return replace(manifest, targets=targets)
