"""A tree with a link, a special file or nothing in it is not packed."""

from __future__ import annotations

import os
from pathlib import Path

from refusals.packaging_refused import not_packed
from unit.packaging.binaries import put


def test_an_empty_tree_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    assert not_packed(tmp_path / "tree").code == "ATL0464"
    assert not_packed(tmp_path / "gone").code == "ATL0464"


def test_a_link_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "tree/a.py", b"")
    (tmp_path / "tree/b.py").symlink_to("/etc/passwd")
    found = not_packed(tmp_path / "tree")
    assert (found.code, found.notes) == ("ATL0464", ("reason: it is a link or a special file",))


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    os.mkfifo(tmp_path / "tree/pipe")
    assert not_packed(tmp_path / "tree").code == "ATL0464"


def test_a_name_with_an_escape_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "tree/\x1b[31m.py", b"")
    assert not_packed(tmp_path / "tree").notes == ("reason: a wheel cannot carry this name",)
