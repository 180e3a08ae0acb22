"""Real wheels of PyPI by different authors: what they measure to, and that NVIDIA's own tool agrees.

The wheels are pinned with their hashes in fixtures/wheels.json and kept in a cache folder; where the registry
cannot be reached the tests are skipped, naming it. By default the small wheels, and of each library a seeded
sample of entries, are compared one by one; ``--all`` compares every wheel and every entry. What is seen
stands in docs/truth-table.md, which `tools/truth_table.py` writes.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from atoll.accel import AccelSet
from atoll.packaging import report
from e2e.wheels import Pin, cuobjdump, fetched, libraries, one_by_one, our_entries, pins, vendor_entries

PINS = pins()
SAMPLE = 8
PAGE = Path(__file__).resolve().parents[2] / "docs/truth-table.md"


def lightly(pin: Pin, whole: bool) -> Pin:
    """Return a pin, or skip a heavy one in a run that is not whole."""
    if pin.heavy and not whole:
        pytest.skip("a wheel of over 40 MB, measured with --all")
    return pin


each_wheel = pytest.mark.parametrize("pin", PINS, ids=lambda pin: str(pin.title))


@each_wheel
def test_it_measures_to_what_it_carries(pin: Pin, whole: bool, tell: Callable[[str], None]) -> None:
    path = fetched(lightly(pin, whole))
    found = report(path).measured
    accel = "unknown" if found.accel is None else str(found.accel) or "none"
    tell(f"{path.name} measures as {accel}, {len(found.findings)} pieces")
    assert accel == pin.measured
    assert (found.accel is None) == bool(found.unread)


def test_the_page_says_what_was_measured() -> None:
    rows = [line.split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines()]
    said = {row[0].removeprefix("| "): row[2] for row in rows if len(row) == 4}
    assert len(PINS) >= 12
    for pin in PINS:
        assert said[pin.title] == f"`{pin.measured}`", pin.title


@pytest.fixture(scope="module")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cuobjdump(tmp_path_factory.mktemp("cuobjdump"))


@pytest.mark.parametrize(
    "pin", [pin for pin in PINS if "cuobjdump" in pin.check], ids=lambda pin: str(pin.title)
)
def test_every_entry_and_set_equals_what_the_vendors_tool_says(
    pin: Pin, tool: Path, tmp_path: Path, whole: bool, tell: Callable[[str], None]
) -> None:
    path = fetched(lightly(pin, whole))
    members = {name.rpartition("/")[2]: accel for name, accel in report(path).members().items()}
    found = libraries(pin, tmp_path)
    assert found, "no library with a fat binary was selected"
    for library in found:
        ours, theirs = our_entries(library), vendor_entries(tool, library)
        if theirs is None:
            pairs = one_by_one(library, tool, tmp_path)
        else:
            pairs = list(zip(ours, theirs, strict=True))
            _same_set(members[library.name], [row.split() for row in theirs])
        count = len(pairs) if whole else min(SAMPLE, len(pairs))
        for place in sorted(Random(7).sample(range(len(pairs)), count)):
            assert pairs[place][0] == pairs[place][1], f"{library.name}, entry {place}"
        tell(f"{library.name}: {count} of {len(ours)} entries compared with cuobjdump 13.5.37")


def _same_set(accel: AccelSet | None, rows: list[list[str]]) -> None:
    """Hold the set of one library against the tool's: every arch of machine code, a floor that it names."""
    entry = None if accel is None else accel.get("cuda")
    assert entry is not None
    assert set(entry.archs) == {arch for kind, arch, _ in rows if kind == "elf"}
    floors = [int(arch.removeprefix("sm_")) for kind, arch, _ in rows if kind == "ptx"]
    if entry.floor is not None:
        assert int(str(entry.floor.value)) in floors


PEAK = """
print(time.process_time() - start)
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""
MEASURE_ONE = f"""
import sys, time
from dataclasses import asdict
from atoll.packaging.child import answer
from atoll.packaging.values import Limits
from atoll.plugin import registry
import atoll.packaging.walk, atoll.packaging.wire
readers = tuple(registry().readers.values())
start = time.process_time()
assert "report" in answer({{"path": sys.argv[1], "name": "a.whl", "limits": asdict(Limits())}})
{PEAK}"""
INFLATE_ONE = f"""
import sys, time, zipfile
start = time.process_time()
with zipfile.ZipFile(sys.argv[1]) as archive:
    for name in archive.namelist():
        with archive.open(name) as member:
            while member.read(1 << 20):
                pass
{PEAK}"""


@pytest.mark.parametrize("name", ["cyllama-vulkan", "cupy-cuda13x"])
def test_a_wheel_is_streamed(name: str, tell: Callable[[str], None]) -> None:
    """Under 64 MiB of memory, and in at most 1.3 times the time of inflating it once in the same run."""
    path = fetched(next(pin for pin in PINS if pin.requirement.startswith(name)))
    # Both in fresh processes, in turn, so that memory and processor are as cold for one as for the other; the
    # least of each is what it takes, and on a loaded machine more rounds find it.
    spent = inflated = float("inf")
    memory, rounds = 0.0, 0
    while rounds < 3 or (rounds < 12 and spent >= 1.3 * inflated):
        mine, theirs = _in_a_process(MEASURE_ONE, path), _in_a_process(INFLATE_ONE, path)
        spent, inflated, memory = min(spent, mine[0]), min(inflated, theirs[0]), max(memory, mine[1])
        rounds += 1
    said = f"{spent:.2f} s against {inflated:.2f} s of inflating, {memory:.0f} MiB, {rounds} rounds"
    tell(f"{path.name}: {said}")
    assert memory < 64
    assert spent < 1.3 * inflated


def _in_a_process(script: str, path: Path) -> tuple[float, float]:
    """Return the processor seconds and the peak MiB that a script prints of itself."""
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True)
    seconds, kibibytes = done.stdout.split()
    return float(seconds), int(kibibytes) / 1024
