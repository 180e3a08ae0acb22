"""An island that needs the C++ standard library is named with what it leaves undefined."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from atoll.build.islands import island_objects, notes, undefined
from atoll.errors import LaneError
from atoll.graph import Action, Role
from refusals.exact import check
from unit.plugins.lane_project import write

STRING = (
    "#include <stdexcept>\n#include <string>\n"
    "void f(int n) { throw std::runtime_error(std::to_string(n)); }\n"
)
PLAIN = "#include <cmath>\nstruct N { int x; };\nint *f(int n) { return new int(std::abs(n)); }\n"


def compiled(root: Path, text: str) -> str:
    write(root, {"a.cpp": text})
    subprocess.run(["g++", "-O1", "-c", "a.cpp", "-o", "a.o"], cwd=root, check=True)
    return "a.o"


def test_an_island_of_strings_and_exceptions_is_named(tmp_path: Path) -> None:
    names = undefined(tmp_path / compiled(tmp_path, STRING))
    assert any("runtime_error" in name for name in names)
    (found,) = notes(tmp_path, ("a.o",))
    assert found.code == "ATL0536"
    assert "runtime_error" in found.notes[0]


def test_an_island_of_plain_types_is_not(tmp_path: Path) -> None:
    assert notes(tmp_path, (compiled(tmp_path, PLAIN),)) == ()


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\x7fELF\x02\x01\x01" + b"\xff" * 57, b"not an object"])
def test_what_is_no_object_concludes_nothing(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.o").write_bytes(data)
    assert notes(tmp_path, ("a.o", "gone.o")) == ()


def test_objects_of_the_host_are_no_islands() -> None:
    def made(path: str, role: Role = Role.OBJECT) -> Action:
        return Action(name=path, argv=("x",), inputs=(), outputs=(path,), role=role)

    actions = (
        made("b/host/a.o"),
        made("b/cuda/a.o"),
        made("b/cuda/a.spv", Role.ARTIFACT),
        made("c/cuda/a.o"),
    )
    assert island_objects(actions, "b", {"host"}) == ("b/cuda/a.o",)
    assert island_objects(actions, "b", {"host", "cuda"}) == ()


def test_the_note_word_for_word(tmp_path: Path) -> None:
    compiled(tmp_path, "#include <iostream>\nvoid f() { std::cout << 1; }\n")
    (found,) = notes(tmp_path, ("a.o",))

    def case(_: Path) -> None:
        raise LaneError(found)

    check("ATL0536_island", tmp_path, case)
