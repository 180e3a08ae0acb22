from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll._util import machine
from atoll.graph import Action, Graph, Role, runner
from atoll.graph.edge import BASE_ENVIRONMENT, RUNNER_VERSION, digest, named_spec
from atoll.graph.ninja_file import graph_text, pools_text
from atoll.graph.pools import plan
from atoll.graph.state import specs_text
from unit.graph.graphs import copy, out

ROOT = Path(__file__).parents[3]
FOLDER = str(Path(runner.__file__).parent)


def test_the_graph_asks_for_the_executor_that_is_installed_with_atoll() -> None:
    # 1.11 reads no `"`, `?` or `&` in a depfile: what includes such a file ran in every build (measured).
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (floor,) = [item.partition(">=")[2] for item in project["dependencies"] if item.startswith("ninja")]
    assert f"ninja_required_version = {floor}\n" in graph_text(Graph(actions=(copy("a", out("b")),)), "s")


def test_equal_graphs_give_equal_bytes_in_any_order() -> None:
    actions = [copy(str(n), out(str(n)), memory=n) for n in range(20)]
    text = graph_text(Graph(actions=tuple(actions)), "s")
    assert graph_text(Graph(actions=tuple(reversed(actions))), "s") == text


def test_nothing_of_a_command_stands_in_the_file() -> None:
    text = graph_text(Graph(actions=(copy("a; rm -rf $HOME\\", out("b")),)), "s")
    command = [line for line in text.splitlines() if line.startswith("  command")]
    assert set(command) == {
        '  command = exec "$$ATOLL_GRAPH_PYTHON" -I -S -X utf8 -c "$$ATOLL_GRAPH_START" $digest $forced'
    }


@pytest.mark.parametrize("count", [0, 1, 2, 7, 100])
def test_a_runner_finds_each_spec_in_the_one_file_of_all(tmp_path: Path, count: int) -> None:
    specs = {f"{number * 7:032x}": f'{{"日本": {number}}}\n' for number in range(count)}
    path = tmp_path / runner.SPECS
    path.write_bytes(specs_text(specs))
    assert {name: runner.find_spec(str(path), name) for name in specs} == specs
    for strange in (f"{3:032x}", "f" * 32):
        with pytest.raises(ValueError, match="no spec"):
            runner.find_spec(str(path), strange)


def test_the_bound_is_stated_in_the_file() -> None:
    graph = Graph(actions=(copy("a", out("b"), memory=10), copy("c", out("d"), memory=1)))
    text = pools_text(graph, plan([10, 1], 4, 16))
    assert (
        text
        == "# 4 at once; at most 13 bytes of 16 free\npool heavy\n  depth = 1\nweight1 = \nweight10 = heavy\n"
    )


def put(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


def test_control_groups_bound_memory_and_processors(tmp_path: Path) -> None:
    put(tmp_path / "proc/self", cgroup="1:x:/legacy\n0::/outer/inner\n")
    outer = tmp_path / "sys/fs/cgroup/outer"
    put(outer / "inner", memory__max="max\n", memory__current="50\n")
    put(outer, memory__max="1000\n", memory__current="700\n", memory__stat="anon 1\ninactive_file 200\n")
    put(outer, cpu__max="100000 100000\n")
    assert machine.free_memory(tmp_path, available=10_000) == 500
    assert machine.free_memory(tmp_path, available=10) == 10
    assert machine.processors(tmp_path) == 1
    put(outer, memory__max="600\n")
    assert machine.free_memory(tmp_path, available=10_000) == 100
    (outer / "memory.stat").unlink()
    assert machine.free_memory(tmp_path, available=10_000) == 0


def test_control_groups_of_version_one_count_too(tmp_path: Path) -> None:
    put(tmp_path / "proc/self", cgroup="4:memory:/a/b\n1:cpu,cpuacct:/c\n0::/\n")
    group = tmp_path / "sys/fs/cgroup/memory/a/b"
    put(
        group,
        memory__limit_in_bytes="900",
        memory__usage_in_bytes="300",
        memory__stat="total_inactive_file 7",
    )
    put(group.parent, memory__limit_in_bytes="9223372036854771712", memory__usage_in_bytes="1")
    assert machine.free_memory(tmp_path, available=10_000) == 607
    put(tmp_path / "sys/fs/cgroup/cpu/c", cpu__cfs_quota_us="-1", cpu__cfs_period_us="100000")
    unlimited = machine.processors(tmp_path)
    put(tmp_path / "sys/fs/cgroup/cpu/c", cpu__cfs_quota_us="100000")
    assert machine.processors(tmp_path) == 1
    assert unlimited >= 1


@pytest.mark.parametrize(
    "value",
    [
        {},
        {
            "name": 'a "b" \\ \n \t \x1e \x7f ü 中 \udcff \ud800',
            "list": [1, -2, 3.5, None, True, False, []],
            "": {},
        },
        {"deep": {"deep": {"deep": ["x" * 1000]}}},
    ],
)
def test_the_runner_reads_and_writes_json_as_everyone_does(value: dict[str, object]) -> None:
    assert json.loads(runner.dump(value)) == value
    assert runner.load(json.dumps(value, indent=1, ensure_ascii=False) + "\n") == value
    assert runner.dump(value) == json.dumps(value)


def test_an_edge_starts_without_what_takes_long() -> None:
    code = "import sys; import runner; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {FOLDER!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stdout.split())
    assert "runner" in loaded
    assert not loaded & {"re", "json", "enum", "signal", "contextlib", "collections", "functools", "typing"}


WORD = st.one_of(
    st.sampled_from(["src/a.cpp", "-O2", "", '"', "\\", '", "', "null", "\n", "\x7f", "é", "\udc80", "$ |"]),
    st.text(max_size=4),
)
WORDS = st.lists(WORD, max_size=4).map(tuple)


@given(WORDS, WORDS, WORDS, st.one_of(st.none(), WORD), st.one_of(st.none(), WORD), WORD, WORD)
def test_a_spec_is_the_json_of_what_decides_an_action(
    argv: tuple[str, ...],
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    depfile: str | None,
    dyndep: str | None,
    value: str,
    key: str,
) -> None:
    action = Action(
        name=value,
        argv=argv,
        inputs=inputs,
        outputs=outputs,
        role=Role.OBJECT,
        depfile=depfile,
        dyndep=dyndep,
        env=((key, value),),
        key=key,
        time_limit=7.0,
    )
    expected = {
        "argv": list(argv),
        "depfile": depfile,
        "depfile_style": "make",
        "dyndep": dyndep,
        "env": BASE_ENVIRONMENT | {key: value},
        "inputs": list(inputs),
        "key": key,
        "outputs": list(outputs),
        "version": RUNNER_VERSION,
    }
    name, text = named_spec(action)
    assert name == digest(action)
    assert json.loads(text) == expected | {"name": value, "time_limit": 7.0}
    deciding = json.dumps(expected, sort_keys=True)
    assert text.startswith(deciding[:-1])
