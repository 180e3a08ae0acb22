"""A file that appears where one was looked for runs again what would find it, and nothing else."""

from __future__ import annotations

import dataclasses
import json
import os
import time
from pathlib import Path

import pytest

from atoll.graph import Action, Graph, Result, execute
from unit.graph.graphs import FOLDER, Project, out, python

# A compiler in small: `use NAME` takes the first of its folders that has it, `try NAME` does so if one has.
COMPILER = """
import os, sys
source, target, *folders = sys.argv[1:]
found, text, todo = [source], "", [source]
while todo:
    at = todo.pop()
    for line in open(at):
        verb, _, name = line.strip().partition(" ")
        name = name.strip('"')
        if verb in ("use", "try"):
            here = [os.path.dirname(at), *folders]
            hits = [p for p in (os.path.join(f, name) for f in here) if os.path.isfile(p)]
            if verb == "use" and not hits:
                sys.exit(f"no {name}")
            found += hits[:1]
            todo += hits[:1]
        else:
            text += line
open(target, "w").write(text)
open(target + ".d", "w").write("x: " + " ".join(p.replace(" ", "\\\\ ") for p in found) + "\\n")
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.put("src/a", 'use "h"\ntry "sub/maybe"\n')
    made.put("src/b", "plain\n")
    made.put("two/h", "two\n")
    return made


def compiling(name: str, *folders: str) -> Action:
    target = out(name)
    made = python(f"compile {name}", COMPILER, [f"src/{name}"], [target], depfile=f"{target}.d")
    return made if not folders else _with(made, folders)


def _with(action: Action, folders: tuple[str, ...]) -> Action:
    return dataclasses.replace(action, argv=(*action.argv, *folders))


def build(project: Project, *searched: str) -> Result:
    folders = searched or ("one", "two")
    graph = Graph(actions=tuple(compiling(name, *folders) for name in "ab"), searched=folders)
    return execute(graph, root=project.root, folder=FOLDER, jobs=2, memory=8 << 30)


@pytest.mark.parametrize("place", ["one/h", "src/h"])
@pytest.mark.parametrize("old", [False, True])
def test_a_file_that_appears_in_front_of_the_one_that_was_found_is_found(
    project: Project, place: str, old: bool
) -> None:
    assert len(build(project).ran) == 2
    assert build(project).ran == ()
    project.put(place, "in front\n")
    if old:
        os.utime(project.root / place, (10**9, 10**9))
    assert build(project).ran == ("compile a",)
    assert project.get(out("a")) == "in front\n"
    ran = json.loads((project.root / FOLDER / ".graph/ran.json").read_text())
    assert ran["compile a"] == [f"{place} was added, and may be found in the place of another"]
    assert build(project).ran == ()
    (project.root / place).unlink()
    assert build(project).ran == ("compile a",)
    assert project.get(out("a")) == "two\n"


def test_a_folder_that_had_just_changed_when_it_was_first_looked_at_is_watched(project: Project) -> None:
    """Its stamp says nothing then: a name may have come within the same tick of the clock."""
    soon = time.time_ns() + 10**10
    os.utime(project.root / "src", ns=(soon, soon))
    build(project)
    assert build(project).ran == ()
    project.put("src/h", "in front\n")
    os.utime(project.root / "src", ns=(soon, soon))
    assert build(project).ran == ("compile a",)


def test_a_folder_that_changes_while_the_first_build_runs_has_still_the_files_from_before(
    project: Project,
) -> None:
    project.put("src/a", 'use "h"\nuse "g"\n')
    project.put("one/h", "one\n")
    project.put("two/g", "two\n")
    time.sleep(0.05)
    touch = "import os, sys; open('two/made', 'w').close(); open(sys.argv[2], 'w').close()"
    late = python("late", touch, [out("a")], [out("late")])
    graph = Graph(actions=(compiling("a", "one", "two"), late))
    for expected in (2, 0):
        ran = execute(graph, root=project.root, folder=FOLDER, jobs=2, memory=8 << 30).ran
        assert len(ran) == expected, ran


def test_a_file_of_the_project_that_a_depfile_names_absolutely_is_read_too(project: Project) -> None:
    project.put("two/h", 'try "other"\n')
    absolute = [f"{project.root}/{name}" for name in ("one", "two")]
    graph = Graph(actions=(compiling("a", *absolute),), searched=("one", "two"))
    for place, expected in (("src/b", 1), ("one/other", 1), ("one/another", 0)):
        project.put(place, "put\n")
        ran = execute(graph, root=project.root, folder=FOLDER, jobs=2, memory=8 << 30).ran
        assert len(ran) == expected, (place, ran)


@pytest.mark.parametrize("place", ["one/sub/maybe", "two/sub/maybe", "src/sub/maybe"])
def test_a_file_that_was_asked_for_in_vain_is_found(project: Project, place: str) -> None:
    """Nothing that a depfile lists stands for it: only the text says that it is asked for."""
    build(project)
    project.put(place, "there now\n")
    assert build(project).ran == ("compile a",)
    assert "there now" in project.get(out("a"))
    assert build(project).ran == ()


def test_a_file_in_a_folder_below_a_searched_one_is_found(project: Project) -> None:
    project.put("src/a", 'use "sub/h"\n')
    project.put("two/sub/h", "two\n")
    project.put("one/sub/other", "there before\n")
    build(project)
    project.put("one/sub/h", "in front\n")
    assert build(project).ran == ("compile a",)
    assert project.get(out("a")) == "in front\n"


def test_a_file_that_nothing_asks_for_runs_nothing(project: Project) -> None:
    build(project)
    for name in ("one/path.h", "two/maybe", "src/c", "two/other/h.h", "src/.h.swp"):
        project.put(name, "nobody's\n")
    assert build(project).ran == ()


def test_a_name_that_nothing_spells_is_found_by_what_it_is_called(project: Project) -> None:
    """A compiler's own headers, and names that macros put together, stand in no text of the project."""
    project.put("src/a", 'use "far"\n')
    (project.root / "src/far").symlink_to(project.root.parent / "outside")
    (project.root.parent / "outside").write_text("outside\n")
    build(project)
    (project.root / "src/far").unlink()
    project.put("one/far", "mine\n")
    assert build(project).ran == ("compile a",)


def test_what_appears_while_the_build_runs_is_seen_by_the_next_one(project: Project) -> None:
    script = "import os, sys; os.makedirs('one', exist_ok=True); open('one/h', 'w').write('late\\n')"
    late = python("late", f"{script}; open(sys.argv[2], 'w').close()", [out("a")], [out("late")])
    folders = ("one", "two")
    graph = Graph(actions=(compiling("a", *folders), late), searched=folders)
    assert execute(graph, root=project.root, folder=FOLDER, jobs=2, memory=8 << 30).total == 2
    assert project.get(out("a")) == "two\n"
    execute(graph, root=project.root, folder=FOLDER, jobs=2, memory=8 << 30)
    assert project.get(out("a")) == "late\n"


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"one": 1}', '{"one": [null, null]}', '{"one": [3, ["h"]]}']
)
def test_a_broken_list_of_what_was_looked_at_costs_a_run_at_most(project: Project, text: str) -> None:
    build(project)
    (project.root / FOLDER / ".graph/looked.json").write_text(text)
    assert build(project).ran in ((), ("compile a",))
    assert build(project).ran == ()
