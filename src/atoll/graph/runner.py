"""How does one command run? Started by the executor for every edge, with nothing but the standard library.

Runs alone under ``python -I -S``, so it imports nothing of Atoll, and of the standard library nothing that
takes longer than it does: no `json`, `re`, `signal`, `contextlib` (docs/decisions/0122). It gives the
command exactly the environment its spec states and no standard input; stops it at its time limit, with its
descendants, and when the build or the executor is gone; keeps its output within bounds; leaves no output
of a command that failed; puts an old output back where the new one has the same bytes, so that nothing
after it runs; and says what happened in one line of JSON behind a mark that no command can print (its
output is captured).
"""

from __future__ import annotations

# The halves of `json` and `signal` that are written in C, without `re` and `enum`.
import _json
import _signal as signal  # type: ignore[import-not-found]
import os
import select
import stat
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

MARK = "\x1eatoll "
HEAD_BYTES = 16 << 10
TAIL_BYTES = 48 << 10
COMPARE_BYTES = 256 << 20
MAX_DEPFILE = 8 << 20
MAX_WORDS = 20_000
GRACE = 2.0
TICK = 10_000_000  # how late a file system's clock may be, in ns


class _Reading:
    """What the scanner asks of a decoder."""

    strict = False
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float

    def __init__(self) -> None:
        self.memo: dict[str, str] = {}


def load(text: str) -> dict:  # type: ignore[type-arg]
    """Return the object that a JSON text holds."""
    try:
        found = _json.make_scanner(_Reading())(text.strip(), 0)[0]  # type: ignore[arg-type]
    except StopIteration:
        raise ValueError("no JSON") from None
    return dict(found)


def _refuse(value: object) -> object:
    raise TypeError(f"{value!r} cannot be written")


def dump(value: object) -> str:
    """Return a value as JSON."""
    text = _json.encode_basestring_ascii
    encode = _json.make_encoder(None, _refuse, text, None, ": ", ", ", False, False, False)
    return "".join(encode(value, 0))


class Interrupted(Exception):  # noqa: N818 - a signal, not an error
    """A signal asked the runner to stop."""


class Output:
    """What a command printed, its first and last bytes."""

    def __init__(self) -> None:
        self.head, self.tail, self.dropped = b"", b"", 0

    def add(self, data: bytes) -> None:
        """Keep what is printed, within bounds."""
        room = HEAD_BYTES - len(self.head)
        self.head += data[:room]
        self.tail += data[room:] if room > 0 else data
        if len(self.tail) > 2 * TAIL_BYTES:
            self._cut()

    def _cut(self) -> None:
        extra = len(self.tail) - TAIL_BYTES
        if extra > 0:
            self.dropped += extra
            self.tail = self.tail[extra:]

    def text(self) -> str:
        """Return what was kept, with a note of what was not."""
        self._cut()
        gap = f"\n[{self.dropped} bytes left out]\n".encode() if self.dropped else b""
        return (self.head + gap + self.tail).decode("utf-8", "replace")


def stamp(path: str) -> list[int] | None:
    """Return what changes when a file is written or replaced, or None where there is none.

    The last number is the time of the change itself: an edit of equal size whose time was set back, as
    archives and clocks that are put right do, shows in nothing else.
    """
    try:
        found = os.stat(path)
    except OSError:
        return None
    return [found.st_mtime_ns, found.st_size, found.st_ino, found.st_ctime_ns]


# Of an output the time of the change says nothing: a link to it, made by whoever ships it, changes that too.
OUTPUT_STAMP = 3


# Every spec of a graph, behind rows of equal length, sorted: digest, offset, size.
SPECS = "specs"
ROW = "{} {:>14} {:>10}\n"
ROW_BYTES = 32 + 1 + 14 + 1 + 10 + 1


def find_spec(path: str, digest: str) -> str:
    """Return the text of one spec; reads a few rows and the spec, however many there are.

    Raises:
        ValueError: Where the file has none of that digest.
    """
    file = os.open(path, os.O_RDONLY)
    try:
        low, high = 1, int(os.pread(file, ROW_BYTES, 0)) + 1
        while low < high:
            middle = (low + high) // 2
            found, offset, size = os.pread(file, ROW_BYTES, middle * ROW_BYTES).split()
            name = found.decode()
            if name == digest:
                return os.pread(file, int(size), int(offset)).decode("utf-8", "surrogateescape")
            low, high = (middle + 1, high) if name < digest else (low, middle)
    finally:
        os.close(file)
    raise ValueError(f"{path} has no spec {digest}")


