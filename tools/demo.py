"""`./dev demo`: the thread from sources to answers, every command printed before it runs.

Builds examples/thread into one wheel, measures the wheel, installs it in a fresh virtual environment without
Atoll, and calls both of its entries on every device that this machine has.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = ROOT / "examples" / "thread"
ATOLL = str(Path(sys.executable).with_name("atoll"))


def show(*command: str, where: Path = PROJECT) -> None:
    """Print a command as a person would type it, then run it; stop the demo where it fails."""
    words = [Path(word).name if word in {ATOLL, sys.executable} else word for word in command]
    print(f"\n$ {shlex.join(words)}", flush=True)
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    done = subprocess.run(command, cwd=where, env=environment, check=False)
    if done.returncode:
        sys.exit(f"demo: {words[0]} ended with {done.returncode}")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="atoll-demo-") as name:
        folder = Path(name)
        print(f"$ cd {PROJECT.relative_to(ROOT)}", end="")
        show(ATOLL, "build")
        show(ATOLL, "pack", "--out", str(folder / "dist"))
        wheel = str(next((folder / "dist").glob("*.whl")))
        show(ATOLL, "measure", wheel)
        print(f"\n$ python -m venv {folder / 'venv'}")
        venv.create(folder / "venv", with_pip=True)
        python = str(folder / "venv" / "bin" / "python")
        show(python, "-m", "pip", "install", "--quiet", "--no-index", wheel, where=folder)
        shutil.copy(PROJECT / "run.py", folder)
        show(python, "run.py", where=folder)
    print("\nOne wheel, one source of truth: every line above names the device that answered.")


if __name__ == "__main__":
    main()
