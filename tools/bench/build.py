"""What does a build cost beside CMake and Ninja? The same tree, compilers and flags, in one run.

Plan, full build, a build with nothing to do, one edited C++ header, one edited shader include. The two sides
take turns within a round and change places in the next, so that what else the machine does meets both; a
ratio is the median of the rounds' ratios. ``CPU`` is what processes used together, and depends less on who
else is there. What takes less than a second runs once before it is timed.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import psutil
from tools.bench.tree import FLAGS, Tree, generate

from atoll.build.fresh import engine_stamp

T = TypeVar("T")
CHANGED = "files of Atoll changed while it was timed: time a tree that nobody edits"
BEGIN, END = "<!-- measured: ./dev bench build -->", "<!-- /measured -->"
PATH = "/usr/bin:/bin"
ATOLL = Path(sys.executable).with_name("atoll")
_SAMPLE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Cost:
    """What one command took: seconds, processor seconds, peak bytes of it and its children together."""

    wall: float
    cpu: float
    memory: int = 0
    edges: int = 0


@dataclass(slots=True)
class Side:
    """One of the two: the folder it builds in, and its commands.

    Attributes:
        name: ``atoll`` or ``cmake``.
        root: Its copy of the tree.
        plan: From nothing to a graph on disk.
        build: Builds what is not built.
        edges: Says how many edges the last build ran, from its output.
        clean: Removes everything that was built.
    """

    name: str
    root: Path
    plan: Sequence[str]
    build: Sequence[str]
    edges: Callable[[str], int]
    clean: Callable[[], None]
    costs: dict[str, list[Cost]] = field(default_factory=dict)

    def measure(self, what: str, command: Sequence[str]) -> None:
        """Run a command and keep what it took."""
        self.costs.setdefault(what, []).append(run(command, self.root, self.edges))

    def figures(self, what: str, name: str) -> list[float]:
        """Return one figure of every round."""
        return [float(getattr(cost, name)) for cost in self.costs[what]]

    def median(self, what: str, name: str) -> float:
        """Return the median of one figure."""
        return statistics.median(self.figures(what, name))


def run(command: Sequence[str], where: Path, edges: Callable[[str], int], *, memory: bool = False) -> Cost:
    """Run a command on a bare PATH.

    Raises:
        SystemExit: Where it fails.
    """
    environment = {"PATH": PATH, "HOME": str(Path.home()), "LC_ALL": "C.UTF-8"}
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with subprocess.Popen(
        [str(word) for word in command],
        cwd=where,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        peak = _Peak(process.pid) if memory else None
        output = process.communicate()[0]
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {process.returncode}\n{output[-4000:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(wall, cpu, peak.stop() if peak else 0, edges(output))


class _Peak:
    """Watches the memory of a process and all its descendants."""

    def __init__(self, pid: int) -> None:
        self._pid, self._most, self._end = pid, 0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        while not self._end.wait(_SAMPLE_SECONDS):
            total = 0
            try:
                parent = psutil.Process(self._pid)
                for one in (parent, *parent.children(recursive=True)):
                    total += one.memory_info().rss
            except psutil.Error:
                continue
            self._most = max(self._most, total)

    def stop(self) -> int:
        """Return the peak in bytes."""
        self._end.set()
        self._thread.join()
        return self._most


def native_cmake() -> str:
    """Return the CMake on the bare PATH, a program of the machine's own.

    Raises:
        SystemExit: Where there is none, or it is a script: the one of PyPI starts Python first.
    """
    found = shutil.which("cmake", path=PATH)
    if found is None:
        raise SystemExit(f"bench: no cmake on {PATH}; install it (Debian: apt-get install cmake ninja-build)")
    if not is_native(Path(found)):
        raise SystemExit(f"bench: {found} is a script, not a native program: its start would be timed too")
    if shutil.which("ninja", path=PATH) is None:
        raise SystemExit(f"bench: no ninja on {PATH}; install it (Debian: apt-get install ninja-build)")
    return found


def is_native(program: Path) -> bool:
    """Tell whether a program is machine code: an ELF or Mach-O file."""
    with program.open("rb") as stream:
        return stream.read(4) in {b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"}


def atoll_side(root: Path, jobs: int) -> Side:
    """Return Atoll's side."""

    def edges(output: str) -> int:
        return sum(line.startswith("[") and line.endswith(" s") for line in output.splitlines())

    return Side(
        name="atoll",
        root=root,
        plan=[sys.executable, str(Path(__file__).with_name("plan_only.py"))],
        build=[str(ATOLL), "build", "-j", str(jobs)],
        edges=edges,
        clean=lambda: shutil.rmtree(root / ".atoll", ignore_errors=True),
    )