def lookup(program: str, path: str) -> str | None:
    """Return the file of a program, looked up as `execvp` does in `path`."""
    if "/" in program:
        return program if os.access(program, os.X_OK) else None
    for folder in path.split(":"):
        full = f"{folder or '.'}/{program}"
        if os.access(full, os.X_OK) and os.path.isfile(full):
            return full
    return None


def run(spec: dict, output: Output, lifeline: int) -> dict:  # type: ignore[type-arg]
    """Run the command of a spec and return how it ended."""
    program = lookup(spec["argv"][0], spec["env"].get("PATH", ""))
    if program is None:
        return {"end": "missing", "program": spec["argv"][0], "path": spec["env"].get("PATH", "")}
    reader, writer = os.pipe()
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, writer, 1),
        (os.POSIX_SPAWN_DUP2, writer, 2),
    ]
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)  # until there is something to stop
    more = {"file_actions": actions, "setpgroup": 0, "setsigdef": _SIGNALS, "setsigmask": mask}
    try:
        child = os.posix_spawn(program, spec["argv"], spec["env"], **more)
    except OSError as error:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        return {"end": "missing", "program": program, "path": error.strerror or str(error)}
    os.close(writer)
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        return _follow(child, reader, output, spec["time_limit"], lifeline)
    except BaseException:
        _stop(child)
        raise


_SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE]


def _follow(child: int, reader: int, output: Output, limit: float | None, lifeline: int) -> dict:  # type: ignore[type-arg]
    """Read what the command prints until it has ended; stop it when it must not go on."""
    parent, begin, patience = os.getppid(), time.monotonic(), 0.0002
    watched = [reader] if lifeline < 0 else [reader, lifeline]
    while True:
        # A command ends right after it has closed its output; what does not is asked ever less often.
        ready = select.select(watched, [], [], 0.25 if reader in watched else patience)[0]
        if lifeline in ready or os.getppid() != parent:
            raise Interrupted
        if reader in ready and not _take(reader, output):
            watched.remove(reader)
        pid, status, usage = os.wait4(child, os.WNOHANG)
        if pid:
            break
        if limit is not None and time.monotonic() - begin > limit:
            _stop(child)
            return {"end": "time", "limit": limit}
        patience = patience if reader in watched else min(patience * 2, 0.25)
    # Read what is there, but do not wait for descendants that keep the pipe open; they are stopped.
    while reader in watched and select.select([reader], [], [], 0)[0] and _take(reader, output):
        pass
    _kill(child, signal.SIGKILL)
    memory = usage.ru_maxrss << 10
    if os.WIFSIGNALED(status):
        return {"end": "signal", "signal": os.WTERMSIG(status), "memory": memory}
    return {"end": "exit", "code": os.WEXITSTATUS(status), "memory": memory}


def _take(reader: int, output: Output) -> bool:
    data = os.read(reader, 1 << 16)
    output.add(data)
    return bool(data)


def _stop(child: int) -> None:
    """Stop the command and its descendants: ask, wait a little, then kill."""
    _kill(child, signal.SIGTERM)
    until = time.monotonic() + GRACE
    try:
        while time.monotonic() < until and os.waitpid(child, os.WNOHANG)[0] == 0:
            time.sleep(0.02)
    except OSError:
        pass
    try:
        if _kill(child, signal.SIGKILL):
            os.waitpid(child, 0)
    except OSError:
        pass


def _kill(group: int, number: int) -> bool:
    """Signal a process group; tell whether there was one."""
    try:
        os.killpg(group, number)
    except OSError:
        return False
    return True


# outputs


def _set_aside(paths: list[str], folder: str) -> dict[str, str]:
    """Move old outputs away; what the command leaves is then its own."""
    kept = {}
    for number, path in enumerate(paths):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        if os.path.isfile(path) and not os.path.islink(path):
            os.makedirs(folder, exist_ok=True)
            kept[path] = f"{folder}/{number}"
            os.replace(path, kept[path])
        else:
            remove(path)
    return kept


