"""What set does a text spell? And where it spells none: at which column and why.

A hand-written scanner over the grammar of ``docs/reference/accel.md``; linear in a bounded text. Every
refusal has its own code, so that each can be explained. The values live in :mod:`atoll.accel.terms`.
"""

from __future__ import annotations

import re
from typing import NoReturn

from atoll._util.near import nearest
from atoll._util.values import dataclass
from atoll.accel.terms import ARCH, BACKEND, MAX_DIGITS, MAX_VALUE, VALUE, AccelSet, Entry, Floor, Version
from atoll.accel.words import NEUTRAL, AnyWord, FloorWords, installed_floor_words
from atoll.diagnostics import Diagnostic, Span
from atoll.errors import AccelError, UsageError

MAX_TEXT = 4096

_SPACE = " \t"
_FLOOR = re.compile(r"(?P<word>[A-Za-z_][A-Za-z0-9_-]*)?(?P<gap>[ \t]*)(?P<op>[<>=~!]+)")
_RUN = re.compile(r"[A-Za-z0-9_.:+-]+")


def parse_set(text: str, floor_words: FloorWords | None = None, source: str = "<accel>") -> AccelSet:
    """Return the set that `text` spells; see :meth:`AccelSet.parse`."""
    if len(text) > MAX_TEXT:
        raise AccelError(
            Diagnostic(
                code="ATL0115",
                message="the accel set is too long",
                span=Span(file=source),
                notes=(f"at most {MAX_TEXT} characters, this has {len(text)}",),
            )
        )
    return _Scanner(text, source, floor_words).set()


def parse_option(text: str, floor_words: FloorWords | None = None, *, option: str = "--accel") -> AccelSet:
    """Return the set of ``--accel TEXT``, where an empty text is a mistake.

    Args:
        text: What followed the option.
        floor_words: As for :meth:`AccelSet.parse`.
        option: The option as the user typed it.

    Raises:
        UsageError: Where :meth:`AccelSet.parse` refuses, and for an empty or blank text.
    """
    if text.strip():
        try:
            return parse_set(text, floor_words, f"<{option}>")
        except AccelError as error:
            raise UsageError(*error.diagnostics) from error
    raise UsageError(
        Diagnostic(
            code="ATL0112",
            message=f"`{option}` names nothing",
            notes=(f"{option}: {text!r}",),
            hint="`--no-accel` asks for no accelerator",
        )
    )


