"""What the lane of SYCL refuses, word for word (`texts/`)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.accel import Entry
from atoll.errors import LaneError
from atoll.plugin import Unit
from atoll_plugins.sycl.lane import SyclLane
from refusals.exact import check
from unit.plugins.lane_project import program
from unit.plugins.test_sycl_lane import ISLAND, fake_driver, fake_store, project

LAMBDA = (
    ISLAND + "void run(sycl::queue q, float* x) {\n  q.parallel_for(64, [=](auto i) { x[i] *= 2; });\n}\n"
)


def two_runtimes(root: Path) -> object:
    made = project(root, tools=fake_store(root), cxxflags=("-stdlib=libc++",))
    raise LaneError(*SyclLane().plan(made).diagnostics)


CASES: dict[str, Callable[[Path], object]] = {
    "ATL0505_sycl": lambda root: SyclLane().payloads(project(root, options={"version": "2025.0"})),
    "ATL0507_sycl_host": lambda root: SyclLane().plan(
        project(root, tools=fake_store(root), environment={"PATH": "/nowhere"})
    ),
    "ATL0508_sycl_nvidia": lambda root: SyclLane().payloads(project(root, accel="sycl, cuda12.8+{sm_90}")),
    "ATL0509_sycl": lambda root: SyclLane().plan(
        project(root, options={"compiler": str(program(root / "bin", "clang++", "echo clang version 19"))})
    ),
    "ATL0512_sycl": lambda root: SyclLane().payloads(project(root, options={"targets": "spir64"})),
    "ATL0513_sycl_macos": lambda root: SyclLane().payloads(project(root, host="macos")),
    "ATL0513_sycl_windows": lambda root: SyclLane().payloads(project(root, host="windows")),
    "ATL0513_sycl_nvidia_on_windows": lambda root: SyclLane().payloads(
        project(root, accel="sycl, cuda12.8+{sm_90}", host="windows", options=fake_driver(root, "icpx"))
    ),
    "ATL0514_sycl": lambda root: SyclLane().payloads(
        dataclasses.replace(
            project(root), units=(Unit(path="s/k.sycl", target="demo", entry=Entry(backend="cuda")),)
        )
    ),
    "ATL0533_two_runtimes": two_runtimes,
    "ATL0534_lambda": lambda root: SyclLane().plan(project(root, LAMBDA, tools=fake_store(root))),
}


@pytest.mark.parametrize("name", CASES)
def test_the_lane_of_sycl(tmp_path: Path, name: str) -> None:
    check(name, tmp_path, CASES[name])
