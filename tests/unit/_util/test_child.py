"""A child ends when it ends, whoever keeps its standard output; nothing below it is left."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from atoll._util.child import run

ENV = {"PATH": "/usr/bin:/bin"}
# Leaves a descendant behind that holds the pipe, and ends by itself.
PARENT = """\
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]])
open("child", "w").write(str(child.pid))
print("done", flush=True)
sys.exit(3)
"""
SILENT = "import time; time.sleep(600)"
LOUD = "while True: print('x' * 1000, flush=True)"


def alive(number: str) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("behind", [SILENT, LOUD], ids=["silent", "loud"])
def test_who_keeps_the_pipe_holds_nobody_up(tmp_path: Path, behind: str) -> None:
    begin = time.monotonic()
    ended = run([sys.executable, "-c", PARENT, behind], env=ENV, timeout=60, cwd=tmp_path, keep=1 << 20)
    assert time.monotonic() - begin < 30
    assert ended.code == 3
    assert "done" in ended.output
    until = time.monotonic() + 30
    while alive((tmp_path / "child").read_text()):
        assert time.monotonic() < until


def test_past_the_limit_there_is_no_code() -> None:
    assert run([sys.executable, "-c", LOUD], env=ENV, timeout=0.5).code is None
    assert run([sys.executable, "-c", SILENT], env=ENV, timeout=0.5).code is None


def test_the_last_bytes_are_kept_and_every_line_is_told() -> None:
    lines: list[str] = []
    text = "for n in range(1000): print(n)"
    ended = run([sys.executable, "-c", text], env=ENV, timeout=60, keep=8, on_line=lines.append)
    assert ended.output == "998\n999\n"
    assert lines == [str(n) for n in range(1000)]
