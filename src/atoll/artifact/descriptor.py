"""What does a prebuilt file say of itself? One descriptor, its JSON, and an index of them.

An index degrades: a field nobody knows is ignored, a descriptor that cannot be understood costs itself and a
warning, never the index. Equal parts of descriptors are one object, so that matching looks at each once.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from atoll._util.values import dataclass, field
from atoll.accel import ANY_WORD, AccelSet, Entry
from atoll.artifact.abi import Abi
from atoll.artifact.unfit import side
from atoll.artifact.values import Fact
from atoll.diagnostics import Diagnostic, Severity
from atoll.errors import AtollError, UnreadableError

MAX_BYTES = 64 << 20
MAX_ITEMS = 1000


@dataclass(frozen=True, kw_only=True)
class Descriptor:
    """One prebuilt artifact.

    Attributes:
        role: What it is for: ``library``, ``wheel``, ``data`` …
        path: Where it lies, relative to the index.
        provenance: Where it comes from: a source, a commit, a digest.
        abi: The ABI it was built for.
        accel: The measured set; empty for no device code; None for *unknown*.
        requires: Facts that must all hold where it runs.
        declared: What bytes cannot say, as accel entries.
        kind: Shared by the descriptors of an index that matching need not tell apart; no part of equality.
    """

    role: str = "library"
    path: str = ""
    provenance: str = ""
    abi: Abi = field(default_factory=Abi)
    accel: AccelSet | None = field(default_factory=AccelSet)
    requires: tuple[Fact, ...] = ()
    declared: tuple[str, ...] = ()
    kind: object = field(default=None, compare=False, repr=False)

    @cached_property
    def carried(self) -> AccelSet | None:
        """What it carries: the measured set, completed by what is declared beside it; None for unknown.

        A declared entry adds a backend that bytes cannot show, or a version they do not state; it never
        replaces what was measured.
        """
        return carried(self.accel, self.declared)

    @property
    def side(self) -> str:
        """Its side of a refusal."""
        return side(self.left, accel_text(self.accel), self.declared)

    @cached_property
    def stated(self) -> frozenset[str]:
        """The backends that it carries by its declaration alone."""
        measured = self.accel or AccelSet()
        return frozenset(each.backend for each in self.carried or () if not measured.get(each.backend))

    @property
    def left(self) -> str:
        """What names it in a refusal: its ABI tag, or else its path."""
        return str(self.abi) or self.path

    def as_json(self) -> dict[str, Any]:
        """Return it as a value that `json` can write; unknown is null."""
        return {
            "role": self.role,
            "path": self.path,
            "provenance": self.provenance,
            "abi": str(self.abi),
            "accel": None if self.accel is None else str(self.accel),
            "requires": [str(fact) for fact in self.requires],
            "declared": list(self.declared),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """The artifacts of one package, in the publisher's order.

    Attributes:
        diagnostics: Warnings on descriptors that could not be understood.
    """

    package: str
    version: str = ""
    artifacts: tuple[Descriptor, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return it as a value that `json` can write."""
        return {
            "package": self.package,
            "version": self.version,
            "artifacts": [each.as_json() for each in self.artifacts],
        }


def accel_text(accel: AccelSet | None) -> str:
    """Return a measured set for a person: ``none``, ``unknown`` or the set."""
    return "unknown" if accel is None else str(accel) or "none"


def carried(accel: AccelSet | None, declared: tuple[str, ...]) -> AccelSet | None:
    """Return a measured set completed by declared entries; see :attr:`Descriptor.carried`."""
    if accel is None or not declared:
        return accel
    said = {entry.backend: entry for text in declared for entry in _foreign(text)}
    completed = [_complete(entry, said.pop(entry.backend, None)) for entry in accel]
    return AccelSet((*completed, *said.values()))


def _complete(measured: Entry, said: Entry | None) -> Entry:
    if said is None or measured.version is not None:
        return measured
    return Entry(backend=measured.backend, version=said.version, archs=measured.archs, floor=measured.floor)


def _foreign(text: str) -> AccelSet:
    return AccelSet.parse(text, floor_words=ANY_WORD, source="<artifact>")


def read_index(data: bytes, name: str) -> Index:
    """Return the index that JSON bytes spell.

    Args:
        data: ``{"package", "version", "artifacts": [descriptor…]}``, or what `measure --json` printed
            (``{"files": […]}``); from anywhere, so every byte is hostile.
        name: The file, for diagnostics.

    Raises:
        UnreadableError: Where it is not JSON of that shape or is too large.
    """
    value = _decode(data, name)
    items = value.get("artifacts", value.get("files")) if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(items, list):
        raise UnreadableError(_not_index(name, "it has no list `artifacts`"))
    return _Reader(name).index(value, items)


