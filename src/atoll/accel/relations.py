"""Does this device code fit? Three relations; lanes answer, the engine only combines.

:func:`links` compares what an object carries with what a build asks, :func:`runs` with a device,
:func:`provides` a code target with what a source feature needs. A lane's :class:`BackendRules` answer for
its backend; :func:`link_entries` and :func:`run_entry` are the engine's defaults, open to a lane's own
notion of *covers* and *compatible*.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from atoll._util.values import dataclass
from atoll.accel.levels import covers as default_covers
from atoll.accel.levels import floor_level, meets
from atoll.accel.terms import AccelSet, DeviceFacts, Entry, Version
from atoll.diagnostics import Diagnostic


@dataclass(frozen=True, slots=True)
class Difference:
    """One reason for a no: the dimension and both sides."""

    dimension: str
    asked: str
    carried: str

    def __str__(self) -> str:
        return f"{self.dimension}: asked {self.asked}, carried {self.carried}"


@dataclass(frozen=True, slots=True)
class Relation:
    """The answer of a relation: truthy when accepted, else it lists the differences.

    Attributes:
        differences: Every reason for a no.
        moot: Names of required facts that need not hold, given the way it was accepted: where machine
            code serves, the version of the portable text beside it does not matter.
    """

    differences: tuple[Difference, ...] = ()
    moot: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return not self.differences


class BackendRules(Protocol):
    """What a lane knows about one backend. Every method may answer None for "the engine's default"."""

    @property
    def floor_word(self) -> str | None:
        """The lane's own word for a floor of this backend, such as ``ptx``."""
        ...

    def check(self, entry: Entry) -> tuple[str, str] | None:
        """Return (reason, hint) where the lane refuses an entry of its backend, else None."""
        ...

    def links(self, have: Entry, asked: Entry) -> Relation | None:
        """Tell whether code built for `have` may enter a link that asks for `asked`."""
        ...

    def runs(self, have: Entry, device: DeviceFacts) -> Relation | None:
        """Tell whether code built for `have` runs on `device`."""
        ...

    def provides(self, target: Entry, arch: str) -> bool | None:
        """Tell whether a target of one arch, or of its floor alone, meets `arch` as a floor."""
        ...


def refused_entries(
    accel: AccelSet, rules: Mapping[str, BackendRules], source: str = "<accel>"
) -> tuple[Diagnostic, ...]:
    """Return a diagnostic for each entry of an asked set that its lane refuses."""
    found = []
    for entry in accel:
        refused = rules[entry.backend].check(entry) if entry.backend in rules else None
        if refused is not None:
            reason, hint = refused
            notes = (f"the entry: {entry}", f"from: {source}")
            found.append(Diagnostic(code="ATL0118", message=reason, notes=notes, hint=hint))
    return tuple(found)


Covers = Callable[[Entry, str], bool]
Compatible = Callable[[Version | None, Version | None], bool]


def same_major(have: Version | None, asked: Version | None) -> bool:
    """Tell whether two toolkits are of one major; no version on either side is no constraint."""
    return have is None or asked is None or have.major == asked.major


def not_above(have: Version | None, asked: Version | None) -> bool:
    """Tell whether code that needs `have` serves where `asked` is offered."""
    return have is None or asked is None or asked.at_least(have)


def portable_floor(have: Entry, asked: Entry) -> bool:
    """Tell whether the asked floor, where there is one, is served by a carried one not above it."""
    if asked.floor is None:
        return True
    return have.floor is not None and asked.floor.value.at_least(have.floor.value)


def link_entries(
    have: Entry,
    asked: Entry,
    *,
    covers: Covers = default_covers,
    compatible: Compatible = same_major,
    floors: Callable[[Entry, Entry], bool] = portable_floor,
) -> Relation:
    """Compare two entries of one backend: toolkit, every asked arch, the asked floor.

    Returns:
        At most one difference, which names only what differs.
    """
    missing = tuple(arch for arch in asked.archs if not covers(have, arch))
    toolkit = compatible(have.version, asked.version)
    floor_served = floors(have, asked)
    if toolkit and floor_served and not missing:
        return Relation()
    lacking = Entry(
        backend=asked.backend,
        version=asked.version,
        archs=missing,
        floor=None if floor_served else asked.floor,
    )
    if toolkit:
        return _differs(_code_text(lacking), _code_text(have))
    if not missing and floor_served:
        return _differs(_head_text(asked), _head_text(have))
    return _differs(str(lacking), str(have))


