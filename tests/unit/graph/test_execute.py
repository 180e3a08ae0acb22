from __future__ import annotations

import dataclasses
import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from atoll.errors import BuildError
from atoll.graph import Action, Graph, execute
from unit.graph.graphs import FOLDER, Project, copy, out, python, sh

HARD = (
    *("plain", "a space", "dollar$x", "$", "#hash", "quote'", 'double"', "核", "co:lon", "end:", "pi|pe"),
    *("semi;colon", "back\\slash", "back\\ space", "end\\", "(paren)", "star*", "a  b", "^", "per%cent"),
    *("-dash", "~", "{x}", "&and", "<angle>", "`tick`", " lead", "$(id)", "[b]", "e\u0301"),
)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_a_second_build_does_nothing(project: Project) -> None:
    project.put("a.txt", "one")
    actions = (copy("a.txt", out("b")), copy(out("b"), out("c")))
    assert project.build(*actions).ran == ("copy a.txt", f"copy {out('b')}")
    assert project.get(out("c")) == "one"
    assert project.build(*actions).ran == ()


def test_an_edit_rebuilds_exactly_its_users(project: Project) -> None:
    project.put("a", "1")
    project.put("b", "2")
    actions = (
        copy("a", out("a")),
        copy("b", out("b")),
        sh("join", 'cat "$1" "$2" > "$3"', [out("a"), out("b")], [out("j")]),
    )
    project.build(*actions)
    project.put("b", "3")
    assert project.build(*actions).ran == ("copy b", "join")
    assert project.get(out("j")) == "13"


def test_an_output_with_the_same_bytes_stops_there(project: Project) -> None:
    project.put("a", "1\n")
    actions = (sh("strip", 'tr -d " " < "$1" > "$2"', ["a"], [out("s")]), copy(out("s"), out("t")))
    project.build(*actions)
    project.put("a", " 1\n")
    assert project.build(*actions).ran == ("strip",)
    assert project.build(*actions).ran == ()


@pytest.mark.parametrize("name", HARD)
def test_hard_names_build_and_stay_built(project: Project, name: str) -> None:
    source, header = f"{name}/{name}.in", f"{name}/{name}.h"
    project.put(source, "x")
    project.put(header, "1")
    depends = 'cat < "$1" > "$2"; printf "%s: %s %s" "$2" "$1" "$3" > "$4"'
    target, depfile = out(f"{name}/{name} out"), out(f"{name}/d")
    action = sh(name, depends, [source], [target], depfile=depfile, depfile_style="raw")
    action = _with(action, argv=(*action.argv, header, depfile))
    assert project.build(action).ran == (name,)
    assert project.build(action).ran == ()
    project.put(header, "22")
    assert project.build(action).ran == (name,)


def _with(action: Action, **more: Any) -> Action:
    return dataclasses.replace(action, **more)


def test_arguments_reach_the_program_as_they_are(project: Project) -> None:
    words = ("", " ", "a b", "$HOME", "`id`", "$(id)", "'", '"', "\\", "\n", "a\nb", ";", "&&", "*", "核")
    arguments = [*words, "x" * 100_000]
    code = "import sys, json; json.dump(sys.argv[2:], open(sys.argv[1], 'w'))"
    action = python("args", code, [], [out("args.json")])
    project.build(_with(action, argv=(*action.argv, *arguments)))
    assert json.loads(project.get(out("args.json"))) == arguments


