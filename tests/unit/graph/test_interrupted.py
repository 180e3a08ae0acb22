"""What stays of a build that is stopped: no process, no half-written output, and the next build is right."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from atoll.errors import BuildError
from atoll.graph import is_busy
from unit.graph.graphs import FOLDER, Project, out, sh

# Writes half of its output, says so, and goes on for ever unless `go` is there.
SLOW = 'echo half > "$2"; echo $$ > started; while ! test -e go; do sleep 0.05; done; cat "$1" > "$2"'

BUILD = """
import sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from unit.graph.graphs import Project, out, sh
project = Project(Path({root!r}))
try:
    project.build(sh("slow", {script!r}, ["a"], [out("b")]))
except KeyboardInterrupt:
    raise SystemExit(130)
"""


def until(true: object, seconds: float = 120.0) -> None:
    """Wait for a condition; fail where it does not come."""
    end = time.monotonic() + seconds
    while not true():  # type: ignore[operator]
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def start(project: Project) -> subprocess.Popen[bytes]:
    tests = str(Path(__file__).resolve().parents[2])
    code = BUILD.format(tests=tests, root=str(project.root), script=SLOW)
    process = subprocess.Popen([sys.executable, "-c", code])
    until((project.root / "started").exists)
    until(lambda: (project.root / "started").read_text().strip().isdigit())
    return process


def children(pid: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(stat.parent.name))
    return found


def descendants(pid: int) -> list[int]:
    below = children(pid)
    return below + [inner for child in below for inner in descendants(child)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_build_leaves_no_process_and_no_half_file(tmp_path: Path, number: int) -> None:
    project = Project(tmp_path)
    project.put("a", "whole")
    process = start(project)
    assert project.files() == {"b": "half\n"}
    assert is_busy(project.root / FOLDER)
    family = descendants(process.pid)
    # ninja, the runner, the shell, and now and then a sleep.
    assert len(family) >= 3
    process.send_signal(number)
    assert process.wait(120) != 0
    until(lambda: not any(alive(pid) for pid in family))
    assert project.files() == {}
    assert not is_busy(project.root / FOLDER)
    project.put("go", "")
    assert project.build(sh("slow", SLOW, ["a"], [out("b")])).ran == ("slow",)
    assert project.get(out("b")) == "whole"


def test_a_killed_executor_takes_its_commands_with_it(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.put("a", "whole")
    process = start(project)
    (ninja,) = children(process.pid)
    family = descendants(ninja)
    os.kill(ninja, signal.SIGKILL)
    assert process.wait(120) != 0
    until(lambda: not any(alive(pid) for pid in family))
    assert project.files() == {}


def test_everything_killed_at_once_is_made_again(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.put("a", "whole")
    process = start(project)
    family = [process.pid, *descendants(process.pid)]
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in family:
            with suppress(ProcessLookupError):  # one that had just ended by itself
                os.kill(pid, number)
    process.wait(120)
    until(lambda: not any(alive(pid) for pid in family))
    assert project.files() == {"b": "half\n"}
    project.put("go", "")
    assert project.build(sh("slow", SLOW, ["a"], [out("b")])).ran == ("slow",)
    assert project.get(out("b")) == "whole"


def test_a_time_limit_stops_the_action_and_its_descendants(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.put("a", "1")
    script = 'echo half > "$2"; sleep 1000 & echo $! > pid; wait'
    # On a busy machine the command may not have come so far: then it gets longer.
    for limit in (0.3, 3.0, 30.0):
        with pytest.raises(BuildError) as caught:
            project.build(sh("slow", script, ["a"], [out("b")], time_limit=limit))
        (found,) = caught.value.diagnostics
        assert (found.code, found.message) == ("ATL0604", "`slow` took too long")
        assert f"limit: {limit:g} s" in found.notes
        assert project.files() == {}
        if (project.root / "pid").exists() and project.get("pid").strip():
            break
    until(lambda: not alive(int(project.get("pid"))))


def test_a_time_limit_stops_an_action_that_prints_for_ever(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.put("a", "1")
    with pytest.raises(BuildError, match="ATL0604"):
        project.build(sh("loud", "while :; do echo x; done", ["a"], [out("b")], time_limit=0.3))


def test_a_time_limit_stops_an_action_that_ignores_signals(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.put("a", "1")
    with pytest.raises(BuildError, match="ATL0604"):
        project.build(
            sh("deaf", "trap '' TERM; while :; do sleep 0.1; done", ["a"], [out("b")], time_limit=0.3)
        )
