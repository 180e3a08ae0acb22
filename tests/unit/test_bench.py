"""The benchmark times a native CMake, the same tree on both sides, and edges that are really run."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tools.bench.build import BEGIN, END, atoll_side, cmake_side, is_native, main, placed, row
from tools.bench.tree import generate


def test_a_script_is_not_native(tmp_path: Path) -> None:
    shim = tmp_path / "cmake"
    shim.write_text("#!/usr/bin/python3\nimport cmake\n")
    assert not is_native(shim)
    assert is_native(Path("/bin/sh"))


def test_the_tree_says_how_many_an_edit_reaches(tmp_path: Path) -> None:
    tree = generate(tmp_path)
    includes = [path.read_text() for path in (tmp_path / "shaders").glob("*.comp")]
    units = [path.read_text() for path in (tmp_path / "src").glob("u*.cpp")]
    assert (len(includes), len(units)) == (136, 200)
    assert sum('"parts/part0.glsl"' in text for text in includes) == tree.shader_users == 17
    assert sum('"parts/part0.h"' in text for text in units) == tree.header_users == 10


def test_edges_are_read_from_what_each_side_prints(tmp_path: Path) -> None:
    atoll, cmake = atoll_side(tmp_path, 2), cmake_side(tmp_path, "cmake", 2)
    assert atoll.edges("set: none\n[1/2] host a  0.1 s\n[2/2] link bin/a  0.2 s\n.atoll/build/x/bin/a\n") == 2
    assert atoll.edges(".atoll/build/x/bin/a\n") == 0
    assert cmake.edges("[1/3] Building\n[3/3] Linking\n") == 3
    assert cmake.edges("ninja: no work to do.\n") == 0


@pytest.mark.parametrize(
    ("mine", "theirs", "most", "said"),
    [(1.0, 4.0, 0.25, "met"), (1.1, 4.0, 0.25, "**not met**"), (5.0, 4.0, None, "")],
)
def test_a_goal_is_met_or_it_is_not(mine: float, theirs: float, most: float | None, said: str) -> None:
    assert row("plan", [mine], [theirs], most, "s").split("|")[-2].strip() == said


def test_a_ratio_is_the_median_of_the_rounds_and_not_of_one_slow_side() -> None:
    assert (
        row("x", [1.0, 1.0, 90.0], [2.0, 2.0, 90.0], 0.6, "s")
        == "| x | 1.000 s | 2.000 s | 0.50 | ≤ 0.6 | met |"
    )


def test_a_table_goes_between_the_marks_of_a_page() -> None:
    page = f"# Title\n\n{BEGIN}\nold\n{END}\n\nWhy.\n"
    assert placed(page, "new\n") == f"# Title\n\n{BEGIN}\nnew\n{END}\n\nWhy.\n"
    with pytest.raises(SystemExit, match="no place"):
        placed("# Title\n", "new\n")


def test_it_refuses_the_cmake_of_a_package_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shim = tmp_path / "cmake"
    shim.write_text("#!/usr/bin/python3\nimport cmake\n")
    shim.chmod(0o755)
    monkeypatch.setattr("tools.bench.build.PATH", str(tmp_path))
    with pytest.raises(SystemExit, match="cmake is a script, not a native program"):
        main([])


def test_a_small_tree_is_timed_on_both_sides_and_edits_run_no_more_edges(
    capsys: pytest.CaptureFixture[str], tell: Callable[[str], None]
) -> None:
    for tool in ("cmake", "ninja", "g++", "glslc"):
        if shutil.which(tool, path="/usr/bin:/bin") is None:
            pytest.skip(f"{tool} is not installed")
    assert main(["--shaders", "2", "--units", "2", "--repeat", "1", "--full", "1", "--json"]) == 0
    printed = capsys.readouterr()
    assert "cmake (native)" in printed.err
    sides = json.loads(printed.out)
    edges = {
        name: {what: [cost["edges"] for cost in costs] for what, costs in side.items()}
        for name, side in sides.items()
    }
    tell(f"edges: {edges}")
    # Two shaders, each with its C file, and two units of one header; the program calls all of them.
    assert edges["cmake"] == {"plan": [0], "full": [8], "no-op": [0] * 4, "header": [3], "include": [5]}
    assert edges["atoll"]["no-op"] == [0] * 4
    assert edges["atoll"]["header"] <= edges["cmake"]["header"]
    assert edges["atoll"]["include"] <= edges["cmake"]["include"]
    assert all(cost["memory"] > 1 << 20 for side in sides.values() for cost in side["full"])
