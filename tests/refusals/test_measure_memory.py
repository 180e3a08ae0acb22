"""A file that makes a reader want too much memory is refused."""

from __future__ import annotations

from pathlib import Path

from atoll.packaging import Limits
from refusals.packaging_refused import refused
from unit.packaging.binaries import put, zipped


def test_past_its_memory_it_is_refused(tmp_path: Path) -> None:
    data = zipped({f"{index:06}": b"" for index in range(60_000)})
    found = refused(put(tmp_path / "a.zip", data), Limits(memory=30 << 20))
    assert found.code in ("ATL0450", "ATL0451")