def cmake_side(root: Path, cmake: str, jobs: int) -> Side:
    """Return CMake's side."""

    def edges(output: str) -> int:
        last = [line for line in output.splitlines() if line.startswith("[")]
        return int(last[-1].split("/")[0][1:]) if last else 0

    return Side(
        name="cmake",
        root=root,
        plan=[cmake, "-G", "Ninja", "-S", ".", "-B", "build"],
        build=[cmake, "--build", "build", "-j", str(jobs)],
        edges=edges,
        clean=lambda: shutil.rmtree(root / "build", ignore_errors=True),
    )


def bench(sides: Sequence[Side], trees: Sequence[Tree], repeat: int, full: int) -> list[Cost]:
    """Measure everything. A full build begins with nothing: its plan is part of it.

    Returns:
        What a bare Python took, once in each round of builds with nothing to do.
    """
    for turn in range(repeat + 1):
        for side in _turns(sides, turn):
            side.clean()
            side.measure("plan", side.plan)
    for turn in range(full):
        for side in _turns(sides, turn):
            side.clean()
            first = run(side.plan, side.root, side.edges) if side.name == "cmake" else Cost(0, 0)
            cost = run(side.build, side.root, side.edges, memory=True)
            side.costs.setdefault("full", []).append(
                replace(cost, wall=cost.wall + first.wall, cpu=cost.cpu + first.cpu)
            )
            say(f"{side.name}: full build {side.costs['full'][-1].wall:.1f} s")
    python = []
    for turn in range(repeat * 4 + 1):
        python.append(run([sys.executable, "-c", "pass"], Path("/"), lambda _: 0))
        for side in _turns(sides, turn):
            side.measure("no-op", side.build)
    for edit in range(repeat):
        for what, change in (("header", Tree.edit_header), ("include", Tree.edit_shader_include)):
            for side, tree in _turns(list(zip(sides, trees, strict=True)), edit):
                change(tree, edit + 2)
                side.measure(what, side.build)
    for side in sides:
        for what in ("plan", "no-op"):
            del side.costs[what][0]
    return python[1:]


def _turns(sides: Sequence[T], turn: int) -> Sequence[T]:
    """Return the sides in the order of a round."""
    return sides if turn % 2 == 0 else sides[::-1]


def say(text: str) -> None:
    """Talk while it runs."""
    print(text, file=sys.stderr, flush=True)


def report(sides: Sequence[Side], tree: Tree, python: Sequence[Cost], arguments: str, cmake: str) -> str:
    """Return the page."""
    atoll, other = sides
    bare = statistics.median(cost.wall for cost in python)
    rows = [
        row("plan, wall", *both(sides, "plan", "wall"), 0.25, "s"),
        row("plan, CPU", *both(sides, "plan", "cpu"), 0.25, "s"),
        row("full, wall", *both(sides, "full", "wall"), 1.03, "s"),
        row("full, CPU", *both(sides, "full", "cpu"), 1.03, "s"),
        row("no-op, whole", *both(sides, "no-op", "wall"), 1.3, "s"),
        row("no-op, CPU", *both(sides, "no-op", "cpu"), 1.3, "s"),
        row(
            "no-op, beyond a bare Python",
            [
                max(0.0, wall - cost.wall)
                for wall, cost in zip(atoll.figures("no-op", "wall"), python, strict=True)
            ],
            other.figures("no-op", "wall"),
            1.0,
            "s",
        ),
    ]
    for what, shown in (("header", "one C++ header"), ("include", "one shader include")):
        rows.append(row(f"{shown}, edges", *both(sides, what, "edges"), 1.0, ""))
        rows.append(row(f"{shown}, wall", *both(sides, what, "wall"), None, "s"))
        rows.append(row(f"{shown}, CPU", *both(sides, what, "cpu"), None, "s"))
    mine, theirs = ([cost.memory / 2**20 for cost in side.costs["full"]] for side in sides)
    rows.append(row("full, peak memory of all processes", mine, theirs, None, "MiB"))
    return "\n".join([*heading(sides, tree, bare, arguments, cmake), *rows, ""])


def both(sides: Sequence[Side], what: str, name: str) -> tuple[list[float], list[float]]:
    """Return one figure of every round, for each side."""
    mine, theirs = (side.figures(what, name) for side in sides)
    return mine, theirs


