"""How does what a build program declares enter the plan? Its sources as units, its defines and headers.

Running the program is :mod:`atoll.build.programs`'s matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from atoll._util.values import replace
from atoll.accel import Entry
from atoll.build.boundaries import Scanned
from atoll.build.contributions import Declared, ProgramSource
from atoll.build.laneplans import HOST
from atoll.build.request import BuildRequest
from atoll.build.units import lane_facts, lane_units
from atoll.diagnostics import Diagnostic
from atoll.errors import BuildError
from atoll.graph import Action, Role
from atoll.manifest import LaneFacts, SelectedUnit, Selection, Source
from atoll.plugin import Unit


def add_sources(
    request: BuildRequest,
    declared: Declared,
    units: dict[str, list[Unit]],
    boundaries: Mapping[str, Scanned],
) -> None:
    """Add the sources of a build program to the units of each lane, and its defines to all of them.

    Raises:
        BuildError: Where no lane of the project compiles one of them.
    """
    if declared.sources:
        facts = lane_facts(request.registry, (HOST, *request.manifest.build.lanes))
        chosen = {name: facts[name] for name in (HOST, *request.manifest.build.lanes) if name in facts}
        for source in declared.sources:
            _add(request, source, chosen, units, boundaries)
    for lane, listed in units.items():
        units[lane] = [_said(unit, declared) for unit in listed]


def _said(unit: Unit, declared: Declared) -> Unit:
    defines = (*unit.defines, *declared.defined(unit.target))
    return replace(unit, defines=defines, includes=(*unit.includes, *declared.include_folders(unit.target)))


def _add(
    request: BuildRequest,
    source: ProgramSource,
    lanes: Mapping[str, LaneFacts],
    units: dict[str, list[Unit]],
    boundaries: Mapping[str, Scanned],
) -> None:
    extension = PurePosixPath(source.path).suffix
    lane = next((name for name, facts in lanes.items() if facts.extensions.get(extension) == "unit"), None)
    if lane is None:
        raise BuildError(_nobody(source, extension, lanes))
    path = source.path
    selected = SelectedUnit(
        path=path,
        target=source.target,
        lane=lane,
        entries=_entries(request, lanes[lane]),
        source=Source(glob=path, defines=source.defines, flags={lane: source.flags}),
    )
    made = lane_units(request, Selection(units=(selected,)), boundaries)
    for name, listed in made.items():
        more = [replace(unit, includes=(*source.includes, *unit.includes)) for unit in listed]
        units.setdefault(name, []).extend(more)


def _entries(request: BuildRequest, facts: LaneFacts) -> tuple[Entry | None, ...]:
    if facts.host:
        return (None,)
    chosen = tuple(entry for entry in request.accel if entry.backend in facts.backends)
    return (*chosen, None) if facts.processor else chosen


def _nobody(source: ProgramSource, extension: str, lanes: Mapping[str, LaneFacts]) -> Diagnostic:
    known = sorted(e for facts in lanes.values() for e, kind in facts.extensions.items() if kind == "unit")
    return Diagnostic(
        code="ATL0230",
        message=f"no lane of this project takes `{source.path}`, which the build program declares",
        notes=(f"extension: {extension or '(none)'}", f"known: {' '.join(known)}"),
        hint="give it the extension of a lane that `[build] lanes` lists",
    )


def after_headers(
    declared: Declared, actions: Iterable[Action], owners: Mapping[str, str]
) -> Iterable[Action]:
    """Give the actions; a compilation waits for the made files that it may include.

    Args:
        declared: What the build program declared.
        actions: The actions of lanes.
        owners: The target that each object belongs to, by its path.
    """
    if not declared.headers:
        yield from actions
        return
    for action in actions:
        target = next((owners[path] for path in action.outputs if path in owners), None)
        found = () if target is None or action.role is not Role.OBJECT else declared.included(target)
        yield replace(action, inputs=tuple(dict.fromkeys((*action.inputs, *found)))) if found else action


def check_taken(units: Mapping[str, Iterable[Unit]], actions: Iterable[Action]) -> tuple[Diagnostic, ...]:
    """Return a refusal for each device unit that no action reads."""
    read = {path for action in actions for path in action.inputs}
    return tuple(
        Diagnostic(
            code="ATL0598",
            message=f"no action takes the device unit `{path}`",
            notes=(f"lane: {lane}", f"target: {target}"),
            hint="report it to the lane's authors: what a lane plans must name every unit it was given",
        )
        for path, lane, target in sorted(
            {
                (unit.path, lane, unit.target)
                for lane, listed in units.items()
                for unit in listed
                if lane != HOST
            }
        )
        if path not in read
    )
