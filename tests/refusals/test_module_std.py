"""`import std`: refused with the reason."""

from __future__ import annotations

from pathlib import Path

from refusals.modules_refused import MAIN, MANIFEST, refused


def test_it_says_which_library_is_in_use(tmp_path: Path) -> None:
    files = {"src/a.cppm": "export module a;\n", "src/main.cpp": f"import std;\n{MAIN}"}
    (found,) = refused(tmp_path, files, MANIFEST)
    assert found.code == "ATL0522"
    assert found.message == "`src/main.cpp` imports the module `std` of the C++ library"
    assert found.notes[0] == "asked at: src/main.cpp:1"
    assert "g++" in found.notes[1]
    assert found.hint == "include the headers instead"
