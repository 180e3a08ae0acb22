"""Does one architecture's code serve another? What the engine can tell without a lane.

A *level* is readable only from ``prefix_<digits>[a|f]``: ``x_103f`` is major 10, minor 3, a *family*
target. Everything else (``y942``) compares by equality. Lanes know more and override it.
"""

from __future__ import annotations

import re

from atoll._util.values import dataclass
from atoll.accel.terms import Entry, Floor

_LEVEL = re.compile(r"(?P<prefix>[A-Za-z][A-Za-z0-9]*)_(?P<number>[0-9]{1,9})(?P<suffix>[af]?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """An architecture whose level is readable.

    Attributes:
        prefix: What stands before the underscore.
        number: All digits as one number: 103.
        suffix: ``a`` for one architecture alone, ``f`` for a family, or empty.
    """

    prefix: str
    number: int
    suffix: str = ""

    @classmethod
    def of(cls, arch: str) -> Level | None:
        """Return the level that `arch` spells, or None where it spells none."""
        match = _LEVEL.fullmatch(arch)
        if match is None:
            return None
        return cls(prefix=match["prefix"], number=int(match["number"]), suffix=match["suffix"])

    @property
    def major(self) -> int:
        """All digits but the last."""
        return self.number // 10

    @property
    def minor(self) -> int:
        """The last digit."""
        return self.number % 10

    @property
    def pair(self) -> tuple[int, int]:
        """Major and minor, such as (10, 3)."""
        return self.major, self.minor

    def in_family_of(self, family: Level) -> bool:
        """Tell whether it has the same prefix and major, and a minor not below the family's."""
        same = (self.prefix, self.major) == (family.prefix, family.major)
        return same and self.minor >= family.minor


def floor_level(floor: Floor | None) -> int | None:
    """Return the level of a portable floor, or None where its value is not one number."""
    if floor is None or len(floor.value.parts) != 1:
        return None
    return floor.value.parts[0]


def covers(have: Entry, arch: str) -> bool:
    """Tell whether an entry covers `arch`: by itself, by a family or by its portable floor."""
    if arch in have.archs:
        return True
    wanted = Level.of(arch)
    if wanted is None:
        return False
    floor = floor_level(have.floor)
    if floor is not None and floor <= wanted.number:
        return True
    offered = [level for level in map(Level.of, have.archs) if level is not None]
    return any(level.suffix == "f" and wanted.in_family_of(level) for level in offered)


def meets(target: str, requirement: str) -> bool:
    """Tell whether a code target meets `requirement` as the floor of a source feature.

    A plain level serves every later one, an ``a`` its own architecture alone, an ``f`` the
    architecture-specific and family targets of its family.
    """
    if target == requirement:
        return True
    have, floor = Level.of(target), Level.of(requirement)
    if have is None or floor is None or have.prefix != floor.prefix:
        return False
    if floor.suffix == "f":
        return bool(have.suffix) and have.in_family_of(floor)
    return not floor.suffix and have.number >= floor.number
