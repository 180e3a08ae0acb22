"""A second opinion on accel sets and relations, written from the specification and nothing else.

It shares no code with `atoll.accel`: the grammar is one regular expression, coverage is set arithmetic over
an explicit universe, choice is a sort.
"""

from __future__ import annotations

import re

VALUE = r"[0-9]+(?:\.[0-9]+)*"
BACKEND = r"[a-z](?:[a-z_-]*[a-z])?"
ARCH = r"[A-Za-z0-9][A-Za-z0-9_.:+-]*"
COMMA = r"[ \t]*,[ \t]*"
ENTRY = rf"{BACKEND}(?:{VALUE})?(?:\+\{{{ARCH}(?:{COMMA}{ARCH})*\}})?(?:[ \t]{BACKEND}>={VALUE})?"
SET = re.compile(rf"(?:{ENTRY}(?:{COMMA}{ENTRY})*)?")
PARTS = re.compile(
    rf"(?P<backend>{BACKEND})(?P<version>{VALUE})?(?:\+\{{(?P<archs>[^}}]*)\}})?"
    rf"(?:[ \t](?P<word>{BACKEND})>=(?P<floor>{VALUE}))?(?:{COMMA}|\Z)"
)

Row = tuple[str, str, tuple[str, ...], str, str]


def rows(text: str, words: dict[str, str]) -> tuple[Row, ...] | None:
    """Return (backend, version, archs, word, floor) for each entry, or None where the text is no set."""
    if not SET.fullmatch(text):
        return None
    found = []
    for match in PARTS.finditer(text):
        archs = tuple(re.split(COMMA, match["archs"])) if match["archs"] is not None else ()
        found.append(
            (match["backend"], match["version"] or "", archs, match["word"] or "", match["floor"] or "")
        )
    return tuple(found) if _lawful(found, words) else None


def _lawful(found: list[Row], words: dict[str, str]) -> bool:
    backends = [row[0] for row in found]
    numbers = [part for row in found for value in (row[1], row[4]) for part in value.split(".")]
    return (
        "none" not in backends
        and len(set(backends)) == len(backends)
        and all(len(set(row[2])) == len(row[2]) for row in found)
        and all(row[3] in ("", "floor", words.get(row[0], "")) for row in found)
        and all(len(number) <= 9 for number in numbers)
        and all(len(value) <= 64 for row in found for value in (row[1], row[4]))
    )


def same(left: tuple[Row, ...], right: tuple[Row, ...]) -> bool:
    """Tell whether two sets are equal: no order, no word."""

    def bag(found: tuple[Row, ...]) -> set[tuple[str, str, frozenset[str], str]]:
        return {(backend, version, frozenset(archs), floor) for backend, version, archs, _, floor in found}

    return bag(left) == bag(right)


def level(arch: str) -> tuple[str, int, str] | None:
    """Return (prefix, digits, suffix) of an arch with a readable level."""
    head, underscore, tail = arch.partition("_")
    suffix = tail[-1] if tail and tail[-1] in "af" else ""
    digits = tail.removesuffix(suffix) if suffix else tail
    readable = underscore and head.isalnum() and head[0].isalpha() and digits.isdigit()
    return (head, int(digits), suffix) if readable else None


def default_covers(archs: tuple[str, ...], floor: int | None, asked: str) -> bool:
    """Tell what the specification's engine defaults say of one asked arch."""
    if asked in archs:
        return True
    want = level(asked)
    if want is None:
        return False
    for arch in archs:
        have = level(arch)
        family = have is not None and have[2] == "f" and have[0] == want[0]
        if have and family and have[1] // 10 == want[1] // 10 and have[1] % 10 <= want[1] % 10:
            return True
    return floor is not None and floor <= want[1]
