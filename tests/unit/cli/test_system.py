"""Closed streams, streams that take nothing, a folder that is gone, a signal: said, and never a traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from atoll.cli import test as tests
from atoll.cli._building import Talk
from unit.build.build_project import PROGRAM
from unit.plugins.lane_project import write

ATOLL = str(Path(sys.executable).with_name("atoll"))
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "ATOLL_OFFLINE": "1"}
OUTPUT = ".atoll/build/release-none/bin/demo"


def shell(script: str, where: Path) -> subprocess.CompletedProcess[str]:
    """Run a script, in which `$A` is the command line."""
    return subprocess.run(
        ["/bin/sh", "-c", script],
        cwd=where,
        env={**ENVIRONMENT, "A": ATOLL},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("closed", ["2>&-", ">&-", "<&-", "<&- >&- 2>&-"])
def test_a_stream_that_the_caller_closed_is_no_obstacle(tmp_path: Path, closed: str) -> None:
    write(tmp_path, PROGRAM)
    assert shell(f'"$A" build {closed}', tmp_path).returncode == 0
    assert (tmp_path / OUTPUT).is_file()
    # A compiler that talks, and the files of the build, got no descriptor of a standard stream.
    assert shell(f'"$A" run {closed}', tmp_path).returncode == 0


@pytest.mark.parametrize("words", ["build", "explain ATL0601", "--help", "doctor --json"])
def test_a_full_disk_behind_stdout_is_a_diagnostic(tmp_path: Path, words: str) -> None:
    write(tmp_path, PROGRAM)
    for _ in range(2 if words == "build" else 1):  # the second one is answered before anything is imported
        done = shell(f'"$A" {words} > /dev/full', tmp_path)
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        assert "No space left on device" in done.stderr


def test_a_reader_that_goes_away_ends_it_quietly(tmp_path: Path) -> None:
    write(tmp_path, PROGRAM)
    assert shell('"$A" build --json | true; "$A" doctor --json | true', tmp_path).stderr == ""


def test_a_folder_that_is_gone_is_a_diagnostic(tmp_path: Path) -> None:
    script = 'mkdir d && cd d && rmdir "$PWD" && '
    done = shell(script + '"$A" build', tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error[ATL0007]: the system refused a file\n  reason: No such file")
    for words in ("build", "clean"):
        found = json.loads(shell(f'{script}"$A" {words} --json', tmp_path).stdout)
        assert [item["code"] for item in found["diagnostics"]] == ["ATL0007"]
        assert found.get("event") == ("result" if words == "build" else None)


def test_an_interrupted_build_ends_its_events(tmp_path: Path) -> None:
    """The last event is the result, whatever happened."""
    write(
        tmp_path, {**PROGRAM, "bin/g++": "#!/bin/sh\ncase \" $* \" in *' -c '*) echo > on; sleep 60;; esac\n"}
    )
    write(tmp_path, {"bin/gcc": '#!/bin/sh\nexec /usr/bin/gcc "$@"\n'})
    text = (tmp_path / "bin/g++").read_text() + 'exec /usr/bin/g++ "$@"\n'
    (tmp_path / "bin/g++").write_text(text)
    for name in ("g++", "gcc"):
        (tmp_path / "bin" / name).chmod(0o755)
    process = subprocess.Popen(
        [ATOLL, "build", "--json"],
        cwd=tmp_path,
        env={**ENVIRONMENT, "PATH": f"{tmp_path}/bin:/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler) and None,
    )
    assert process.stdout is not None
    lines = [process.stdout.readline()]
    while not (tmp_path / "on").exists():
        assert process.poll() is None
        os.sched_yield()
    process.send_signal(signal.SIGINT)
    with process.stdout:
        lines += process.stdout.readlines()
    assert process.wait(60) == 130
    assert json.loads(lines[-1]) == {"event": "result", "ok": False, "interrupted": True, "diagnostics": []}


def test_what_a_test_says_cannot_drive_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Devices and reasons are the test's own words; click leaves escapes in where a terminal reads."""
    said = tests.Tested(
        name="t",
        verdict="skipped",
        reason="no\x1b[2J",
        devices=("\x1b]0;x\x07",),
        seconds=0.0,
        output="",
    )
    tests._reported(said, Talk(as_data=False, verbose=False))
    assert capsys.readouterr().out == "skipped t on \\x1b]0;x\\x07 (0.0 s): no\\x1b[2J\n"
