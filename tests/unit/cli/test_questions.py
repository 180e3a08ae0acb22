"""`explain`, `clean`, `toolchain`, `cache`: data on stdout, refusals with their exit code, JSON whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atoll.cli import main
from atoll.graph import Graph, execute
from atoll.store import Store
from unit.graph.graphs import Project, copy, sh
from unit.store.wheels import TOYKIT, only, wheel

FOLDER = ".atoll/build/release-none"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*args: str) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as caught:
            main(list(args))
        out, err = capsys.readouterr()
        code = caught.value.code
        assert isinstance(code, int)
        return code, out, err

    return call


def test_a_command_that_is_not_there_is_told_the_nearest(run: Run) -> None:
    assert run("bild") == (2, "", run("bild")[2])
    assert "No such command 'bild'. Did you mean 'build'?" in run("bild")[2]
    assert "No such command 'nothing'.\n" in run("nothing")[2]
    assert "No such option '--bild'" in run("--bild")[2].replace(": --bild", " '--bild'")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("ATOLL_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("ATOLL_CACHE", str(tmp_path / "cache"))
    found = Project(tmp_path / "project")
    found.put("atoll.toml", '[package]\nname = "demo"\n')
    found.put("a", "1")
    monkeypatch.chdir(found.root)
    return found


def build(project: Project) -> None:
    actions = (copy("a", f"{FOLDER}/b"), sh("c", 'cat "$1" > "$2"', [f"{FOLDER}/b"], [f"{FOLDER}/c"]))
    execute(Graph(actions=actions), root=project.root, folder=FOLDER)


def data(text: str) -> dict[str, Any]:
    found = json.loads(text)
    assert isinstance(found, dict)
    assert isinstance(found["diagnostics"], list)
    return found


def test_a_code_is_explained_everywhere(run: Run) -> None:
    code, out, _ = run("explain", "ATL0226")
    assert code == 0
    assert out.startswith("ATL0226: the build's set does not cover a constraint\n\n")
    assert data(run("explain", "ATL0226", "--json")[1])["title"]


def test_a_code_that_does_not_exist_is_wrong_usage(run: Run) -> None:
    code, out, err = run("explain", "ATL9999")
    assert (code, out) == (2, "")
    assert "no diagnostic has the code `ATL9999`" in err
    code, out, err = run("explain", "ATL9999", "--json")
    assert (code, err) == (2, "")
    assert data(out)["diagnostics"][0]["code"] == "ATL0001"


def test_edges_and_files_are_explained_from_any_folder(
    run: Run, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(project)
    assert "ran because: it never ran to its end here" in run("explain", "copy a")[1]
    assert "read by: copy a" in run("explain", "a")[1]
    monkeypatch.chdir(project.root / FOLDER)
    code, out, _ = run("explain", "b")
    assert code == 0
    assert f"{FOLDER}/b\n  made by: copy a\n  read by: c\n" == out
    assert [row["name"] for row in data(run("explain", "--json")[1])["edges"]] == ["c", "copy a"]
    story = data(run("explain", "c", "--reach", "--json")[1])
    assert story["why"] == ["it never ran to its end here"]
    assert story["found"] == []


def test_explain_before_a_build_says_what_to_do(run: Run, project: Project) -> None:
    code, _, err = run("explain", "x")
    assert code == 2
    assert "run `atoll build` first" in err


def test_control_characters_in_names_do_not_reach_the_terminal(run: Run, project: Project) -> None:
    name = "evil\x1b[31m"
    action = sh(name, 'cat "$1" > "$2"', ["a"], [f"{FOLDER}/x"])
    execute(Graph(actions=(action,)), root=project.root, folder=FOLDER)
    for args in ((), (name,)):
        assert "\x1b" not in run("explain", *args)[1]


def test_clean_removes_what_builds_left_and_nothing_else(run: Run, project: Project) -> None:
    build(project)
    code, out, _ = run("clean")
    assert code == 0
    assert out.startswith("removed ")
    assert sorted(path.name for path in project.root.iterdir()) == ["a", "atoll.toml"]
    assert "nothing to remove" in run("clean")[1]


def test_clean_follows_no_link(run: Run, project: Project, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "precious").write_text("")
    (project.root / ".atoll").symlink_to(other)
    code, _, err = run("clean")
    assert code == 2
    assert "is a link" in err
    assert (other / "precious").exists()


def test_clean_does_not_pull_the_folder_from_under_a_build(run: Run, project: Project) -> None:
    from filelock import FileLock

    build(project)
    with FileLock(project.root / FOLDER / ".graph/lock"):
        code, _, err = run("clean")
    assert code == 2
    assert "a build is running" in err
    assert (project.root / FOLDER / "b").exists()


def test_the_toolchain_commands_show_what_the_store_holds(
    run: Run, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel(tmp_path / "links")
    only(tmp_path / "links", monkeypatch)
    Store.default().ensure(TOYKIT)
    assert "toykit-1.0  " in run("toolchain", "list")[1]
    (found,) = data(run("toolchain", "list", "--json")[1])["payloads"]
    assert found["requirements"] == ["toykit==1.0"]
    why = run("toolchain", "why", "toykit-1.0")[1]
    assert "toykit-1.0-py3-none-any.whl" in why
    assert "started: toykit/bin/tool: toolkit 1.0" in why
    code, _, err = run("toolchain", "why", "toykit-1.1")
    assert code == 2
    assert "did you mean `toykit-1.0`?" in err
    assert "0 payloads removed" in run("toolchain", "prune")[1]
    assert "1 payloads removed" in run("toolchain", "prune", "--unused-days", "0")[1]
    assert "it holds no payload" in run("toolchain", "list")[1]


def test_one_set_of_bytes_is_listed_once_whatever_asked_for_it(
    run: Run, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel(tmp_path / "links")
    only(tmp_path / "links", monkeypatch)
    Store.default().ensure(TOYKIT)
    (index,) = (tmp_path / "store").glob("*/index/*.json")
    index.with_name(f"toykit_1.0-{'0' * 16}.json").write_bytes(index.read_bytes())
    assert len(Store.default().stored()) == 2
    (found,) = data(run("toolchain", "list", "--json")[1])["payloads"]
    lines = run("toolchain", "list")[1].splitlines()
    assert sum(line.startswith("toykit-1.0  ") for line in lines) == 1
    assert f"  digest: {found['digest'][:16]}" in lines


def test_toolchain_why_reads_what_the_last_build_took(run: Run, project: Project) -> None:
    tool = {"name": "g++", "path": "/usr/bin/g++", "version": "12", "why": "it is the host's"}
    project.put(f"{FOLDER}/resolution.json", json.dumps({"lanes": {"host": {"tools": [tool]}}}))
    assert (
        run("toolchain", "why", "host")[1] == "host: g++ 12\n  at:  /usr/bin/g++\n  why: it is the host's\n"
    )


def test_the_cache_commands_count_judge_and_remove(run: Run, project: Project, tmp_path: Path) -> None:
    import hashlib

    kept = tmp_path / "cache/cpu"
    kept.mkdir(parents=True)
    for key, text in (("aa", b"one"), ("bb", b"two")):
        (kept / f"{key}.so").write_bytes(text)
        (kept / f"{key}.sha256").write_text(hashlib.sha256(text).hexdigest())
    (kept / "bb.so").write_bytes(b"other")
    assert data(run("cache", "stats", "--json")[1])["kinds"] == {"cpu": {"entries": 2, "bytes": 136}}
    found = data(run("cache", "explain", "--json")[1])["entries"]
    assert [(row["key"], row["whole"]) for row in found] == [("aa", True), ("bb", False)]
    code, _, err = run("cache", "explain", "zz")
    assert code == 2
    assert "nothing is kept under `zz`" in err
    assert run("cache", "prune")[1].startswith("0 entries removed")
    assert run("cache", "prune", "--older-days", "0")[1].startswith("2 entries removed")
    assert list(kept.iterdir()) == []