def test_the_environment_is_what_the_action_states(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CPATH", "/leak")
    monkeypatch.setenv("ATOLL_LEAK", "1")
    action = sh("env", 'env > "$1"', [], [out("env")], env=(("MINE", "a $b 'c'"),))
    project.build(action)
    names = {line.partition("=")[0] for line in project.get(out("env")).splitlines()}
    assert names - {"PWD", "SHLVL", "_", "OLDPWD"} == {"LC_ALL", "PATH", "MINE"}
    assert "MINE=a $b 'c'\n" in project.get(out("env"))


def test_no_standard_input_reaches_an_action(project: Project) -> None:
    assert project.build(sh("read", 'cat > "$1"', [], [out("in")])).ran == ("read",)
    assert project.get(out("in")) == ""


def test_a_changed_argument_environment_or_key_runs_again(project: Project) -> None:
    project.put("a", "1")
    base = copy("a", out("b"))
    project.build(base)
    for change in ({"key": "k"}, {"env": (("X", "1"),)}, {"argv": (*base.argv, "more")}):
        assert project.build(_with(base, **change)).ran == (base.name,)
    assert project.build(_with(base, argv=(*base.argv, "more"), memory=5, time_limit=9.0)).ran == ()


def test_what_a_removed_action_made_is_removed(project: Project) -> None:
    project.put("a", "1")
    keep = copy("a", out("keep/x"))
    gone = sh(
        "gone", 'cat "$1" > "$2"; echo "$2: $1" > "$3"', ["a"], [out("gone/deep/y")], depfile=out("gone/y.d")
    )
    gone = _with(gone, argv=(*gone.argv, out("gone/y.d")))
    project.build(keep, gone)
    assert project.build(keep).removed == (out("gone/deep/y"),)
    assert project.files() == {"keep/x": "1"}
    assert not (project.root / out("gone")).exists()
    assert project.build(keep, gone).ran == ("gone",)


def test_an_input_replaced_by_an_older_file_runs_again(project: Project) -> None:
    project.put("old", "old")
    os.utime(project.root / "old", (10**9, 10**9))
    project.put("a", "new")
    action = copy("a", out("b"))
    project.build(action)
    (project.root / "old").replace(project.root / "a")
    assert project.build(action).ran == (action.name,)
    assert project.get(out("b")) == "old"


def test_a_found_input_replaced_by_an_older_file_runs_again(project: Project) -> None:
    project.put("a", "x")
    project.put("h", "new")
    project.put("old", "old")
    os.utime(project.root / "old", (10**9, 10**9))
    action = sh("use", 'cat h > "$2"; echo "$2: h" > "$3"', ["a"], [out("b")], depfile=out("b.d"))
    action = _with(action, argv=(*action.argv, out("b.d")))
    project.build(action)
    (project.root / "old").replace(project.root / "h")
    assert project.build(action).ran == ("use",)
    assert project.get(out("b")) == "old"


def test_a_missing_or_changed_output_is_made_again(project: Project) -> None:
    project.put("a", "1")
    action = copy("a", out("b"))
    project.build(action)
    (project.root / out("b")).unlink()
    assert project.build(action).ran == (action.name,)
    project.put(out("b"), "tampered")
    assert project.build(action).ran == (action.name,)
    assert project.get(out("b")) == "1"


def test_independent_failures_are_reported_together_and_the_rest_goes_on(project: Project) -> None:
    project.put("a", "1")
    bad = [sh(f"bad {n}", f"echo said {n}; exit {n}", ["a"], [out(f"x{n}")]) for n in (3, 4)]
    with pytest.raises(BuildError) as caught:
        project.build(*bad, copy("a", out("good")), copy(out("x3"), out("after")))
    found = caught.value.diagnostics
    assert [item.message for item in found] == ["`bad 3` failed", "`bad 4` failed"]
    assert "exit code: 3" in found[0].notes
    assert "output:\nsaid 3" in found[0].notes
    assert project.files() == {"good": "1"}


def test_a_failed_action_leaves_no_output_and_runs_again(project: Project) -> None:
    project.put("a", "1")
    action = sh("half", 'echo half > "$2"; test -e ok', ["a"], [out("b")])
    with pytest.raises(BuildError):
        project.build(action)
    assert project.files() == {}
    project.put("ok", "")
    assert project.build(action).ran == ("half",)


def test_a_failure_does_not_leave_the_old_output_for_a_new_one(project: Project) -> None:
    project.put("a", "1")
    action = sh("maybe", 'grep -q 1 "$1" && cat "$1" > "$2"', ["a"], [out("b")])
    project.build(action)
    project.put("a", "2")
    with pytest.raises(BuildError):
        project.build(action)
    assert project.files() == {}


def test_events_say_what_finished(project: Project) -> None:
    project.put("a", "1")
    project.build(sh("talk", 'echo hello; cat "$1" > "$2"', ["a"], [out("b")]))
    finish, end = project.events
    assert (finish.kind, finish.name, finish.done, finish.total) == ("finish", "talk", 1, 1)
    assert finish.output == "hello\n"
    assert finish.memory > 0
    assert end.as_json() == {"event": "end", "done": 1, "total": 1, "seconds": end.seconds}


def test_output_is_bounded_and_cannot_pass_for_a_report(project: Project) -> None:
    project.put("a", "1")
    forged = r'\036atoll {"name": "x"}\n'
    script = f'printf \'{forged}\'; head -c 3000000 /dev/zero | tr "\\0" x; echo last; cat "$1" > "$2"'
    project.build(sh("loud", script, ["a"], [out("b")]))
    output = project.events[0].output
    assert len(output) < 100_000
    assert "bytes left out" in output
    assert output.endswith("last\n")


def test_one_build_of_a_folder_at_a_time(project: Project) -> None:
    project.put("a", "1")
    # Fails where two run at once.
    script = 'mkdir busy; cat "$1" > "$2"; rmdir busy'
    results: list[object] = []

    def one(number: int) -> None:
        graph = Graph(actions=(sh("only", script, ["a"], [out("b")], key=str(number)),))
        try:
            results.append(execute(graph, root=project.root, folder=FOLDER))
        except BuildError as error:
            results.append(error)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [type(result).__name__ for result in results] == ["Result"] * 4


def test_a_thousand_edges_are_written_and_run_once(project: Project) -> None:
    project.put("a", "1")
    actions = tuple(sh(f"e{number}", ': > "$2"', ["a"], [out(f"o/{number}")]) for number in range(100))
    assert len(project.build(*actions, jobs=8).ran) == 100
    assert project.build(*actions).ran == ()


def test_descendants_of_a_finished_action_do_not_hold_the_build(project: Project) -> None:
    project.put("a", "1")
    action = sh("daemon", 'sleep 1000 & echo $! > "$2"', ["a"], [out("pid")])
    project.build(action)
    # It is killed before the build ends; when it is gone is the system's affair.
    end = time.monotonic() + 20
    while _alive(int(project.get(out("pid")))) and time.monotonic() < end:
        time.sleep(0.02)
    assert not _alive(int(project.get(out("pid"))))


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_a_missing_source_is_named(project: Project) -> None:
    with pytest.raises(BuildError, match="absent"):
        project.build(copy("absent", out("b")))


@pytest.mark.parametrize("left", [b"\xff{[1", b"\0" * 64, b"", b"forced_ = \nforced_a$b = 1\n"])
def test_what_a_crash_left_of_the_list_of_forced_actions_is_made_anew(project: Project, left: bytes) -> None:
    """The executor includes it: zeros, as a power cut leaves, kept every later build from running."""
    project.put("a", "1")
    assert project.build(copy("a", out("b"))).ran
    (project.root / FOLDER / ".graph/forced.ninja").write_bytes(left)
    assert project.build(copy("a", out("b"))).ran == ()
    project.put("a", "2")
    assert project.build(copy("a", out("b"))).ran
    assert project.get(out("b")) == "2"


@pytest.mark.parametrize("old", [False, True])
def test_an_input_that_changes_while_it_is_read_runs_again(project: Project, old: bool) -> None:
    """Which of the two was read nobody knows; the record, made later, held it to be the new one."""
    project.put("a", "a")
    project.put("h", "1")
    project.put("new", "2")
    if old:
        os.utime(project.root / "new", (10**9, 10**9))
    script = 'cat "$1" h > "$2"; echo "x: $1 h" > "$2.d"; if [ -f new ]; then mv new h; fi'
    action = sh("read", script, ["a"], [out("b")], depfile=out("b.d"))
    assert project.build(action).ran == ("read",)
    assert project.get(out("b")) == "a1"
    assert project.build(action).ran == ("read",)
    assert project.get(out("b")) == "a2"
    assert project.build(action).ran == ()
