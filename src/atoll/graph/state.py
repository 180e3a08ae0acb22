"""What does the build folder hold of earlier builds, and what of it must go or run again?

The executor judges by times alone, which misses an input replaced by an older file. So every run leaves
a record of what it read and wrote, and what differs from the record is forced. The record also answers
why an action ran.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from pathlib import Path
from posixpath import join
from typing import Any

from atoll._util.files import write_atomic, write_if_changed
from atoll._util.jsontext import listed
from atoll._util.values import dataclass
from atoll.graph.action import Action
from atoll.graph.edge import digest, named_spec
from atoll.graph.graph import Graph
from atoll.graph.ninja_file import graph_text
from atoll.graph.runner import OUTPUT_STAMP, ROW, ROW_BYTES, SPECS, stamp

FOLDER = ".graph"
FORCED = "forced.ninja"


@dataclass(frozen=True, slots=True)
class State:
    """The executor's own folder inside a build folder.

    Attributes:
        root: The project root, absolute.
        folder: The build folder relative to the root.
    """

    root: Path
    folder: str

    @property
    def relative(self) -> str:
        """The state folder relative to the root."""
        return f"{self.folder}/{FOLDER}"

    @property
    def path(self) -> Path:
        """The state folder."""
        return self.root / self.folder / FOLDER

    def read(self, name: str) -> Any:
        """Return what a JSON file of the state holds, or None where there is none or it is broken."""
        try:
            path = f"{self.root}/{self.relative}/{name}"
            with open(path, encoding="utf-8", errors="surrogateescape") as stream:  # noqa: PTH123 - one an action
                return json.load(stream)
        except (OSError, ValueError, RecursionError):
            return None

    def write(self, name: str, value: Any) -> None:
        """Write a JSON file of the state."""
        write_atomic(self.path / name, json.dumps(value, sort_keys=True) + "\n")


def lay_out(state: State, graph: Graph) -> tuple[str, ...]:
    """Write the graph's files; remove what an earlier graph made and this one does not.

    Returns:
        The files that were removed.
    """
    removed = _remove_dead(state, graph)
    named = {action.name: named_spec(action) for action in graph.actions}
    specs = dict(named.values())
    write_if_changed(state.path / SPECS, specs_text(specs))
    for old in _files(state.path / "done"):
        if old.name.partition(".")[0] not in specs:
            old.unlink(missing_ok=True)
    write_if_changed(
        state.path / "build.ninja",
        graph_text(graph, state.relative, {name: made for name, (made, _) in named.items()}),
    )
    # The executor reads it: what a crash left of it must not keep every later build from running.
    _write_forced(state, _forced(state))
    return removed


def specs_text(specs: Mapping[str, str]) -> bytes:
    """Return the one file of all specs, as :func:`atoll.graph.runner.find_spec` reads it.

    One file, because creating hundreds takes longer than everything else of a plan.
    """
    texts = {name: text.encode("utf-8", "surrogateescape") for name, text in sorted(specs.items())}
    offset = ROW_BYTES * (len(texts) + 1)
    rows = [f"{len(texts)}".ljust(ROW_BYTES - 1) + "\n"]
    for name, text in texts.items():
        rows.append(ROW.format(name, offset, len(text)))
        offset += len(text)
    return b"".join(("".join(rows).encode(), *texts.values()))


def _forced(state: State) -> dict[str, int]:
    """Return how often each action was forced, by its digest."""
    try:
        lines = (state.path / FORCED).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    found = [line.removeprefix("forced_").partition(" = ") for line in lines]
    return {name: int(number) for name, _, number in found if name.isalnum() and number.isdecimal()}


def _write_forced(state: State, numbers: Mapping[str, int]) -> None:
    lines = [f"forced_{name} = {number}\n" for name, number in sorted(numbers.items())]
    write_if_changed(state.path / FORCED, "".join(lines))


def force(state: State, graph: Graph, actions: Iterable[Action]) -> None:
    """Make these actions run: what the executor starts for them differs from what it started last."""
    earlier, known = _forced(state), {digest(action) for action in graph.actions}
    numbers = {name: number for name, number in earlier.items() if name in known}
    again = max(earlier.values(), default=0) + 1
    _write_forced(state, numbers | {digest(action): again for action in actions})


def _files(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def written(action: Action) -> Iterator[str]:
    """Yield everything an action writes."""
    yield from action.outputs
    if action.depfile is not None:
        yield action.depfile


def _remove_dead(state: State, graph: Graph) -> tuple[str, ...]:
    earlier = state.read("outputs.json")
    before = {path for path in earlier if isinstance(path, str)} if isinstance(earlier, list) else set()
    now = {path for action in graph.actions for path in written(action)}
    # What may exist is noted before anything is made, so that a killed build leaves nothing unknown.
    _note_outputs(state, before | now)
    gone = sorted(before - now)
    removed = tuple(path for path in gone if _remove(state, path))
    if gone:
        _note_outputs(state, now)
    return removed


def _note_outputs(state: State, paths: Iterable[str]) -> None:
    write_if_changed(state.path / "outputs.json", listed(sorted(paths)) + "\n")


def _remove(state: State, path: str) -> bool:
    base = state.root / state.folder
    full = state.root / path
    if not path.startswith(f"{state.folder}/") or ".." in path.split("/"):
        return False
    existed = full.is_symlink() or full.exists()
    with contextlib.suppress(OSError):
        full.unlink()
    for parent in full.parents:
        if parent == base or base not in parent.parents:
            break
        try:
            parent.rmdir()
        except OSError:
            break
    return existed


def reasons(state: State, graph: Graph, more: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return for each action that must run by itself why, and force it.

    Actions that must run only because another one wrote something new are not listed.

    Args:
        state: The build folder.
        graph: Its graph.
        more: Further reasons, by the action's name.
    """
    now = _Stamps(str(state.root)).__getitem__
    ran_as = _earlier(state)
    found: dict[str, list[str]] = {}
    for action in graph.actions:
        why = [*_why(state, graph, action, now, ran_as), *more.get(action.name, ())]
        if why:
            found[action.name] = why
    # An executor that remembers nothing runs everything unasked.
    if found and (state.path / ".ninja_log").exists():
        force(state, graph, (graph.by_name[name] for name in found))
    return found


