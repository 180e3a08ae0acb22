"""What could this machine build and run? Every lane and driver: found, usable, why not, what to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from atoll._util.values import dataclass, field
from atoll.accel import PROCESSOR
from atoll.errors import AtollError
from atoll.plugin import Driver, Lane, Registry

T = TypeVar("T")
CELLS = ("found", "payload", "devices", "can_build", "can_run")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One lane or driver.

    Attributes:
        kind: ``lane`` or ``driver``.
        name: Its name.
        cells: Text for each of `CELLS` that has something to say.
        why: For each other cell the reason and the fix; the fix may be empty where there is nothing to do.
    """

    kind: str
    name: str
    cells: Mapping[str, str]
    why: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return the row for a machine."""
        reasons = {cell: {"reason": reason, "fix": fix} for cell, (reason, fix) in self.why.items()}
        cells = {cell: self.cells.get(cell) for cell in CELLS}
        return {"kind": self.kind, "name": self.name, **cells, "why": reasons}


def examine(registry: Registry, environment: Mapping[str, str], stored: frozenset[str]) -> tuple[Row, ...]:
    """Return a row for every installed lane and driver; a broken one is a row too."""
    drivers = {name: _driver(registry, name) for name in registry.drivers}
    lanes = {name: _lane(registry, name, environment, stored, drivers) for name in registry.lanes}
    return (*lanes.values(), *(_built_by(registry, row, lanes) for row in drivers.values()))


def _lane(
    registry: Registry,
    name: str,
    environment: Mapping[str, str],
    stored: frozenset[str],
    drivers: Mapping[str, Row],
) -> Row:
    plugin = _tried(lambda: registry.lanes[name])
    if isinstance(plugin, str):
        return _broken("lane", name, plugin)
    status = _tried(lambda: plugin.status(environment, stored))
    if isinstance(status, str):
        return _broken("lane", name, status)
    cells: dict[str, str] = {}
    why: dict[str, tuple[str, str]] = {}
    reason = (status.reason, status.fix)
    _put(cells, why, "found", status.found, reason)
    _put(cells, why, "payload", status.payload, ("it needs none: the host's tools serve", ""))
    _put(cells, why, "can_build", "yes" if status.can_build else "", reason)
    _runs(cells, why, plugin, drivers)
    return Row(kind="lane", name=name, cells=cells, why=why)


def _runs(
    cells: dict[str, str], why: dict[str, tuple[str, str]], lane: Lane, drivers: Mapping[str, Row]
) -> None:
    """Say which devices run what a lane compiles: those of the drivers named like its backends."""
    mine = [drivers[backend] for backend in sorted(lane.backends) if backend in drivers]
    if not lane.backends:
        cells |= {"devices": "this processor", "can_run": "yes"}
        return
    none = (f"no driver reaches {', '.join(sorted(lane.backends))}", "install the package that brings one")
    reasons = [row.why[cell] for row in mine for cell in ("devices",) if cell in row.why]
    devices = "; ".join(row.cells["devices"] for row in mine if "devices" in row.cells)
    first = reasons[0] if reasons else none
    _put(cells, why, "devices", devices, first)
    _put(cells, why, "can_run", "yes" if devices else "", first)


def _driver(registry: Registry, name: str) -> Row:
    plugin = _tried(lambda: registry.drivers[name])
    if isinstance(plugin, str):
        return _broken("driver", name, plugin)
    seen = _tried(lambda: _devices(plugin))
    if isinstance(seen, str):
        return _broken("driver", name, seen)
    devices, reason = seen
    cells: dict[str, str] = {}
    why: dict[str, tuple[str, str]] = {"payload": ("a driver has none: the machine brings it", "")}
    _put(cells, why, "found", f"{len(devices)} device(s)" if devices else "", reason)
    _put(cells, why, "devices", "; ".join(devices), reason)
    _put(cells, why, "can_run", "yes" if devices else "", reason)
    return Row(kind="driver", name=name, cells=cells, why=why)


def _devices(driver: Driver) -> tuple[list[str], tuple[str, str]]:
    found = driver.devices()
    names = [f"{device} {device.name}" + (" (software)" if device.software else "") for device in found]
    return names, driver.unavailable() or ("it lists no device", "")


def _built_by(registry: Registry, row: Row, lanes: Mapping[str, Row]) -> Row:
    """Fill in whether some lane compiles for a driver's devices."""
    if row.why.get("can_build"):
        return row
    able = [
        name
        for name, lane in lanes.items()
        if "can_build" in lane.cells and _compiles_for(registry.lanes[name], row.name)
    ]
    cells, why = dict(row.cells), dict(row.why)
    none = (f"no lane that can build now compiles for `{row.name}`", "see the rows of the lanes")
    _put(cells, why, "can_build", f"by {', '.join(able)}" if able else "", none)
    return Row(kind=row.kind, name=row.name, cells=cells, why=why)


def _compiles_for(lane: Lane, driver: str) -> bool:
    """Tell whether a lane makes device code for a driver; some also make it for the processor's own."""
    return driver in lane.backends or (driver == PROCESSOR and bool(getattr(lane, "processor", False)))


def _put(
    cells: dict[str, str], why: dict[str, tuple[str, str]], cell: str, text: str, reason: tuple[str, str]
) -> None:
    if text:
        cells[cell] = text
    else:
        why[cell] = reason


def _tried(what: Callable[[], T]) -> T | str:
    """Return what a plugin answers, or in one line how it broke: a broken plugin is a finding, no end."""
    try:
        return what()
    except AtollError as error:
        first = error.diagnostics[0]
        return "; ".join([first.message, *first.notes])
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _broken(kind: str, name: str, reason: str) -> Row:
    said = (f"the plugin is broken: {reason}", "reinstall or remove the package that brings it")
    return Row(kind=kind, name=name, cells={}, why=dict.fromkeys(CELLS, said))
