"""An interruption while a command is being started stops that command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from atoll.graph import runner

CHILD = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
import runner
def interrupt(*_):
    raise runner.Interrupted
signal.signal(signal.SIGINT, interrupt)
spawn = os.posix_spawn
def spawned(*args, **more):
    child = spawn(*args, **more)
    print(child, flush=True)
    os.kill(os.getpid(), signal.SIGINT)
    return child
os.posix_spawn = spawned
spec = {"argv": ["/bin/sleep", "60"], "env": {"PATH": "/usr/bin:/bin"}, "time_limit": None}
try:
    runner.run(spec, runner.Output(), -1)
except runner.Interrupted:
    print("interrupted")
"""


def test_a_command_is_stopped_whose_start_was_interrupted() -> None:
    folder = str(Path(runner.__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", CHILD, folder], capture_output=True, text=True, check=True, timeout=60
    )
    child, said = done.stdout.split()
    try:
        os.kill(int(child), signal.SIGKILL)
        found = "it ran on"
    except ProcessLookupError:
        found = "it was stopped"
    assert (said, found) == ("interrupted", "it was stopped")
