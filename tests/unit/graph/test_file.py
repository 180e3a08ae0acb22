from __future__ import annotations

from atoll._util import machine
from atoll.graph import Graph
from atoll.graph.ninja_file import graph_text, pools_text
from atoll.graph.pools import plan
from unit.graph.graphs import copy, out


def test_equal_graphs_give_equal_bytes_in_any_order() -> None:
    actions = [copy(str(n), out(str(n)), memory=n) for n in range(20)]
    text = graph_text(Graph(actions=tuple(actions)), "s")
    assert graph_text(Graph(actions=tuple(reversed(actions))), "s") == text


def test_nothing_of_a_command_stands_in_the_file() -> None:
    text = graph_text(Graph(actions=(copy("a; rm -rf $HOME\\", out("b")),)), "s")
    command = [line for line in text.splitlines() if line.startswith("  command")]
    assert set(command) == {
        '  command = exec "$$ATOLL_GRAPH_PYTHON" -I -S -X utf8 "$$ATOLL_GRAPH_RUNNER" $digest'
    }


def test_the_bound_is_stated_in_the_file() -> None:
    graph = Graph(actions=(copy("a", out("b"), memory=10), copy("c", out("d"), memory=1)))
    text = pools_text(graph, plan([10, 1], 4, 16))
    assert (
        text
        == "# 4 at once; at most 13 bytes of 16 free\npool heavy\n  depth = 1\nweight1 = \nweight10 = heavy\n"
    )


def test_control_groups_bound_memory_and_processors(tmp_path) -> None:  # type: ignore[no-untyped-def]
    group = tmp_path / "sys/fs/cgroup/outer/inner"
    group.mkdir(parents=True)
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("1:x:/legacy\n0::/outer/inner\n")
    (group / "memory.max").write_text("max\n")
    (group / "memory.current").write_text("50\n")
    (group.parent / "memory.max").write_text("1000\n")
    (group.parent / "memory.current").write_text("700\n")
    (group.parent / "memory.stat").write_text("anon 1\ninactive_file 200\n")
    (group.parent / "cpu.max").write_text("100000 100000\n")
    assert machine.free_memory(tmp_path, available=10_000) == 500
    assert machine.free_memory(tmp_path, available=10) == 10
    assert machine.processors(tmp_path) == 1
    (group.parent / "memory.max").write_text("600\n")
    assert machine.free_memory(tmp_path, available=10_000) == 100
    (group.parent / "memory.stat").unlink()
    assert machine.free_memory(tmp_path, available=10_000) == 0
