"""What does a build cost beside CMake and Ninja? The same tree, compilers and flags, in one run.

Plan, full build, a build with nothing to do, one edited C++ header, one edited shader include. The two sides
take turns, so that what else the machine does meets both; the median counts. ``CPU`` is what processes used
together, and does not depend on who else is there.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
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

import psutil
from tools.bench.tree import FLAGS, Tree, generate

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

    def median(self, what: str, name: str) -> float:
        """Return the median of one figure."""
        return float(statistics.median(getattr(cost, name) for cost in self.costs[what]))


def run(command: Sequence[str], where: Path, edges: Callable[[str], int], *, memory: bool = False) -> Cost:
    """Run a command on a bare PATH.

    Raises:
        SystemExit: Where it fails.
    """
    environment = {
        "PATH": PATH,
        "HOME": str(Path.home()),
        "LC_ALL": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    before, begin = os.times(), time.perf_counter()
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
    wall, after = time.perf_counter() - begin, os.times()
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {process.returncode}\n{output[-4000:]}")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
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


def atoll_side(root: Path) -> Side:
    """Return Atoll's side."""

    def edges(output: str) -> int:
        return sum(line.startswith("[") and line.endswith(" s") for line in output.splitlines())

    return Side(
        name="atoll",
        root=root,
        plan=[sys.executable, str(Path(__file__).with_name("plan_only.py"))],
        build=[str(ATOLL), "build"],
        edges=edges,
        clean=lambda: shutil.rmtree(root / ".atoll", ignore_errors=True),
    )


def cmake_side(root: Path, cmake: str) -> Side:
    """Return CMake's side."""

    def edges(output: str) -> int:
        last = [line for line in output.splitlines() if line.startswith("[")]
        return int(last[-1].split("/")[0][1:]) if last else 0

    return Side(
        name="cmake",
        root=root,
        plan=[cmake, "-G", "Ninja", "-S", ".", "-B", "build"],
        build=[cmake, "--build", "build"],
        edges=edges,
        clean=lambda: shutil.rmtree(root / "build", ignore_errors=True),
    )


def bench(sides: Sequence[Side], trees: Sequence[Tree], repeat: int, full: int) -> None:
    """Measure everything, the sides in turns. A full build begins with nothing: its plan is part of it."""
    for _ in range(repeat):
        for side in sides:
            side.clean()
            side.measure("plan", side.plan)
    for turn in range(full):
        for side in sides if turn % 2 == 0 else reversed(sides):
            side.clean()
            first = run(side.plan, side.root, side.edges) if side.name == "cmake" else Cost(0, 0)
            cost = run(side.build, side.root, side.edges, memory=True)
            side.costs.setdefault("full", []).append(
                replace(cost, wall=cost.wall + first.wall, cpu=cost.cpu + first.cpu)
            )
            say(f"{side.name}: full build {side.costs['full'][-1].wall:.1f} s")
    for _ in range(repeat * 4):
        for side in sides:
            side.measure("no-op", side.build)
    for edit in range(repeat):
        for what, change in (("header", Tree.edit_header), ("include", Tree.edit_shader_include)):
            for side, tree in zip(sides, trees, strict=True):
                change(tree, edit + 2)
                side.measure(what, side.build)


def say(text: str) -> None:
    """Talk while it runs."""
    print(text, file=sys.stderr, flush=True)


def bare_python() -> float:
    """Return the seconds that this Python takes to do nothing."""
    command = [sys.executable, "-c", "pass"]
    return statistics.median(run(command, Path("/"), lambda _: 0).wall for _ in range(40))


