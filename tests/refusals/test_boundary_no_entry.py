"""Refused: no marked entry in any root."""

from __future__ import annotations

from pathlib import Path

from unit.boundary.kit import interface, one, scanned


def test_every_root_that_was_looked_at_is_named(tmp_path: Path) -> None:
    roots = [scanned(tmp_path / name, "int f() { return 0; }") for name in ("cpu", "gpu")]
    fault = one(lambda: interface(*roots))
    assert (fault.code, fault.message) == ("ATL0309", "no root has a marked entry")
    assert fault.notes == ("root: cpu at cpu", "root: gpu at gpu")


def test_one_root_with_an_entry_is_enough(tmp_path: Path) -> None:
    interface(
        scanned(tmp_path / "cpu", ""), scanned(tmp_path / "gpu", "ATOLL_EXPORT_C int f() { return 0; }")
    )
