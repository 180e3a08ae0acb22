"""A command that the kernel really kills for memory is reported as that, and its file is gone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from unit.graph.graphs import Project

EAT = """
import sys
open(sys.argv[2], "w").write("half")
whole = bytearray(400 << 20)
"""
BUILD = """
import os
import sys
from pathlib import Path
Path({group!r}, "cgroup.procs").write_text(str(os.getpid()))
sys.path.insert(0, {tests!r})
from atoll.errors import BuildError
from unit.graph.graphs import Project, copy, out, python
project = Project(Path({root!r}))
try:
    project.build(python("eat", {eat!r}, ["a"], [out("b")], memory=50 << 20), copy("a", out("good")))
except BuildError as error:
    print(error)
"""


@pytest.fixture
def group() -> Iterator[Path]:
    """A memory group of 200 MiB that this process may put others in."""
    for base, limit in (
        (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
        (Path("/sys/fs/cgroup"), "memory.max"),
    ):
        found = base / f"atoll-test-{os.getpid()}"
        try:
            found.mkdir()
            (found / limit).write_text(str(200 << 20))
        except OSError:
            if found.is_dir():
                found.rmdir()
            continue
        yield found
        found.rmdir()
        return
    pytest.skip("no memory control group can be made here")


def test_a_kill_for_memory_is_reported_as_that(tmp_path: Path, group: Path) -> None:
    project = Project(tmp_path)
    project.put("a", "1")
    tests = str(Path(__file__).resolve().parents[2])
    code = BUILD.format(group=str(group), tests=tests, root=str(tmp_path), eat=EAT)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert "error[ATL0603]: `eat` was killed for memory" in done.stdout, done.stdout + done.stderr
    assert "stated need: 50 MiB" in done.stdout
    assert "the kernel counted a kill for memory: yes" in done.stdout
    assert project.files() == {"good": "1"}
