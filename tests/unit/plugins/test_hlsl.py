"""HLSL by stage: compiled where the compiler makes valid modules of it, refused where it only says so."""

from __future__ import annotations

import dataclasses
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.accel import Entry, Version
from atoll.errors import LaneError, StoreError
from atoll.plugin import LaneRequest, Unit
from atoll.plugin.tools import find_program
from atoll.store import Store
from atoll.testing.lanes import run_plan
from atoll_plugins.spirv.compilers import PAYLOAD
from atoll_plugins.spirv.hlsl import fault_of
from atoll_plugins.spirv.lane import SpirvLane
from atoll_plugins.spirv.stages import stage_of
from unit.plugins.lane_project import ENVIRONMENT, request, write

SHADER = """\
#include "a two.hlsli"
RWStructuredBuffer<float> x : register(u0);
[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) { x[id.x] = x[id.x] * TWO; }
"""


def asked(root: Path, minor: int, **changes: object) -> LaneRequest:
    write(root, {"a b.comp.hlsl": SHADER, "a two.hlsli": "#define TWO 2.0\n"})
    entry = Entry(backend="vulkan", version=Version((1, minor)))
    made = request(root, (Unit(path="a b.comp.hlsl", target="demo", entry=entry),), entry)
    environment = {**ENVIRONMENT, "ATOLL_CACHE": str(root / "cache")}
    return dataclasses.replace(made, environment=environment, **changes)  # type: ignore[arg-type]


def valid(path: Path, minor: int) -> bool:
    if find_program("spirv-val", ENVIRONMENT) is None:
        pytest.skip("no spirv-val on this machine")
    argv = ["spirv-val", "--target-env", f"vulkan1.{minor}", str(path)]
    return subprocess.run(argv, env=dict(ENVIRONMENT), check=False).returncode == 0


@pytest.mark.parametrize("name", ["glslc", "glslangValidator"])
def test_it_becomes_a_valid_module_and_its_include_is_found(tmp_path: Path, name: str) -> None:
    if find_program(name, ENVIRONMENT) is None:
        pytest.skip(f"no {name} on this machine")
    made = asked(tmp_path, 1, options={"compiler": name})
    plan = SpirvLane().plan(made)
    run_plan(plan, tmp_path)
    assert valid(tmp_path / plan.data[0].path, 1)
    assert "two.hlsli" in (tmp_path / str(plan.actions[0].depfile)).read_text()


def test_where_the_module_would_not_be_valid_it_is_refused(
    tmp_path: Path, tell: Callable[[str], None]
) -> None:
    if find_program("glslangValidator", ENVIRONMENT) is None:
        pytest.skip("no glslangValidator on this machine")
    made = asked(tmp_path, 2, options={"compiler": "glslangValidator"})
    try:
        plan = SpirvLane().plan(made)
    except LaneError as error:
        (found,) = error.diagnostics
        tell(found.notes[1])
        assert found.code == "ATL0532"
        assert found.message == "the shader compiler makes no valid module of HLSL for `vulkan1.2`"
        return
    run_plan(plan, tmp_path)
    assert valid(tmp_path / plan.data[0].path, 2)


def test_the_payload_makes_a_valid_one_of_the_newer_environment(tmp_path: Path) -> None:
    try:
        root = Store.default().ensure(PAYLOAD)
    except StoreError as error:
        pytest.skip(f"the payload cannot be had: {error.diagnostics[0].message}")
    made = asked(tmp_path, 2, options={"compiler": "payload"}, tools={PAYLOAD.name: root})
    plan = SpirvLane().plan(made)
    run_plan(plan, tmp_path)
    assert valid(tmp_path / plan.data[0].path, 2)


@pytest.mark.parametrize(
    ("path", "stage"),
    [
        ("a.comp", "comp"),
        ("a.comp.hlsl", "comp"),
        ("a.hlsl", ""),
        ("a.glsl", ""),
        ("a.x.hlsl", ""),
        ("comp", ""),
    ],
)
def test_a_name_states_its_stage(path: str, stage: str) -> None:
    assert stage_of(path) == stage


def module(minor: int, *instructions: tuple[int, ...]) -> bytes:
    words = [0x07230203, 1 << 16 | minor << 8, 0, 10, 0]
    for operation, *operands in instructions:
        words += [(len(operands) + 1) << 16 | operation, *operands]
    return struct.pack(f"<{len(words)}I", *words)


def test_the_decoration_is_a_fault_from_1_4_on() -> None:
    assert fault_of(module(3, (71, 5, 3))) == ""
    assert fault_of(module(5, (71, 5, 3))) == "it writes `BufferBlock`, which SPIR-V 1.5 does not have"
    assert fault_of(module(5, (71, 5, 2))) == ""


@pytest.mark.parametrize("data", [b"", b"x" * 19, b"\0" * 24])
def test_what_is_no_module_is_said_so(data: bytes) -> None:
    assert fault_of(data) == "what it made is no module"
