"""Which NVIDIA driver and device does this machine have? Facts only; silent where it cannot tell."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from atoll.artifact import Fact
from atoll.plugin.tools import ask, find_program, python_program

# The kernel module states its version without any library being loaded; a container may hide one of them.
_FILES = ("sys/module/nvidia/version", "proc/driver/nvidia/version")
# Where no module tells (WSL has none), the library does; in a process of its own, which it may end.
_LIBRARY = "libcuda.so.1"
_ASKS = f"""
import ctypes
found = ctypes.c_int()
if ctypes.CDLL({_LIBRARY!r}).cuDriverGetVersion(ctypes.byref(found)) == 0: print(found.value)
"""
_CACHE = "etc/ld.so.cache"
_VERSION = re.compile(r"\b(\d{3,4}(?:\.\d+){1,2})\b")


class CudaProbe:
    """States ``cuda.driver``, the version of the driver (``580.159.03``), where its module is loaded.

    Else it states ``cuda.runtime``, the newest runtime that the driver's library serves (``13.0``).
    """

    name = "cuda"

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    def facts(self, environment: Mapping[str, str]) -> tuple[Fact, ...]:
        """Return the driver's version where one is loaded."""
        for name in _FILES:
            version = self._read(name)
            if version:
                return (Fact(name="cuda.driver", relation="=", value=version),)
        served = self._served(environment)
        return (Fact(name="cuda.runtime", relation="=", value=served),) if served else ()

    def _served(self, environment: Mapping[str, str]) -> str:
        """Return what the driver's library says; empty where there is none, or it cannot tell."""
        searched = environment.get("LD_LIBRARY_PATH", "")
        beside = (Path(folder, _LIBRARY) for folder in searched.split(os.pathsep) if folder)
        if not any(path.exists() for path in beside) and not self._cached():
            return ""
        argv = (python_program(), "-I", "-S", "-c", _ASKS)
        answer = ask(argv, environment, extra=(("LD_LIBRARY_PATH", searched),), timeout=5.0)
        number = answer.out.strip() if answer and answer.status == 0 else ""
        if not number.isdigit() or int(number) < 1000:
            return ""
        return f"{int(number) // 1000}.{int(number) % 1000 // 10}"

    def _cached(self) -> bool:
        """Tell whether the loader knows the library."""
        try:
            return _LIBRARY.encode() + b"\0" in (self._root / _CACHE).read_bytes()
        except OSError:
            return False

    def _read(self, name: str) -> str | None:
        try:
            with (self._root / name).open("rb") as file:
                text = file.read(4096).decode("utf-8", "replace")
        except OSError:
            return None
        match = _VERSION.search(text)
        return match[1] if match else None


def devices_present(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return devices as ``NVIDIA H200 (sm_90)`` by asking nvidia-smi; for a hint, never for a decision."""
    program = find_program("nvidia-smi", environment)
    if program is None:
        return ()
    argv = (str(program), "--query-gpu=name,compute_cap", "--format=csv,noheader")
    answer = ask(argv, environment, timeout=5.0)
    if answer is None or answer.status != 0:
        return ()
    found = re.findall(r"^(.+?), *(\d+)\.(\d+)\s*$", answer.out, re.MULTILINE)
    return tuple(f"{name} (sm_{major}{minor})" for name, major, minor in found)
