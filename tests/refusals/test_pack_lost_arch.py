"""An architecture that is declared and not in the bytes is refused, naming the member that lacks it."""

from __future__ import annotations

from pathlib import Path

from refusals.packaging_refused import not_packed
from unit.packaging.binaries import elf, entry, fatbin, put


def test_the_member_that_lacks_the_arch_is_named(tmp_path: Path) -> None:
    put(tmp_path / "tree/demo/a.so", elf({".nv_fatbin": fatbin(entry(2, 80), entry(2, 90))}))
    put(tmp_path / "tree/demo/b.so", elf({".nv_fatbin": fatbin(entry(2, 90))}))
    found = not_packed(tmp_path / "tree", declared="cuda13.0+{sm_80,sm_90}")
    assert found.code == "ATL0461"
    assert found.message == "`demo/b.so` does not carry what the build declares"
    assert found.notes[0] == "accel: declared sm_80, measured sm_90"


def test_a_backend_that_is_nowhere_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "tree/demo/a.so", elf({".nv_fatbin": fatbin(entry(2, 80))}))
    assert not_packed(tmp_path / "tree", declared="cuda+{sm_80}, vulkan1.2").code == "ATL0461"
