"""Which file that was not there would a command find now, in the place of one that it found, or of none?

A depfile lists what was read, not where else was looked. So a header that appears earlier on a search path,
or that is asked for only where it is there, stands in no record. The folders that are searched are therefore
watched by the names in them. A new file makes an action run where a text that the action read spells it, or
where it has the name of a file that was found and nothing spells it. One run too many is all that a mistake
costs: an output with the same bytes is put back.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from posixpath import basename, dirname
from typing import Any

from atoll._util.files import write_if_changed
from atoll._util.values import dataclass
from atoll.graph.action import Action
from atoll.graph.edge import digest
from atoll.graph.graph import Graph
from atoll.graph.runner import TICK
from atoll.graph.state import State

FILE = "looked.json"
MAX_NEW = 20_000
MAX_TEXT = 8 << 20
# How many folders above a file may be part of the name by which it is found.
DEPTH = 3

Stamp = list[int] | None
_WORDS = re.compile(r"[^\"'<>\n]+")
_PLAIN_WORDS = re.compile(r"[^\"'<>\s=]+")


@dataclass(frozen=True, slots=True)
class Looked:
    """The watched folders as they were before a build: stamp and names of each; and what is new in them."""

    begin: int
    folders: dict[str, tuple[Stamp, list[str]]]
    new: tuple[str, ...]


def look(state: State, graph: Graph) -> Looked:
    """Look into the folders that are watched; call it before anything runs."""
    earlier = _earlier(state)
    begin = time.time_ns()
    folders: dict[str, tuple[Stamp, list[str]]] = {}
    new: list[str] = []
    for folder in {**earlier, **dict.fromkeys(graph.searched)}:
        folders[folder] = _look(state, folder, earlier.get(folder), begin)
        if folder in earlier:
            known = set(earlier[folder][1])
            added = [name for name in folders[folder][1] if name not in known]
            new += [path for name in added for path in _files(state, folder, name)]
    return Looked(begin, folders, tuple(dict.fromkeys(new[:MAX_NEW])))


def stamp(path: Path) -> Stamp:
    """Return what changes when a folder gains or loses a name; None where nothing is there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return [found.st_mtime_ns, 0, found.st_ino, found.st_ctime_ns]


def watched(state: State) -> Iterator[tuple[str, Stamp]]:
    """Yield the watched folders, each as it was before the last build."""
    for folder, (was, _) in _earlier(state).items():
        yield folder, was


def _earlier(state: State) -> dict[str, tuple[Stamp, list[str]]]:
    value = state.read(FILE)
    if not isinstance(value, dict):
        return {}
    rows = ((folder, row) for folder, row in value.items() if isinstance(row, list) and len(row) == 2)
    return {folder: (row[0], row[1]) for folder, row in rows if isinstance(row[1], list)}


def _look(state: State, folder: str, was: Any, begin: int) -> tuple[Stamp, list[str]]:
    full = state.root / folder
    now = stamp(full)
    if was is not None and was[0] is not None and was[0] == now:
        return now, was[1]
    try:
        names = sorted(path.name for path in full.iterdir())
    except OSError:
        names = []
    # Looked at within the tick of its last change: it may gain a name unseen, so it is looked at again.
    return (None if now is not None and now[0] > begin - TICK else now), names


def _files(state: State, folder: str, name: str) -> Iterator[str]:
    """Give the files that a new name brings."""
    path = name if folder == "." else f"{folder}/{name}"
    full = str(state.root / path)
    if not Path(full).is_dir():
        yield path
        return
    if name.startswith(".") or path == state.folder.partition("/")[0]:
        return
    count = 0
    for here, _, files in os.walk(full):
        for file in files:
            count += 1
            if count > MAX_NEW:
                return
            yield f"{path}{here[len(full) :]}/{file}"


def reasons(state: State, graph: Graph, looked: Looked) -> dict[str, list[str]]:
    """Return for each action that would find another file now, which one.

    Args:
        state: The build folder.
        graph: Its graph.
        looked: The watched folders.
    """
    if not looked.new:
        return {}
    spelled, found = _Spelled(state, looked.new), {}
    for action in graph.actions:
        inputs = _inputs(state, action)
        hits = spelled.hits(action, inputs) if inputs else []
        if hits:
            found[action.name] = [
                f"{path} was added, and may be found in the place of another" for path in hits
            ]
    return found


