"""What the graph is refused with, and how actions fail, word for word (`texts/`)."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from atoll.errors import BuildError
from atoll.graph import Action, Graph
from atoll.graph import check as check_graph
from atoll.graph.failure import failure
from refusals.exact import check
from unit.graph.graphs import FOLDER, Project, copy, out, sh

IT = sh("it", "true", ["a"], [out("b")], memory=300 << 20)
GRAPHS: dict[str, tuple[Action, ...]] = {
    "ATL0611_two_writers": (copy("a", out("x")), copy("b", out("x"))),
    "ATL0611_file_and_folder": (copy("a", out("x")), copy("b", out("x/y"))),
    "ATL0612_two_of_one_name": (copy("a", out("x")), copy("a", out("y"))),
    "ATL0613_breaks_a_rule": (dataclasses.replace(copy("a", out("b")), outputs=("b",)),),
    "ATL0614_nothing_makes": (copy(out("gone"), out("x")),),
    "ATL0615_circle": (copy(out("b"), out("a")), copy(out("a"), out("b"))),
}
ENDS: dict[str, dict[str, Any]] = {
    "ATL0601_failed": {"end": "exit", "code": 4, "output": "a.cpp:1: error: no\n"},
    "ATL0602_signal": {"end": "signal", "signal": 11},
    "ATL0603_memory": {"end": "signal", "signal": 9, "memory": 5 << 20},
    "ATL0603_memory_counted": {"end": "exit", "code": 1, "oom": True, "memory": 5 << 20},
    "ATL0604_too_long": {"end": "time", "limit": 3600.0},
    "ATL0605_no_output": {"end": "outputs", "missing": [out("b")]},
    "ATL0606_depfile": {"end": "depfile", "depfile": out("d"), "reason": "it has no target"},
    "ATL0607_not_started": {"end": "missing", "program": "nvcc", "path": "/usr/bin:/bin"},
}


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph(tmp_path: Path, name: str) -> None:
    check(name, tmp_path, lambda _: check_graph(Graph(actions=GRAPHS[name]), FOLDER))


@pytest.mark.parametrize("name", ENDS)
def test_an_end(tmp_path: Path, name: str) -> None:
    def case(_: Path) -> None:
        raise BuildError(failure(IT, ENDS[name]))

    check(name, tmp_path, case)


def test_a_source_that_is_not_there(tmp_path: Path) -> None:
    project = Project(tmp_path)
    check("ATL0620_missing_source", tmp_path, lambda _: project.build(copy("a", out("b"))))