def run_entry(
    have: Entry,
    device: DeviceFacts,
    *,
    covers: Covers = default_covers,
    compatible: Compatible = same_major,
) -> Relation:
    """Compare an entry with a device of its backend: toolkit against driver, archs against hardware.

    The archs and the floor of an entry are alternatives. An entry that names neither has no constraint.
    """
    if not compatible(have.version, device.version):
        return _differs(f"{device.backend}{device.version}", _head_text(have))
    if not have.archs and have.floor is None:
        return Relation()
    if device.arch and covers(have, device.arch):
        return Relation()
    return _differs(device.arch or "an unknown architecture", _code_text(have))


def links(have: AccelSet, build: AccelSet, rules: Mapping[str, BackendRules] | None = None) -> Relation:
    """Tell whether an object built for `have` may enter a link that asks for `build`."""
    found = [
        difference for asked in build for difference in _links_backend(have, asked, rules or {}).differences
    ]
    return Relation(tuple(found))


def _links_backend(have: AccelSet, asked: Entry, rules: Mapping[str, BackendRules]) -> Relation:
    carried = have.get(asked.backend)
    if carried is None:
        return _differs(_head_text(asked), backends_text(have))
    rule = rules.get(asked.backend)
    answer = rule.links(carried, asked) if rule is not None else None
    return link_entries(carried, asked) if answer is None else answer


def runs(have: AccelSet, device: DeviceFacts, rules: Mapping[str, BackendRules] | None = None) -> Relation:
    """Tell whether code built for `have` runs on `device`; without device code nothing has to run."""
    if not have:
        return Relation()
    carried = have.get(device.backend)
    if carried is None:
        return _differs(device_text(device), backends_text(have))
    rule = (rules or {}).get(device.backend)
    answer = rule.runs(carried, device) if rule is not None else None
    return run_entry(carried, device) if answer is None else answer


def provides(target: Entry, arch: str, rules: Mapping[str, BackendRules] | None = None) -> Relation:
    """Tell whether a target provides a source feature whose floor is `arch`; each of its archs must.

    An empty `arch` is a feature of every target of the backend.
    """
    rule = (rules or {}).get(target.backend)
    if not arch:
        return Relation()
    failing = [part for part in _single_targets(target) if not _provides_one(part, arch, rule)]
    return Relation(tuple(Difference("arch", arch, _code_text(part)) for part in failing))


def _single_targets(target: Entry) -> list[Entry]:
    alone = [Entry(backend=target.backend, version=target.version, archs=(arch,)) for arch in target.archs]
    if target.floor is not None or not alone:
        alone.append(Entry(backend=target.backend, version=target.version, floor=target.floor))
    return alone


def _provides_one(target: Entry, arch: str, rule: BackendRules | None) -> bool:
    answer = rule.provides(target, arch) if rule is not None else None
    if answer is not None:
        return answer
    if target.archs:
        return meets(target.archs[0], arch)
    level = floor_level(target.floor)
    prefix = arch.split("_")[0]
    return level is not None and meets(f"{prefix}_{level}", arch)


def _differs(asked: str, carried: str) -> Relation:
    return Relation((Difference("accel", asked, carried),))


def _head_text(entry: Entry) -> str:
    return str(Entry(backend=entry.backend, version=entry.version))


def _code_text(entry: Entry) -> str:
    """Return the archs and the floor of an entry, or its head where it names neither."""
    parts = [*entry.archs, *([str(entry.floor)] if entry.floor is not None else [])]
    return ", ".join(parts) or _head_text(entry)


def backends_text(carried: AccelSet) -> str:
    """Return the backends of a set for a difference."""
    return ", ".join(carried.backends) or "none"


def device_text(device: DeviceFacts) -> str:
    """Return a device in the spelling of an accel entry."""
    archs = f"+{{{device.arch}}}" if device.arch else ""
    return f"{device.backend}{device.version or ''}{archs}"
