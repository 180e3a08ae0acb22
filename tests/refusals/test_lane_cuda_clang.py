"""A clang that the project names for CUDA and that cannot: both versions, and what went wrong first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from atoll.accel import Entry, Floor, Version
from atoll.errors import LaneError
from atoll.plugin import LaneRequest, Unit
from atoll.plugin.tools import find_program
from atoll.store import PayloadRoot
from atoll_plugins.cuda.lane import CudaLane
from unit.plugins.lane_project import ENVIRONMENT, request, write

ENTRY = Entry(backend="cuda", archs=("sm_90",))


def named(root: Path, payload: PayloadRoot, clang: str, entry: Entry = ENTRY) -> LaneRequest:
    if find_program(clang, ENVIRONMENT) is None:
        pytest.skip(f"no {clang} on this machine")
    write(root, {"a.cu": "__global__ void f() {}\n"})
    unit = Unit(path="a.cu", target="demo", entry=entry)
    made = request(root, (unit,), entry, options={"compiler": clang})
    environment = {**ENVIRONMENT, "ATOLL_CACHE": str(root / "cache")}
    return replace(made, environment=environment, tools={payload.payload.name: payload})


def refused(asked: LaneRequest) -> tuple[str, ...]:
    with pytest.raises(LaneError) as raised:
        CudaLane().plan(asked)
    (found,) = raised.value.diagnostics
    assert found.code == "ATL0530"
    assert found.message == "the clang that the project names does not compile CUDA for this build"
    assert found.hint == "remove `[lane.cuda] compiler` to let nvcc compile, or name another clang"
    return found.notes


def test_one_that_is_too_old_for_the_toolkits_headers(tmp_path: Path, cuda_payload: PayloadRoot) -> None:
    notes = refused(named(tmp_path, cuda_payload, "clang++-19"))
    assert notes[0].startswith("clang: clang++-19 19.")
    assert notes[1] == f"toolkit: 13.0.88 at {cuda_payload.root}/nvidia/cu13"
    assert notes[2].startswith("reason: compiling a probe says: /usr/lib/llvm-19/")
    assert notes[2].endswith("fatal error: 'texture_fetch_functions.h' file not found")


def test_an_architecture_that_it_does_not_know(tmp_path: Path, cuda_payload: PayloadRoot) -> None:
    entry = replace(ENTRY, archs=("sm_100f",))
    notes = refused(named(tmp_path, cuda_payload, "clang++-22", entry))
    said = "clang++-22: error: unsupported CUDA gpu architecture: sm_100f"
    assert notes[2] == f"reason: compiling a probe says: {said}"


def test_a_floor_without_machine_code_of_its_level(tmp_path: Path, cuda_payload: PayloadRoot) -> None:
    entry = replace(ENTRY, archs=("sm_90",), floor=Floor(Version((80,)), "ptx"))
    notes = refused(named(tmp_path, cuda_payload, "clang++-22", entry))
    said = "it makes PTX only beside machine code, and no `sm_80` is asked for `a.cu`"
    assert notes[2] == f"reason: {said}"


def test_a_toolkit_without_a_stage(tmp_path: Path, cuda_payload: PayloadRoot) -> None:
    farm = tmp_path / "farm"
    for name in ("include", "lib", "nvvm"):
        (farm / "nvidia/cu13").mkdir(parents=True, exist_ok=True)
        (farm / f"nvidia/cu13/{name}").symlink_to(cuda_payload.root / f"nvidia/cu13/{name}")
    (farm / "nvidia/cu13/bin").mkdir()
    for path in (cuda_payload.root / "nvidia/cu13/bin").iterdir():
        if path.name != "fatbinary":
            (farm / "nvidia/cu13/bin" / path.name).symlink_to(path)
    asked = named(tmp_path, cuda_payload, "clang++-22")
    tools = {cuda_payload.payload.name: replace(cuda_payload, root=farm, digest="farm")}
    notes = refused(replace(asked, tools=tools))
    assert notes[2] == "reason: the toolkit lacks `fatbinary`"


def test_one_that_is_not_there(tmp_path: Path) -> None:
    asked = request(tmp_path, (Unit(path="a.cu", target="demo", entry=ENTRY),), ENTRY)
    with pytest.raises(LaneError) as raised:
        CudaLane().payloads(replace(asked, options={"compiler": "clang++-99"}))
    (found,) = raised.value.diagnostics
    assert found.code == "ATL0509"
    assert found.message == "the CUDA compiler that the project names is not there or is no clang"
    assert found.notes == ("`[lane.cuda] compiler` names: clang++-99", "PATH is: /usr/bin:/bin")
