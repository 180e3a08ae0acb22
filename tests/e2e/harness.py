"""What the end-to-end tests share: a scrubbed machine, copied projects, wheels in fresh environments."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
#: A package of a foreign device, with one door of each kind.
TOY = ROOT / "tests" / "fixtures" / "toy"
ATOLL = Path(sys.executable).with_name("atoll")

# Nothing of the developer's own PATH: a toolkit that stands there must not be found by accident.
PATH = "/usr/bin:/bin"
KEPT = ("HOME", "LANG", "TMPDIR", "ATOLL_STORE", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")


def machine(**more: str) -> dict[str, str]:
    """Return a scrubbed environment: a bare PATH, the registry settings of pip, and `more`."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    return {"PATH": PATH, "PYTHONDONTWRITEBYTECODE": "1", **kept, **pip, **more}


@dataclass(frozen=True)
class Outcome:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str


def run(
    *command: str | Path, where: Path, env: Mapping[str, str] | None = None, limit: float = 600
) -> Outcome:
    """Run a command on the scrubbed machine."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=where,
        env=machine() if env is None else dict(env),
        capture_output=True,
        text=True,
        timeout=limit,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def right(*command: str | Path, where: Path, env: Mapping[str, str] | None = None) -> Outcome:
    """Run a command that must end with 0."""
    outcome = run(*command, where=where, env=env)
    assert outcome.code == 0, f"{command} ended with {outcome.code}\n{outcome.out}\n{outcome.err}"
    return outcome


def copied(example: str, folder: Path) -> Path:
    """Return a copy of an example without anything that was built."""
    target = folder / example
    shutil.copytree(
        EXAMPLES / example, target, ignore=shutil.ignore_patterns(".atoll", "dist", "__pycache__")
    )
    return target


def packed(project: Path, *options: str) -> Path:
    """Build and pack a project on the scrubbed machine and return its one wheel."""
    right(ATOLL, "build", *options, where=project)
    right(ATOLL, "pack", "--out", "dist", where=project)
    (wheel,) = (project / "dist").glob("*.whl")
    return wheel


def installed(wheel: Path, folder: Path) -> Path:
    """Install a wheel alone in a fresh virtual environment and return its interpreter."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    right(python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", wheel, where=folder)
    return python


def site(python: Path) -> Path:
    """Return the site-packages folder of an interpreter of a virtual environment."""
    (found,) = (python.parents[1] / "lib").glob("python3*/site-packages")
    return found


def foreign_python(folder: Path) -> Path:
    """Return the interpreter of an environment that has Atoll, its dependencies and the foreign package."""
    venv.create(folder)
    python = folder / "bin" / "python"
    paths = [ROOT / "src", TOY, *(Path(entry) for entry in sys.path if entry.endswith("site-packages"))]
    (site(python) / "toy.pth").write_text("".join(f"{path}\n" for path in paths))
    return python
