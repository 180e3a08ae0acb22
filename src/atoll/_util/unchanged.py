"""Is everything that a call looked at as it was? Then its answer is what it was, and nothing is imported.

A record holds a question (what was asked, by which program), an answer, and the stamp of each file that the
answer was made from. Reading one needs nothing but `os`: it runs before the command line is there.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

FORMAT = "atoll unchanged 3"
PLACE = ".atoll/plan/unchanged"
# What a project root has; above one that has no record nothing is looked for.
MANIFESTS = ("atoll.toml", "pyproject.toml")
_NONE = "- - - -"


def question(argv: "Sequence[str]", environment: "Mapping[str, str]", program: "Iterable[str]") -> str:
    """Return one line for what is asked: words, settings of the environment, the program."""
    settings = sorted(
        f"{name}={value}"
        for name, value in environment.items()
        if name.startswith("ATOLL_") or name in ("PATH", "NO_COLOR", "HOME", "TMPDIR")
    )
    return "\x1f".join((*program, "", *argv, "", *settings)).replace("\n", "\x1e")


def answer(start: str, asked: str) -> "str | None":
    """Return the answer kept in the project around `start`, where it is still right; else None."""
    root = _root(start)
    if root is None:
        return None
    try:
        with open(f"{root}/{PLACE}", encoding="utf-8", errors="surrogateescape", newline="\n") as stream:
            head, was_asked, said, lock, *rows = stream.read().split("\n")
    except (OSError, ValueError):
        return None
    if (
        head != FORMAT
        or was_asked != asked_of(root, asked)
        or rows[-1:] != ["end"]
        or _is_locked(f"{root}/{lock}")
    ):
        return None
    del rows[-1]
    try:
        return said.replace("\x1f", "\n") if _all_as_they_were(root, rows) else None
    except ValueError:
        return None


def asked_of(root: str, asked: str) -> str:
    """Return the question as it is kept: a project that was moved is another one."""
    return f"{root}\x1f{asked}"


def _root(start: str) -> "str | None":
    folder = start
    while True:
        if os.path.exists(f"{folder}/{PLACE}"):
            return folder
        if any(os.path.lexists(f"{folder}/{name}") for name in MANIFESTS) or folder in ("/", ""):
            return None
        folder = os.path.dirname(folder)


def _is_locked(path: str) -> bool:
    """Tell whether a build runs in the folder: what it has made so far is not an answer."""
    try:
        import fcntl

        handle = os.open(path, os.O_RDWR)
    except (OSError, ImportError):
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


def _all_as_they_were(root: str, rows: "Iterable[str]") -> bool:
    base = f"{root}/"
    look = os.stat
    for row in rows:
        time, size, inode, changed, path = row.split(" ", 4)
        try:
            now = look(path if path[:1] == "/" else base + path)
        except OSError:
            if time == "-":
                continue
            return False
        # A folder's size is not compared: it is stamped as 0.
        if (
            str(now.st_mtime_ns) != time
            or str(now.st_ino) != inode
            or (changed != "-" and str(now.st_ctime_ns) != changed)
            or (str(now.st_size) != size and not (size == "0" and now.st_mode & 0o170000 == 0o040000))
        ):
            return False
    return True


def record(asked: str, said: str, lock: str, stamps: "Mapping[str, Sequence[int] | None]") -> "str | None":
    """Return the text of a record; None where it cannot hold a path or the answer.

    Args:
        asked: As :func:`question` gives it.
        said: The answer.
        lock: The file that a running build locks, relative to the root.
        stamps: Time, size, inode and, where it is known, time of change of each file; None where it was
            not there.
    """
    rows = [f"{_spelled(stamp)} {path}" for path, stamp in stamps.items()]
    texts = (asked, said.replace("\n", "\x1f"), lock, *rows)
    if any("\n" in text for text in texts) or "\x1f" in said:
        return None
    return "\n".join((FORMAT, *texts, "end"))


def _spelled(stamp: "Sequence[int] | None") -> str:
    return _NONE if stamp is None else " ".join([*map(str, stamp), "-"][:4])
