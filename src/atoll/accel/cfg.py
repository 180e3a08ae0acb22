"""Does ``cfg(…)`` hold for this build? The predicate language of the manifest.

``cfg(P)`` where P is ``key = "value"``, ``any(P, …)``, ``all(P, …)`` or ``not(P)``. ``accelerator`` is
membership in the build's set, and ``accelerator = "none"`` holds exactly where the set is empty; ``os``,
``arch`` and ``compiler`` are equality. The combinators are plain boolean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NoReturn

from atoll._util.near import nearest
from atoll._util.values import dataclass
from atoll.accel.terms import AccelSet
from atoll.diagnostics import Diagnostic, Severity, Span
from atoll.errors import AccelError

MAX_TEXT = 4096
MAX_DEPTH = 32
KEYS = ("accelerator", "os", "arch", "compiler")
COMBINATORS = ("any", "all", "not")
NONE = "none"

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_VALUE = re.compile(r'"([A-Za-z0-9_.+-]{1,64})"')
_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class Is:
    """``key = "value"``, with its place."""

    key: str
    value: str
    span: Span


@dataclass(frozen=True, slots=True)
class AnyOf:
    """``any(…)``: at least one holds."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class AllOf:
    """``all(…)``: every one holds."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """``not(…)``: it does not hold."""

    part: Predicate


Predicate = Is | AnyOf | AllOf | Not


def parse_cfg(text: str, *, source: str = "<cfg>") -> Predicate:
    """Return the predicate that ``cfg(…)`` spells.

    Args:
        text: The whole text, ``cfg(accelerator = "x")``.
        source: Where it stands, for the diagnostic's place.

    Raises:
        AccelError: With column, caret and reason.
    """
    if len(text) > MAX_TEXT:
        raise AccelError(
            Diagnostic(
                code="ATL0115",
                message="the predicate is too long",
                span=Span(file=source),
                notes=(f"at most {MAX_TEXT} characters, this has {len(text)}",),
            )
        )
    return _Scanner(text, source).whole()


def evaluate(
    predicate: Predicate, *, accel: AccelSet, os: str = "", arch: str = "", compiler: str = ""
) -> bool:
    """Tell whether a predicate holds for a build.

    Args:
        predicate: What :func:`parse_cfg` returned.
        accel: The build's set; empty where it named no accelerator.
        os: Such as ``linux``.
        arch: Such as ``x86_64``.
        compiler: Such as ``gcc``.
    """
    facts = {"os": {os}, "arch": {arch}, "compiler": {compiler}}
    facts["accelerator"] = set(accel.backends) or {NONE}
    return _holds(predicate, facts)


def _holds(predicate: Predicate, facts: dict[str, set[str]]) -> bool:
    match predicate:
        case Is(key, value):
            return value in facts[key]
        case AnyOf(parts):
            return any(_holds(part, facts) for part in parts)
        case AllOf(parts):
            return all(_holds(part, facts) for part in parts)
        case Not(part):
            return not _holds(part, facts)


def names(predicate: Predicate) -> Iterator[Is]:
    """Give every ``key = "value"`` in it, in the order written."""
    match predicate:
        case Is():
            yield predicate
        case AnyOf(parts) | AllOf(parts):
            for part in parts:
                yield from names(part)
        case Not(part):
            yield from names(part)


def unknown_accelerators(predicate: Predicate, known: Iterable[str]) -> tuple[Diagnostic, ...]:
    """Return a warning for each accelerator that is in nobody's list.

    Args:
        predicate: What to look through.
        known: Every backend that a lane, a glob or `[package] accelerators` names.
    """
    lawful = {*known, NONE}
    return tuple(
        _unknown_value(each, sorted(lawful))
        for each in names(predicate)
        if each.key == "accelerator" and each.value not in lawful
    )


def _unknown_value(name: Is, known: list[str]) -> Diagnostic:
    close = nearest(name.value, known)
    return Diagnostic(
        code="ATL0123",
        message=f"no lane, source or `accelerators` entry names the accelerator `{name.value}`",
        severity=Severity.WARNING,
        span=name.span,
        notes=(f"named: {', '.join(known)}",),
        hint=f"did you mean `{close}`?" if close else None,
    )


@dataclass(slots=True)
class _Scanner:
    text: str
    source: str
    at: int = 0

    def whole(self) -> Predicate:
        if self.word() != "cfg":
            self.refuse(f"expected `cfg(…)`, found {self.found(0)}", 0)
        predicate = self.parenthesised(1)
        self.space()
        if self.at != len(self.text):
            self.refuse(f"expected the end, found {self.found(self.at)}", self.at)
        return predicate

    def predicate(self, depth: int) -> Predicate:
        if depth > MAX_DEPTH:
            self.refuse(
                "the predicate is nested too deep", self.at, "ATL0115", (f"at most {MAX_DEPTH} levels",)
            )
        self.space()
        start = self.at
        word = self.word()
        if word == "not":
            return Not(self.parenthesised(depth + 1))
        if word in ("any", "all"):
            return (AnyOf if word == "any" else AllOf)(self.several(depth + 1))
        if word not in KEYS:
            self.unknown_word(word, start)
        return self.comparison(word, start)

    def comparison(self, key: str, start: int) -> Is:
        self.expect("=")
        self.space()
        match = _VALUE.match(self.text, self.at)
        if match is None:
            self.refuse(f"expected a value in double quotes, found {self.found(self.at)}", self.at)
        self.at = match.end()
        return Is(key, match[1], self.span(start, self.at))

    def parenthesised(self, depth: int) -> Predicate:
        self.expect("(")
        inner = self.predicate(depth)
        self.expect(")")
        return inner

    def several(self, depth: int) -> tuple[Predicate, ...]:
        self.expect("(")
        parts = [self.predicate(depth)]
        self.space()
        while self.text[self.at : self.at + 1] == ",":
            self.at += 1
            parts.append(self.predicate(depth))
            self.space()
        self.expect(")")
        return tuple(parts)

    def expect(self, char: str) -> None:
        self.space()
        if self.text[self.at : self.at + 1] != char:
            self.refuse(f"expected `{char}`, found {self.found(self.at)}", self.at)
        self.at += 1

    def space(self) -> None:
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def word(self) -> str:
        self.space()
        match = _WORD.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return match.group() if match else ""

    def found(self, place: int) -> str:
        match = _WORD.match(self.text, place)
        token = match.group() if match else self.text[place : place + 1]
        return f"`{token}`" if token else "the end"

    def unknown_word(self, word: str, start: int) -> NoReturn:
        if not word:
            self.refuse(f"expected a predicate, found {self.found(start)}", start)
        known = (*KEYS, *COMBINATORS)
        close = nearest(word, known)
        self.refuse(
            f"`{word}` is no key of a predicate",
            start,
            "ATL0122",
            (f"known: {', '.join(known)}",),
            f"did you mean `{close}`?" if close else None,
        )

    def span(self, start: int, end: int) -> Span:
        shown = "".join(char if char.isprintable() else " " for char in self.text)
        return Span(file=self.source, column=start + 1, end_column=max(end, start + 1) + 1, text=shown)

    def refuse(
        self,
        message: str,
        place: int,
        code: str = "ATL0121",
        notes: tuple[str, ...] = (),
        hint: str | None = None,
    ) -> NoReturn:
        match = _WORD.match(self.text, place)
        span = self.span(place, match.end() if match else place + 1)
        raise AccelError(Diagnostic(code=code, message=message, span=span, notes=notes, hint=hint))
