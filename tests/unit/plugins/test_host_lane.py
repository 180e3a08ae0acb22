"""The host lane: which compiler, which flags, what it links, what it refuses."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from atoll.errors import LaneError
from atoll.plugin import LaneRequest, LinkRequest, Unit
from atoll.testing.lanes import LANE_CHECKS, LaneCheck, run_plan
from atoll_plugins.formats.host_compilers import choose, installed
from atoll_plugins.host.lane import HostLane, is_offload
from unit.plugins.lane_project import ENVIRONMENT, program, request, write

FILES = {
    "src/main.cpp": '#include "twice.h"\n#include <cstdio>\nint main() { printf("%d\\n", twice(21)); }\n',
    "src/twice.c": '#include "twice.h"\nint twice(int x) { return 2 * x; }\nint unseen(void) { return 1; }\n',
    "src/twice.h": '#ifdef __cplusplus\nextern "C"\n#endif\nint twice(int x);\n',
}


@pytest.fixture
def wanted(tmp_path: Path) -> LaneRequest:
    write(tmp_path, FILES)
    units = tuple(Unit(path=path, target="demo") for path in ("src/main.cpp", "src/twice.c"))
    return request(tmp_path, units)


@pytest.mark.parametrize("check", LANE_CHECKS, ids=lambda check: str(check.__name__))
def test_it_keeps_the_promises_of_the_door(check: LaneCheck, wanted: LaneRequest) -> None:
    check(HostLane(), wanted)


def link(wanted: LaneRequest, kind: str, output: str, exports: tuple[str, ...] | None = None) -> Path:
    lane = HostLane()
    compiled = lane.plan(wanted)
    run_plan(compiled, wanted.root)
    objects = tuple(product.path for product in compiled.objects)
    linked = lane.link(
        LinkRequest(
            request=wanted, kind=kind, output=f"{wanted.build}/{output}", inputs=objects, exports=exports
        )
    )
    run_plan(linked, wanted.root)
    return wanted.root / wanted.build / output


def said(*command: str | Path) -> str:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout


def test_an_executable_answers(wanted: LaneRequest, tell: Callable[[str], None]) -> None:
    tell(f"PATH={ENVIRONMENT['PATH']}: {HostLane().plan(wanted).tools[0]}")
    assert said(link(wanted, "executable", "demo")) == "42\n"


def test_a_shared_object_shows_only_its_exports(wanted: LaneRequest) -> None:
    only_c = replace(wanted, units=wanted.units[1:])
    library = link(only_c, "shared", "libdemo.so", exports=("twice",))
    shown = {line.split()[-1] for line in said("nm", "-D", "--defined-only", library).splitlines()}
    assert shown == {"twice"}


def test_a_shared_object_with_an_undefined_symbol_does_not_link(wanted: LaneRequest) -> None:
    only_main = replace(wanted, units=wanted.units[:1])
    with pytest.raises(AssertionError, match="undefined reference to `twice'"):
        link(only_main, "shared", "libdemo.so")


def test_a_member_that_left_the_list_leaves_the_archive(wanted: LaneRequest) -> None:
    archive = link(wanted, "static", "libdemo.a")
    assert said("ar", "t", archive).split() == ["main.cpp.o", "twice.c.o"]
    archive = link(replace(wanted, units=wanted.units[1:]), "static", "libdemo.a")
    assert said("ar", "t", archive).split() == ["twice.c.o"]


def test_an_extension_module_leaves_the_interpreter_undefined(wanted: LaneRequest) -> None:
    write(
        wanted.root,
        {"ext.c": "extern int PyModule_Create2(void); int start(void) { return PyModule_Create2(); }\n"},
    )
    alone = replace(wanted, units=(Unit(path="ext.c", target="demo", hidden=False),))
    module = link(alone, "module", "ext.abi3.so", exports=("start",))
    assert "libpython" not in said("readelf", "-d", module)
    assert "PyModule_Create2" in said("nm", "-D", "--undefined-only", module)


def test_depfiles_list_headers(wanted: LaneRequest) -> None:
    plan = HostLane().plan(wanted)
    run_plan(plan, wanted.root)
    texts = [(wanted.root / str(action.depfile)).read_text() for action in plan.actions]
    assert all("src/twice.h" in text for text in texts)


def test_products_are_not_fused_and_the_flags_say_so(wanted: LaneRequest) -> None:
    for action in HostLane().plan(wanted).actions:
        assert "-ffp-contract=off" in action.argv
        assert "-fPIC" in action.argv


def test_the_key_is_a_hash_of_the_compiler_and_its_stages(wanted: LaneRequest) -> None:
    action = HostLane().plan(wanted).actions[0]
    assert len(action.key) == 64
    assert any(path.endswith("/cc1plus") for path in action.inputs)


def test_another_compiler_is_another_key(wanted: LaneRequest) -> None:
    others = [found for found in installed(ENVIRONMENT) if found.family == "clang"]
    if not others:
        pytest.skip("no clang++ on this machine")
    chosen = replace(wanted, options={"compiler": str(others[0].cxx)})
    plan = HostLane().plan(chosen)
    assert plan.tools[0].version.startswith("clang")
    assert plan.actions[0].key != HostLane().plan(wanted).actions[0].key


def test_the_preferred_compiler_is_gxx_and_the_reason_is_said(tmp_path: Path) -> None:
    found = choose(None, ENVIRONMENT)
    assert found is not None
    assert found[0].cxx.name == "g++"
    assert found[1] == "the first host compiler on PATH"


def test_versions_order_by_number_not_by_name(tmp_path: Path) -> None:
    real = choose(None, ENVIRONMENT)
    assert real is not None
    for name in ("g++-9", "g++-12"):
        program(tmp_path, name, f'exec {real[0].cxx} "$@"')
    names = [compiler.cxx.name for compiler in installed({"PATH": str(tmp_path)})]
    assert names == ["g++-12", "g++-9"]


def test_a_program_that_is_no_compiler_is_passed_over(tmp_path: Path) -> None:
    program(tmp_path, "g++", "echo hello")
    assert list(installed({"PATH": str(tmp_path)})) == []


@pytest.mark.parametrize(
    "flag", ["-fsycl", "-stdpar", "-stdpar=gpu", "-fopenmp-targets=nvptx64", "-foffload=x"]
)
def test_flags_that_offload_are_known(flag: str) -> None:
    assert is_offload(flag)


@pytest.mark.parametrize(
    "flag", ["-fsyntax-only", "-fopenmp", "-foffload=disable", "-stdlib=libc++", "-std=c++20"]
)
def test_flags_that_only_look_alike_pass(flag: str) -> None:
    assert not is_offload(flag)


def test_a_host_it_has_no_plan_for_is_refused(wanted: LaneRequest) -> None:
    with pytest.raises(LaneError, match="ATL0513"):
        HostLane().plan(replace(wanted, host="windows"))
