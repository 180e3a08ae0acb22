"""The public names of `import atoll` are what 10-surface says they are."""

from __future__ import annotations

from pathlib import Path

import pytest

import atoll


def test_measure_reads_what_a_file_carries(tmp_path: Path) -> None:
    path = tmp_path / "plain.txt"
    path.write_text("no device code")
    found = atoll.measure(path)
    assert found.accel == atoll.AccelSet()
    assert found.findings == ()


def test_measure_of_a_missing_file_is_an_atoll_error(tmp_path: Path) -> None:
    with pytest.raises(atoll.AtollError) as caught:
        atoll.measure(tmp_path / "missing.so")
    assert caught.value.diagnostics[0].code.startswith("ATL")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = atoll.nothing
