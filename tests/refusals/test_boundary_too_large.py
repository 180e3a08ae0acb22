"""Refused: a file with a marker that is too large, too full or too slow to scan."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.boundary import grammar, roots
from unit.boundary.kit import one, scanned

BODY = "ATOLL_EXPORT_C int f() { return 0; }\n"


def test_bytes_are_bounded_and_a_file_without_a_marker_is_not_parsed(tmp_path: Path) -> None:
    fault = one(lambda: scanned(tmp_path / "cpu", BODY + " " * roots.FILE_LIMIT))
    assert (fault.code, fault.message) == ("ATL0313", "a file with a marker is too large to scan")
    assert fault.notes[1] == f"the limit is: {roots.FILE_LIMIT} bytes"
    assert scanned(tmp_path / "plain", "int f();" * roots.FILE_LIMIT).entries == ()


def test_markers_are_bounded(tmp_path: Path) -> None:
    fault = one(lambda: scanned(tmp_path / "cpu", BODY * 1025))
    assert fault.notes == ("it has more than 1024 markers", "the limit is: 1024 markers")


def test_seconds_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parse = grammar.parse
    monkeypatch.setattr(grammar, "parse", lambda text, extension: parse(text, extension, seconds=-1))
    fault = one(lambda: scanned(tmp_path / "cpu", BODY + "int g() { return 1 + 1; }\n" * 20_000))
    assert fault.notes[0] == "parsing it takes more than 10 seconds"
