"""A general flag that offloads: refused wherever it stands, with the page that says why no island exists."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from atoll.errors import LaneError
from atoll.plugin import LinkRequest, Unit
from atoll_plugins.host.lane import HostLane
from unit.plugins.lane_project import request, write

PAGE = Path(__file__).parents[2] / "docs/explanation/no-island.md"


@pytest.mark.parametrize("flag", ["-fopenmp-targets=nvptx64-nvidia-cuda", "-stdpar", "-stdpar=gpu", "-fsycl"])
@pytest.mark.parametrize("place", ["cflags", "cxxflags"])
def test_it_is_refused_in_general_flags(tmp_path: Path, flag: str, place: str) -> None:
    plain = request(tmp_path, (Unit(path="a.cpp", target="demo"),))
    wanted = replace(plain, cflags=(flag,)) if place == "cflags" else replace(plain, cxxflags=(flag,))
    with pytest.raises(LaneError) as caught:
        HostLane().plan(wanted)
    (found,) = caught.value.diagnostics
    assert found.code == "ATL0501"
    assert flag in found.message
    assert found.notes[0] == f"it stands in: {place}"
    assert "docs/explanation/no-island.md" in (found.hint or "")


def test_it_is_refused_in_the_flags_of_a_source_entry_and_of_a_link(tmp_path: Path) -> None:
    unit = Unit(path="a.cpp", target="demo", flags=("-fsycl",))
    with pytest.raises(LaneError, match=r"it stands in: a\.cpp"):
        HostLane().plan(request(tmp_path, (unit,)))
    link = LinkRequest(
        request=request(tmp_path, ()), kind="executable", output="o", inputs=("a.o",), args=("-fsycl",)
    )
    with pytest.raises(LaneError, match="it stands in: ldflags"):
        HostLane().link(link)


def test_plain_openmp_is_not_refused(tmp_path: Path) -> None:
    write(tmp_path, {"a.cpp": "int main() {}\n"})
    wanted = replace(request(tmp_path, (Unit(path="a.cpp", target="demo"),)), cxxflags=("-fopenmp",))
    assert HostLane().plan(wanted).objects


def test_the_page_is_there() -> None:
    assert "no unit" in PAGE.read_text()
