"""What an action reached is told apart by where it lies, and what a program loads by the loader itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from atoll.build import reach
from unit.build.build_project import PROGRAM, reopened
from unit.plugins.lane_project import ENVIRONMENT, write

ROOT, STORE = Path("/home/me/project"), Path("/home/me/store")


@pytest.mark.parametrize(
    ("path", "origin"),
    [
        ("src/a.cpp", "project"),
        ("/home/me/project/.atoll/plan/x.h", "project"),
        ("/home/me/store/payloads/1/include/x.h", "store"),
        ("/home/me/store/payloads/1/bin/../include/x.h", "store"),
        (reach.__file__, "atoll"),
        ("/usr/include/stdio.h", "host"),
        ("../elsewhere/x.h", "host"),
        ("/home/me/project2/x.h", "host"),
    ],
)
def test_where_a_file_comes_from(path: str, origin: str) -> None:
    assert reach.origin(path, ROOT, STORE) == origin


def test_folders_of_the_host_are_counted_with_those_below_them() -> None:
    paths = ("/usr/include/a.h", "/usr/include/sys/b.h", "/opt/c.h", "src/d.h", "/usr/include2/e.h")
    assert reach.host_folders(paths, ROOT, STORE) == {"/usr/include": 2, "/opt": 1, "/usr/include2": 1}


def test_the_loader_says_what_a_program_maps() -> None:
    found = reach.mapped(Path("/bin/ls"), ENVIRONMENT)
    assert found["libc.so.6"].endswith("/libc.so.6")
    assert reach.mapped(Path(__file__), ENVIRONMENT) == {}


def test_explain_lists_each_edge_with_what_is_the_hosts(tmp_path: Path) -> None:
    reopened(write(tmp_path, PROGRAM)).build()
    argv = [sys.executable, "-m", "atoll", "explain", "--reach"]
    said = subprocess.run([*argv, "--json"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    edges = {edge["edge"]: edge for edge in json.loads(said)["edges"]}
    (link,) = (edge for name, edge in edges.items() if name.startswith("link bin/"))
    assert link["loads"]["libc.so.6"]
    compiled = [edge for name, edge in edges.items() if name.endswith(".cpp")]
    assert any("/usr/include" in edge["host"] for edge in compiled)
    assert all(edge["origins"]["project"] for edge in compiled)
    text = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "  host: /usr/include (" in text
    assert "  loads: libc.so.6: /" in text