@dataclass(slots=True)
class _Scanner:
    text: str
    source: str
    words: FloorWords | None
    at: int = 0

    # The grammar, from the outside in.

    def set(self) -> AccelSet:
        entries: list[Entry] = []
        if not self.text:
            return AccelSet()
        places: dict[str, int] = {}
        while True:
            start = self.at
            entry = self.entry()
            if entry.backend in places:
                self.repeated("ATL0104", "backend", entry.backend, start, places[entry.backend])
            places[entry.backend] = start
            entries.append(entry)
            if self.ended():
                return AccelSet(tuple(entries))

    def ended(self) -> bool:
        """Step over the comma before the next entry; tell whether the text ends instead."""
        end, next_at = self.at, self.skip()
        if next_at == len(self.text):
            if next_at > end:
                self.stray_space(end)
            return True
        if self.text[next_at] != ",":
            self.after_entry(end, next_at)
        comma = next_at
        self.at = next_at + 1
        self.at = self.skip()
        if self.at == len(self.text):
            self.refuse("ATL0107", "a comma ends the accel set", comma, comma + 1, hint="remove the comma")
        return False

    def entry(self) -> Entry:
        backend = self.backend()
        version = self.version()
        archs = self.archs() if self.peek() in ("+", "{") else ()
        return Entry(backend=backend, version=version, archs=archs, floor=self.floor(backend))

    def backend(self) -> str:
        match = BACKEND.match(self.text, self.at)
        if match is None:
            self.no_backend()
        name, start = match.group(), self.at
        after = self.text[match.end() : match.end() + 1]
        if "A" <= after <= "Z" and len(after) == 1:
            self.upper_case(start)
        if after in ("_", "-"):
            self.refuse(
                "ATL0101",
                f"a backend ends in `{after}`",
                match.end(),
                match.end() + 1,
                ("`_` and `-` stand between letters",),
            )
        if name == "none":
            self.refuse(
                "ATL0111",
                "`none` is no backend",
                start,
                match.end(),
                ("`none` is the name of the empty set in `cfg(…)`",),
                "`--no-accel` asks for no accelerator",
            )
        self.at = match.end()
        return name

    def version(self) -> Version | None:
        if not ("0" <= self.peek() <= "9" or self.peek() == "."):
            return None
        return self.value("ATL0116", "version")

    def value(self, code: str, what: str) -> Version:
        start = self.at
        match = VALUE.match(self.text, start)
        end = match.end() if match else start
        run = _RUN.match(self.text, end) if end == start or self.text[end : end + 1] != "+" else None
        if match is None or run is not None:
            stop = run.end() if run else start + 1
            if start == len(self.text):
                self.refuse(code, f"a {what} is missing", start, start + 1, ("expected: digits and dots",))
            self.not_ascii(stop if run else start)
            self.refuse(
                code,
                f"`{self.text[start:stop]}` is not a {what}",
                start,
                stop,
                ("expected: digits separated by dots",),
            )
        self.not_ascii(end)
        written = match.group()
        if len(written) > MAX_VALUE or any(len(part) > MAX_DIGITS for part in written.split(".")):
            self.refuse(
                code,
                f"a {what} is too long",
                start,
                end,
                (f"at most {MAX_DIGITS} digits a number and {MAX_VALUE} characters in all",),
            )
        self.at = end
        return Version.parse(written)

    def archs(self) -> tuple[str, ...]:
        start = self.at
        if not self.text.startswith("+{", start):
            bare = self.text[start] == "{"
            self.refuse(
                "ATL0101",
                "`{` stands without `+`" if bare else "`+` stands without `{`",
                start,
                start + 1,
                ("archs are written `+{arch,arch}`",),
            )
        self.at = start + 2
        self.no_empty_braces(start)
        places: dict[str, int] = {}
        while True:
            place = self.at
            arch = self.arch(start)
            if arch in places:
                self.repeated("ATL0105", "architecture", arch, place, places[arch])
            places[arch] = place
            if self.closed(start):
                return tuple(places)

    def arch(self, brace: int) -> str:
        match = ARCH.match(self.text, self.at)
        if match is None:
            self.no_arch(brace)
        self.at = match.end()
        return match.group()

    def closed(self, brace: int) -> bool:
        """Step over the comma before the next arch; tell whether the brace closes instead."""
        end, next_at = self.at, self.skip()
        char = self.text[next_at : next_at + 1]
        if char == "}":
            if next_at > end:
                self.stray_space(end)
            self.at = next_at + 1
            return True
        if char == "":
            self.unclosed(brace)
        if char != ",":
            if next_at > end and ARCH.match(self.text, next_at):
                self.missing_comma("architectures", end, next_at)
            self.at = next_at
            self.unexpected("`,` or `}`")
        self.at = next_at + 1
        self.at = self.skip()
        if self.peek() == "}":
            self.refuse(
                "ATL0107", "a comma ends the architectures", next_at, next_at + 1, hint="remove the comma"
            )
        return False

    def floor(self, backend: str) -> Floor | None:
        start = self.skip()
        match = _FLOOR.match(self.text, start) if start > self.at else None
        if match is None or match["word"] is None:
            self.floor_without_space(backend)
            return None
        if start > self.at + 1:
            self.stray_space(self.at + 1)
        self.word(backend, match)
        self.at = match.end()
        if self.skip() > self.at:
            self.stray_space(self.at)
        value = self.value("ATL0116", "floor")
        self.no_second_floor()
        return Floor(value, match["word"])

    def word(self, backend: str, match: re.Match[str]) -> None:
        """Refuse a floor's word that nobody registered, and an operator that is not ``>=``."""
        word, start = match["word"], match.start()
        if match["gap"]:
            self.stray_space(match.start("gap"))
        known = self.known_words(backend, word)
        if word not in known:
            close = nearest(word, known)
            self.refuse(
                "ATL0110",
                f"`{word}` is no word for a floor of `{backend}`",
                start,
                match.end("word"),
                (f"known words: {', '.join(known)}",),
                f"did you mean `{close}`?" if close else None,
            )
        if match["op"] != ">=":
            self.refuse(
                "ATL0101",
                f"`{match['op']}` stands where a floor has `>=`",
                match.start("op"),
                match.end("op"),
            )

    def known_words(self, backend: str, word: str) -> tuple[str, ...]:
        if word == NEUTRAL:
            return (NEUTRAL,)
        words = installed_floor_words() if self.words is None else self.words
        if isinstance(words, AnyWord):
            return (NEUTRAL, word) if BACKEND.fullmatch(word) else (NEUTRAL,)
        own = words.get(backend)
        return (NEUTRAL,) if own is None else (NEUTRAL, own)

    # Steps.

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def skip(self) -> int:
        """Return the place after white space; the scanner does not move."""
        at = self.at
        while at < len(self.text) and self.text[at] in _SPACE:
            at += 1
        return at

    # Refusals.

    def refuse(
        self,
        code: str,
        message: str,
        start: int,
        end: int,
        notes: tuple[str, ...] = (),
        hint: str | None = None,
    ) -> NoReturn:
        shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in self.text)
        span = Span(file=self.source, column=start + 1, end_column=max(end, start + 1) + 1, text=shown)
        raise AccelError(Diagnostic(code=code, message=message, span=span, notes=notes, hint=hint))

    def no_backend(self) -> NoReturn:
        char = self.peek()
        if char and char in _SPACE:
            self.stray_space(self.at)
        if char == ",":
            self.refuse(
                "ATL0107",
                "a comma stands where an entry should",
                self.at,
                self.at + 1,
                hint="remove the comma",
            )
        self.not_ascii(self.at)
        if "A" <= char <= "Z":
            self.upper_case(self.at)
        self.refuse(
            "ATL0106",
            "an entry has no backend",
            self.at,
            self.at + 1,
            ("expected: a backend in lower-case letters, such as `name1.2`",),
        )

    def upper_case(self, start: int) -> NoReturn:
        run = re.compile(r"[A-Za-z_-]+").match(self.text, start)
        assert run is not None
        self.refuse(
            "ATL0109",
            f"the backend `{run.group()}` has upper-case letters",
            start,
            run.end(),
            hint=f"write `{run.group().lower()}`",
        )

    def no_empty_braces(self, start: int) -> None:
        close = self.skip()
        if self.text[close : close + 1] == "}":
            self.refuse(
                "ATL0103",
                "the braces name no architecture",
                start,
                close + 1,
                hint="leave `+{}` out, or name an architecture in it",
            )

    def no_arch(self, brace: int) -> NoReturn:
        if not self.peek():
            self.unclosed(brace)
        if self.peek() == ",":
            self.refuse(
                "ATL0107",
                "a comma stands where an architecture should",
                self.at,
                self.at + 1,
                hint="remove the comma",
            )
        self.unexpected("an architecture")

    def unclosed(self, brace: int) -> NoReturn:
        self.refuse(
            "ATL0117", "a brace is not closed", brace + 1, brace + 2, hint="write `}` after the archs"
        )

    def after_entry(self, end: int, next_at: int) -> NoReturn:
        """Refuse what stands between an entry and its comma."""
        match = BACKEND.match(self.text, next_at)
        if match is not None:
            self.missing_comma("entries", end, next_at)
        if next_at > end and self.text[next_at] in "+{":
            self.stray_space(end)
        self.at = next_at
        if self.peek() == ":":
            self.refuse(
                "ATL0101",
                "`:` stands where archs are written `+{arch,arch}`",
                next_at,
                next_at + 1,
                ("`PLATFORM:ARCH` names one target of `atoll kernel`, or one device",),
            )
        self.unexpected("`,` or the end")

    def missing_comma(self, what: str, end: int, next_at: int) -> NoReturn:
        run = re.compile(r"[^ \t,}]+").match(self.text, next_at)
        after = run.group() if run else ""
        self.refuse(
            "ATL0102",
            f"a comma is missing between two {what}",
            end,
            max(next_at, end + 1),
            hint=f"write a comma before `{after}`",
        )

    def floor_without_space(self, backend: str) -> None:
        """Refuse a floor that lacks its space or its operator."""
        match = _FLOOR.match(self.text, self.skip())
        if match is not None and match["word"] is None:
            self.refuse(
                "ATL0101",
                f"`{match['op']}` stands without a word",
                match.start("op"),
                match.end("op"),
                ("a floor is written `floor>=1.2`, after one space",),
            )
        bare = BACKEND.match(self.text, self.skip())
        if bare is None:
            return
        rest = self.text[bare.end() : bare.end() + 1]
        if self.registered(backend, bare.group()) and rest in ("", ",", " ", "\t"):
            self.refuse(
                "ATL0101",
                f"the floor `{bare.group()}` has no value",
                bare.start(),
                bare.end(),
                (f"a floor is written `{bare.group()}>=1.2`",),
            )

    def registered(self, backend: str, word: str) -> bool:
        words = installed_floor_words() if self.words is None else self.words
        return word == NEUTRAL or (not isinstance(words, AnyWord) and words.get(backend) == word)

    def no_second_floor(self) -> None:
        start = self.skip()
        match = _FLOOR.match(self.text, start)
        if match is not None and match["word"] is not None and start > self.at:
            self.refuse("ATL0108", "an entry has two floors", start, match.end(), hint="keep one of the two")

    def repeated(self, code: str, what: str, name: str, place: int, first: int) -> NoReturn:
        self.refuse(
            code,
            f"the {what} `{name}` is named twice",
            place,
            place + len(name),
            (f"first at column {first + 1}",),
            "keep one of the two",
        )

    def stray_space(self, start: int) -> NoReturn:
        end = start
        while end < len(self.text) and self.text[end] in _SPACE:
            end += 1
        self.refuse(
            "ATL0113",
            "white space stands where none is allowed",
            start,
            end,
            ("it may stand around a comma, and once before a floor",),
        )

    def not_ascii(self, place: int) -> None:
        char = self.text[place : place + 1]
        if not char or char.isascii():
            return
        what = "digit" if char.isdecimal() else "character"
        self.refuse(
            "ATL0114", f"the {what} `{char}` is not ASCII", place, place + 1, (f"it is U+{ord(char):04X}",)
        )

    def unexpected(self, wanted: str) -> NoReturn:
        if self.peek() and self.peek() in _SPACE:
            self.stray_space(self.at)
        self.not_ascii(self.at)
        self.refuse(
            "ATL0101",
            f"unexpected {self.peek()!r} in the accel set",
            self.at,
            self.at + 1,
            (f"expected: {wanted}",),
        )