def remove(path: str) -> None:
    """Remove a file, a link or a folder, where there is one."""
    if os.path.isdir(path) and not os.path.islink(path):
        _remove_folder(path)
        return
    try:
        os.remove(path)
    except FileNotFoundError:
        return


def _remove_folder(path: str) -> None:
    """Remove a folder; one that holds files alone, as ours do, without `shutil`, whose import takes 5 ms."""
    try:
        for name in os.listdir(path):
            os.remove(f"{path}/{name}")
        os.rmdir(path)
    except OSError:
        import shutil

        shutil.rmtree(path, ignore_errors=True)


def _same(one: str, other: str) -> bool:
    first, second = os.lstat(one), os.lstat(other)
    if first.st_size != second.st_size or first.st_mode != second.st_mode:
        return False
    if not stat.S_ISREG(first.st_mode) or first.st_size > COMPARE_BYTES:
        return False
    with open(one, "rb") as left, open(other, "rb") as right:
        while True:
            data = left.read(1 << 20)
            if data != right.read(1 << 20):
                return False
            if not data:
                return True


def _put_back(kept: dict[str, str]) -> None:
    for path, old in kept.items():
        if _same(path, old):
            os.replace(old, path)


# depfiles


def read_make(text: str) -> list[str]:
    """Return the inputs that a make-style depfile lists."""
    text = text.replace("\\\r\n", " ").replace("\\\n", " ")
    if "\\" not in text and "$" not in text:
        return _read_plain(text)
    import re

    inputs: list[str] = []
    for line in text.splitlines():
        _, separator, rest = _split_target(line)
        if separator:
            inputs += [_unescape(word) for word in re.findall(r"(?:\\.|[^\\\s])+", rest)]
    return list(dict.fromkeys(inputs))


def _read_plain(text: str) -> list[str]:
    """Read what most compilers write: no name in it has a character that make escapes."""
    inputs: list[str] = []
    for line in text.splitlines():
        words = line.split()
        # A colon ends the target where white space or the end of the line follows it.
        at = next((index for index, word in enumerate(words) if word.endswith(":")), None)
        if at is not None:
            inputs += words[at + 1 :]
    return list(dict.fromkeys(inputs))


def _split_target(line: str) -> tuple[str, str, str]:
    import re

    found = re.match(r"((?:\\.|[^\\:]|:(?!\s|$))*):(?:\s|$)", line)
    return (found.group(1), ":", line[found.end() :]) if found else (line, "", "")


