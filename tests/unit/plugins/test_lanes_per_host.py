"""What the lanes plan on each host whose commands are the same on all: shaders and OpenCL C.

What differs by host is held where each lane's own tests are: the host's, CUDA's, SYCL's, Slang's. Tools are
scripts that say what they are asked, so that nothing of this machine decides.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from atoll.accel import AccelSet
from atoll.plugin import Lane, LaneRequest, Unit
from atoll.plugin.tools import python_program
from atoll_plugins import opencl
from atoll_plugins.formats.hosts import HOSTS
from atoll_plugins.opencl.lane import OpenClLane
from atoll_plugins.spirv.lane import SpirvLane
from unit.plugins.lane_project import program, request, write

GLSLC = 'case "$1" in --version) echo "shaderc v2023.2" ;; --help) echo "vulkan1.2" ;; esac'
CLANG = 'echo "clang version 19.1.7"'
PLANS = {
    "spirv": (
        (
            "ROOT/bin/glslc --target-env=vulkan1.2 -MD -MF OUT/s/k.comp.spv.d -I inc -DA=1"
            " -o OUT/s/k.comp.spv s/k.comp"
        ),
    ),
    "opencl": (
        "PYTHON -I -S OPENCL/inline.py s/k.cl OUT/s/k.cl OUT/s/k.cl.d -Iinc -IOPENCL/include -DA=1",
        (
            "ROOT/bin/clang -x cl -cl-std=CL1.2 -Xclang -finclude-default-header"
            " -target spir64-unknown-unknown -O0 -Iinc -IOPENCL/include -DA=1"
            " -MD -MF OUT/s/k.cl.checked.bc.d -emit-llvm -c s/k.cl -o OUT/s/k.cl.checked.bc"
        ),
    ),
}


def asked(root: Path, host: str, name: str, accel: str, script: tuple[str, str]) -> LaneRequest:
    write(
        root, {name: "#version 450\nvoid main() {}\n" if name.endswith(".comp") else "kernel void k() {}\n"}
    )
    tool = program(root / "bin", *script)
    wanted = AccelSet.parse(accel)
    unit = Unit(path=name, target="demo", entry=wanted.entries[0], includes=("inc",), defines=("A=1",))
    made = request(root, (unit,), *wanted.entries, options={"compiler": str(tool)})
    return dataclasses.replace(
        made, host=host, environment={"PATH": "/nowhere", "ATOLL_CACHE": str(root / "c")}
    )


def said(lane: Lane, made: LaneRequest) -> tuple[str, ...]:
    lines = []
    for action in lane.plan(made).actions:
        line = " ".join(action.argv).replace(f".atoll/build/test/{lane.name}/demo", "OUT")
        for path, word in (
            (str(made.root), "ROOT"),
            (python_program(), "PYTHON"),
            (str(Path(str(opencl.__file__)).parent), "OPENCL"),
        ):
            line = line.replace(path, word)
        lines.append(line)
    return tuple(lines)


@pytest.mark.parametrize("host", HOSTS)
def test_shaders(tmp_path: Path, host: str) -> None:
    made = asked(tmp_path, host, "s/k.comp", "vulkan1.2", ("glslc", GLSLC))
    assert said(SpirvLane(), made) == PLANS["spirv"]


@pytest.mark.parametrize("host", HOSTS)
def test_opencl_c(tmp_path: Path, host: str) -> None:
    made = asked(tmp_path, host, "s/k.cl", "opencl1.2", ("clang", CLANG))
    assert said(OpenClLane(), made) == PLANS["opencl"]
