"""Each way an action can fail has its own refusal, with the command and the end of its output."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from atoll.diagnostics import Diagnostic
from atoll.errors import BuildError
from atoll.graph.failure import failure
from unit.graph.graphs import Project, out, sh


def failed(folder: Path, script: str, **more: Any) -> Diagnostic:
    project = Project(folder)
    project.put("a", "1")
    with pytest.raises(BuildError) as caught:
        project.build(dataclasses.replace(sh("it", script, ["a"], [out("b")]), **more))
    assert project.files() == {}
    (found,) = caught.value.diagnostics
    return found


def test_an_exit_code(tmp_path: Path) -> None:
    found = failed(tmp_path, "echo out; echo err >&2; exit 7")
    assert (found.code, found.message) == ("ATL0601", "`it` failed")
    assert found.notes[0] == "exit code: 7"
    assert found.notes[1].startswith("command: /bin/sh -ec ")
    assert found.notes[2] == "output:\nout\nerr"


def test_a_signal(tmp_path: Path) -> None:
    found = failed(tmp_path, "kill -SEGV $$")
    assert (found.code, found.message) == ("ATL0602", "`it` was ended by signal 11 (SIGSEGV)")


def test_a_kill_as_for_memory_names_the_knob(tmp_path: Path) -> None:
    found = failed(tmp_path, "kill -KILL $$", memory=300 << 20)
    assert found.code == "ATL0603"
    assert found.notes[0] == "stated need: 300 MiB"
    assert found.hint is not None
    assert "-j 1" in found.hint


def test_a_killed_process_below_a_driver_is_seen_too(tmp_path: Path) -> None:
    assert failed(tmp_path, "exit 137").code == "ATL0603"


def test_a_kill_that_the_kernel_counted_is_said_so(tmp_path: Path) -> None:
    report = {"end": "exit", "code": 1, "oom": True, "memory": 5 << 20, "output": "cc: Killed"}
    found = failure(sh("it", "", ["a"], [out("b")]), report)
    assert (found.code, found.message) == ("ATL0603", "`it` was killed for memory")
    assert "the kernel counted a kill for memory: yes" in found.notes


def test_a_missing_output(tmp_path: Path) -> None:
    found = failed(tmp_path, 'echo x > "$2"', outputs=(out("b"), out("c")))
    assert found.code == "ATL0605"
    assert f"missing: {out('c')}" in found.notes


@pytest.mark.parametrize(
    ("script", "style", "reason"),
    [
        ('echo x > "$2"', "make", "it was not written"),
        (f'echo x > "$2"; echo nonsense > {out("d")}', "make", "it has no target"),
        (f'echo x > "$2"; echo "$2: no such" > {out("d")}', "raw", "its words name no files"),
        (f'echo x > "$2"; head -c 9000000 /dev/zero > {out("d")}', "make", "it has more than"),
    ],
)
def test_a_depfile_that_cannot_be_read(tmp_path: Path, script: str, style: str, reason: str) -> None:
    found = failed(tmp_path, script, depfile=out("d"), depfile_style=style)
    assert found.code == "ATL0606"
    assert any(reason in note for note in found.notes)


@pytest.mark.parametrize("program", ["no-such-program", "/no/such/program", "./a"])
def test_a_program_that_is_not_there(tmp_path: Path, program: str) -> None:
    found = failed(tmp_path, "", argv=(program,))
    assert (found.code, found.message) == ("ATL0607", "`it` could not be started")
    assert f"program: {program}" in found.notes


def test_a_program_is_looked_up_in_the_path_of_its_action_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "bin" / "mytool"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\necho made > {out('b')}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tool.parent))
    assert failed(tmp_path, "", argv=("mytool",)).code == "ATL0607"
    project = Project(tmp_path)
    action = dataclasses.replace(
        sh("it", "", ["a"], [out("b")]), argv=("mytool",), env=(("PATH", f"{tool.parent}:/bin"),)
    )
    assert project.build(action).ran == ("it",)
