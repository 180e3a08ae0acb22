"""What a unit says of modules, read from its preprocessed text; and the order of a target's units."""

from __future__ import annotations

import pytest

from atoll_plugins.host.collate_modules import Module, closure, dyndep_text, find_cycle
from atoll_plugins.host.scan_modules import directives, read_p1689

Said = tuple[str | None, bool, list[str], list[str]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("module;\nexport module a.b;\n", ("a.b", True, [], [])),
        ("export  module  a . b : c [[deprecated]] ;\n", ("a.b:c", True, [], [])),
        ("module a:p;\nimport :q;\n", ("a:p", False, ["a:q"], [])),
        ("module a;\n", (None, False, ["a"], [])),
        (
            "export module a;\nexport import :p;\nimport b.c;\nmodule :private;\n",
            ("a", True, ["a:p", "b.c"], []),
        ),
        ("import a;\nimport a;\n", (None, False, ["a"], [])),
        ('import <vector>;\nimport "own.h";\n', (None, False, [], ["<vector>", '"own.h"'])),
        ("export module größe.日本;\nimport größe.other;\n", ("größe.日本", True, ["größe.other"], [])),
        # No directives: names, qualified names, assignments, text.
        ("import = 3;\nmodule = 4;\nimport::x y;\nmodule::z w;\n", (None, False, [], [])),
        ("important a;\nmodules b;\nexport int x;\n", (None, False, [], [])),
        ('auto a = R"(\nimport b;\n)"; auto c = u8R"x(\nexport module d;\n)" )x";\n', (None, False, [], [])),
        ('auto a = "R\\"("; \nimport b;\nauto c = ")\\"";\n', (None, False, ["b"], [])),
        ("int x = 1'000;\nimport b;\nchar c = '\"';\nimport d;\n", (None, False, ["b", "d"], [])),
        ("", (None, False, [], [])),
    ],
)
def test_directives_are_lines_and_nothing_else_is_one(text: str, said: Said) -> None:
    assert directives(text) == said


def test_a_large_text_is_read_in_time_that_grows_with_it() -> None:
    text = 'R"' * 200_000 + "\nimport a;\n" + "'" * 200_000 + '"\\' * 100_000 + "\nimport b;\n"
    assert directives(text)[2] == ["a", "b"]


def test_p1689_without_rules_says_nothing() -> None:
    assert read_p1689('{"rules": []}') == (None, True, [])


def modules(**imports: str) -> dict[str, Module]:
    return {
        name: Module("t", f"{name}.cppm", f"{name}.bmi", words.split()) for name, words in imports.items()
    }


def test_a_unit_waits_for_everything_it_reaches() -> None:
    known = modules(a="b", b="c d", c="", d="c", e="")
    assert closure(["a"], known, {}) == ["a", "b", "c", "d"]
    assert closure(["a"], known, {"b": ["c", "d"]}) == ["a", "b", "c", "d"]


def test_a_deep_chain_is_no_recursion() -> None:
    names = {f"m{number}": f"m{number + 1}" for number in range(20_000)} | {"m20000": ""}
    known = modules(**names)
    assert find_cycle(known) == []
    known["m20000"].requires.append("m19999")
    assert find_cycle(known) == ["m19999", "m20000"]


def test_the_list_of_waits_is_spelled_for_ninja() -> None:
    assert dyndep_text({"a b.o": ["x:y.bmi", "$z.bmi"], "c.o": []}) == (
        "ninja_dyndep_version = 1\n"
        "build a$ b.o: dyndep | x$:y.bmi $$z.bmi\n  restat = 1\n"
        "build c.o: dyndep\n  restat = 1\n"
    )
