"""A plan is kept only while everything that it was made from is as it was; a broken record is no plan."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.build import fresh
from atoll.build.fresh import RECORDS, recall, stamp
from atoll.session import Built, Session
from unit.build.build_project import PROGRAM, REGISTRY, reopened, session
from unit.plugins.lane_project import program, write


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold the engine still: a file of it that is saved while these tests run is a right reason to plan."""
    monkeypatch.setattr(fresh, "engine_stamp", lambda: "held")


@pytest.fixture
def project(tmp_path: Path) -> Session:
    """Return a built project whose tools lie in a folder of its own: `/usr/bin` changes with the machine."""
    (tmp_path / "bin").mkdir()
    for name in ("g++", "gcc", "as", "ld", "ar"):
        (tmp_path / "bin" / name).symlink_to(f"/usr/bin/{name}")
    write(tmp_path / "project", REGISTRY)
    found = again(tmp_path / "project")
    found.build()
    return found


def again(root: Path, **options: str) -> Session:
    found = reopened(root, no_accel=True, **options)
    found.environment = {**found.environment, "PATH": str(root.parent / "bin")}
    return found


def planned(project: Session) -> bool:
    return again(project.root).build().planned


def test_nothing_changed_keeps_the_plan(project: Session) -> None:
    assert not planned(project)
    assert not planned(project)


