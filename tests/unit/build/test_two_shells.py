"""A build asked from another shell runs nothing where the tools are the same, however they are spelled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from atoll._util.spelling import python_in, search_path, this_python
from atoll.plugin.tools import python_program
from atoll_plugins.formats.host_compilers import tool_path
from unit.build.build_project import REGISTRY, session
from unit.plugins.lane_project import program

BUILD = """\
import json, sys
from pathlib import Path
from atoll.session import open_session
built = open_session(Path(sys.argv[1]), no_accel=True, environment=json.loads(sys.argv[2])).build()
print(json.dumps(list(built.result.ran)))
"""


def build(root: Path, python: str, path: str) -> list[str]:
    environment = {"PATH": path, "ATOLL_OFFLINE": "1", "ATOLL_STORE": str(root / "store")}
    argv = [python, "-c", BUILD, str(root), json.dumps(environment)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ran = json.loads(done.stdout)
    assert isinstance(ran, list)
    return ran


def spellings(folder: Path) -> list[str]:
    """Return names of this Python: its own files, and those through a link to its environment."""
    (folder / "linked").symlink_to(sys.prefix)
    names = ["python", "python3", "python{}.{}".format(*sys.version_info[:2])]
    found = [
        path for base in (sys.prefix, folder / "linked") for path in (Path(base, "bin", n) for n in names)
    ]
    return [str(path) for path in found if path.exists()]


def test_no_spelling_of_python_or_of_path_runs_an_edge_again(tmp_path: Path) -> None:
    project = session(tmp_path / "project", REGISTRY, no_accel=True)
    (tmp_path / "empty").mkdir()
    (tmp_path / "linked-bin").symlink_to("/usr/bin")
    paths = [
        "/usr/bin:/bin",
        f"{Path(sys.executable).parent}:/usr/bin:/bin",
        f"{tmp_path / 'empty'}:/nowhere:/usr/bin:/usr/bin",
        f"{tmp_path / 'linked-bin'}:/bin",
    ]
    pythons = spellings(tmp_path)
    assert len(pythons) > 2
    first = build(project.root, pythons[0], paths[0])
    assert {"python", "link"} <= {name.split()[0] for name in first}
    folder = next((project.root / ".atoll/build").iterdir())
    commands = (folder / "compile_commands.json").read_bytes()
    again = {
        (python, path): build(project.root, python, path)
        for python, path in [(python, paths[0]) for python in pythons] + [(pythons[0], p) for p in paths]
    }
    assert not {shell: ran for shell, ran in again.items() if ran}
    assert (folder / "compile_commands.json").read_bytes() == commands


def test_a_tool_that_a_folder_puts_before_the_others_counts(tmp_path: Path) -> None:
    project = session(tmp_path / "project", REGISTRY, no_accel=True)
    first = build(project.root, sys.executable, "/usr/bin:/bin")
    program(tmp_path / "bin", "as", 'exec /usr/bin/as "$@"')
    again = build(project.root, sys.executable, f"{tmp_path / 'bin'}:/usr/bin:/bin")
    assert {name for name in first if name.startswith("host ")} <= set(again)


def test_a_search_path_names_each_folder_once(tmp_path: Path) -> None:
    real = tmp_path.resolve()
    (real / "one").mkdir()
    (real / "two").symlink_to("one")
    assert search_path(f"{real}/two::{real}/one:{real}/none") == f"{real}/one"
    assert search_path("") == ""


@pytest.mark.parametrize(
    "name", ["ld", "ld.gold", "x86_64-linux-gnu-as", "clang-19", "g++-12", "ccache", "llvm-ar-19"]
)
def test_a_folder_with_a_tool_stays_on_the_path_of_commands(tmp_path: Path, name: str) -> None:
    program(tmp_path / "tools", name, "exit 0")
    program(tmp_path / "other", "python", "exit 0")
    program(tmp_path / "other", "clang-format", "exit 0")
    environment = {"PATH": os.pathsep.join((str(tmp_path / "other"), str(tmp_path / "tools"), "/nowhere"))}
    assert tool_path(environment) == str(tmp_path / "tools")


def test_this_python_is_spelled_in_one_way() -> None:
    assert python_program() == this_python()
    assert os.path.realpath(this_python()) == os.path.realpath(sys.executable)
    assert python_in("/nowhere", "/some/python") == "/some/python"
