"""Kernel files that the lane refuses by name: none, twice, broken, too slow, not to be shipped."""

from __future__ import annotations

import select
import time
from dataclasses import replace
from pathlib import Path

import pytest

from atoll.diagnostics import Diagnostic
from atoll.errors import AtollError, LaneError
from atoll.kernels import files
from atoll.plugin import LaneRequest, Unit
from atoll_plugins.python.lane import PythonLane
from unit.plugins.lane_project import ENVIRONMENT, request, write

KERNEL = "from atoll import kernel, view, f32, f16\nimport atoll\n\n@kernel\ndef {name}(x: view[f32]):\n    x[0] = 1.0\n"  # noqa: E501


def project(root: Path, files: dict[str, str], **options: object) -> LaneRequest:
    write(root / "project", files)
    units = tuple(Unit(path=path, target="demo") for path in files)
    made = request(root / "project", units, options=options)
    return replace(made, environment={**ENVIRONMENT, "ATOLL_CACHE": str(root / "cache")})


def refused(made: LaneRequest, code: str) -> Diagnostic:
    with pytest.raises(LaneError) as caught:
        PythonLane().plan(made)
    found = caught.value.diagnostics[0]
    assert found.code == code, found
    return found


def test_a_file_without_a_kernel(tmp_path: Path) -> None:
    found = refused(project(tmp_path, {"a.py": "import atoll\n"}), "ATL0740")
    assert found.message == "`a.py` defines no kernel"


def test_a_kernel_that_is_only_imported_is_not_of_the_file(tmp_path: Path) -> None:
    files = {"a.py": "from b import k\n", "b.py": KERNEL.format(name="k")}
    assert refused(project(tmp_path, files), "ATL0740").message == "`a.py` defines no kernel"


def test_two_kernels_of_one_name_in_two_files(tmp_path: Path) -> None:
    found = refused(
        project(tmp_path, {"a.py": KERNEL.format(name="k"), "b.py": KERNEL.format(name="k")}), "ATL0741"
    )
    assert found.message == "two kernels would export `k`"
    assert found.notes == ("the first: a.py:5", "the second: b.py:5")


def test_two_kernels_of_one_name_in_one_file(tmp_path: Path) -> None:
    twice = KERNEL.format(name="k") + "\nfirst = k\n\n@kernel\ndef k(x: view[f32]):\n    x[0] = 2.0\n"
    found = refused(project(tmp_path, {"a.py": twice}), "ATL0741")
    assert found.notes == ("the first: a.py:4", "the second: a.py:10")


@pytest.mark.parametrize(
    ("text", "last", "line"),
    [
        ("import nothing_of_this_name\n", "ModuleNotFoundError: No module named 'nothing_of_this_name'", 1),
        ("y = 0\nx = 1 / y\n", "ZeroDivisionError: division by zero", 2),
        ("\n\ndef broken(:\n", "SyntaxError: invalid syntax", 3),
        ("def f():\n    raise SystemExit(3)\nf()\n", "SystemExit: 3", 2),
    ],
)
def test_an_import_that_fails_shows_its_line_and_the_end_of_its_traceback(
    tmp_path: Path, text: str, last: str, line: int
) -> None:
    found = refused(project(tmp_path, {"a.py": text}), "ATL0742")
    assert found.message == "`a.py` could not be imported"
    assert found.notes[-1] == last
    assert found.span is not None
    assert (found.span.file, found.span.line) == ("a.py", line)
    assert (found.hint == files.IMPORTS) == ("import " in text)
    assert not any("importlib" in note or "kernels/files.py" in note for note in found.notes)


def test_an_import_that_ends_the_process_shows_its_status(tmp_path: Path) -> None:
    text = "import os, sys\nsys.stderr.write('last words\\n')\nsys.stderr.flush()\nos._exit(7)\n"
    found = refused(project(tmp_path, {"a.py": text}), "ATL0742")
    assert found.message == "`a.py` could not be imported: the process ended with status 7"
    assert found.notes == ("last words",)


def test_an_import_that_does_not_end_is_stopped_with_what_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "alive"
    text = (
        "import subprocess, sys, time\n"
        f"code = 'import time; time.sleep(3); open(' + repr({str(mark)!r}) + ', mode=chr(119))'\n"
        "subprocess.Popen([sys.executable, '-c', code])\n"
        "time.sleep(60)\n"
    )
    found = refused(project(tmp_path, {"a.py": text}, timeout=1.5), "ATL0743")
    assert found.message == "importing `a.py` took longer than 1.5 seconds and was stopped"
    deadline = time.monotonic() + 3  # past the moment at which the grandchild would write
    while time.monotonic() < deadline:
        assert not mark.exists()
        select.select([], [], [], 0.1)


