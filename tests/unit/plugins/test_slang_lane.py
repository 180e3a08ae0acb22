"""The Slang lane: SPIR-V by slangc from a wheel, never without a time limit."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from atoll.accel import Entry, Version
from atoll.errors import StoreError
from atoll.packaging import measure
from atoll.plugin import LaneRequest, Unit
from atoll.store import PayloadRoot, Store
from atoll.testing.lanes import LANE_CHECKS, LaneCheck, run_plan
from atoll_plugins.slang.compiler import PAYLOAD
from atoll_plugins.slang.lane import TIME_LIMIT, SlangLane, stage_of
from unit.plugins.lane_project import program, request, write

ENTRY = Entry(backend="vulkan", version=Version((1, 2)))
SHADER = """\
import scale;
RWStructuredBuffer<float> x;
[shader("compute")] [numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) { x[id.x] = scaled(x[id.x]); }
"""


def project(root: Path, **changes: object) -> LaneRequest:
    write(root, {"s/k.slang": SHADER, "s/scale.slang": "float scaled(float x) { return FACTOR * x; }\n"})
    unit = Unit(path="s/k.slang", target="demo", entry=ENTRY, defines=("FACTOR=2.0",))
    return dataclasses.replace(request(root, (unit,), ENTRY), **changes)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def stored() -> PayloadRoot:
    try:
        return Store.default().ensure(PAYLOAD)
    except StoreError as error:
        pytest.skip(f"the payload {PAYLOAD.name} cannot be had: {error.diagnostics[0].message}")


def fake_slangc(root: Path) -> str:
    return str(program(root / "bin", "slangc", "echo 2026.14.1"))


@pytest.mark.parametrize("check", LANE_CHECKS, ids=lambda check: str(check.__name__))
def test_it_keeps_the_promises_of_the_door(check: LaneCheck, tmp_path: Path, stored: PayloadRoot) -> None:
    check(SlangLane(), project(tmp_path, tools={PAYLOAD.name: stored}))


def test_modules_are_in_the_depfile_and_the_version_decides(tmp_path: Path, stored: PayloadRoot) -> None:
    plan = SlangLane().plan(project(tmp_path, tools={PAYLOAD.name: stored}))
    run_plan(plan, tmp_path)
    assert "scale.slang" in (tmp_path / f"{plan.data[0].path}.d").read_text()
    assert str(measure(tmp_path / plan.data[0].path).accel) == "vulkan1.2"


def test_every_compilation_has_a_time_limit(tmp_path: Path) -> None:
    plan = SlangLane().plan(project(tmp_path, options={"compiler": fake_slangc(tmp_path)}))
    assert [action.time_limit for action in plan.actions] == [TIME_LIMIT]


def test_a_slangc_that_never_answers_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atoll_plugins.slang.compiler.ASKING", 0.2)
    hangs = str(program(tmp_path / "bin", "slangc", "exec sleep 60"))
    with pytest.raises(Exception, match="is not there or is none that the lane drives"):
        SlangLane().plan(project(tmp_path, options={"compiler": hangs}))


@pytest.mark.parametrize("host", ["linux", "macos", "windows"])
def test_the_plan_is_this_line_on_every_host(tmp_path: Path, host: str) -> None:
    options = {"compiler": fake_slangc(tmp_path), "flags": ["-matrix-layout-row-major"]}
    unit = Unit(
        path="s/k.slang",
        target="demo",
        entry=ENTRY,
        defines=("A=1",),
        includes=("inc",),
        flags=("-warnings-disable", "1"),
    )
    asked = project(tmp_path, options=options, host=host, units=(unit,))
    (action,) = SlangLane().plan(asked).actions
    assert " ".join(action.argv).replace(str(tmp_path), "ROOT") == (
        "ROOT/bin/slangc s/k.slang -target spirv -profile spirv_1_5 -O0 -entry main -stage compute -I inc"
        " -DA=1 -matrix-layout-row-major -warnings-disable 1"
        " -depfile .atoll/build/test/slang/demo/s/k.slang.spv.d -o .atoll/build/test/slang/demo/s/k.slang.spv"
    )


def test_a_name_states_another_stage() -> None:
    assert stage_of("a/b.slang") == "compute"
    assert stage_of("a/b.frag.slang") == "fragment"
    assert stage_of("a/b.v2.slang") == "compute"