def heading(sides: Sequence[Side], tree: Tree, python: float, arguments: str, cmake: str) -> list[str]:
    """Return what the figures stand under."""
    versions = {
        name: subprocess.run([*words], capture_output=True, text=True, check=True).stdout.splitlines()[0]
        for name, words in {
            "cmake": (cmake, "--version"),
            "ninja": (shutil.which("ninja", path=PATH) or "ninja", "--version"),
            "compiler": ("/usr/bin/g++", "--version"),
            "shaders": ("/usr/bin/glslc", "--version"),
        }.items()
    }
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    rounds = ", ".join(f"{what} {len(costs)}" for what, costs in sides[0].costs.items())
    return [
        f"`./dev bench build{arguments}` on {datetime.date.today().isoformat()}: {tree.shaders} shaders,",
        f"{tree.units} C++ units, `{' '.join(FLAGS)}` on both sides.",
        f"CMake: `{cmake}`, native, {versions['cmake']}, Ninja {versions['ninja']}. Compilers:",
        f"{versions['compiler']}; {versions['shaders']}. Python {platform.python_version()}.",
        f"{os.cpu_count()} processors, load at the end {load}.",
        f"A bare `python -c pass` of the same environment: {python * 1000:.0f} ms.",
        f"Rounds: {rounds}. Medians; a ratio is the median of the rounds' ratios.",
        "",
        "| what | Atoll | CMake + Ninja | ratio | goal | |",
        "|---|---|---|---|---|---|",
    ]


def row(what: str, mine: Sequence[float], theirs: Sequence[float], most: float | None, unit: str) -> str:
    """Return one row of the table; both sides have a figure for every round."""
    pairs = zip(mine, theirs, strict=True)
    ratio = statistics.median(one / other if other else float("inf") for one, other in pairs)
    digits = 3 if unit == "s" else 0
    limit = "" if most is None else f"≤ {most}"
    met = "" if most is None else ("met" if ratio <= most else "**not met**")
    suffix = f" {unit}" if unit else ""
    shown = " | ".join(f"{statistics.median(side):.{digits}f}{suffix}" for side in (mine, theirs))
    return f"| {what} | {shown} | {ratio:.2f} | {limit} | {met} |"


def main(argv: list[str]) -> int:
    """Generate the tree twice, measure, print the page."""
    parser = argparse.ArgumentParser(prog="./dev bench build", description=__doc__)
    parser.add_argument("--shaders", type=int, default=136)
    parser.add_argument("--units", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=5, help="how often plans and edits are measured")
    parser.add_argument("--full", type=int, default=3, help="how often a full build is measured")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many edges run at once")
    parser.add_argument("--out", type=Path, help="put the table into this page, between its marks")
    parser.add_argument("--json", action="store_true", help="print every measurement instead of the page")
    options = parser.parse_args(argv)
    cmake = native_cmake()
    engine = engine_stamp()
    say(f"timed: {cmake} (native), {ATOLL}")
    with tempfile.TemporaryDirectory(prefix="atoll-bench-") as folder:
        trees = [
            generate(Path(folder, name), shaders=options.shaders, units=options.units)
            for name in ("atoll", "cmake")
        ]
        sides = (atoll_side(trees[0].root, options.jobs), cmake_side(trees[1].root, cmake, options.jobs))
        python = bench(sides, trees, options.repeat, options.full)
        check(sides)
    still = engine_stamp() == engine
    if not still:
        say(CHANGED)
    if options.json:
        print(
            json.dumps(
                {side.name: {k: [vars_of(c) for c in v] for k, v in side.costs.items()} for side in sides}
            )
        )
        return 0
    defaults = {
        "shaders": 136,
        "units": 200,
        "repeat": 5,
        "full": 3,
        "jobs": os.cpu_count(),
        "out": options.out,
    }
    changed = {name: value for name, value in vars(options).items() if defaults.get(name, value) != value}
    arguments = "".join(f" --{name} {value}" for name, value in changed.items())
    page = report(sides, trees[0], python, arguments, cmake) + ("" if still else f"\n**{CHANGED}**\n")
    print(page)
    if options.out:
        options.out.write_text(placed(options.out.read_text(encoding="utf-8"), page), encoding="utf-8")
    return 0


def placed(text: str, table: str) -> str:
    """Return a page with another table between its marks.

    Raises:
        SystemExit: Where it has no marks.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"bench: the page has no place for the table: {BEGIN} … {END}")
    return f"{before}{BEGIN}\n{table}{END}{after}"


def vars_of(cost: Cost) -> dict[str, float]:
    """Return a cost as a table."""
    return {"wall": cost.wall, "cpu": cost.cpu, "memory": cost.memory, "edges": cost.edges}


def check(sides: Sequence[Side]) -> None:
    """Refuse figures of builds that did not make the same program.

    Raises:
        SystemExit: Where the two programs print different things.
    """
    programs = [next(sides[0].root.glob(".atoll/build/*/bin/bench")), sides[1].root / "build/bench"]
    said = [subprocess.run([path], capture_output=True, text=True, check=True).stdout for path in programs]
    if said[0] != said[1] or not said[0]:
        raise SystemExit(f"bench: the two programs differ: {said}")
    say(f"both programs print: {said[0].strip()}")
