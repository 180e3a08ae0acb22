"""ATL0473, ATL0474: two forms of one answer; a page that cannot be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from unit.packaging.test_cli import atoll


def test_json_and_a_page_at_once_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").write_bytes(b"text")
    assert atoll("measure", tmp_path / "a", "--json", "--report", "a.html") == 2
    said = capsys.readouterr().out
    assert '"code":"ATL0473"' in said.replace(" ", "")
    assert "two forms of the answer are asked for at once" in said


def test_a_page_that_cannot_be_written_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").write_bytes(b"text")
    (tmp_path / "missing").write_bytes(b"in the way")
    out = tmp_path / "missing" / "file" / "a.html"
    assert atoll("measure", tmp_path / "a", "--report", out) == 2
    said = capsys.readouterr().err
    assert f"error[ATL0474]: the report could not be written to `{out}`\n  reason: " in said
