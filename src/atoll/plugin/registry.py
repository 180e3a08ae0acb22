"""Which plugins are installed: entry points, loaded on first use and checked against their door."""

from __future__ import annotations

from _thread import RLock
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from atoll._util.installed import Point
from atoll._util.installed import points as installed_points
from atoll._util.once import once
from atoll._util.values import dataclass, field
from atoll.diagnostics import Diagnostic
from atoll.errors import PluginError

if TYPE_CHECKING:
    from atoll.plugin.driver import Driver
    from atoll.plugin.emitter import Emitter
    from atoll.plugin.lane import Lane
    from atoll.plugin.probe import Probe
    from atoll.plugin.reader import Reader

T = TypeVar("T")


@dataclass(slots=True)
class Door(Mapping[str, T], Generic[T]):
    """The plugins of one door by name, each made on first use.

    Attributes:
        group: The group of entry points.
        protocol: What a plugin is checked against, as ``module:class``: imported with the first plugin.
        points: The entry points by name.
        made: The plugins that were asked for.
    """

    group: str
    protocol: str
    points: Mapping[str, Point]
    made: dict[str, T] = field(default_factory=dict)
    lock: RLock = field(default_factory=RLock, repr=False, compare=False)

    def __getitem__(self, name: str) -> T:
        if name not in self.made:
            if name not in self.points:
                raise PluginError(_unknown(self.group, name, sorted(self.points)))
            with self.lock:  # one plugin, whichever thread asks first
                if name not in self.made:
                    self.made[name] = cast("T", _make(self.points[name], self.protocol))
        return self.made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.points))

    def __len__(self) -> int:
        return len(self.points)

    def __contains__(self, name: object) -> bool:
        return name in self.points


@dataclass(frozen=True, slots=True)
class Registry:
    """The five doors; the emitter door has a second group, for further stages of a backend."""

    lanes: Door[Lane]
    emitters: Door[Emitter]
    drivers: Door[Driver]
    probes: Door[Probe]
    readers: Door[Reader]
    #: Further stages of a backend, each an emitter of its own, named ``BACKEND.STAGE`` (docs/decisions/0035).
    stages: Mapping[str, Emitter] = field(default_factory=dict)

    def emitters_of(self, backend: str) -> dict[str, Emitter]:
        """Return every emitter of a backend by its stage, the backend's own first."""
        own = [self.emitters[backend]] if backend in self.emitters else []
        listed = [self.stages[name] for name in self.stages if name.partition(".")[0] == backend]
        return {emitter.stage: emitter for emitter in (*own, *listed)}


def _unknown(group: str, name: str, known: list[str]) -> Diagnostic:
    return Diagnostic(
        code="ATL0903",
        message=f"no plugin `{name}` at the door `{group}`",
        notes=(f"installed: {', '.join(known) or 'none'}",),
        hint="install the package that brings it, or name one that is installed",
    )


def _make(point: Point, protocol: str) -> object:
    try:
        plugin: object = point.load()()
    except Exception as error:
        raise PluginError(_broken(point, f"{type(error).__name__}: {error}")) from error
    module, _, door = protocol.partition(":")
    members = [name for name in vars(getattr(import_module(module), door)) if not name.startswith("_")]
    missing = [name for name in members if not hasattr(plugin, name)]
    if missing:
        raise PluginError(_broken(point, f"it lacks {', '.join(missing)}"))
    return plugin


def _broken(point: Point, reason: str) -> Diagnostic:
    package = point.package or "an unknown package"
    return Diagnostic(
        code="ATL0901",
        message=f"the plugin `{point.name}` of `{package}` could not be loaded",
        notes=(f"entry point: {point.group} {point.value}", f"reason: {reason}"),
        hint=f"reinstall or remove `{package}`",
    )


def _door(group: str, protocol: str) -> Door[Any]:
    points: dict[str, Point] = {}
    for point in installed_points(group):
        known = points.get(point.name)
        if known is not None and known.value != point.value:
            raise PluginError(
                Diagnostic(
                    code="ATL0902",
                    message=f"two plugins named `{point.name}` at the door `{group}`",
                    notes=(f"one is {known.value}", f"the other is {point.value}"),
                    hint="remove one of the two packages",
                )
            )
        points[point.name] = point
    return Door(group, protocol, points)


@once
def registry() -> Registry:
    """Return the installed plugins. Entry points are listed once a process; nothing is imported yet."""
    return Registry(
        lanes=_door("atoll.lanes", "atoll.plugin.lane:Lane"),
        emitters=_door("atoll.emitters", "atoll.plugin.emitter:Emitter"),
        drivers=_door("atoll.drivers", "atoll.plugin.driver:Driver"),
        probes=_door("atoll.probes", "atoll.plugin.probe:Probe"),
        readers=_door("atoll.readers", "atoll.plugin.reader:Reader"),
        stages=_door("atoll.stages", "atoll.plugin.emitter:Emitter"),
    )
