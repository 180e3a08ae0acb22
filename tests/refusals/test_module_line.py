"""A module directive with more on its line: g++ takes none, and its own words are hard to read."""

from __future__ import annotations

from pathlib import Path

import pytest

from refusals.modules_refused import MAIN, refused


@pytest.mark.parametrize(
    ("text", "directive", "behind"),
    [
        ("export module a; export int f() { return 1; }", "export module a;", "export int f() { return 1; }"),
        ("module; export module a;", "module;", "export module a;"),
        ("export module a;\nexport import b; int g();", "export import b;", "int g();"),
        (f"export module a; {'int f(); ' * 9}", "export module a;", f"{'int f(); ' * 9}"[:59] + "…"),
    ],
)
def test_the_directive_and_what_is_behind_it_are_named(
    tmp_path: Path, text: str, directive: str, behind: str
) -> None:
    (found,) = refused(tmp_path, {"src/a.cppm": f"{text}\n", "src/main.cpp": MAIN})
    assert found.code == "ATL0525"
    assert found.message == "`src/a.cppm` has more on the line of a module directive"
    assert found.notes == (f"the directive: {directive}", f"behind it: {behind}")
    assert found.hint == "put the directive on a line of its own, as C++20 has it"
