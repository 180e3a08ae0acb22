from __future__ import annotations

from pathlib import Path

import pytest

from atoll.errors import UsageError
from atoll.graph import EdgeStory, FileStory, build_folders, edges, explain
from unit.graph.graphs import FOLDER, Project, copy, out, sh


@pytest.fixture
def project(tmp_path: Path) -> Project:
    found = Project(tmp_path)
    found.put("a", "1")
    found.put("h", "2")
    return found


SCRIPT = f'cat "$1" h > "$2"; echo "$2: h" > {out("b.d")}'


def build(project: Project, key: str = "") -> None:
    use = sh("use", SCRIPT, ["a"], [out("b")], depfile=out("b.d"), key=key)
    project.build(use, copy(out("b"), out("c")))


def story(project: Project, what: str) -> EdgeStory:
    found = explain(project.root, FOLDER, what)
    assert isinstance(found, EdgeStory)
    return found


def test_a_first_run_says_so(project: Project) -> None:
    build(project)
    assert story(project, "use").why == ("it never ran to its end here",)
    assert story(project, "use").found == ("h",)


def test_a_changed_input_is_named_declared_or_found(project: Project) -> None:
    build(project)
    project.put("h", "3")
    assert story(project, "use").pending == ("h was changed",)
    build(project)
    assert story(project, "use").why == ("h was changed",)
    assert story(project, "use").pending == ()
    assert story(project, f"copy {out('b')}").why == ("`use` made what it reads anew",)


def test_a_changed_command_names_what_changed(project: Project) -> None:
    build(project)
    build(project, key="new")
    assert story(project, "use").why == ("its key changed: with new",)


def test_what_did_not_run_is_said_to_not_have_run(project: Project) -> None:
    build(project)
    project.put("h", "3")
    project.put("a", "1 ")
    build(project)
    build(project)
    assert story(project, "use").ran
    project.put(out("c"), "spoiled")
    build(project)
    assert not story(project, "use").ran
    assert story(project, f"copy {out('b')}").why == (f"{out('c')} was changed by something else",)


def test_every_action_that_ran_has_a_reason(project: Project) -> None:
    build(project)
    project.put("a", "5")
    build(project)
    assert all(why for _, why in edges(project.root, FOLDER))


def test_a_file_has_a_maker_and_users(project: Project) -> None:
    build(project)
    assert explain(project.root, FOLDER, out("b")) == FileStory(
        path=out("b"), maker="use", users=(f"copy {out('b')}",)
    )
    assert explain(project.root, FOLDER, "h") == FileStory(path="h", maker="", users=("use",))
    assert explain(project.root, FOLDER, str(project.root / "a")) == FileStory(
        path="a", maker="", users=("use",)
    )


def test_an_unknown_name_gets_the_nearest(project: Project) -> None:
    build(project)
    with pytest.raises(UsageError) as caught:
        explain(project.root, FOLDER, "us")
    assert caught.value.diagnostics[0].hint == "did you mean `use`?"


def test_build_folders_come_newest_first(project: Project) -> None:
    build(project)
    assert build_folders(project.root, ".atoll/build") == [FOLDER]


def test_a_damaged_state_is_passed_over(project: Project) -> None:
    build(project)
    for name in ("commands.json", "ran.json", "outputs.json"):
        (project.root / FOLDER / ".graph" / name).write_text("{[")
    for done in (project.root / FOLDER / ".graph" / "done").iterdir():
        done.write_text("[" * 100_000)
    build(project)
    assert project.get(out("c")) == "12"
