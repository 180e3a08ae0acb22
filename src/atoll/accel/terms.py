"""The values of the vocabulary: versions, floors, entries, sets and device facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A version as written: digits separated by dots. ``13`` and ``13.0`` are two versions.

    Attributes:
        parts: The numbers, most significant first; at least one.
    """

    parts: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> Version:
        """Return the version that `text` spells.

        Raises:
            AccelError: Where it is not digits separated by dots.
        """
        raise NotImplementedError

    @property
    def major(self) -> int:
        """The first number."""
        return self.parts[0]

    def __str__(self) -> str:
        return ".".join(str(part) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Floor:
    """A portable floor; the lane's word is kept for printing and is no part of equality."""

    value: Version
    word: str = field(default="floor", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of a set.

    Attributes:
        backend: A name in lower case; the vocabulary is open.
        version: The toolkit or API version asked for, or None.
        archs: The architectures, in the order written; no two are equal.
        floor: The portable floor, or None.
    """

    backend: str
    version: Version | None = None
    archs: tuple[str, ...] = ()
    floor: Floor | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFacts:
    """Hardware and driver as one device states them; never a code target.

    Attributes:
        backend: The accel backend it is reached by.
        name: The device's own name.
        arch: Its hardware level in the backend's spelling (``sm_90``, ``gfx942``), or empty.
        version: The API or toolkit version its driver supports, or None.
        facts: Further values by name: ``driver``, ``spirv``, ``subgroup``, capabilities …
    """

    backend: str
    name: str = ""
    arch: str = ""
    version: Version | None = None
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AccelSet:
    """A set of entries, in the order written; equality and hash use the canonical form."""

    entries: tuple[Entry, ...] = ()

    @classmethod
    def parse(
        cls, text: str, *, floor_words: Mapping[str, str] | None = None, source: str = "<accel>"
    ) -> AccelSet:
        """Return the set that `text` spells.

        Args:
            text: The strict grammar of the reference page.
            floor_words: For each backend the word its lane registers beside ``floor``.
            source: Where the text stands, for the diagnostic's place.

        Raises:
            AccelError: With column, caret and reason; nothing is ever skipped.
        """
        raise NotImplementedError

    def canonical(self) -> str:
        """Return the text with entries and archs sorted; it parses back to an equal set."""
        raise NotImplementedError

    def get(self, backend: str) -> Entry | None:
        """Return the entry of `backend`, or None."""
        return next((entry for entry in self.entries if entry.backend == backend), None)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __bool__(self) -> bool:
        return bool(self.entries)
