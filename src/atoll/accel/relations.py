"""The three relations. Lanes answer, the engine only combines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from atoll.accel.terms import AccelSet, DeviceFacts, Entry


@dataclass(frozen=True, slots=True)
class Difference:
    """One reason for a no: the dimension and both sides."""

    dimension: str
    asked: str
    carried: str


@dataclass(frozen=True, slots=True)
class Relation:
    """The answer of a relation: truthy when accepted, else it lists the differences."""

    differences: tuple[Difference, ...] = ()

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
        """Tell whether a target meets `arch` as a floor for a source feature."""
        ...


def links(have: AccelSet, build: AccelSet, rules: Mapping[str, BackendRules] | None = None) -> Relation:
    """Tell whether an object built for `have` may enter a link that asks for `build`."""
    raise NotImplementedError


def runs(have: AccelSet, device: DeviceFacts, rules: Mapping[str, BackendRules] | None = None) -> Relation:
    """Tell whether code built for `have` runs on `device`."""
    raise NotImplementedError


def provides(target: Entry, arch: str, rules: Mapping[str, BackendRules] | None = None) -> Relation:
    """Tell whether a target provides a source feature whose floor is `arch`."""
    raise NotImplementedError
