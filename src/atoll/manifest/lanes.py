"""Which lane takes which extension in this project? Told by lanes, checked before a file is looked at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

from atoll._util.near import nearest
from atoll._util.values import dataclass, field
from atoll.accel import BackendRules
from atoll.diagnostics import Diagnostic
from atoll.errors import ManifestError

UNIT, HEADER, REFUSED = "unit", "header", "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneFacts:
    """What the selection must know of an installed lane; its own words for it are the door's.

    Attributes:
        extensions: What the lane does with each: ``unit``, ``header`` or ``refused``.
        backends: The backends it can compile for, with what it knows of each.
        host: True for the lane of the processor, whose units are not device units.
        processor: True where its units are also compiled for the processor, in every build.
        through: Backends of another entry that its units can be compiled for beside their own.
    """

    extensions: Mapping[str, str]
    backends: Mapping[str, BackendRules] = field(default_factory=dict)
    host: bool = False
    processor: bool = False
    through: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Claims:
    """The lanes of one project by extension.

    Attributes:
        lanes: The project's lanes, the host lane among them.
        units / headers / refused: The lane that claims each extension.
        others: Installed lanes that the project does not list; nothing of them is looked at unasked.
    """

    lanes: Mapping[str, LaneFacts]
    units: Mapping[str, str]
    headers: Mapping[str, str]
    refused: Mapping[str, str]
    others: Mapping[str, LaneFacts]

    def elsewhere(self, extension: str) -> tuple[str, ...]:
        """Return the installed lanes that the project does not list and that know an extension."""
        return tuple(sorted(name for name, facts in self.others.items() if extension in facts.extensions))


def claims(chosen: tuple[str, ...], installed: Mapping[str, LaneFacts]) -> Claims:
    """Return who takes what among the lanes that a project chose and the host lane.

    Raises:
        ManifestError: Where a lane is not installed, or two of them claim one extension.
    """
    faults = [*_absent(chosen, installed)]
    lanes = {name: facts for name, facts in installed.items() if facts.host or name in chosen}
    takers: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for name, facts in sorted(lanes.items()):
        for extension, kind in facts.extensions.items():
            takers[extension][name] = str(kind)
    faults += _twice(takers, lanes)
    if faults:
        raise ManifestError(*faults)
    others = {name: facts for name, facts in installed.items() if name not in lanes}
    return Claims(lanes, _of(takers, UNIT), _of(takers, HEADER), _of(takers, REFUSED), others)


def _of(takers: Mapping[str, Mapping[str, str]], kind: str) -> dict[str, str]:
    return {
        extension: lane for extension, found in takers.items() for lane, does in found.items() if does == kind
    }


def _absent(chosen: tuple[str, ...], installed: Mapping[str, LaneFacts]) -> Iterator[Diagnostic]:
    for name in chosen:
        if name not in installed:
            near = nearest(name, installed)
            yield Diagnostic(
                code="ATL0220",
                message=f"no lane `{name}` is installed",
                notes=(
                    "asked for by: `lanes` of `[build]`, or of a feature that is on",
                    "installed: " + (", ".join(sorted(installed)) or "none"),
                ),
                hint=f"write `{near}`" if near else "install the package that brings it",
            )


def _twice(takers: Mapping[str, Mapping[str, str]], lanes: Mapping[str, LaneFacts]) -> Iterator[Diagnostic]:
    for extension, found in sorted(takers.items()):
        # Headers may be shared: nothing compiles them.
        if len(found) < 2 or set(found.values()) == {HEADER}:
            continue
        host = next((name for name in found if lanes[name].host), None)
        message = f"two lanes of this project claim `{extension}`"
        if host is not None:
            message = f"a lane claims `{extension}`, which is a host extension"
        yield Diagnostic(
            code="ATL0221",
            message=message,
            notes=tuple(f"{name}: {kind}" for name, kind in found.items()),
            hint="list one of them in `[build] lanes`",
        )
