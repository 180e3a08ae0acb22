"""A tree with device code that nobody understands is not packed, naming the member."""

from __future__ import annotations

from pathlib import Path

from refusals.packaging_refused import not_packed
from unit.packaging.binaries import UNREAD, elf, put


def test_unknown_device_code_is_not_packed(tmp_path: Path) -> None:
    put(tmp_path / "tree/demo/_k.so", elf({".llvm.offloading": UNREAD}))
    found = not_packed(tmp_path / "tree")
    assert found.code == "ATL0460"
    assert "demo/_k.so!.llvm.offloading" in found.message