CHANGES: dict[str, Callable[[Path], object]] = {
    "the manifest is edited": lambda root: write(root, {"atoll.toml": REGISTRY["atoll.toml"] + "\n# more\n"}),
    "a file appears in a globbed folder": lambda root: write(root, {"cpu/new.cpp": "int fresh;\n"}),
    "a file leaves a globbed folder": lambda root: (root / "vulkan/twice.cpp").unlink(),
    "a scanned source is edited": lambda root: write(
        root, {"cpu/twice.cpp": REGISTRY["cpu/twice.cpp"] + "\n"}
    ),
    "a folder appears below a root": lambda root: write(root, {"cpu/deep/x.cpp": "int deep;\n"}),
    "a kernel is edited": lambda root: write(
        root, {"kernels/thrice.py": REGISTRY["kernels/thrice.py"] + "\n"}
    ),
    "a generated file is lost": lambda root: next((root / ".atoll/plan").glob("*/include/*.h")).unlink(),
    "a generated file is edited": lambda root: next(
        (root / ".atoll/plan").glob("*/roots/*/cpu.c")
    ).write_text(""),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_of_an_input_asks_the_planner_again(project: Session, what: str) -> None:
    CHANGES[what](project.root)
    assert planned(project), what
    assert not planned(project), f"{what}, and then nothing"


def test_a_header_that_defines_a_struct_of_the_boundary_is_an_input(project: Session) -> None:
    types = "struct Pair {\n  int one;\n  int other;\n};\n"
    island = '#include "demo_kernels.h"\n#include "types.hpp"\n'
    island += "ATOLL_EXPORT_C int demo_sum(Pair it) { return it.one; }\n"
    write(project.root, {"cpu/types.hpp": types, "cpu/sum.cpp": island})
    assert planned(project)
    assert not planned(project)
    (project.root / "cpu/types.hpp").write_text(types.replace("int", "long long"))
    assert planned(project), "its fields changed"
    (header,) = (project.root / ".atoll/plan").glob("*/include/demo_kernels.h")
    assert "long long one; long long other;" in header.read_text()


def test_another_compiler_on_path_asks_the_planner_again(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    environment = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
    first = session(tmp_path, PROGRAM)
    first.environment = environment
    first.build()
    second = reopened(tmp_path)
    second.environment = environment
    assert not second.build().planned
    program(tmp_path / "bin", "g++", 'exec /usr/bin/g++ "$@"')
    third = reopened(tmp_path)
    third.environment = environment
    built = third.build()
    assert built.planned
    text = (tmp_path / built.folder / "resolution.json").read_text()
    assert str(tmp_path / "bin/g++") in text


def test_what_says_how_it_was_built_is_of_the_last_call(tmp_path: Path) -> None:
    """Two calls share a build folder where only their PATH differs; the first one's plan is still right."""
    program(tmp_path / "bin", "g++", 'exec /usr/bin/g++ "$@"')
    session(tmp_path / "project", PROGRAM)
    said = []
    for path in ("/usr/bin:/bin", f"{tmp_path / 'bin'}:/usr/bin:/bin", "/usr/bin:/bin"):
        found = reopened(tmp_path / "project")
        found.environment = {"PATH": path}
        folder = tmp_path / "project" / found.build().folder
        said.append([(folder / name).read_text() for name in ("resolution.json", "compile_commands.json")])
    assert said[0] != said[1]
    assert said[2] == said[0]


def test_what_a_lane_said_is_said_again(tmp_path: Path) -> None:
    manifest = (
        REGISTRY["atoll.toml"]
        .replace('"vulkan1.2"', '"opencl1.2"')
        .replace('"spirv", "python"', '"opencl"')
        .replace(
            ', { glob = "vulkan/*.comp", accel = "vulkan" }, "kernels/*.py"',
            ', { glob = "k/*.cl", accel = "opencl" }',
        )
    )
    (tmp_path / "bin").mkdir()
    for name in ("g++", "gcc", "as", "ld"):
        (tmp_path / "bin" / name).symlink_to(f"/usr/bin/{name}")

    def build(project: Session) -> Built:
        project.environment = {"PATH": str(tmp_path / "bin")}
        return project.build()

    source = "__kernel void k(__global float* x) { x[0] = 1; }\n"
    first = build(session(tmp_path, {**REGISTRY, "atoll.toml": manifest, "k/k.cl": source}))
    again = build(reopened(tmp_path))
    assert "ATL0515" in [item.code for item in first.diagnostics]
    assert not again.planned
    assert again.diagnostics == first.diagnostics


def stale(root: Path) -> list[str]:
    """Return what changed since the records of a project were written, for the message of a failure."""
    found = []
    for record in (root / RECORDS).glob("*.json"):
        value = json.loads(record.read_text())
        kept = value["stamps"] | value["written"]
        found += [f"{value['folder']}: {path}" for path, was in kept.items() if stamp(root / path) != was]
    return found


def test_another_question_has_another_record(project: Session) -> None:
    before = stale(project.root)
    assert again(project.root, profile="debug").build().planned
    assert not planned(project), (before, stale(project.root))


def test_an_edited_engine_asks_the_planner_again(project: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not planned(project)
    monkeypatch.setattr(fresh, "engine_stamp", lambda: "edited")
    assert planned(project)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"stamps": 1}', '{"stamps": {}, "written": {}}', "\udc80"]
)
def test_a_broken_record_is_no_plan(tmp_path: Path, text: str) -> None:
    path = tmp_path / RECORDS / "key.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert recall(tmp_path, "key") is None


def test_a_record_with_a_field_of_the_wrong_kind_is_no_plan(project: Session) -> None:
    (path,) = (project.root / RECORDS).glob("*.json")
    whole = json.loads(path.read_text())
    for name in whole:
        path.write_text(json.dumps({**whole, name: 7}))
        assert recall(project.root, path.stem) is None, name
    path.write_text(json.dumps(whole))
    assert recall(project.root, path.stem) is not None


NO_OP = """\
import json, sys
from pathlib import Path
from atoll.build import fresh
from atoll.session import open_session
fresh.engine_stamp = lambda: "held"
environment = json.loads(sys.argv[2])
built = open_session(Path(sys.argv[1]), no_accel=True, environment=environment).build()
assert not built.planned and not built.result.ran
heavy = ("atoll.build.planner", "atoll.boundary", "atoll_plugins", "tree_sitter", "numpy", "tomlkit")
print([name for name in sys.modules if name.startswith(heavy)])
"""


def test_a_build_with_nothing_to_do_imports_no_planner(project: Session) -> None:
    assert not planned(project)
    done = subprocess.run(
        [sys.executable, "-c", NO_OP, str(project.root), json.dumps(dict(project.environment))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[]\n"
