"""Modules that import each other in a circle: the circle is named."""

from __future__ import annotations

from pathlib import Path

from refusals.modules_refused import refused


def test_every_import_of_the_circle_is_named_with_its_place(tmp_path: Path) -> None:
    files = {
        "src/a.cppm": "export module a;\n\nexport import b;\n",
        "src/b.cppm": "export module b;\nimport c;\n",
        "src/c.cppm": "export module c;\nimport a;\nimport d;\n",
        "src/d.cppm": "export module d;\n",
    }
    (found,) = refused(tmp_path, files)
    assert found.code == "ATL0518"
    assert found.message == "the modules import each other in a circle: a → b → c → a"
    assert found.notes == (
        "`a` imports `b` at src/a.cppm:3",
        "`b` imports `c` at src/b.cppm:2",
        "`c` imports `a` at src/c.cppm:2",
    )
    assert found.hint == "move what both need into a module of its own"


def test_partitions_can_make_a_circle_too(tmp_path: Path) -> None:
    files = {
        "src/a.cppm": "export module a;\nexport import :p;\n",
        "src/p.cppm": "export module a:p;\nimport a;\n",
    }
    (found,) = refused(tmp_path, files)
    assert found.message == "the modules import each other in a circle: a → a:p → a"
