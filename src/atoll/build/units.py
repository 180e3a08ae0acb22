"""Which units does each lane get? What the manifest selects, with roots, includes and hygiene filled in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from atoll.build.boundaries import Scanned, header_path, include_folder
from atoll.build.laneplans import HOST
from atoll.build.linked import linked_targets, used_targets
from atoll.build.parts import is_program_registry
from atoll.build.request import BuildRequest
from atoll.build.roots import root_header_path
from atoll.errors import PluginError
from atoll.manifest import SelectedUnit, Selection, Target, TargetKind, select
from atoll.manifest.lanes import LaneFacts
from atoll.plugin import Registry, Unit
from atoll.runtime import include_folder as runtime_include_folder


def select_units(request: BuildRequest) -> Selection:
    """Return what takes part in this build.

    Raises:
        ManifestError: With every file and glob that is refused.
    """
    return select(
        request.root,
        request.manifest,
        request.accel,
        lane_facts(request.registry, (HOST, *request.manifest.build.lanes)),
    )


def lane_facts(registry: Registry, chosen: tuple[str, ...]) -> dict[str, LaneFacts]:
    """Return what every installed lane says of itself, so that a missing one can be named.

    A lane that the project does not list is imported only where its extensions are asked for.
    """
    return {
        name: _facts(registry, name) if name in chosen else LaneFacts(extensions=_Later(registry, name))
        for name in registry.lanes
    }


class _Later(Mapping[str, str]):
    """The extensions of a lane that the project does not list; none where it cannot be loaded."""

    def __init__(self, registry: Registry, name: str) -> None:
        self._registry, self._name = registry, name

    @cached_property
    def _found(self) -> Mapping[str, str]:
        try:
            return _facts(self._registry, self._name).extensions
        except PluginError:
            # It matters only to a project that lists it; `doctor` names it.
            return {}

    def __getitem__(self, extension: str) -> str:
        return self._found[extension]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def _facts(registry: Registry, name: str) -> LaneFacts:
    lane = registry.lanes[name]
    return LaneFacts(
        extensions={extension: str(kind) for extension, kind in lane.extensions.items()},
        backends=lane.backends,
        host=name == HOST,
        processor=bool(getattr(lane, "processor", False)),
        through=tuple(getattr(lane, "through", ())),
    )


def lane_units(
    request: BuildRequest, selection: Selection, boundaries: Mapping[str, Scanned]
) -> dict[str, list[Unit]]:
    """Return the units of each lane: one for each entry that a file is compiled for."""
    units: dict[str, list[Unit]] = {}
    targets = request.manifest.targets
    includes = {name: includes_of(request, name, target) for name, target in targets.items()}
    for selected in selection.units:
        made = _units(request, selected, targets[selected.target], boundaries, includes[selected.target])
        units.setdefault(selected.lane, []).extend(made)
    return units


def _units(
    request: BuildRequest,
    selected: SelectedUnit,
    target: Target,
    boundaries: Mapping[str, Scanned],
    includes: tuple[str, ...],
) -> list[Unit]:
    scanned = boundaries.get(target.boundary or "")
    root = scanned.root_of(selected.path) if scanned else ""
    forced: tuple[str, ...] = ()
    if scanned is not None and root and is_program_registry(target, scanned):
        forced = (root_header_path(request, scanned.table.module, root),)
    elif scanned is not None and selected.lane != HOST:
        forced = (header_path(request, scanned),)
    general = () if target.origin.package else request.manifest.build.defines
    own: tuple[str, ...] = ()
    if scanned is not None and root and scanned.owns_structs:
        from atoll.boundary.cheader import OWN_STRUCTS

        own = (OWN_STRUCTS,)
    return [
        Unit(
            path=selected.path,
            target=selected.target,
            root=root,
            entry=entry,
            archs=selected.archs.get(entry.backend) if entry else None,
            defines=(*general, *target.defines, *selected.source.defines, *own),
            flags=(*_package_flags(target, selected), *selected.flags),
            includes=includes,
            force_include=forced,
            hidden=target.kind is TargetKind.PYTHON,
        )
        for entry in selected.entries
    ]


def includes_of(request: BuildRequest, name: str, target: Target) -> tuple[str, ...]:
    """Return the include folders of a target: the author's and those of what it links, generated headers."""
    general = () if target.origin.package else request.manifest.build.include
    own = (*general, *target.include)
    targets = request.manifest.targets
    used = [targets[other] for other in used_targets(linked_targets(request.manifest), name)]
    lent = (folder for other in used for folder in other.include)
    return (*dict.fromkeys((*own, *lent)), include_folder(request), str(runtime_include_folder()))


def _package_flags(target: Target, selected: SelectedUnit) -> tuple[str, ...]:
    """Return what a dependency's own manifest compiles its units with; the project's flags come first."""
    flags = target.origin.flags
    if selected.lane != HOST:
        return flags.get(selected.lane, ())
    general = "cflags" if selected.path.endswith(".c") else "cxxflags"
    return (*flags.get(general, ()), *flags.get(HOST, ()))