@pytest.mark.parametrize("value", [0, -1, "fast", True])
def test_a_time_limit_is_a_positive_number(tmp_path: Path, value: object) -> None:
    refused(project(tmp_path, {"a.py": KERNEL.format(name="k")}, timeout=value), "ATL0512")


def test_a_kernel_that_cannot_be_compiled_is_refused_with_its_caret(tmp_path: Path) -> None:
    found = refused(project(tmp_path, {"a.py": KERNEL.format(name="k").replace("1.0", "nope")}), "ATL0711")
    assert found.span is not None
    assert (found.span.line, found.span.column, found.span.text) == (6, 12, "    x[0] = nope")


@pytest.mark.parametrize(
    ("name", "body", "why"),
    [
        ("k", "    atoll.barrier()\n", "it waits at a barrier and has no launch contract"),
        ("sqrt", "", "it would be a C function of that name"),
        ("double", "", "it would be a C function of that name"),
    ],
)
def test_a_kernel_that_c_could_not_call_is_refused(tmp_path: Path, name: str, body: str, why: str) -> None:
    found = refused(project(tmp_path, {"a.py": KERNEL.format(name=name) + body}), "ATL0744")
    assert found.message == f"`{name}` cannot be shipped: {why}"


def test_a_parameter_that_c_cannot_spell_is_refused(tmp_path: Path) -> None:
    text = KERNEL.format(name="k").replace("x: view[f32]", "x: view[f32], h: view[f16]")
    found = refused(project(tmp_path, {"a.py": text}), "ATL0744")
    assert found.message.endswith("it has parameters of a type without a C spelling: h")


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ("x.shape[1] == 2", "`x.shape[1]` does not exist: `x` has 1"),
        ("x < 3", "`x` is no number"),
        ("n.size < 3", "`n` is no array"),
        ("x.shape == n", "`x.shape` is no number"),
    ],
)
def test_a_contract_over_what_a_parameter_has_not_is_refused(
    tmp_path: Path, condition: str, why: str
) -> None:
    text = f"""
from atoll import f32, i32, kernel, view

@kernel(requires="{condition}")
def k(x: view[f32], n: i32):
    x[0] = 1.0
"""
    found = refused(project(tmp_path, {"a.py": text}), "ATL0744")
    assert found.message == f"`k` cannot be shipped: it has a launch contract that means nothing: {why}"


def test_a_generic_kernel_without_an_instance(tmp_path: Path) -> None:
    text = """
from typing import TypeVar
from atoll import f32, f64, kernel, view
T = TypeVar("T", f32, f64)

@kernel
def scale(x: view[T]):
    x[0] = x[0] + x[0]
"""
    found = refused(project(tmp_path, {"a.py": text}), "ATL0745")
    assert found.message == "the generic kernel `scale` lists no instance"
    assert found.notes == ("it leaves open: T",)
    assert len(PythonLane().plan(project(tmp_path, {"a.py": text + "scale.instance(T=f64)\n"})).sources) == 1


def test_a_kernel_is_shown_beside_a_generic_one_that_lists_no_instance(tmp_path: Path) -> None:
    text = """
import atoll
from atoll import f32, kernel, view

@kernel
def many(x: view[f32], n: atoll.const[int]):
    x[n] = 0.0

@kernel
def one(x: view[f32]):
    x[0] = 1.0
"""
    (tmp_path / "a.py").write_text(text)
    assert [kernel.__name__ for kernel in files.select(f"{tmp_path / 'a.py'}:one")] == ["one"]
    for asked in ("", ":many"):
        with pytest.raises(AtollError, match="the generic kernel `many` lists no instance"):
            files.select(f"{tmp_path / 'a.py'}{asked}")


@pytest.mark.parametrize(
    ("field", "why"),
    [
        ("x: f16", "has parameters of a type without a C spelling: b.x"),
        ("int: f32", "takes a struct whose names C does not take: int"),
    ],
)
def test_a_struct_that_c_cannot_spell_is_refused(tmp_path: Path, field: str, why: str) -> None:
    text = f"""
import atoll
from atoll import f16, f32, kernel, view

@atoll.struct
class Body:
    {field}

@kernel
def k(x: view[f32], b: view[Body]):
    x[0] = 1.0
"""
    found = refused(project(tmp_path, {"a.py": text}), "ATL0744")
    assert found.message == f"`k` cannot be shipped: it {why}"
