"""An architecture that no CUDA toolkit has: refused by rule; one that this toolkit lacks: by its own word."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from atoll.accel import Entry
from atoll.errors import LaneError, StoreError
from atoll.plugin import LaneRequest, Unit
from atoll.store import Store
from atoll_plugins.cuda.lane import CudaLane
from atoll_plugins.cuda.toolkit import PAYLOADS
from unit.plugins.lane_project import request, write


def wanted(root: Path, arch: str) -> LaneRequest:
    write(root, {"a.cu": "int a;\n"})
    entry = Entry(backend="cuda", archs=(arch,))
    return request(root, (Unit(path="a.cu", target="demo", entry=entry),), entry)


def test_a_family_below_ten_is_refused_before_anything_is_fetched(tmp_path: Path) -> None:
    with pytest.raises(LaneError) as caught:
        CudaLane().payloads(wanted(tmp_path, "sm_90f"))
    (found,) = caught.value.diagnostics
    assert found.code == "ATL0508"
    assert "sm_90f" in found.message
    assert found.notes == ("the entry: cuda+{sm_90f}",)
    assert found.hint


def test_what_this_nvcc_does_not_know_is_refused_with_its_own_words(tmp_path: Path) -> None:
    payload = PAYLOADS["13.0"]
    try:
        root = Store.default().ensure(payload)
    except StoreError as error:
        pytest.skip(f"the payload {payload.name} cannot be had: {error.diagnostics[0].message}")
    stocked = replace(wanted(tmp_path, "sm_35"), tools={payload.name: root})
    with pytest.raises(LaneError) as caught:
        CudaLane().plan(stocked)
    (found,) = caught.value.diagnostics
    assert found.code == "ATL0508"
    assert "Unsupported gpu architecture" in found.notes[1]
