"""A link that leads nowhere is refused where a glob matches it: its code would be missing in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.errors import AtollError
from unit.build.build_project import PACKAGE, session
from unit.manifest.manifests import HEAD, select_refused, write

TARGET = '[targets.a]\nkind = "static"\nsources = ["*.cpp"]\n'


@pytest.mark.parametrize("leads", ["gone.cpp", "b.cpp", "/gone/b.cpp"])
def test_a_source_that_is_a_link_to_nothing(tmp_path: Path, leads: str) -> None:
    write(tmp_path, HEAD + TARGET, "a.cpp")
    (tmp_path / "b.cpp").symlink_to(leads)
    select_refused(
        tmp_path, "ATL0234", "`b.cpp` is a link that leads nowhere", "glob: *.cpp", f"it says: {leads}"
    )


def test_a_link_that_no_glob_matches_is_no_matter(tmp_path: Path) -> None:
    files = {"atoll.toml": PACKAGE + TARGET, "a.cpp": "int a() { return 1; }\n"}
    made = session(tmp_path, files)
    (tmp_path / "b.txt").symlink_to("gone")
    (tmp_path / ".#a.cpp").symlink_to("somebody@machine.4711")
    assert made.build().result.ran


def test_an_embedded_file_that_is_a_link_to_nothing(tmp_path: Path) -> None:
    files = {
        "atoll.toml": f'{PACKAGE}{TARGET}[data.words]\nfiles = ["words/*"]\n',
        "a.cpp": "",
        "words/a": "a",
    }
    made = session(tmp_path, files)
    (tmp_path / "words/b").symlink_to("../gone")
    with pytest.raises(AtollError) as raised:
        made.build()
    (found,) = raised.value.diagnostics
    assert (found.code, found.message) == ("ATL0234", "`words/b` is a link that leads nowhere")
    assert found.notes == ("glob: words/*", "it says: ../gone")
