"""Inputs that are known only once other actions ran, and refusals that an action speaks itself."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from atoll.errors import BuildError
from atoll.graph import Action, EdgeStory, explain
from atoll.graph.failure import failures
from unit.graph.graphs import FOLDER, Project, copy, out, sh

ORDER = "ninja_dyndep_version = 1\nbuild .atoll/build/t/use: dyndep | .atoll/build/t/my$ made\n  restat = 1\n"


def actions() -> list[Action]:
    """Return an action that waits for what the file `order` says."""
    return [
        copy("order", out("order.dd")),
        copy("made", out("my made")),
        sh(
            "use",
            'cat "$1" .atoll/build/t/my* > "$3"',
            ["use", out("order.dd")],
            [out("use")],
            dyndep=out("order.dd"),
        ),
    ]


def test_an_action_waits_for_what_the_list_names_and_runs_when_that_changes(tmp_path: Path) -> None:
    project = Project(tmp_path)
    for name, text in (("order", ORDER), ("made", "made\n"), ("use", "use\n")):
        project.put(name, text)
    assert set(project.build(*actions()).ran) == {"copy order", "copy made", "use"}
    assert project.get(out("use")) == "use\nmade\n"
    assert project.build(*actions()).ran == ()
    project.put("made", "made anew\n")
    assert project.build(*actions()).ran == ("copy made", "use")
    assert project.get(out("use")) == "use\nmade anew\n"
    story = explain(tmp_path, FOLDER, "use")
    assert isinstance(story, EdgeStory)
    assert story.found == (out("my made"),)


def test_what_is_made_on_demand_waits_for_a_list_that_names_it(tmp_path: Path) -> None:
    project = Project(tmp_path)
    nothing = "ninja_dyndep_version = 1\nbuild .atoll/build/t/use: dyndep\n  restat = 1\n"
    for name, text in (("order", nothing), ("made", "made\n"), ("use", "use\n")):
        project.put(name, text)
    order, made, use = actions()
    lazy = (order, replace(made, on_demand=True), replace(use, argv=("/bin/cp", "use", out("use"))))
    assert set(project.build(*lazy).ran) == {"copy order", "use"}
    assert not (tmp_path / out("my made")).exists()
    assert project.build(*lazy).ran == ()
    project.put("order", ORDER)
    assert set(project.build(*lazy).ran) == {"copy order", "copy made", "use"}
    assert project.build(*lazy).ran == ()


def test_a_list_that_is_no_input_is_refused(tmp_path: Path) -> None:
    wrong = sh("use", "true", [], [out("use")], dyndep=out("order.dd"))
    with pytest.raises(BuildError, match="its list of further inputs is none of its inputs"):
        Project(tmp_path).build(wrong)


FIELDS = {"code": "ATL0516", "message": "no", "notes": ["a", "b"], "hint": "do", "path": "x.cpp", "line": 3}


def report(*lines: str, code: int = 1) -> dict[str, object]:
    return {"end": "exit", "code": code, "output": "\n".join(lines), "name": "judge"}


def test_an_action_refuses_in_its_own_words() -> None:
    action = sh("judge", "false", [], [out("x")])
    spoken = f"\x1erefused {json.dumps(FIELDS)}"
    one, two = failures(action, report("talk", spoken, spoken))
    assert (one.code, one.message, one.notes, one.hint) == ("ATL0516", "no", ("a", "b"), "do")
    assert one.span is not None
    assert (one.span.file, one.span.line) == ("x.cpp", 3)
    assert two == one


@pytest.mark.parametrize(
    "text", ["", "[]", "3", "{", '{"code": 1}', '{"code": "X", "message": "m", "notes": 3}']
)
def test_a_refusal_that_cannot_be_read_is_an_ordinary_failure(text: str) -> None:
    action = sh("judge", "false", [], [out("x")])
    (found,) = failures(action, report(f"\x1erefused {text}"))
    assert found.code == "ATL0601"
