"""Small actions without a compiler: write the lines of a text file, remake an archive.

Run by path (``python -I -S writes.py lines OUT LINE…``), so it imports nothing of Atoll.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path


def lines(out: str, *texts: str) -> int:
    """Write one line for each text."""
    Path(out).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return 0


def archive(out: str, ar: str, *members: str) -> int:
    """Make a static archive anew with zeroed times; members that left the list leave the archive."""
    Path(out).unlink(missing_ok=True)
    return subprocess.run([ar, "Dqcs", out, *members], check=False).returncode


def plain(out: str, ar: str, *members: str) -> int:
    """Make a static archive anew with an archiver that takes no flag for it and reads a variable instead."""
    Path(out).unlink(missing_ok=True)
    env = {**os.environ, "ZERO_AR_DATE": "1"}
    return subprocess.run([ar, "qcs", out, *members], env=env, check=False).returncode


COMMANDS: dict[str, Callable[..., int]] = {"lines": lines, "archive": archive, "archive-plain": plain}


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    sys.exit(COMMANDS[what](*rest))
