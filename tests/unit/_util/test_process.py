"""A process that ends at once has said everything."""

from __future__ import annotations

import subprocess
import sys

LEAVING = "from atoll._util.process import leave; print('said'); leave({})"


def test_what_was_printed_is_there_and_so_is_the_exit_code() -> None:
    done = subprocess.run([sys.executable, "-c", LEAVING.format(3)], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (3, "said\n", "")


def test_garbage_is_looked_for_seldom() -> None:
    code = "import gc; from atoll._util.process import collect_rarely as f; f(); print(gc.get_threshold()[0])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) >= 100_000