def _decode(data: bytes, name: str) -> object:
    import msgspec

    if len(data) > MAX_BYTES:
        raise UnreadableError(_not_index(name, f"it is larger than {MAX_BYTES >> 20} MiB"))
    try:
        value: object = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise UnreadableError(_not_index(name, str(error) or type(error).__name__)) from error
    return value


def _not_index(name: str, reason: str) -> Diagnostic:
    return Diagnostic(
        code="ATL0402",
        message=f"`{name}` is not an index of artifacts",
        notes=(f"reason: {reason}",),
        hint='an index is `{"package": …, "version": …, "artifacts": [descriptor, …]}`',
    )


def _fact_text(value: object) -> object:
    """Return a fact that `measure --json` wrote as an object in the text of a descriptor."""
    if not isinstance(value, dict):
        return value
    return " ".join(str(value.get(part, "")) for part in ("name", "relation", "value"))


class _MalformedError(Exception):
    """A descriptor that cannot be understood; never leaves this module."""


class _Reader:
    """Reads descriptors and keeps one object for equal parts."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.parts: dict[tuple[str, object], object] = {}
        self.warnings: list[Diagnostic] = []

    def index(self, value: Mapping[str, object], items: list[object]) -> Index:
        read = [self.descriptor(place, item) for place, item in enumerate(items)]
        package, version = value.get("package", ""), value.get("version", "")
        if not isinstance(package, str) or not isinstance(version, str):
            raise UnreadableError(_not_index(self.name, "`package` or `version` is no text"))
        return Index(
            package=package,
            version=version,
            artifacts=tuple(each for each in read if each is not None),
            diagnostics=tuple(self.warnings),
        )

    def descriptor(self, place: int, item: object) -> Descriptor | None:
        try:
            return self.understood(place, item)
        except (_MalformedError, AtollError) as error:
            reason = error.diagnostics[0].message if isinstance(error, AtollError) else str(error)
            self.warn(place, f"it is passed over: {reason}")
            return None

    def understood(self, place: int, item: object) -> Descriptor:
        if not isinstance(item, dict):
            raise _MalformedError("it is no object")
        declared = self.texts(item, "declared")
        accel = self.accel(place, item)
        if accel is not None:
            self.part(("carried", (id(accel), declared)), lambda: carried(accel, declared))
        abi = self.part(("abi", self.text(item, "abi")), lambda: Abi.parse(self.text(item, "abi")))
        requires = self.requires(item)
        return Descriptor(
            role=self.text(item, "role") or "library",
            path=self.text(item, "path"),
            provenance=self.text(item, "provenance"),
            abi=abi,
            accel=accel,
            requires=requires,
            declared=declared,
            kind=self.part(("kind", (id(abi), id(accel), id(requires), id(declared))), object),
        )

    def part(self, key: tuple[str, object], make: Any) -> Any:
        if key not in self.parts:
            self.parts[key] = make()
        return self.parts[key]

    def text(self, item: Mapping[str, object], key: str) -> str:
        value = item.get(key, "")
        if not isinstance(value, str):
            raise _MalformedError(f"`{key}` is no text")
        return value

    def texts(self, item: Mapping[str, object], key: str) -> tuple[str, ...]:
        value = item.get(key, [])
        if key == "requires" and isinstance(value, list):
            value = [_fact_text(each) for each in value]
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise _MalformedError(f"`{key}` is no list of texts")
        if len(value) > MAX_ITEMS:
            raise _MalformedError(f"`{key}` has more than {MAX_ITEMS} items")
        texts: tuple[str, ...] = self.part((key, tuple(value)), lambda: tuple(value))
        return texts

    def requires(self, item: Mapping[str, object]) -> tuple[Fact, ...]:
        texts = self.texts(item, "requires")
        facts: tuple[Fact, ...] = self.part(
            ("facts", texts), lambda: tuple(Fact.parse(text) for text in texts)
        )
        return facts

    def accel(self, place: int, item: Mapping[str, object]) -> AccelSet | None:
        value = item.get("accel", "")
        if value is None:
            return None
        if not isinstance(value, str):
            raise _MalformedError("`accel` is neither text nor null")
        key = ("accel", value)
        if key not in self.parts:
            self.parts[key] = self.parsed_accel(place, value)
        accel = self.parts[key]
        assert accel is None or isinstance(accel, AccelSet)
        return accel

    def parsed_accel(self, place: int, value: str) -> AccelSet | None:
        """Return the set, or unknown for text of a grammar that this version does not know."""
        try:
            return _foreign(value)
        except AtollError as error:
            self.warn(place, f"its accel counts as unknown: {error.diagnostics[0].message}")
            return None

    def warn(self, place: int, reason: str) -> None:
        if len(self.warnings) < MAX_ITEMS:
            self.warnings.append(
                Diagnostic(
                    code="ATL0403",
                    message=f"artifact {place + 1} of `{self.name}` is not understood",
                    severity=Severity.WARNING,
                    notes=(reason,),
                )
            )
