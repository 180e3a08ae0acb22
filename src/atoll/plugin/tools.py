"""How does a plugin find a program, ask it for a fact, say which bytes it is, and keep what it made?

For every plugin, wherever it comes from. Programs are looked up in the environment that the request
gives, never in `os.environ`; a program that is asked something sees a scrubbed environment. Running the
commands of a build is the graph's job.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import time
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from atoll._util import facts
from atoll._util.files import sha256
from atoll._util.files import write_atomic as write_atomic
from atoll._util.machine import free_memory as free_memory
from atoll._util.machine import processors as processors
from atoll._util.spelling import suffix as suffix
from atoll._util.spelling import this_python
from atoll._util.values import dataclass
from atoll._util.why import note as note_why

#: Says why an entry of a cache is made, for `atoll cache explain`.
note_miss = note_why

# What a program that is asked for a fact may see of the caller's environment.
KEPT = ("PATH", "HOME", "TMPDIR", "SYSTEMROOT")
ANSWER_BYTES = 4 << 20
# Two changes of a folder within a tick of the clock have one time.
_SETTLED = 2_000_000_000


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
    if os.name == "nt":
        import shutil

        found = shutil.which(name, path=environment.get("PATH", ""))
        return Path(found) if found else None
    # What `shutil` does; it imports three compressors.
    for folder in environment.get("PATH", "").split(os.pathsep):
        path = Path(folder, name)
        if folder and path.is_file() and os.access(path, os.X_OK):
            return path
    return None


def programs_like(pattern: str, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the programs on the PATH of `environment` whose whole name matches a regular expression.

    In PATH order, then by name; a name that stands in two folders is listed where it is reached.
    """
    wanted = re.compile(pattern)
    found: dict[str, Path] = {}
    for folder in environment.get("PATH", "").split(os.pathsep):
        for name in sorted(filter(wanted.fullmatch, _listed(folder))):
            path = Path(folder, name)
            if path.is_file() and os.access(path, os.X_OK):
                found.setdefault(name, path)
    return tuple(found.values())


def _listed(folder: str) -> tuple[str, ...]:
    """Return the names in a folder; one that has not changed for a while is listed once a process."""
    try:
        changed = os.stat(folder).st_mtime_ns if folder else 0  # noqa: PTH116 - as for `listdir`
        settled = changed < time.time_ns() - _SETTLED
        return _names(folder, changed if settled else time.time_ns()) if folder else ()
    except OSError:
        return ()


@lru_cache(maxsize=256)
def _names(folder: str, _stamp: int) -> tuple[str, ...]:
    return tuple(os.listdir(folder))  # noqa: PTH208 - a thousand names, of which few are looked at


def ask(
    argv: tuple[str, ...],
    environment: Mapping[str, str],
    *,
    extra: tuple[tuple[str, str], ...] = (),
    timeout: float = 20.0,
    cwd: Path | None = None,
    lasting: bool = False,
) -> Answer | None:
    """Run a program that states a fact; None where it does not start or does not end in time.

    Args:
        argv: The program and its arguments.
        environment: Where PATH and friends are taken from; everything else is withheld.
        extra: Variables set on top (a payload's own).
        timeout: Seconds.
        cwd: Where it runs.
        lasting: Whether the answer is what the program always says of itself. It is then kept, below
            ``facts/`` in the cache folder, until the program's file or a folder of PATH changes; a program
            that is a script is asked again each time, for its answer is another program's.
    """
    env = {name: environment[name] for name in KEPT if name in environment}
    env.update({"LC_ALL": "C", **dict(extra)})
    place = facts.place_of(cache_folder(environment, facts.KIND), argv, env) if lasting else None
    if place is None:
        return _asked(argv, env, timeout, cwd)
    known = facts.recall(place)
    if known is not None:
        return Answer(0, *known)
    found = _asked(argv, env, timeout, cwd)
    if found is not None and found.status == 0:
        facts.keep(place, [found.out, found.err])
    return found


def _asked(argv: tuple[str, ...], env: dict[str, str], timeout: float, cwd: Path | None) -> Answer | None:
    import subprocess

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


def fingerprint(paths: Iterable[Path], environment: Mapping[str, str] | None = None) -> str:
    """Return one SHA-256 over the bytes of files, in the order given: a compiler and its stages.

    Args:
        paths: The files.
        environment: Where the cache folder is found, in which the answer is kept until the time, size,
            inode or time of change of one of them differs; not kept where it is None.

    Raises:
        OSError: Where a file cannot be read.
    """
    files = tuple(paths)
    if environment is None:
        return _fingerprint(files)
    place = facts.place_of_files(cache_folder(environment, facts.KIND), files)
    known = facts.recall(place)
    if known is not None:
        return known[0]
    found = _fingerprint(files)
    facts.keep(place, [found])
    return found


def _fingerprint(paths: tuple[Path, ...]) -> str:
    whole = hashlib.sha256()
    for path in paths:
        state = path.stat()
        stamp = (state.st_size, state.st_mtime_ns, state.st_ino, state.st_ctime_ns)
        whole.update(_digest(str(path), stamp).encode())
    return whole.hexdigest()


@lru_cache(maxsize=512)
def _digest(path: str, _stamp: tuple[int, ...]) -> str:
    return sha256(Path(path))


def asking(environment: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return what decides the answer of a program, hashable: the search path, and where answers are kept."""
    return tuple((name, environment[name]) for name in ("ATOLL_CACHE", "PATH") if name in environment)


def cache_folder(environment: Mapping[str, str], kind: str = "") -> Path:
    """Return where what can be made again is kept: below ``ATOLL_CACHE``, else below the user's cache folder.

    Args:
        environment: Where the setting stands.
        kind: Who keeps it, a folder of its own; the folder of all of them where empty.
    """
    stated = environment.get("ATOLL_CACHE")
    if stated:
        return Path(stated).absolute() / kind
    if sys.platform == "linux":  # what `platformdirs` says there, and imports four modules for
        return Path(
            os.environ.get("XDG_CACHE_HOME", "").strip() or Path("~/.cache").expanduser(), "atoll", kind
        )
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
    joined = "/".join(parts)
    if joined and "//" not in joined and "/." not in f"/{joined}/":
        return f"{build}/{lane}/{joined}"
    pieces = [piece for part in parts for piece in part.split("/") if piece not in ("", ".")]
    safe = ["__up__" if piece == ".." else piece for piece in pieces]
    return "/".join([build, lane, *safe])


def version_numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of a dotted version, for ordering; empty where it has none."""
    match = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in match.group().split(".")) if match else ()
