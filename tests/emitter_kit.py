"""What the tests of emitters share: emitters, open devices, and the tools that check emitted code."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from atoll.errors import StoreError
from atoll.plugin import Driver, DriverDevice, Emitter, registry
from atoll.store import PayloadRoot, Store
from atoll_plugins.cpu.driver import CpuDriver
from atoll_plugins.cuda.toolkit import PAYLOADS, PINNED

BACKENDS = ("cpu", "cuda", "opencl", "vulkan")
_ICD = Path("/usr/share/vulkan/icd.d/lvp_icd.x86_64.json")


def emitter(backend: str) -> Emitter:
    """Return a first-party emitter."""
    return registry().emitters[backend]


@contextmanager
def device(backend: str) -> Iterator[DriverDevice]:
    """Open the first device of a driver; skip where there is none, naming what is missing."""
    if _ICD.exists():
        os.environ.setdefault("VK_ICD_FILENAMES", str(_ICD))
    driver: Driver = CpuDriver(with_llvm=False) if backend == "cpu" else registry().drivers[backend]
    if not driver.devices():
        reason, _ = driver.unavailable() or ("no device", "")
        pytest.skip(f"no {backend} device: {reason}")
    opened = driver.open(0)
    try:
        yield opened
    finally:
        opened.close()


def tool(name: str) -> str:
    """Return the path of a tool of this machine; skip where it is missing. PATH is a scrubbed one.

    `ptxas` is the one of the toolkit's packages in the user's store.
    """
    if name == "ptxas":
        return str(toolkit().root / "nvidia" / "cu13" / "bin" / name)
    found = shutil.which(name, path="/usr/bin:/bin")
    if found is None:
        pytest.skip(f"no {name}")
    return found


@cache
def toolkit() -> PayloadRoot:
    """Return the pinned CUDA toolkit in the user's store; fetched once."""
    try:
        return Store.default().ensure(PAYLOADS[PINNED])
    except StoreError as error:
        pytest.skip(f"the payload cuda-{PINNED} cannot be had: {error.diagnostics[0].message}")


def accepted(command: list[str]) -> str:
    """Run a checker; return what it said, and fail with it where it refuses."""
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, f"{' '.join(command)}\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}"
    return ran.stdout + ran.stderr