def report(sides: Sequence[Side], tree: Tree, python: float, arguments: str, cmake: str) -> str:
    """Return the page."""
    atoll, other = sides
    rows = [
        goal("plan, wall", atoll.median("plan", "wall"), other.median("plan", "wall"), 0.25, "s"),
        goal("plan, CPU", atoll.median("plan", "cpu"), other.median("plan", "cpu"), 0.25, "s"),
        goal("full, wall", atoll.median("full", "wall"), other.median("full", "wall"), 1.03, "s"),
        goal("full, CPU", atoll.median("full", "cpu"), other.median("full", "cpu"), 1.03, "s"),
        goal("no-op, whole", atoll.median("no-op", "wall"), other.median("no-op", "wall"), 1.3, "s"),
        goal(
            "no-op, beyond a bare Python",
            max(0.0, atoll.median("no-op", "wall") - python),
            other.median("no-op", "wall"),
            1.0,
            "s",
        ),
    ]
    for what, shown in (("header", "one C++ header"), ("include", "one shader include")):
        rows.append(
            goal(f"{shown}, edges", atoll.median(what, "edges"), other.median(what, "edges"), 1.0, "")
        )
        rows.append(goal(f"{shown}, wall", atoll.median(what, "wall"), other.median(what, "wall"), None, "s"))
    for what in ("full",):
        mine, theirs = (max(cost.memory for cost in side.costs[what]) / 2**20 for side in sides)
        rows.append(goal("full, peak memory of all processes", mine, theirs, None, "MiB"))
    return "\n".join([*heading(tree, python, arguments, cmake), *rows, ""])


def heading(tree: Tree, python: float, arguments: str, cmake: str) -> list[str]:
    """Return what the figures stand under."""
    versions = {
        name: subprocess.run([*words], capture_output=True, text=True, check=True).stdout.splitlines()[0]
        for name, words in {
            "cmake": (cmake, "--version"),
            "compiler": ("/usr/bin/g++", "--version"),
            "shaders": ("/usr/bin/glslc", "--version"),
        }.items()
    }
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return [
        "# Building, beside CMake and Ninja",
        "",
        f"`./dev bench build{arguments}` on {datetime.date.today().isoformat()}: {tree.shaders} shaders,",
        f"{tree.units} C++ units, `{' '.join(FLAGS)}` on both sides.",
        f"CMake: `{cmake}`, native, {versions['cmake']}. Compilers: {versions['compiler']};",
        f"{versions['shaders']}. Python {platform.python_version()}. {os.cpu_count()} processors,",
        f"load at the end {load}. A bare `python -c pass` takes {python * 1000:.0f} ms.",
        "Medians, the two sides in turns.",
        "",
        "| what | Atoll | CMake + Ninja | ratio | goal | |",
        "|---|---|---|---|---|---|",
    ]


def goal(what: str, mine: float, theirs: float, most: float | None, unit: str) -> str:
    """Return one row."""
    ratio = mine / theirs if theirs else float("inf")
    digits = 3 if unit == "s" else 0
    limit = "" if most is None else f"≤ {most}"
    met = "" if most is None else ("met" if ratio <= most else "**not met**")
    suffix = f" {unit}" if unit else ""
    both = f"{mine:.{digits}f}{suffix} | {theirs:.{digits}f}{suffix}"
    return f"| {what} | {both} | {ratio:.2f} | {limit} | {met} |"


def main(argv: list[str]) -> int:
    """Generate the tree twice, measure, print the page."""
    parser = argparse.ArgumentParser(prog="./dev bench build", description=__doc__)
    parser.add_argument("--shaders", type=int, default=136)
    parser.add_argument("--units", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=5, help="how often plans and edits are measured")
    parser.add_argument("--full", type=int, default=3, help="how often a full build is measured")
    parser.add_argument("--out", type=Path, help="write the page there too")
    parser.add_argument("--json", action="store_true", help="print every measurement instead of the page")
    options = parser.parse_args(argv)
    cmake = native_cmake()
    say(f"timed: {cmake} (native), {ATOLL}")
    with tempfile.TemporaryDirectory(prefix="atoll-bench-") as folder:
        trees = [
            generate(Path(folder, name), shaders=options.shaders, units=options.units)
            for name in ("atoll", "cmake")
        ]
        sides = (atoll_side(trees[0].root), cmake_side(trees[1].root, cmake))
        bench(sides, trees, options.repeat, options.full)
        check(sides)
    if options.json:
        print(
            json.dumps(
                {side.name: {k: [vars_of(c) for c in v] for k, v in side.costs.items()} for side in sides}
            )
        )
        return 0
    defaults = {"shaders": 136, "units": 200, "repeat": 5, "full": 3}
    changed = {name: value for name, value in vars(options).items() if defaults.get(name, value) != value}
    arguments = "".join(f" --{name} {value}" for name, value in changed.items())
    page = report(sides, trees[0], bare_python(), arguments, cmake)
    print(page)
    if options.out:
        options.out.write_text(page, encoding="utf-8")
    return 0


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
