"""A module that two units provide: refused with both."""

from __future__ import annotations

from pathlib import Path

from refusals.modules_refused import refused


def test_both_units_are_named(tmp_path: Path) -> None:
    text = "export module a;\n"
    (found,) = refused(tmp_path, {"src/one.cppm": text, "src/two.cppm": text})
    assert found.code == "ATL0517"
    assert found.message == "the module `a` is provided twice"
    assert found.notes == (
        "provided by: src/one.cppm (target `demo`)",
        "provided by: src/two.cppm (target `demo`)",
    )
    assert found.hint == "keep one of them, or give one another name"


def test_a_target_does_not_hide_a_module_of_what_it_links(tmp_path: Path) -> None:
    manifest = """\
[package]
name = "demo"
[targets.demo]
kind = "executable"
sources = ["src/*"]
links = ["core"]
[targets.core]
kind = "static"
sources = ["core/*"]
"""
    text = "export module a;\n"
    (found,) = refused(tmp_path, {"src/one.cppm": text, "core/two.cppm": text}, manifest)
    assert found.notes == (
        "provided by: src/one.cppm (target `demo`)",
        "provided by: core/two.cppm (target `core`)",
    )
