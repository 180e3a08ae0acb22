"""The bound on memory is kept while actions run: heavy ones never run beside more than the bound allows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.errors import BuildError
from unit.graph.graphs import Project, out, python

# Takes a place that only one can have, stays a moment, and fails where somebody else was in it.
ALONE = """\
import os, sys, time
try:
    os.mkdir(sys.argv[1] + ".place")
except FileExistsError:
    sys.exit("two at once")
end = time.monotonic() + 0.08
while time.monotonic() < end: pass
os.rmdir(sys.argv[1] + ".place")
open(sys.argv[2], "w").write("x")
"""


def heavy(root: Path, memory: int) -> Project:
    project = Project(root)
    project.put("a", "1")
    project.build(
        *(python(f"heavy {n}", ALONE, ["a"], [out(str(n))], memory=memory) for n in range(8)), jobs=4
    )
    return project


def test_heavy_actions_run_alone_where_memory_is_for_one(tmp_path: Path, tell: Callable[[str], None]) -> None:
    # The kit's builds have eight GiB.
    project = heavy(tmp_path, 5 << 30)
    assert len(project.files()) == 8
    tell("8 heavy actions with 4 jobs: never two at once")


def test_light_ones_run_together_which_the_check_sees(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="two at once"):
        heavy(tmp_path, 1 << 20)
