"""Manifests and lanes for tests: written in a folder, read back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from atoll.accel import Entry, Relation
from atoll.diagnostics import Diagnostic
from atoll.errors import AtollError
from atoll.manifest import LaneFacts, Manifest, Selection, read, select

HEAD = '[package]\nname = "demo"\n'


def head(package: str, *sources: str) -> str:
    """Return a manifest of one target that lists every lane of the kit."""
    lanes = '[build]\nlanes = ["toy", "shade", "snake"]\n'
    target = '[targets.app]\nkind = "executable"\n'
    return f"{HEAD}{package}\n{lanes}{target}sources = [{', '.join(sources)}]\n"


def write(folder: Path, text: str, *files: str, name: str = "atoll.toml") -> Path:
    """Write a manifest and empty source files; return the manifest's path."""
    for file in files:
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def refused(path: Path, code: str, *parts: str, error: type[AtollError] = AtollError) -> Diagnostic:
    """Check that reading is refused with a code, and that the rendered text has every part."""
    with pytest.raises(error) as caught:
        read(path)
    found = [item for item in caught.value.diagnostics if item.code == code]
    assert found, [item.code for item in caught.value.diagnostics]
    text = str(caught.value)
    for part in parts:
        assert part in text, text
    return found[0]


@dataclass(frozen=True)
class Rules:
    """Rules of a backend that leave everything to the engine."""

    floor_word: str | None = None

    def check(self, entry: Entry) -> tuple[str, str] | None:
        return None

    def links(self, have: Entry, asked: Entry) -> Relation | None:
        return None

    def runs(self, have: Entry, device: object) -> Relation | None:
        return None

    def provides(self, target: Entry, arch: str) -> bool | None:
        return None


HOST = LaneFacts(extensions={".cpp": "unit", ".c": "unit", ".h": "header"}, host=True)
TOY = LaneFacts(extensions={".toy": "unit", ".toyh": "header"}, backends={"toy": Rules("tw")})
SHADE = LaneFacts(extensions={".shade": "unit", ".stageless": "refused"}, backends={"gfx": Rules()})
SNAKE = LaneFacts(extensions={".py": "unit"}, backends={"toy": Rules("tw"), "gfx": Rules()}, processor=True)
LANES = {"host": HOST, "toy": TOY, "shade": SHADE, "snake": SNAKE}


def choose(folder: Path, accel: str = "", lanes: dict[str, LaneFacts] | None = None) -> Selection:
    """Read the folder's manifest, resolve it for a set, and select."""
    manifest, found = _resolved(folder, accel)
    return select(folder, manifest, found, lanes or LANES)


def _resolved(folder: Path, accel: str):  # type: ignore[no-untyped-def]
    from atoll.accel import AccelSet

    found = AccelSet.parse(accel, floor_words={"toy": "tw"}) if accel else AccelSet()
    manifest: Manifest = read(folder).resolve(found, "linux", "x86_64", "gcc")
    return manifest, found


def select_refused(folder: Path, code: str, *parts: str, accel: str = "") -> list[Diagnostic]:
    """Check that a selection is refused with a code and text; return every diagnostic."""
    with pytest.raises(AtollError) as caught:
        choose(folder, accel)
    assert code in [item.code for item in caught.value.diagnostics], str(caught.value)
    for part in parts:
        assert part in str(caught.value), str(caught.value)
    return list(caught.value.diagnostics)
