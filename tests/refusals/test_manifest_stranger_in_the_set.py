"""A set that names a backend which nothing of the project is compiled for is told, with what is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.accel import AccelSet
from atoll.build.units import lane_facts
from atoll.diagnostics import Severity, render
from atoll.manifest import read, select
from atoll.manifest.lanes import LaneFacts
from atoll.plugin import registry

HEAD = '[package]\nname = "demo"\n'
TARGET = '[targets.demo]\nkind = "executable"\nsources = ["*.cpp"]\n'
LANES = {"host": LaneFacts(extensions={".cpp": "unit"}, backends={}, host=True)}


def warnings(root: Path, accel: str, text: str) -> list[str]:
    (root / "main.cpp").write_text("int main() {}\n")
    (root / "atoll.toml").write_text(text)
    manifest = read(root / "atoll.toml")
    found = select(
        root, manifest.resolve(AccelSet.parse(accel), "linux", "x86_64", "gcc"), AccelSet.parse(accel), LANES
    )
    assert all(item.severity is Severity.WARNING for item in found.warnings)
    return [render(item) for item in found.warnings]


def test_a_backend_that_nothing_names_is_told_with_the_nearest(tmp_path: Path) -> None:
    (text,) = warnings(tmp_path, "vulcan", f'{HEAD}accelerators = ["vulkan"]\n{TARGET}')
    assert text == (
        "warning[ATL0235]: nothing of this project is compiled for `vulcan`, which the build's set names\n"
        "  named by lanes, sources, `accelerators` and `cfg`: vulkan\n"
        "  help: did you mean `vulkan`?"
    )


def test_a_project_that_names_none_is_told_of_lanes(tmp_path: Path) -> None:
    (text,) = warnings(tmp_path, "cuda13.0+{sm_90}", HEAD + TARGET)
    assert text == (
        "warning[ATL0235]: nothing of this project is compiled for `cuda`, which the build's set names\n"
        "  named by lanes, sources, `accelerators` and `cfg`: none\n"
        "  help: list the lane that compiles for it in `[build] lanes`"
    )


@pytest.mark.parametrize(
    "text",
    [
        f'{HEAD}accelerators = ["vulkan"]\n{TARGET}',
        f'{HEAD}{TARGET}[target.\'cfg(accelerator = "vulkan")\'.build]\ndefines = ["V"]\n',
    ],
)
def test_a_backend_that_is_named_anywhere_is_not_told(tmp_path: Path, text: str) -> None:
    assert not [line for line in warnings(tmp_path, "vulkan1.2", text) if "ATL0235" in line]


@pytest.mark.parametrize(("accel", "told"), [("hip, cuda11.8+{sm_90}", False), ("cuda11.8+{sm_90}", True)])
def test_what_a_lane_compiles_through_beside_its_own_is_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, accel: str, told: bool
) -> None:
    facts = lane_facts(registry(), ("hip",))
    monkeypatch.setitem(LANES, "hip", facts["hip"])
    text = HEAD + TARGET + '[build]\nlanes = ["hip"]\n'
    assert bool([line for line in warnings(tmp_path, accel, text) if "ATL0235" in line]) is told
