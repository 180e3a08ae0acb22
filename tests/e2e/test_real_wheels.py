"""Four wheels of PyPI by different authors: what they measure to, and that NVIDIA's own tool agrees.

The wheels are pinned with their hashes and kept in a cache folder; where the registry cannot be reached the
tests are skipped, naming it. By default a seeded sample of the CUDA libraries' entries is compared one by
one; ``--all`` compares every one.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from atoll.packaging import measure, report
from atoll_plugins.cuda import fatbin
from atoll_plugins.formats.elf_file import parse

CACHE = Path(os.environ.get("ATOLL_TEST_WHEELS") or Path.home() / ".cache/atoll-tests/wheels")
PLATFORM = "manylinux2014_x86_64.manylinux_2_17_x86_64"
WHEELS = {
    "nvidia-nvjpeg==13.3.2.43": (
        f"nvidia_nvjpeg-13.3.2.43-py3-none-{PLATFORM}.whl",
        "27f9c4a25a73f1d1ad35c342c8d657c8ff43e23877f338ef15fb2602ac2e5aa8",
    ),
    "cupy-cuda13x==14.2.0": (
        "cupy_cuda13x-14.2.0-cp311-cp311-manylinux2014_x86_64.whl",
        "f94843e54500a9c8c169135f79572bfaba946efe4f7178e834c227280c1b0c12",
    ),
    "cyllama-vulkan==0.2.18": (
        "cyllama_vulkan-0.2.18-cp311-cp311-manylinux_2_31_x86_64.manylinux_2_35_x86_64.whl",
        "5e6d8ce31f59b855ffca967c29cb85d525229a8120801e9e6213ece8e86dcaf5",
    ),
    "ninja==1.13.2": (
        f"ninja-1.13.2-py3-none-{PLATFORM}.whl",
        "65a24341b5ac09fcadcc37082660be40a94174e51a937fabf6e2cae26225fa2c",
    ),
    "nvidia-cuda-cuobjdump==13.5.37": (
        f"nvidia_cuda_cuobjdump-13.5.37-py3-none-{PLATFORM}.whl",
        "38780fee50863252a0b8926357faa91615ca1c8346490563f33a06100cd73f58",
    ),
    "uv==0.13.8": (
        f"uv-0.13.8-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
        "e18a57b8b352eb7c8feb317b9f6f533c8f0ad9673fd6cf34bbe3cf1a9f6a8984",
    ),
}
MEASURED = {
    "nvidia-nvjpeg==13.3.2.43": (
        "cuda13.4+{sm_75,sm_80,sm_86,sm_89,sm_90,sm_100,sm_103,sm_107,sm_120,sm_121} ptx>=121"
    ),
    "cupy-cuda13x==14.2.0": "cuda13.2+{sm_75,sm_80,sm_86,sm_89,sm_90,sm_100f,sm_120f} ptx>=120",
    "cyllama-vulkan==0.2.18": "vulkan1.3",
    "ninja==1.13.2": "",
}
CUDA_WHEELS = ("nvidia-nvjpeg==13.3.2.43", "cupy-cuda13x==14.2.0")


def wheel(requirement: str) -> Path:
    """Return a pinned wheel from the cache, fetched with pip where it is not there."""
    name, digest = WHEELS[requirement]
    path = CACHE / name
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        target = ["--python-version", "3.11", "--platform", "manylinux2014_x86_64", "--platform"]
        command = [*pip, *target, "manylinux_2_35_x86_64", "--dest", str(CACHE), requirement]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not path.exists():
            pytest.skip(f"PyPI, through pip: {requirement}: {done.stderr.strip().splitlines()[-1:]}")
    assert hashlib.sha256(path.read_bytes()).hexdigest() == digest, f"{name} is not the pinned file"
    return path


@pytest.mark.parametrize("requirement", MEASURED)
def test_it_measures_to_what_it_carries(requirement: str, tell: Callable[[str], None]) -> None:
    path = wheel(requirement)
    found = measure(path)
    tell(f"{path.name} measures as {found.accel or 'none'}, {len(found.findings)} pieces")
    assert str(found.accel) == MEASURED[requirement]
    assert found.unread == ()


@pytest.fixture(scope="module")
def cuobjdump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cuobjdump")
    with zipfile.ZipFile(wheel("nvidia-cuda-cuobjdump==13.5.37")) as archive:
        archive.extractall(folder)
    program = next(folder.rglob("bin/cuobjdump"))
    program.chmod(0o755)
    return program


def libraries(requirement: str, folder: Path) -> list[Path]:
    """Return the libraries of a wheel that hold a fat binary, unpacked."""
    with zipfile.ZipFile(wheel(requirement)) as archive:
        names = [name for name in archive.namelist() if ".so" in name]
        paths = [Path(archive.extract(name, folder)) for name in names]
    return [path for path in paths if b"\0.nv_fatbin\0" in path.read_bytes()]


def vendor_entries(program: Path, library: Path) -> list[str]:
    """Return what the vendor's tool says of every entry, by its dump of headers, in file order.

    ``--list-elf`` is not used: it writes ``sm_100`` for ``sm_100f`` and ``sm_90`` for ``sm_90a``.
    """
    dumped = subprocess.run([program, library], capture_output=True, text=True, check=True).stdout
    blocks = re.findall(r"Fatbin (\w+) code:\n=+\narch = (\S+)\ncode version = \[(\d+),(\d+)\]", dumped)
    return [f"{kind} {arch} {major}.{minor}" for kind, arch, major, minor in blocks]


def our_entries(library: Path) -> list[str]:
    elf = parse(memoryview(library.read_bytes()), library.name)
    section = elf.find(".nv_fatbin")
    assert section is not None
    words = {1: "ptx", 2: "elf"}
    return [
        f"{words[item.kind]} sm_{item.level}{item.letter} {item.isa}"
        for binary in fatbin.binaries(elf.body(section), library.name)
        for item in binary
    ]


@pytest.mark.parametrize("requirement", CUDA_WHEELS)
def test_every_entry_equals_what_the_vendors_tool_says(
    requirement: str, cuobjdump: Path, tmp_path: Path, whole: bool, tell: Callable[[str], None]
) -> None:
    found = libraries(requirement, tmp_path)
    assert found, "no library with a fat binary was selected"
    total = 0
    for library in found:
        ours, theirs = our_entries(library), vendor_entries(cuobjdump, library)
        assert len(ours) == len(theirs), library.name
        places = range(len(ours)) if whole else sorted(Random(7).sample(range(len(ours)), min(8, len(ours))))
        assert [ours[place] for place in places] == [theirs[place] for place in places], library.name
        tell(f"{library.name}: {len(places)} of {len(ours)} entries compared with cuobjdump 13.5.37")
        total += len(places)
    assert total > 0


@pytest.mark.parametrize("requirement", CUDA_WHEELS)
def test_the_set_of_each_library_equals_the_tools(requirement: str, cuobjdump: Path, tmp_path: Path) -> None:
    members = {name.rpartition("/")[2]: accel for name, accel in report(wheel(requirement)).members().items()}
    found = libraries(requirement, tmp_path)
    assert sorted(members) == sorted(library.name for library in found)
    for library in found:
        accel = members[library.name]
        entry = accel.get("cuda") if accel else None
        assert entry is not None
        rows = [row.split() for row in vendor_entries(cuobjdump, library)]
        assert set(entry.archs) == {arch for kind, arch, _ in rows if kind == "elf"}
        floors = [int(arch.removeprefix("sm_")) for kind, arch, _ in rows if kind == "ptx"]
        assert entry.floor is not None
        assert str(entry.floor.value) == str(max(floors))


MEASURE_ONE = """
import sys, time
from dataclasses import asdict
from atoll.packaging.child import answer
from atoll.packaging.values import Limits
from atoll.plugin import registry
readers = tuple(registry().readers.values())
start = time.process_time()
assert "report" in answer({"path": sys.argv[1], "name": "a.whl", "limits": asdict(Limits())})
print(time.process_time() - start)
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""


@pytest.mark.parametrize("requirement", ["cyllama-vulkan==0.2.18", "cupy-cuda13x==14.2.0"])
def test_a_wheel_is_streamed(requirement: str, tell: Callable[[str], None]) -> None:
    """Under 64 MiB of memory, and in at most 1.3 times the time of inflating it once, with half a second."""
    path = wheel(requirement)
    best = min((_measured(path) for _ in range(3)), key=lambda row: row[0])
    inflated = min(_inflate_once(path) for _ in range(3))
    tell(f"{path.name}: {best[0]:.2f} s against {inflated:.2f} s of inflating, {best[1]:.0f} MiB")
    assert best[1] < 64
    assert best[0] < 1.3 * inflated + 0.5


def _measured(path: Path) -> tuple[float, float]:
    """Return processor seconds and peak MiB of measuring in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE_ONE, path], capture_output=True, text=True, check=True
    )
    seconds, kibibytes = done.stdout.split()
    return float(seconds), int(kibibytes) / 1024


def _inflate_once(path: Path) -> float:
    start = time.process_time()
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            with archive.open(name) as member:
                while member.read(1 << 20):
                    pass
    return time.process_time() - start
