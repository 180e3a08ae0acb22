"""An import that nothing provides: named with its place."""

from __future__ import annotations

from pathlib import Path

from refusals.modules_refused import MAIN, refused


def test_it_names_the_module_the_place_and_what_there_is(tmp_path: Path) -> None:
    files = {"src/a.cppm": "export module a.b;\n", "src/main.cpp": f"\nimport a.c;\n{MAIN}"}
    (found,) = refused(tmp_path, files)
    assert found.code == "ATL0516"
    assert found.message == "nothing provides the module `a.c`"
    assert found.notes == ("asked at: src/main.cpp:2", "provided here: a.b")
    assert found.span is not None
    assert (found.span.file, found.span.line) == ("src/main.cpp", 2)
    assert found.hint == "add the `.cppm` that declares it to `sources`, or link the target that has it"


def test_a_partition_is_looked_for_in_its_own_module(tmp_path: Path) -> None:
    (found,) = refused(tmp_path, {"src/a.cppm": "export module a;\nimport :gone;\n"})
    assert found.message == "nothing provides the module `a:gone`"
    assert found.notes[0] == "asked at: src/a.cppm:2"


def test_every_import_of_that_kind_is_reported_at_once(tmp_path: Path) -> None:
    files = {"src/a.cppm": "export module a;\nimport x;\n", "src/main.cpp": f"import y;\n{MAIN}"}
    assert [item.message for item in refused(tmp_path, files)] == [
        "nothing provides the module `x`",
        "nothing provides the module `y`",
    ]


def test_the_module_of_a_target_that_is_not_linked_is_not_there(tmp_path: Path) -> None:
    manifest = """\
[package]
name = "demo"
[targets.demo]
kind = "executable"
sources = ["src/*.cpp"]
links = ["one"]
[targets.one]
kind = "static"
sources = ["one/*.cppm"]
[targets.other]
kind = "static"
sources = ["other/*.cppm"]
"""
    files = {
        "one/a.cppm": "export module one;\n",
        "other/a.cppm": "export module other;\n",
        "src/main.cpp": f"import one;\nimport other;\n{MAIN}",
    }
    (found,) = refused(tmp_path, files, manifest)
    assert found.message == "nothing provides the module `other`"
    assert found.notes == ("asked at: src/main.cpp:2", "provided here: one")
