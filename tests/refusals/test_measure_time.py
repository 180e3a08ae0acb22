"""A file that takes too long to measure is given up, and no process is left behind."""

from __future__ import annotations

from pathlib import Path

from atoll.packaging import Limits
from refusals.packaging_refused import refused
from unit.packaging.binaries import elf, put, spirv


def test_past_the_wall_clock_it_is_given_up(tmp_path: Path) -> None:
    data = elf({".rodata": (spirv() + bytes(4)) * 20_000})
    found = refused(put(tmp_path / "a.so", data), Limits(seconds=0.05))
    assert (found.code, found.notes) == ("ATL0450", ("limit: 0.05 seconds",))


def test_past_its_processor_time_it_is_ended(tmp_path: Path) -> None:
    data = elf({".rodata": (spirv(capabilities=range(100)) + bytes(4)) * 80_000})
    found = refused(put(tmp_path / "a.so", data), Limits(processor_seconds=1))
    assert (found.code, found.notes) == ("ATL0450", ("limit: 1 seconds of processor time",))
