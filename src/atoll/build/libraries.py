"""What do the libraries of this machine need that targets name in `links`? Asked of the host lane, once each.

Words: a *package* here is a library that the lane's own tools know by a name. What compiling needs goes to
the units of the target and of those that link it; what linking needs goes where the linker is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from atoll._util.values import replace
from atoll.build.linked import linked_targets, used_targets
from atoll.diagnostics import Diagnostic
from atoll.errors import BuildError, LaneError
from atoll.manifest import Link, Manifest
from atoll.plugin import HOST, FoundPackage, HostLane, LaneRequest, Unit

if TYPE_CHECKING:
    from atoll.build.laneplans import LaneRun

Found = Mapping[str, tuple[FoundPackage, ...]]
"""The packages of each target, in the order of its `links`."""


def find_libraries(manifest: Manifest, lanes: LaneRun) -> dict[str, tuple[FoundPackage, ...]]:
    """Return the packages of each target that names some.

    Raises:
        BuildError: With every package that is not there, and who asked for it.
    """
    known: dict[tuple[str, str], FoundPackage] = {}
    faults: list[Diagnostic] = []
    found: dict[str, tuple[FoundPackage, ...]] = {}
    for name, target in sorted(manifest.targets.items()):
        wanted = [link for link in target.links if link.name is None]
        for link in wanted:
            if _asked(link) in known:
                continue
            try:
                known[_asked(link)] = _ask(lanes.host(), lanes.lane_request(HOST), link)
            except LaneError as error:
                faults += [_where(item, name, link) for item in error.diagnostics]
        if wanted and not faults:
            found[name] = tuple(known[_asked(link)] for link in wanted)
    if faults:
        raise BuildError(*faults)
    return found


def _asked(link: Link) -> tuple[str, str]:
    return ("pkg-config", link.pkg_config) if link.pkg_config is not None else ("cmake", str(link.cmake))


def _ask(lane: HostLane, request: LaneRequest, link: Link) -> FoundPackage:
    return lane.package(request, *_asked(link))


def _where(fault: Diagnostic, target: str, link: Link) -> Diagnostic:
    kind, name = _asked(link)
    asked = f'asked by: `links` of the target `{target}`, {{ {kind} = "{name}" }}'
    return replace(fault, span=link.span, notes=(asked, *fault.notes))


def equipped(manifest: Manifest, found: Found, lane: str, units: Iterable[Unit]) -> tuple[Unit, ...]:
    """Return units with what the packages of their targets need to compile.

    A device compiler gets the folders and the definitions, which every compiler spells alike.
    """
    links = linked_targets(manifest) if found else {}
    needed = {
        target: [flag for name in (target, *used_targets(links, target)) for flag in _flags(found, name)]
        for target in (manifest.targets if found else ())
    }
    return tuple(_equipped(unit, needed.get(unit.target, []), host=lane == HOST) for unit in units)


def _flags(found: Found, target: str) -> list[str]:
    return [flag for package in found.get(target, ()) for flag in package.flags]


def _equipped(unit: Unit, flags: list[str], *, host: bool) -> Unit:
    if not flags:
        return unit
    if host:
        return replace(unit, flags=(*flags, *unit.flags))
    folders = [flag[2:] for flag in flags if flag.startswith("-I") and len(flag) > 2]
    folders += [after for flag, after in pairwise(flags) if flag == "-isystem"]
    defines = [flag[2:] for flag in flags if flag.startswith("-D")]
    return replace(unit, includes=(*unit.includes, *folders), defines=(*unit.defines, *defines))


def link_args(found: Found, target: str) -> tuple[str, ...]:
    """Return what the link of a target needs for its packages."""
    return tuple(word for package in found.get(target, ()) for word in package.libraries)


def resolved(found: Found) -> dict[str, Any]:
    """Return what was found for each target and where it came from."""
    return {
        target: [
            {
                "kind": package.kind,
                "name": package.name,
                "version": package.version,
                "flags": list(package.flags),
                "libraries": list(package.libraries),
                "why": package.why,
            }
            for package in packages
        ]
        for target, packages in found.items()
    }
