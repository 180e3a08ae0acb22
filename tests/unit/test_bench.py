"""The benchmark times a native CMake, the same tree on both sides, and edges that are really run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tools.bench.build import atoll_side, cmake_side, goal, is_native
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
    atoll, cmake = atoll_side(tmp_path), cmake_side(tmp_path, "cmake")
    assert atoll.edges("set: none\n[1/2] host a  0.1 s\n[2/2] link bin/a  0.2 s\n.atoll/build/x/bin/a\n") == 2
    assert atoll.edges(".atoll/build/x/bin/a\n") == 0
    assert cmake.edges("[1/3] Building\n[3/3] Linking\n") == 3
    assert cmake.edges("ninja: no work to do.\n") == 0


@pytest.mark.parametrize(
    ("mine", "theirs", "most", "said"),
    [(1.0, 4.0, 0.25, "met"), (1.1, 4.0, 0.25, "**not met**"), (5.0, 4.0, None, "")],
)
def test_a_goal_is_met_or_it_is_not(mine: float, theirs: float, most: float | None, said: str) -> None:
    assert goal("plan", mine, theirs, most, "s").split("|")[-2].strip() == said
