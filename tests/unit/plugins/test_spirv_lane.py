"""The shader lane: which compiler, which environment, includes followed, the payload where there is none."""

from __future__ import annotations

import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from atoll.accel import Entry, Version
from atoll.errors import LaneError, StoreError
from atoll.plugin import LaneRequest, Unit
from atoll.store import Store
from atoll.testing.lanes import LANE_CHECKS, LaneCheck, run_plan
from atoll_plugins.spirv.compilers import PAYLOAD
from atoll_plugins.spirv.lane import SpirvLane
from atoll_plugins.spirv.stages import STAGES
from unit.plugins.lane_project import ENVIRONMENT, request, write

ENTRY = Entry(backend="vulkan", version=Version((1, 2)))
SHADER = """\
#version 450
#extension GL_GOOGLE_include_directive : require
#include "com mon.glsl"
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer X { float x[]; };
void main() { x[gl_GlobalInvocationID.x] *= FACTOR * SCALE; }
"""


@pytest.fixture(params=["glslangValidator", "glslc"])
def wanted(request_: None, request: pytest.FixtureRequest, tmp_path: Path) -> LaneRequest:
    return project(tmp_path, str(request.param))


@pytest.fixture
def request_() -> None:
    """Keep the name `request` for pytest."""


def project(root: Path, compiler: str | None = None, entry: Entry = ENTRY) -> LaneRequest:
    write(root, {"s/x.comp": SHADER, "s/com mon.glsl": "#define SCALE 2.0\n"})
    unit = Unit(path="s/x.comp", target="demo", entry=entry, defines=("FACTOR=3.0",))
    return request(root, (unit,), entry, options={"compiler": compiler} if compiler else {})


@pytest.mark.parametrize("check", LANE_CHECKS, ids=lambda check: str(check.__name__))
def test_it_keeps_the_promises_of_the_door(check: LaneCheck, wanted: LaneRequest) -> None:
    check(SpirvLane(), wanted)


def words(root: Path, plan_path: str) -> tuple[int, ...]:
    data = (root / plan_path).read_bytes()
    return struct.unpack(f"<{len(data) // 4}I", data)


def test_a_shader_becomes_one_module_of_the_asked_environment(wanted: LaneRequest) -> None:
    plan = SpirvLane().plan(wanted)
    run_plan(plan, wanted.root)
    module = words(wanted.root, plan.data[0].path)
    assert module[0] == 0x07230203
    assert module[1] == 0x00010500
    assert plan.data[0].form == "spirv"
    valid = ["spirv-val", "--target-env", "vulkan1.2", str(wanted.root / plan.data[0].path)]
    subprocess.run(valid, check=True)


def test_its_depfile_names_the_include_with_a_space(wanted: LaneRequest) -> None:
    plan = SpirvLane().plan(wanted)
    run_plan(plan, wanted.root)
    action = plan.actions[0]
    text = (wanted.root / str(action.depfile)).read_text()
    assert action.depfile_style == ("make" if "glslang" in action.argv[0] else "raw")
    shown = "com mon.glsl" if action.depfile_style == "raw" else "com\\ mon.glsl"
    assert shown in text


def test_each_compiler_says_how_it_writes_depfiles(tmp_path: Path) -> None:
    styles = {
        name: SpirvLane().plan(project(tmp_path, name)).actions[0].depfile_style
        for name in ("glslangValidator", "glslc")
    }
    assert styles == {"glslangValidator": "make", "glslc": "raw"}


def test_without_a_version_the_pinned_environment_is_taken(tmp_path: Path) -> None:
    plan = SpirvLane().plan(project(tmp_path, entry=Entry(backend="vulkan")))
    assert "--target-env=vulkan1.2" in plan.actions[0].argv


def test_the_host_serves_before_the_payload(tmp_path: Path) -> None:
    assert SpirvLane().payloads(project(tmp_path)) == ()
    bare = replace(project(tmp_path), environment={"PATH": str(tmp_path)})
    assert SpirvLane().payloads(bare) == (PAYLOAD,)


def test_the_payload_compiles_without_a_compiler_on_path(tmp_path: Path) -> None:
    try:
        root = Store.default().ensure(PAYLOAD)
    except StoreError as error:
        pytest.skip(f"the payload {PAYLOAD.name} cannot be had: {error.diagnostics[0].message}")
    bare = replace(project(tmp_path), environment={"PATH": str(tmp_path)}, tools={PAYLOAD.name: root})
    write(tmp_path, {"s/x.comp": SHADER.replace("#extension GL_GOOGLE_include_directive : require\n", "")})
    plan = SpirvLane().plan(bare)
    assert plan.tools[0].version == "13.1.1"
    assert plan.tools[0].why == root.why
    run_plan(plan, tmp_path)
    assert words(tmp_path, plan.data[0].path)[0] == 0x07230203


def test_every_stage_of_the_pipeline_is_a_unit() -> None:
    kinds = SpirvLane.extensions
    assert {extension for extension, kind in kinds.items() if kind == "unit"} == {
        ".hlsl",
        *(f".{stage}" for stage in STAGES),
    }
    assert len(STAGES) == 14


def test_an_include_needs_no_extension_where_the_compiler_can_switch_it_on(tmp_path: Path) -> None:
    found = project(tmp_path)
    write(tmp_path, {"s/x.comp": SHADER.replace("#extension GL_GOOGLE_include_directive : require\n", "")})
    plan = SpirvLane().plan(found)
    run_plan(plan, tmp_path)
    assert words(tmp_path, plan.data[0].path)[0] == 0x07230203


def test_a_program_that_is_no_shader_compiler_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LaneError, match="ATL0509"):
        SpirvLane().plan(project(tmp_path, "/bin/true"))


def test_the_row_of_doctor_names_the_fix_on_an_empty_machine() -> None:
    assert SpirvLane().status(ENVIRONMENT, frozenset()).can_build is True
    row = SpirvLane().status({"PATH": ""}, frozenset())
    assert row.can_build is None
    assert row.fix.startswith("build, or `atoll toolchain add` in the project: it is fetched")
    row = SpirvLane().status({"PATH": ""}, frozenset({PAYLOAD.name}))
    assert (row.can_build, row.found) == (True, "glslangValidator 13.1 in the store")
