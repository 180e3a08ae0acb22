"""A graph that cannot be run as it says is refused before anything runs, every fault together."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from atoll.errors import BuildError
from atoll.graph import Action, Graph, check
from unit.graph.graphs import FOLDER, copy, out


def refused(*actions: Action, defaults: tuple[str, ...] = ()) -> dict[str, str]:
    with pytest.raises(BuildError) as caught:
        check(Graph(actions=actions, defaults=defaults), FOLDER)
    return {item.code: "\n".join((item.message, *item.notes)) for item in caught.value.diagnostics}


def changed(**more: Any) -> Action:
    return dataclasses.replace(copy("a", out("b")), **more)


def test_two_actions_that_write_one_file_are_refused_with_both() -> None:
    text = refused(copy("a", out("x")), copy("b", out("x")))["ATL0611"]
    assert "`.atoll/build/t/x`" in text
    assert "copy a" in text
    assert "copy b" in text


def test_a_file_below_a_file_is_refused() -> None:
    assert "as a file and as a folder" in refused(copy("a", out("x")), copy("b", out("x/y")))["ATL0611"]


def test_two_actions_of_one_name_are_refused() -> None:
    text = refused(copy("a", out("x")), copy("a", out("y")))["ATL0612"]
    assert out("x") in text
    assert out("y") in text


def test_a_circle_is_named_in_order() -> None:
    ring = (copy(out("c"), out("a")), copy(out("a"), out("b")), copy(out("b"), out("c")), copy("z", out("z")))
    text = refused(*ring)["ATL0615"]
    lines = text.split("\n")[1:]
    assert len(lines) == 3
    # Each line's second action is the first of the next one.
    firsts = [line.partition(" needs ")[0] for line in lines]
    seconds = [line.rpartition(" of ")[2] for line in lines]
    assert seconds == [*firsts[1:], firsts[0]]


def test_an_action_that_needs_its_own_output_is_a_circle() -> None:
    assert "copy" in refused(copy(out("a"), out("a")))["ATL0615"]


def test_a_long_chain_is_no_circle_and_no_recursion() -> None:
    chain = [copy("a" if n == 0 else out(str(n - 1)), out(str(n))) for n in range(5000)]
    check(Graph(actions=tuple(reversed(chain))), FOLDER)


def test_an_input_below_the_build_folder_that_nothing_makes_is_refused() -> None:
    assert "needed by: copy" in refused(copy(out("gone"), out("x")))["ATL0614"]


def test_a_default_that_nothing_makes_is_refused() -> None:
    assert "asked for" in refused(copy("a", out("x")), defaults=(out("y"),))["ATL0614"]


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"argv": ()}, "no program"),
        ({"argv": ("",)}, "no program"),
        ({"outputs": ()}, "no output"),
        ({"name": ""}, "its name"),
        ({"name": "a\nb"}, "its name"),
        ({"depfile": out("b")}, "its depfile is one of its outputs"),
        ({"depfile": "elsewhere.d"}, "outside the build folder"),
        ({"depfile": out("d"), "depfile_style": "msvc"}, "no depfile style"),
        ({"outputs": ("b",)}, "outside the build folder"),
        ({"outputs": ("/b",)}, "outside the build folder"),
        ({"outputs": (FOLDER,)}, "outside the build folder"),
        ({"outputs": (out(".graph/build.ninja"),)}, "outside the build folder"),
        ({"outputs": (out("../../x"),)}, "plain form"),
        ({"outputs": (out("a\tb"),)}, "tab"),
        ({"inputs": ("./a",)}, "plain form"),
        ({"inputs": ("a//b",)}, "plain form"),
        ({"inputs": ("",)}, "plain form"),
        ({"inputs": ("a\nb",)}, "plain form"),
        ({"argv": ("x", "\0")}, "NUL"),
        ({"env": (("A", "\0"),)}, "NUL"),
    ],
)
def test_an_action_that_breaks_a_rule_is_refused(more: dict[str, Any], what: str) -> None:
    assert what in refused(changed(**more))["ATL0613"]
