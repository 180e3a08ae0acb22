"""The OpenCL C lane: one text a unit, includes put in, checked where clang is, declared, never measured."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from atoll.accel import Entry, Version
from atoll.plugin import LaneRequest, Unit
from atoll.testing.lanes import LANE_CHECKS, LaneCheck, run_plan
from atoll_plugins.opencl.inline import DEPTH, InlineError, inline, main
from atoll_plugins.opencl.lane import OpenClLane, find_clang
from unit.plugins.lane_project import ENVIRONMENT, program, request, write

ENTRY = Entry(backend="opencl", version=Version((1, 2)))
KERNEL = '#include "scale.h"\n__kernel void k(__global float* x) { x[get_global_id(0)] *= SCALE * FACTOR; }\n'


def project(root: Path, kernel: str = KERNEL) -> LaneRequest:
    write(root, {"o/k.cl": kernel, "o/scale.h": "#define SCALE 2.0f\n"})
    unit = Unit(path="o/k.cl", target="demo", entry=ENTRY, defines=("FACTOR=3.0f",))
    return request(root, (unit,), ENTRY)


@pytest.mark.parametrize("check", LANE_CHECKS, ids=lambda check: str(check.__name__))
def test_it_keeps_the_promises_of_the_door(check: LaneCheck, tmp_path: Path) -> None:
    check(OpenClLane(), project(tmp_path))


def test_the_embedded_text_stands_alone_and_is_declared(tmp_path: Path) -> None:
    plan = OpenClLane().plan(project(tmp_path))
    run_plan(plan, tmp_path)
    text = (tmp_path / plan.data[0].path).read_text()
    assert "#include" not in text
    assert "#define SCALE 2.0f" in text
    assert text.startswith("#define FACTOR 3.0f\n")
    assert plan.data[0].declared
    assert plan.data[0].form == "text"


def test_an_error_in_the_source_is_seen_at_build_time(tmp_path: Path) -> None:
    broken = project(tmp_path, "__kernel void k(__global float* x) { x[0] = nobody; }\n")
    plan = OpenClLane().plan(broken)
    check = [action for action in plan.actions if action.role == "check"]
    if not check:
        pytest.skip("no clang on this machine")
    with pytest.raises(AssertionError, match="undeclared identifier 'nobody'"):
        run_plan(plan, tmp_path)


def test_without_clang_it_says_that_nothing_was_checked(tmp_path: Path) -> None:
    plan = OpenClLane().plan(replace(project(tmp_path), environment={"PATH": str(tmp_path)}))
    assert [item.code for item in plan.diagnostics] == ["ATL0515"]
    assert [action.role for action in plan.actions] == ["artifact"]


def test_the_artifact_is_the_same_with_and_without_clang(tmp_path: Path) -> None:
    def made(environment: dict[str, str]) -> str:
        plan = OpenClLane().plan(replace(project(tmp_path), environment=environment))
        return run_plan(plan, tmp_path)[plan.data[0].path]

    assert made(ENVIRONMENT) == made({"PATH": str(tmp_path)})


def test_the_newest_clang_is_found_by_number(tmp_path: Path) -> None:
    for number in ("9", "19", "100"):
        program(tmp_path, f"clang-{number}", f"echo clang version {number}.0.0")
    found = find_clang({"PATH": str(tmp_path)})
    assert found is not None
    assert found.name == "clang-100"


# the inliner


def inlined(root: Path, files: dict[str, str], *folders: str) -> str:
    write(root, files)
    text, _ = inline(str(root / "a.cl"), tuple(str(root / folder) for folder in folders), ())
    return text.decode()


def test_a_file_without_includes_comes_out_byte_for_byte(tmp_path: Path) -> None:
    source = b'a\r\n\tb \xff // #include "x"\n/* #include "y" */ char* s = "#include <z>";'
    (tmp_path / "a.cl").write_bytes(source)
    assert inline(str(tmp_path / "a.cl"), (), ()) == (source, ((tmp_path / "a.cl").as_posix(),))


def test_an_include_is_put_in_with_line_marks(tmp_path: Path) -> None:
    text = inlined(tmp_path, {"a.cl": 'one\n#include "b.h"\nthree\n', "b.h": "two"})
    assert text == f'one\n#line 1 "{tmp_path}/b.h"\ntwo\n#line 3 "{tmp_path}/a.cl"\nthree\n'


def test_includes_are_found_beside_the_file_first_then_in_the_folders(tmp_path: Path) -> None:
    files = {"a.cl": '#include <b.h>\n# include "c.h"\n', "i/b.h": "B\n", "i/c.h": "wrong\n", "c.h": "C\n"}
    text = inlined(tmp_path, files, "i")
    assert "B\n" in text
    assert "C\n" in text
    assert "wrong" not in text


def test_pragma_once_keeps_a_file_out_the_second_time(tmp_path: Path) -> None:
    text = inlined(tmp_path, {"a.cl": '#include "b.h"\n#include "b.h"\n', "b.h": "#pragma once\nB\n"})
    assert text.count("B\n") == 1
    assert "#pragma" not in text


def test_a_file_with_guards_is_put_in_each_time(tmp_path: Path) -> None:
    guarded = "#ifndef B\n#define B\nint b;\n#endif\n"
    assert (
        inlined(tmp_path, {"a.cl": '#include "b.h"\n#include "b.h"\n', "b.h": guarded}).count("int b;") == 2
    )


def test_a_missing_include_is_named_with_its_line_and_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(
        InlineError, match=r"a\.cl:2: error: no file `gone\.h` to include; looked in: .*, .*/i"
    ):
        inlined(tmp_path, {"a.cl": '\n#include "gone.h"\n'}, "i")


def test_includes_in_a_circle_end(tmp_path: Path) -> None:
    with pytest.raises(InlineError, match=f"more than {DEPTH} deep"):
        inlined(tmp_path, {"a.cl": '#include "a.cl"\n'})


def test_text_that_doubles_at_each_level_ends(tmp_path: Path) -> None:
    files = {f"{level}.h": f'#include "{level + 1}.h"\n#include "{level + 1}.h"\n' for level in range(40)}
    files["40.h"] = "x" * (1 << 20)
    with pytest.raises(InlineError, match="more than 64 MiB"):
        inlined(tmp_path, {"a.cl": '#include "0.h"\n', **files})


def test_the_script_writes_a_depfile_that_escapes_names(tmp_path: Path) -> None:
    write(tmp_path, {"a b.cl": '#include "c#d$.h"\n', "c#d$.h": "C\n"})
    source, out, depfile = (str(tmp_path / name) for name in ("a b.cl", "o", "o.d"))
    assert main([source, out, depfile]) == 0
    text = Path(depfile).read_text()
    assert text.endswith(" " + source.replace(" ", "\\ ") + " " + str(tmp_path / "c\\#d$$.h") + "\n")


def test_the_script_needs_nothing_but_the_standard_library(tmp_path: Path) -> None:
    script = Path(sys.modules[inline.__module__].__file__ or "")
    write(tmp_path, {"a.cl": "int a;\n"})
    argv = [sys.executable, "-I", "-S", str(script), "a.cl", "o", "o.d"]
    assert subprocess.run(argv, cwd=tmp_path, check=False).returncode == 0
    assert (
        subprocess.run(
            [*argv[:4], "no.cl", "o", "o.d"], cwd=tmp_path, capture_output=True, check=False
        ).returncode
        == 1
    )
