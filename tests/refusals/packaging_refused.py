"""What the refusals of measuring and packing share."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.accel import AccelSet
from atoll.diagnostics import Diagnostic, codes, render
from atoll.errors import AtollError
from atoll.packaging import Limits, Metadata, measure, pack_tree, report

ABOUT = Metadata(name="demo", version="1.0", license="MIT")


def refused(path: Path, limits: Limits | None = None) -> Diagnostic:
    """Measure a file that must be refused whole, and return why."""
    with pytest.raises(AtollError) as caught:
        report(path, limits) if limits else measure(path)
    return _sound(caught.value.diagnostics)


def said(path: Path) -> Diagnostic:
    """Measure a file with a member that must be refused, and return why; its set must be unknown."""
    found = report(path)
    assert found.measured.accel is None
    assert found.measured.unread
    return _sound(found.diagnostics)


def not_packed(
    tree: Path, about: Metadata = ABOUT, declared: str | None = None, platform: str = ""
) -> Diagnostic:
    """Pack a tree that must be refused; nothing may be written."""
    out = tree.parent / "dist"
    accel = None if declared is None else AccelSet.parse(declared, floor_words={"cuda": "ptx"})
    with pytest.raises(AtollError) as caught:
        pack_tree(tree, about, out, declared=accel, asked_platform=platform)
    assert not out.exists() or list(out.iterdir()) == []
    return _sound(caught.value.diagnostics)


def _sound(diagnostics: tuple[Diagnostic, ...]) -> Diagnostic:
    first = diagnostics[0]
    assert first.code in codes()
    assert "Traceback" not in render(first)
    assert "\x1b" not in render(first)
    return first