class _Stamps(dict[str, list[int] | None]):
    """The stamp of each file below a folder, asked for once."""

    def __init__(self, root: str) -> None:
        self.root = root

    def __missing__(self, path: str) -> list[int] | None:
        self[path] = found = stamp(join(self.root, path))
        return found


def _earlier(state: State) -> Mapping[str, Any]:
    earlier = state.read("commands.json")
    return earlier if isinstance(earlier, dict) else {}


def _why(state: State, graph: Graph, action: Action, now: Any, ran_as: Mapping[str, Any]) -> list[str]:
    record = state.read(f"done/{digest(action)}.json")
    if not isinstance(record, dict) or not isinstance(record.get("outputs"), dict):
        return list(_changed_command(action, ran_as.get(action.outputs[0])))
    return differences(record, action.outputs, graph.producers, now)


def differences(
    record: Mapping[str, Any], outputs: Iterable[str], made: Container[str], now: Callable[[str], Any]
) -> list[str]:
    """Return in words what is no longer as an action's record has it.

    Args:
        record: What the action's last whole run left.
        outputs: What it writes.
        made: Files that actions make; whether those changed is the executor's question.
        now: Gives the stamp of a file.
    """
    why = [
        f"{path} {_change(was, now(path))}"
        for path, was in record.get("inputs", {}).items()
        if path not in made and now(path) != was
    ]
    known = record.get("outputs", {})
    for path in outputs:
        if now(path) is None:
            why.append(f"{path} is missing")
        elif now(path)[:OUTPUT_STAMP] != known.get(path):
            why.append(f"{path} was changed by something else")
    return why


def _change(was: Any, now: Any) -> str:
    if was is None:
        return "was added, or changed while it was read"
    return "was removed" if now is None else "was changed"


def _changed_command(action: Action, earlier: Any) -> Iterator[str]:
    if not isinstance(earlier, dict):
        yield "it never ran to its end here"
        return
    now = command(action)
    changed = [name for name in now if earlier.get(name) != now[name]]
    for name in changed:
        yield f"its {name} changed: {_difference(earlier.get(name), now[name])}"
    if not changed:
        yield "it did not run to its end"


def command(action: Action) -> dict[str, list[str]]:
    """Return what decides an action, for a later comparison."""
    return {
        "arguments": list(action.argv),
        "environment": [f"{name}={value}" for name, value in action.env],
        "key": [action.key],
        "inputs": sorted(action.inputs),
        "outputs": list(action.outputs),
    }


def _difference(was: Any, now: list[str]) -> str:
    before = [str(item) for item in was] if isinstance(was, list) else []
    gone = [item for item in before if item and item not in now]
    new = [item for item in now if item and item not in before]
    parts = [f"without {_listed(gone)}"] if gone else []
    parts += [f"with {_listed(new)}"] if new else []
    return ", ".join(parts) or "another order"


def _listed(words: Iterable[str]) -> str:
    listed = list(words)
    text = " ".join(word[:80] for word in listed[:6])
    return text + (f" and {len(listed) - 6} more" if len(listed) > 6 else "")