def _unescape(word: str) -> str:
    """Undo make's escapes: backslashes count only in front of a space or `#`, one in front of a colon."""
    import re

    def plain(found: re.Match[str]) -> str:
        return "\\" * (len(found.group(1)) // 2) + found.group(2)

    return re.sub(r"(\\+)([ #])", plain, word).replace("\\:", ":").replace("$$", "$")


def read_raw(text: str, outputs: list[str]) -> list[str]:
    """Return the inputs of a depfile whose tool escapes nothing, read against the files that exist.

    Where words can be joined to files in several ways, every way counts: one input too many only
    costs a run. None raises ValueError.
    """
    line = " ".join(text.replace("\\\r\n", " ").replace("\\\n", " ").splitlines()).rstrip()
    targets = [path for path in outputs if line.startswith(f"{path}:")]
    rest = line[len(targets[0]) + 1 :] if targets else line.partition(": ")[2]
    words = rest.removeprefix(" ").split(" ")
    if words == [""]:
        return []
    if len(words) > MAX_WORDS:
        raise ValueError(f"it has more than {MAX_WORDS} words")
    size, reach = len(words), 32
    fits: list[list[int]] = [[] for _ in range(size)]
    can = [False] * size + [True]
    for start in range(size - 1, -1, -1):
        for end in range(start + 1, min(size, start + reach) + 1):
            if can[end] and (os.path.isfile(" ".join(words[start:end])) or words[start:end] == [""]):
                fits[start].append(end)
                can[start] = True
    if not can[0]:
        raise ValueError("its words name no files")
    found: dict[str, None] = {}
    todo, seen = [0], set()
    while todo:
        start = todo.pop()
        if start == size or start in seen:
            continue
        seen.add(start)
        for end in fits[start]:
            found.setdefault(" ".join(words[start:end]))
            todo.append(end)
    return [path for path in found if path]


# What ninja reads as part of a name in a depfile; any other character ends the name there.
_SPEAKABLE = r"""[A-Za-z0-9+?"'&,/_:.~(){}%=@\[\]!\x80-\U0010ffff \\#$-]*[^:\\]\Z"""
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/_.+-")


def speakable(name: str) -> bool:
    """Tell whether the executor's depfile syntax can spell a name."""
    if name and _PLAIN.issuperset(name):
        return True
    import re

    return re.match(_SPEAKABLE, name) is not None and "\\:" not in name


def write_depfile(path: str, inputs: list[str]) -> None:
    """Write a depfile that the executor reads the same on every system.

    A name that its syntax cannot spell is left out: the record has it, and what differs from a record
    is forced. The target is not looked at.
    """

    def escaped(name: str) -> str:
        if _PLAIN.issuperset(name):
            return name
        import re

        return re.sub(r"(\\*)([ #])", r"\1\1\\\2", name).replace("$", "$$")

    names = [escaped(name) for name in inputs if speakable(name)]
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as stream:
        stream.write("output: " + " \\\n ".join(names) + "\n")


def depfile_inputs(spec: dict, made: str) -> list[str]:  # type: ignore[type-arg]
    """Return the inputs that the command found; the depfile is rewritten in one escaped form.

    `made` is the folder below which every generated file lies.
    """
    path = spec["depfile"]
    if path is None:
        return []
    if not os.path.isfile(path):
        raise ValueError("it was not written")
    if os.path.getsize(path) > MAX_DEPFILE:
        raise ValueError(f"it has more than {MAX_DEPFILE} bytes")
    with open(path, encoding="utf-8", errors="surrogateescape") as stream:
        text = stream.read()
    found = read_raw(text, spec["outputs"]) if spec["depfile_style"] == "raw" else read_make(text)
    if not found and text.strip() and ":" not in text:
        raise ValueError("it has no target")
    clean = list(dict.fromkeys(os.path.normpath(name) for name in found))
    if any("\n" in name for name in clean):
        raise ValueError("a name has a line break")
    known = set(spec["inputs"])
    made_here = [name for name in clean if name.startswith(f"{made}/") and name not in known]
    hidden = [name for name in made_here if not speakable(name)]
    if hidden:
        raise ValueError(f"it names a generated file that only a declared input can name: {hidden[0]}")
    write_depfile(path, clean)
    return clean


# further inputs


def dyndep_inputs(spec: dict) -> list[str]:  # type: ignore[type-arg]
    """Return the inputs that a list made by another edge adds; the executor has read it already."""
    if spec.get("dyndep") is None:
        return []
    import re

    own = spec["outputs"][0]
    with open(spec["dyndep"], encoding="utf-8", errors="surrogateescape") as stream:
        lines = stream.read().split("\n")
    for line in lines:
        words = [_plain(word) for word in re.findall(r"(?:\$.|[^\s$])+", line.removeprefix("build "))]
        if line.startswith("build ") and words[0] == f"{own}:":
            return [word for word in words[2:] if word != "|"]
    return []


def _plain(word: str) -> str:
    import re

    return re.sub(r"\$(.)", r"\1", word)


# the whole


def _finish(spec: dict, ended: dict, kept: dict[str, str], made: str) -> tuple[dict, list[str]]:  # type: ignore[type-arg]
    """Judge what a command left; return how it ended and the inputs it found."""
    if ended["end"] != "exit" or ended["code"] != 0:
        return ended, []
    missing = [path for path in spec["outputs"] if not os.path.lexists(path)]
    if missing:
        return {"end": "outputs", "missing": missing}, []
    try:
        found = depfile_inputs(spec, made)
    except (ValueError, OSError) as error:
        return {"end": "depfile", "depfile": spec["depfile"], "reason": str(error)}, []
    _put_back(kept)
    return ended, found


def _out_of_memory() -> int:
    """Return how often the kernel killed something of this memory group, as far as it says."""
    count = 0
    for line in _text("/proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, name = rest.partition(":")
        if number == "0":
            count += _kills(f"/sys/fs/cgroup{name}/memory.events")
        elif "memory" in controllers.split(","):
            count += _kills(f"/sys/fs/cgroup/memory{name}/memory.oom_control")
    return count


def _kills(path: str) -> int:
    for line in _text(path).splitlines():
        name, _, count = line.partition(" ")
        if name == "oom_kill" and count.isdigit():
            return int(count)
    return 0


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read()
    except OSError:
        return ""


def _edge(spec: dict, digest: str, state: str, lifeline: int) -> dict:  # type: ignore[type-arg]
    """Run one edge whole; return the report of how it ended."""
    aside, done = f"{state}/aside/{digest}", f"{state}/done/{digest}.json"
    produced = [*spec["outputs"], *([spec["depfile"]] if spec["depfile"] else [])]
    output = Output()
    try:
        remove(done)
        before = {path: stamp(path) for path in spec["inputs"]}
        killed, begin, since = _out_of_memory(), time.monotonic(), time.time_ns()
        kept = _set_aside(produced, aside)
        ended, found = _finish(spec, run(spec, output, lifeline), kept, os.path.dirname(state))
        seconds = round(time.monotonic() - begin, 4)
        good = ended["end"] == "exit" and ended["code"] == 0
        if good:
            _record(done, spec, before, found, ended, seconds, since)
    except Interrupted:
        good, seconds, ended, killed = False, 0.0, {"end": "interrupt"}, 0
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS[:3])
    for path in (aside,) if good else (aside, *produced):
        remove(path)
    about = {"name": spec["name"], "digest": digest, "seconds": seconds, "output": output.text()}
    return about | {"oom": _out_of_memory() > killed} | ended


def main(digest: str) -> int:
    """Run the edge with that digest; return the exit code for the executor."""
    state = os.environ["ATOLL_GRAPH_STATE"]
    lifeline = int(os.environ.get("ATOLL_GRAPH_LIFELINE", "-1"))
    # The command inherits neither: what it leaves behind must not keep a later build waiting.
    for inherited in (lifeline, int(os.environ.get("ATOLL_GRAPH_HELD", "-1"))):
        if inherited >= 0:
            os.set_inheritable(inherited, False)

    def interrupt(*_: object) -> None:
        raise Interrupted

    spec = load(find_spec(f"{state}/{SPECS}", digest))
    for number in _SIGNALS[:3]:
        signal.signal(number, interrupt)
    report = _edge(spec, digest, state, lifeline)
    sys.stdout.write(MARK + dump(report) + "\n")
    sys.stdout.flush()
    if report["end"] == "interrupt":
        return 130
    return 0 if report["end"] == "exit" and report["code"] == 0 else 1


def _record(
    path: str,
    spec: dict,  # type: ignore[type-arg]
    before: dict[str, list[int] | None],
    found: list[str],
    ended: dict,  # type: ignore[type-arg]
    seconds: float,
    since: int,
) -> None:
    more = {name: stamp(name) for name in (*found, *dyndep_inputs(spec)) if name not in before}
    now, made = time.time_ns(), os.path.dirname(os.path.dirname(os.path.dirname(path))) + "/"
    for name, seen in more.items():
        # Changed since the command began: nobody knows which of the two it read, so it counts as not seen.
        if seen and since - TICK < seen[3] <= now and not name.startswith(made):
            more[name] = None
    record = {
        "name": spec["name"],
        "inputs": before | more,
        "outputs": {name: (stamp(name) or [])[:OUTPUT_STAMP] for name in spec["outputs"]},
        "memory": ended["memory"],
        "seconds": round(seconds, 4),
    }
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(f"{path}.new", "w", encoding="utf-8", errors="surrogateescape") as stream:
        stream.write(dump(record))
    os.replace(f"{path}.new", path)


def leave(code: int) -> None:
    """End the process; nothing waits for Python to take itself apart, which takes a sixth of its start."""
    sys.stdout.flush()
    os._exit(code)
