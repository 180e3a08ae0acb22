"""A unit whose extension says something else about modules than the unit."""

from __future__ import annotations

from pathlib import Path

from refusals.modules_refused import refused


def test_an_interface_that_declares_no_module(tmp_path: Path) -> None:
    (found,) = refused(tmp_path, {"src/a.cppm": "int f();\n"})
    assert found.code == "ATL0520"
    assert found.message == "`src/a.cppm` provides no module"
    assert found.notes == (
        "the extension `.cppm` says: a module interface or partition",
        "declared in it: none",
    )
    assert found.hint == "declare `export module NAME;`, or name the file `.cpp`"


def test_an_interface_in_another_extension(tmp_path: Path) -> None:
    files = {"src/a.cppm": "export module a;\n", "src/p.cpp": "module a:p;\n"}
    (found,) = refused(tmp_path, files)
    assert found.code == "ATL0520"
    assert found.message == "`src/p.cpp` provides the module `a:p`, which its extension denies"
    assert found.notes == ("provided: a:p", "module interfaces and partitions are named: .cppm")
    assert found.hint == "rename it to `src/p.cppm`"
