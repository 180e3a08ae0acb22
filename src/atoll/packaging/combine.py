"""What do many findings say together? One set, the facts that must hold, what is only declared.

Archs of one backend are alternatives, so they are joined. A version is a floor for who runs it, so the
greatest counts. So does the greatest of several portable floors: each piece is other code, and what is said
of the whole must hold for every one. Several forms of one piece are that piece's reader's to weigh.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from atoll.accel import AccelSet, Entry, Floor, Version
from atoll.artifact import Fact, Finding
from atoll.errors import AccelError

HOST = "abi."
_VERSION = re.compile(r"\d{1,9}(\.\d{1,9}){0,7}")
_WORD = re.compile(r"[a-z][a-z0-9_-]{0,31}")
LONGEST = 128


def fault(finding: Finding) -> str | None:
    """Return why a finding cannot enter a set, or None where it can."""
    if not finding.backend:
        return finding.note or "device code of an unknown form"
    if max(map(len, (finding.backend, finding.arch, finding.version, finding.floor))) > LONGEST:
        return f"a text that no set can spell: over {LONGEST} characters"
    return _unspelled(finding.backend, finding.version, finding.arch, finding.floor, finding.floor_word)


@lru_cache(maxsize=1024)
def _unspelled(backend: str, version: str, arch: str, floor: str, word: str) -> str | None:
    """Return why these texts are no entry; thousands of pieces of one file share them."""
    if word and not _WORD.fullmatch(word):
        return f"a floor that no set can spell: {word!r}"
    one = Finding(member="", backend=backend, version=version, arch=arch, floor=floor, floor_word=word)
    try:
        _entry(backend, [one])
    except AccelError as error:
        return f"a text that no set can spell: {error.diagnostics[0].message}"
    return None


def accel(findings: Iterable[Finding]) -> AccelSet:
    """Return the set of what was measured, sorted; declared findings are no part of it."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        if not finding.declared:
            groups.setdefault(finding.backend, []).append(finding)
    return AccelSet(tuple(_entry(name, groups[name]) for name in sorted(groups)))


def _entry(backend: str, findings: list[Finding]) -> Entry:
    versions = [Version.parse(text) for text in {item.version for item in findings if item.version}]
    return Entry(
        backend=backend,
        version=max(versions, key=_order) if versions else None,
        archs=tuple(sorted({item.arch for item in findings if item.arch}, key=natural)),
        floor=_floor(findings),
    )


def _floor(findings: list[Finding]) -> Floor | None:
    """Return the floor from which every code runs; None where one of them is machine code alone."""
    forms: dict[str, list[Floor]] = {}
    for item in findings:
        if item.arch or item.floor:
            found = forms.setdefault(item.code or item.member, [])
            if item.floor:
                found.append(Floor(Version.parse(item.floor), item.floor_word or "floor"))
    if not forms or not all(forms.values()):
        return None
    least = (min(floors, key=lambda floor: _order(floor.value)) for floors in forms.values())
    return max(least, key=lambda floor: _order(floor.value))


def _order(version: Version) -> tuple[tuple[int, ...], str]:
    return version.parts, version.text


def natural(text: str) -> tuple[tuple[int, int | str], ...]:
    """Return a sorting key that puts ``sm_80`` before ``sm_100``."""
    pieces = re.findall(r"\d+|\D+", text)
    return tuple((0, int(piece)) if piece.isdecimal() else (1, piece) for piece in pieces)


def declared(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return what stands beside the bytes: accel entries as text, sorted."""
    return tuple(sorted({str(AccelSet((_entry(f.backend, [f]),))) for f in findings if f.declared}))


def stated(findings: Iterable[Finding]) -> list[Fact]:
    """Return what the measured findings require; pieces that share one tuple of facts are asked once."""
    shared = {id(item.requires): item.requires for item in findings if not item.declared}
    return [fact for facts in shared.values() for fact in facts]


def requires(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """Return the facts that must all hold, sorted; of several floors of one name the greatest."""
    floors: dict[str, Fact] = {}
    exact: set[Fact] = set()
    for fact in facts:
        if fact.name.startswith(HOST):
            continue
        if fact.relation != ">=" or not _VERSION.fullmatch(fact.value):
            exact.add(fact)
        elif fact.name not in floors or _level(fact) > _level(floors[fact.name]):
            floors[fact.name] = fact
    return tuple(sorted(exact | set(floors.values())))


def _level(fact: Fact) -> tuple[int, ...]:
    return tuple(int(piece) for piece in fact.value.split("."))
