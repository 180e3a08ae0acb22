"""Which NVIDIA driver and device does this machine have? Facts only; silent where it cannot tell."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from atoll.artifact import Fact
from atoll.plugin.tools import ask, find_program

# The kernel module states its version without any library being loaded; a container may hide one of them.
_FILES = ("sys/module/nvidia/version", "proc/driver/nvidia/version")
_VERSION = re.compile(r"\b(\d{3,4}(?:\.\d+){1,2})\b")


class CudaProbe:
    """States ``cuda.driver``, the version of the driver (``580.159.03``)."""

    name = "cuda"

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    def facts(self, environment: Mapping[str, str]) -> tuple[Fact, ...]:
        """Return the driver's version where one is loaded."""
        for name in _FILES:
            version = self._read(name)
            if version:
                return (Fact(name="cuda.driver", relation="=", value=version),)
        return ()

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
