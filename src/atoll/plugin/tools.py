"""How does a plugin find a program, ask it for a fact, say which bytes it is, and keep what it made?

For every plugin, wherever it comes from. Programs are looked up in the environment that the request
gives, never in `os.environ`; a program that is asked something sees a scrubbed environment. Running the
commands of a build is the graph's job.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

from atoll._util.files import sha256
from atoll._util.files import write_atomic as write_atomic
from atoll._util.machine import free_memory as free_memory
from atoll._util.machine import processors as processors
from atoll._util.spelling import this_python

# What a program that is asked for a fact may see of the caller's environment.
KEPT = ("PATH", "HOME", "TMPDIR", "SYSTEMROOT")
ANSWER_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Answer:
    """What a program said: exit status, standard output, standard error."""

    status: int
    out: str
    err: str


def find_program(name: str, environment: Mapping[str, str]) -> Path | None:
    """Return the program that `name` reaches through the PATH of `environment`, or None.

    A name with a slash is a path and is taken as it is, if it can be executed.
    """
    if "/" in name:
        path = Path(name)
        return path if path.is_file() and os.access(path, os.X_OK) else None
    found = shutil.which(name, path=environment.get("PATH", ""))
    return Path(found) if found else None


def programs_like(pattern: str, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the programs on the PATH of `environment` whose whole name matches a regular expression.

    In PATH order, then by name; a name that stands in two folders is listed where it is reached.
    """
    wanted = re.compile(pattern)
    found: dict[str, Path] = {}
    for folder in environment.get("PATH", "").split(os.pathsep):
        for path in _listed(folder):
            if wanted.fullmatch(path.name) and os.access(path, os.X_OK):
                found.setdefault(path.name, path)
    return tuple(found.values())


def _listed(folder: str) -> list[Path]:
    if not folder:
        return []
    try:
        return sorted(path for path in Path(folder).iterdir() if path.is_file())
    except OSError:
        return []


def ask(
    argv: tuple[str, ...],
    environment: Mapping[str, str],
    *,
    extra: tuple[tuple[str, str], ...] = (),
    timeout: float = 20.0,
    cwd: Path | None = None,
) -> Answer | None:
    """Run a program that states a fact; None where it does not start or does not end in time.

    Args:
        argv: The program and its arguments.
        environment: Where PATH and friends are taken from; everything else is withheld.
        extra: Variables set on top (a payload's own).
        timeout: Seconds.
        cwd: Where it runs.
    """
    env = {name: environment[name] for name in KEPT if name in environment}
    env.update({"LC_ALL": "C", **dict(extra)})
    try:
        done = subprocess.run(
            argv,
            env=env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return Answer(done.returncode, _text(done.stdout), _text(done.stderr))


def _text(data: bytes) -> str:
    return data[:ANSWER_BYTES].decode("utf-8", "replace")


def fingerprint(paths: Iterable[Path]) -> str:
    """Return one SHA-256 over the bytes of files, in the order given: a compiler and its stages.

    Raises:
        OSError: Where a file cannot be read.
    """
    whole = hashlib.sha256()
    for path in paths:
        state = path.stat()
        whole.update(_digest(str(path), state.st_size, state.st_mtime_ns).encode())
    return whole.hexdigest()


@lru_cache(maxsize=512)
def _digest(path: str, _size: int, _mtime_ns: int) -> str:
    return sha256(Path(path))


def cache_folder(environment: Mapping[str, str], kind: str = "") -> Path:
    """Return where what can be made again is kept: below ``ATOLL_CACHE``, else below the user's cache folder.

    Args:
        environment: Where the setting stands.
        kind: Who keeps it, a folder of its own; the folder of all of them where empty.
    """
    stated = environment.get("ATOLL_CACHE")
    if stated:
        return Path(stated).absolute() / kind
    from platformdirs import user_cache_path

    return user_cache_path("atoll") / kind


def python_program() -> str:
    """Return the Python that runs Atoll, in the one spelling that an action may hold."""
    return this_python()


def argument(path: str) -> str:
    """Return a path as an argument that no program takes for an option: a leading dash gets ``./``."""
    return f"./{path}" if path.startswith("-") else path


def output_path(build: str, lane: str, *parts: str) -> str:
    """Return a path below ``{build}/{lane}/`` for an output named after a source.

    A source outside the project root keeps its name: ``..`` becomes ``__up__``.
    """
    pieces = [piece for part in parts for piece in PurePosixPath(part).parts if piece not in ("/", ".")]
    safe = ["__up__" if piece == ".." else piece for piece in pieces]
    return "/".join([build, lane, *safe])


def version_numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of a dotted version, for ordering; empty where it has none."""
    match = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in match.group().split(".")) if match else ()
