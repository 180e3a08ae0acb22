"""Small actions without a compiler: write the lines of a text file, remake an archive.

Run by path (``python -I -S writes.py lines OUT LINE…``), so it imports nothing of Atoll.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def lines(out: str, *texts: str) -> int:
    """Write one line for each text."""
    Path(out).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return 0


def archive(out: str, ar: str, *members: str) -> int:
    """Make a static archive anew with zeroed times; members that left the list leave the archive."""
    Path(out).unlink(missing_ok=True)
    return subprocess.run([ar, "Dqcs", out, *members], check=False).returncode


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    sys.exit(archive(*rest) if what == "archive" else lines(*rest))
