"""The lane of Python kernels: what it plans, what it writes, what it remembers."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from atoll.accel import Entry, Floor, Version
from atoll.boundary import Access
from atoll.plugin import LaneRequest, Unit
from atoll.plugin.rules import rules_beside
from atoll.runtime import include_folder
from atoll.runtime.record import MAGIC, read_records
from atoll.testing.lanes import LANE_CHECKS, LaneCheck, run_plan
from atoll_plugins.python.compile import entry_text, read_entry, targets
from atoll_plugins.python.lane import PythonLane
from unit.plugins.lane_project import ENVIRONMENT, request, write

KERNELS = """
import atoll
from atoll import f32, i32, kernel, view
from kernels.shared import HALF

@kernel
def scale(a: f32, x: view[f32], out: view[f32, 2], value: i32, domain0: i32):
    \"\"\"Scale x.

    More.
    \"\"\"
    i, j = atoll.global_id(0), atoll.global_id(1)
    if i < x.size and j < value + domain0:
        out[i, j] = a * x[i] * HALF

@kernel(block=32, requires=("x.size // 32 == out.shape[0]",
                            "x.size % (0 - 7) < 1 and 0 - 7 // 2 == 0 - 3 or 1 > 2 > 0"))
def sums(x: view[f32], out: view[f32]):
    t = atoll.shared(f32, 32)
    t[atoll.local_id(0)] = x[atoll.global_id(0)]
    atoll.barrier()
    if atoll.local_id(0) == 0:
        out[atoll.group_id(0)] = t[0] + t[31]
