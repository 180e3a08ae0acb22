"""Which values make the vocabulary? Versions, floors, entries, sets and device facts.

A value that exists is lawful: constructors check the same shapes as the parser (:mod:`atoll.accel.parse`),
so that text made from a value always parses back to an equal one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from atoll._util.values import dataclass, field
from atoll.accel.words import NEUTRAL, AnyWord
from atoll.diagnostics import Diagnostic
from atoll.errors import AccelError

BACKEND = re.compile(r"[a-z](?:[a-z_-]*[a-z])?")
ARCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:+-]*")
VALUE = re.compile(r"[0-9]+(?:\.[0-9]+)*")
WORD = re.compile(r"[a-z](?:[a-z_-]*[a-z])?")

# A number longer than this is no version of anything, and would cost time to turn into an integer.
MAX_DIGITS = 9
MAX_VALUE = 64

#: What the processor is called where backends, drivers and roots are named. It is in every build.
PROCESSOR = "cpu"


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A version as written: digits separated by dots. ``13`` and ``13.0`` are two versions.

    Attributes:
        parts: The numbers, most significant first; at least one.
        text: How it is written; it keeps leading zeros (``2024.04``) and takes part in equality.
    """

    parts: tuple[int, ...]
    text: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if not self.text:
            object.__setattr__(self, "text", ".".join(str(part) for part in self.parts))
        spelled = tuple(int(part) for part in self.text.split(".")) if _is_value(self.text) else ()
        if not self.parts or spelled != self.parts:
            raise AccelError(_unlawful("a version", self.text, "digits separated by dots"))

    @classmethod
    def parse(cls, text: str) -> Version:
        """Return the version that `text` spells.

        Raises:
            AccelError: Where it is not digits separated by dots.
        """
        if not _is_value(text):
            raise AccelError(_unlawful("a version", text, "digits separated by dots"))
        return cls(tuple(int(part) for part in text.split(".")), text)

    @property
    def major(self) -> int:
        """The first number."""
        return self.parts[0]

    @property
    def minor(self) -> int:
        """The second number; 0 where none is written."""
        return self.parts[1] if len(self.parts) > 1 else 0

    def at_least(self, other: Version) -> bool:
        """Tell whether it is not below `other`; missing numbers count as 0, so ``13`` serves ``13.0``."""
        width = max(len(self.parts), len(other.parts))
        return self._padded(width) >= other._padded(width)

    def _padded(self, width: int) -> tuple[int, ...]:
        return self.parts + (0,) * (width - len(self.parts))

    def __str__(self) -> str:
        return self.text


def _is_value(text: str) -> bool:
    if len(text) > MAX_VALUE or not VALUE.fullmatch(text):
        return False
    return all(len(part) <= MAX_DIGITS for part in text.split("."))


@dataclass(frozen=True, slots=True)
class Floor:
    """A portable floor; the lane's word is kept for printing and is no part of equality."""

    value: Version
    word: str = field(default=NEUTRAL, compare=False)

    def __post_init__(self) -> None:
        if not WORD.fullmatch(self.word):
            raise AccelError(_unlawful("a floor's word", self.word, "lower-case letters"))

    def __str__(self) -> str:
        return f"{self.word}>={self.value}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Entry:
    """One entry of a set; equality does not see the order of its archs nor the floor's word.

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

    def __post_init__(self) -> None:
        if self.backend == "none" or not BACKEND.fullmatch(self.backend):
            raise AccelError(_unlawful("a backend", self.backend, "lower-case letters, `_` or `-` inside"))
        for arch in self.archs:
            if not ARCH.fullmatch(arch):
                raise AccelError(_unlawful("an architecture", arch, "letters, digits, `_ . : + -` inside"))
        if len(set(self.archs)) != len(self.archs):
            raise AccelError(_unlawful("the architectures of an entry", ",".join(self.archs), "no two equal"))

    def canonical(self) -> str:
        """Return the text with sorted archs and the neutral word for a floor."""
        return self._text(tuple(sorted(self.archs)), NEUTRAL)

    def _text(self, archs: tuple[str, ...], word: str) -> str:
        version = "" if self.version is None else str(self.version)
        braces = f"+{{{','.join(archs)}}}" if archs else ""
        floor = "" if self.floor is None else f" {word}>={self.floor.value}"
        return f"{self.backend}{version}{braces}{floor}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entry) and self.canonical() == other.canonical()

    def __hash__(self) -> int:
        return hash(self.canonical())

    def __str__(self) -> str:
        return self._text(self.archs, NEUTRAL if self.floor is None else self.floor.word)


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


@dataclass(frozen=True, slots=True, eq=False)
class AccelSet:
    """A set of entries, in the order written; equality and hash use the canonical form."""

    entries: tuple[Entry, ...] = ()

    def __post_init__(self) -> None:
        backends = [entry.backend for entry in self.entries]
        if len(set(backends)) != len(backends):
            raise AccelError(_unlawful("the backends of a set", ", ".join(backends), "no two equal"))

    @classmethod
    def parse(
        cls, text: str, *, floor_words: Mapping[str, str] | AnyWord | None = None, source: str = "<accel>"
    ) -> AccelSet:
        """Return the set that `text` spells; the empty text spells the empty set.

        Args:
            text: The strict grammar of ``docs/reference/accel.md``.
            floor_words: For each backend the word its lane registers beside ``floor``; `ANY_WORD` for
                text from elsewhere, whose lanes may not be installed; None for the installed lanes.
            source: Where the text stands, for the diagnostic's place.

        Raises:
            AccelError: With column, caret and reason; nothing is ever skipped.
        """
        from atoll.accel.parse import parse_set

        return parse_set(text, floor_words, source)

    def canonical(self) -> str:
        """Return the text with entries and archs sorted; it parses back to an equal set."""
        return ", ".join(sorted(entry.canonical() for entry in self.entries))

    def get(self, backend: str) -> Entry | None:
        """Return the entry of `backend`, or None."""
        return next((entry for entry in self.entries if entry.backend == backend), None)

    @property
    def backends(self) -> tuple[str, ...]:
        """The backends, in the order written."""
        return tuple(entry.backend for entry in self.entries)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AccelSet) and self.canonical() == other.canonical()

    def __hash__(self) -> int:
        return hash(self.canonical())

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __bool__(self) -> bool:
        return bool(self.entries)

    def __str__(self) -> str:
        return ", ".join(str(entry) for entry in self.entries)


def _unlawful(what: str, text: str, shape: str) -> Diagnostic:
    shown = text if len(text) <= MAX_VALUE else text[:MAX_VALUE] + "…"
    return Diagnostic(
        code="ATL0116" if "version" in what else "ATL0101",
        message=f"`{shown}` is not {what}",
        notes=(f"expected: {shape}",),
    )