def _inputs(state: State, action: Action) -> Mapping[str, Any]:
    """Return what an action read in its last whole run, where it finds its inputs while running."""
    record = state.read(f"done/{digest(action)}.json") if action.depfile is not None else None
    inputs = record.get("inputs") if isinstance(record, dict) else None
    if not isinstance(inputs, dict):
        return {}
    root = f"{state.root}/"
    return {path.removeprefix(root): was for path, was in inputs.items()}


class _Spelled:
    """Which of the new files does a text spell?"""

    def __init__(self, state: State, new: Iterable[str]) -> None:
        self.state, self.texts = state, dict[str, frozenset[str]]()
        self.new: dict[str, list[str]] = {}
        for path in new:
            self.new.setdefault(basename(path), []).append(path)

    def hits(self, action: Action, inputs: Mapping[str, Any]) -> list[str]:
        own = [path for path in inputs if not path.startswith(("/", f"{self.state.folder}/"))]
        words = frozenset().union(_words(" ".join(action.argv), self.new), *(self.text(path) for path in own))
        foreign = {basename(path) for path in inputs if path.startswith("/")}
        mine = {basename(path) for path in own}
        found = []
        for name, paths in self.new.items():
            said = [word for word in words if basename(word) == name]
            unsaid = name in foreign or (name in mine and not said)
            if said or unsaid:
                found += [p for p in paths if p not in inputs and (unsaid or any(_ends(p, w) for w in said))]
        return found

    def text(self, path: str) -> frozenset[str]:
        """Return what a file of the project spells of the new names."""
        if path not in self.texts:
            try:
                with (self.state.root / path).open("rb") as stream:
                    data = stream.read(MAX_TEXT).decode("utf-8", "surrogateescape")
            except OSError:
                data = ""
            self.texts[path] = _words(data, self.new)
        return self.texts[path]


def _words(text: str, names: Mapping[str, Any]) -> frozenset[str]:
    if len(names) < 64 and not any(name in text for name in names):
        return frozenset()
    words = {*_WORDS.findall(text), *_PLAIN_WORDS.findall(text)}
    return frozenset(word for word in words if basename(word) in names)


def _ends(path: str, word: str) -> bool:
    """Tell whether a file can be meant by a name, as far as the name says."""
    parts = [part for part in word.split("/") if part not in {"", "."}]
    while ".." in parts:
        parts = parts[parts.index("..") + 1 :]
    return f"/{path}".endswith("/" + "/".join(parts))


def keep(state: State, graph: Graph, looked: Looked, ran: Iterable[str]) -> None:
    """Write what the folders were like before the build; watch also where what ran has found something."""
    found: dict[str, None] = {}
    inner: set[str] = set()
    places = {dirname(path) for name in ran for path in _inputs(state, graph.by_name[name])}
    for folder in sorted(places):
        if not folder.startswith("/"):
            found.setdefault(folder or ".")
        parts = folder.split("/")
        inner.update("/".join(parts[-depth:]) for depth in range(1, min(DEPTH, len(parts)) + 1))
    searched = dict.fromkeys(graph.searched)
    base = f"{state.folder.partition('/')[0]}/"
    rows: dict[str, tuple[Stamp, list[str]]] = {}
    for folder in {**looked.folders, **searched, **found}:
        row = looked.folders.get(folder) or _late(state, folder, looked.begin)
        gone = row[0] is None and folder not in searched and not (state.root / folder).is_dir()
        if gone or f"{folder}/".startswith(base):
            continue
        rows[folder] = row
        names = set(row[1])
        for more in inner:
            below = more if folder == "." else f"{folder}/{more}"
            if more.partition("/")[0] in names and below not in looked.folders:
                rows.setdefault(below, _late(state, below, looked.begin))
    text = json.dumps({folder: list(row) for folder, row in rows.items()})
    write_if_changed(state.path / FILE, text)


def _late(state: State, folder: str, begin: int) -> tuple[Stamp, list[str]]:
    """Return what a folder is like that nobody looked at before; what came or changed since is left out."""
    now, names = _look(state, folder, None, begin)
    if now is not None:
        return now, names
    return None, [name for name in names if _is_older(state.root / folder / name, begin - TICK)]


def _is_older(path: Path, time_ns: int) -> bool:
    try:
        return path.lstat().st_ctime_ns < time_ns
    except OSError:
        return False