"""
CUDA = Entry(
    backend="cuda", version=Version((13, 0)), archs=("sm_80", "sm_90"), floor=Floor(Version((90,)), "ptx")
)
VULKAN = Entry(backend="vulkan", version=Version((1, 2)))
OPENCL = Entry(backend="opencl", version=Version((1, 2)))
ENTRIES = (CUDA, VULKAN, OPENCL, None)


@pytest.fixture
def project(tmp_path: Path) -> LaneRequest:
    root = write(
        tmp_path / "project",
        {"kernels/all.py": KERNELS, "kernels/shared.py": "HALF = 0.5\n", "other.py": "x = 1\n"},
    )
    units = tuple(Unit(path="kernels/all.py", target="demo", entry=entry) for entry in ENTRIES)
    made = request(root, units, CUDA, VULKAN, OPENCL)
    return replace(made, environment={**ENVIRONMENT, "ATOLL_CACHE": str(tmp_path / "cache")})


@pytest.mark.parametrize("check", LANE_CHECKS, ids=lambda check: str(check.__name__))
def test_the_lane_keeps_its_doors_promises(project: LaneRequest, check: LaneCheck) -> None:
    check(PythonLane(), project)


def test_a_kernel_becomes_one_source_and_one_entry_for_every_backend_and_the_processor(
    project: LaneRequest,
) -> None:
    plan = PythonLane().plan(project)
    assert [product.root for product in plan.sources] == [
        name for name in ("cuda", "vulkan", "opencl", "cpu") for _ in range(2)
    ]
    first = plan.sources[0].entries[0]
    assert (first.name, first.status, first.domain, first.doc) == ("scale", True, 2, "Scale x.")
    assert [(item.name, item.ctype) for item in first.parameters] == [
        ("domain0_", "uint32_t"), ("domain1", "uint32_t"), ("a", "float"), ("x", "const float *"), ("x_size0", "uint64_t"),  # noqa: E501
        ("out", "float *"), ("out_size0", "uint64_t"), ("out_size1", "uint64_t"), ("value", "int32_t"), ("domain0", "int32_t"),  # noqa: E501
    ]  # fmt: skip
    out = first.parameters[5]
    assert out.access is Access.WRITE
    assert out.extent is not None
    assert out.extent.dimensions == ("out_size0", "out_size1")
    others = {product.entries[0] for product in plan.sources if product.entries[0].name == "scale"}
    assert len({replace(entry, root="") for entry in others}) == 1


def test_the_generated_c_compiles_without_a_warning_and_holds_what_a_reader_finds(
    project: LaneRequest,
) -> None:
    plan = PythonLane().plan(project)
    run_plan(plan, project.root)
    found: dict[str, list[Any]] = {}
    for product in plan.sources:
        source = project.root / product.path
        built = source.with_suffix(".o")
        argv = [
            "gcc",
            "-std=c11",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Wno-unused-function",
            "-fPIC",
            "-c",
            str(source),
        ]
        subprocess.run([*argv, "-I", str(include_folder()), "-o", str(built)], check=True, timeout=60)
        section = source.with_suffix(".section")
        dump = [
            "objcopy",
            "-O",
            "binary",
            "--only-section=.atoll.kernels",
            "--set-section-flags",
            ".atoll.kernels=alloc",
        ]
        subprocess.run([*dump, str(built), str(section)], check=True, timeout=60)
        if section.stat().st_size:
            assert section.read_bytes().startswith(MAGIC)
            found.setdefault(product.root, []).extend(read_records(memoryview(section.read_bytes())))
    said = {
        root: sorted({(item.backend, item.kind, item.floor, item.version, item.declared) for item in records})
        for root, records in found.items()
    }
    assert said == {
        "cuda": [("cuda", "ptx", "80", "", False), ("cuda", "ptx", "90", "", False)],
        "vulkan": [("vulkan", "spirv", "1.5", "1.2", False)],
        "opencl": [("opencl", "opencl-c", "", "1.2", True)],
    }
    names = {item.entry for item in found["cuda"]}
    assert names == {"atoll_v1_kernel_4c624493_scale", "atoll_v1_kernel_4c624493_sums"}


HOST = r"""
#include <stdio.h>
#include "atoll_launch.h"
int scale(uint32_t, uint32_t, float, const float *, uint64_t, float *, uint64_t, uint64_t, int32_t, int32_t);
int sums(uint32_t, const float *, uint64_t, float *, uint64_t);
int main(void) {
  float x[64], out[4][2] = {{9, 9}, {9, 9}, {9, 9}, {9, 9}}, sum[2];
  for (int i = 0; i < 64; i++) x[i] = (float)i;
  if (scale(3, 2, 4, x, 64, &out[0][0], 4, 2, 1, 1)) return puts(atoll_last_error()), 1;
  for (int i = 0; i < 4; i++) printf("%g %g ", out[i][0], out[i][1]);
  if (sums(64, x, 64, sum, 2)) return puts(atoll_last_error()), 1;
  printf("%g %g\n", sum[0], sum[1]);
  printf("%d %s\n", sums(33, x, 64, sum, 2), atoll_last_error());
  printf("%d %s\n", sums(64, x, 64, sum, 3), atoll_last_error());
  printf("%d %d\n", sums(0, x, 64, sum, 2), scale(0x80000000u, 1, 4, x, 64, &out[0][0], 4, 2, 1, 1));
  return 0;
}
"""


def test_the_entry_for_the_processor_answers_keeps_what_it_leaves_alone_and_refuses(
    project: LaneRequest, tmp_path: Path
) -> None:
    from atoll.plugin import registry
    from atoll.runtime import core_source

    project = replace(project, units=project.units[3:])
    plan = PythonLane().plan(project)
    run_plan(plan, project.root)
    launcher = registry().drivers["cpu"].launcher()
    assert launcher is not None
    (tmp_path / "launcher.c").write_text(launcher.text)
    (tmp_path / "main.c").write_text(HOST)
    sources = [str(project.root / product.path) for product in plan.sources]
    sources += [str(tmp_path / "launcher.c"), str(tmp_path / "main.c"), str(core_source())]
    program = tmp_path / "program"
    argv = [
        "gcc",
        "-std=c11",
        "-w",
        "-I",
        str(include_folder()),
        *sources,
        "-o",
        str(program),
        *launcher.libraries,
        "-lm",
    ]
    subprocess.run(argv, check=True, timeout=60)
    done = subprocess.run([program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split("\n")[:4] == [
        "0 0 2 2 4 4 9 9 31 95",
        "1 sums: its work-items wait for each other, so its domain has to be whole work-groups: 33 is no multiple of 32",  # noqa: E501
        "1 sums: has a launch contract that this launch breaks: x.size // 32 == out.shape[0]; here x.size is 64, out.shape[0] is 3",  # noqa: E501
        "0 1",
    ]


def test_the_answer_of_the_child_is_remembered_until_a_file_it_read_changes(
    project: LaneRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    from atoll_plugins.python import child

    asked: list[str] = []
    ask = child._ask

    def counted(given: LaneRequest, path: str, limit: float) -> dict[str, Any]:
        asked.append(path)
        return ask(given, path, limit)

    monkeypatch.setattr(child, "_ask", counted)
    lane = PythonLane()
    plan = lane.plan(project)
    assert plan.planner_inputs == ("kernels/all.py", "kernels/shared.py")
    lane.plan(project)
    assert len(asked) == 1
    (project.root / "other.py").write_text("x = 2\n")
    lane.plan(project)
    assert len(asked) == 1
    (project.root / "kernels/shared.py").write_text("HALF = 0.25\n")
    lane.plan(project)
    assert len(asked) == 2
    (memory,) = (Path(project.environment["ATOLL_CACHE"]) / "python").iterdir()
    memory.write_text("{")
    lane.plan(project)
    assert len(asked) == 3
    for changed in ("compiler", "python"):
        memory.write_text(memory.read_text().replace(f'"{changed}": "', f'"{changed}": "other '))
        lane.plan(project)
    assert len(asked) == 5


def test_the_depfile_names_every_project_module_that_was_imported(project: LaneRequest) -> None:
    plan = PythonLane().plan(replace(project, units=project.units[:1]))
    run_plan(plan, project.root)
    (action,) = plan.actions
    assert action.depfile is not None
    outputs, _, inputs = (project.root / action.depfile).read_text().partition(": ")
    assert outputs.split() == list(action.outputs)
    assert inputs.split() == ["kernels/all.py", "kernels/shared.py"]
    assert set(action.inputs) == set(inputs.split())


def test_what_a_file_prints_does_not_disturb_the_answer(project: LaneRequest) -> None:
    (project.root / "kernels/shared.py").write_text(
        "import os\nHALF = 0.5\nprint('{}')\nos.write(1, b'noise')\n"
    )
    assert len(PythonLane().plan(project).sources) == 8


def test_the_compiler_itself_is_part_of_the_key(project: LaneRequest) -> None:
    (action, *_) = PythonLane().plan(project).actions
    assert len(action.key) == 64


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_crosses_the_process_border_whole(entry: Entry | None) -> None:
    assert read_entry(entry_text(entry, None)) == entry


def test_left_out_archs_stay_out() -> None:
    again = read_entry(entry_text(CUDA, ("sm_90",)))
    assert again is not None
    assert again.archs == ("sm_90",)


def test_every_arch_and_the_floor_has_its_code_once() -> None:
    from atoll.plugin import registry

    found = targets(registry().emitters["cuda"], CUDA)
    assert [target.arch for target in found] == ["sm_80", "sm_90"]
    assert len(targets(registry().emitters["vulkan"], VULKAN)) == 1


def test_it_serves_the_backends_of_the_emitters_with_the_rules_of_the_lanes_that_know_them() -> None:
    lane = PythonLane()
    assert {"cuda", "vulkan", "opencl"} <= lane.backends.keys()
    assert "cpu" not in lane.backends
    for name, rules in rules_beside("python").items():
        if name in lane.backends:
            assert type(lane.backends[name]) is type(rules)


def test_the_tools_this_test_needs_are_there() -> None:
    assert shutil.which("gcc")
    assert shutil.which("objcopy")
