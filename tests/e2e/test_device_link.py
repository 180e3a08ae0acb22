"""Device code across units and a static library: linked before the host links, which then is a plain link."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.store import Store
from atoll_plugins.cuda.toolkit import PAYLOADS, PINNED
from atoll_plugins.hip.lane import HipLane
from e2e.harness import ATOLL, PATH, machine, run
from unit.plugins.lane_project import write

HEAD = '[package]\nname = "app"\nversion = "0.1.0"\n[build]\naccel = "{accel}"\nlanes = ["{lane}"]\n'
TARGETS = """\
[lane.{lane}]
device-link = true
[targets.scales]
kind = "static"
sources = [{{ glob = "lib/*.{ext}", accel = "{lane}" }}]
[targets.app]
kind = "executable"
sources = ["main.cpp", {{ glob = "app/*.{ext}", accel = "{lane}" }}]
links = ["scales"]
[targets.plain]
kind = "executable"
sources = ["plain.cpp"]
links = ["whole"]
[targets.whole]
kind = "static"
sources = [{{ glob = "app/*.{ext}", accel = "{lane}" }}, {{ glob = "lib/*.{ext}", accel = "{lane}" }}]
"""
MAIN = 'extern "C" int island(float*);\nint main() { return island(0) == 0; }\n'
KERNEL = """\
#include <{header}>
extern __device__ float scaled(float x);
__global__ void all(float* x) {{ x[threadIdx.x] = scaled(x[threadIdx.x]); }}
extern "C" int island(float* x) {{ all<<<1, 1>>>(x); return {api}DeviceSynchronize(); }}
"""
LIBRARY = "#include <{header}>\n__device__ float scaled(float x) {{ return 2 * x; }}\n"


def project(root: Path, lane: str, accel: str, ext: str, header: str) -> Path:
    texts = {
        "atoll.toml": (HEAD + TARGETS).format(lane=lane, accel=accel, ext=ext),
        "main.cpp": MAIN,
        "plain.cpp": MAIN,
        f"app/a.{ext}": KERNEL.format(header=header, api=lane),
        f"lib/b.{ext}": LIBRARY.format(header=header),
    }
    return write(root, texts)


def answered(root: Path, accel: str, tell: Callable[[str], None]) -> None:
    built = run(ATOLL, "build", where=root, env=machine(PATH=PATH))
    assert built.code == 0, built.err
    for name in ("app", "plain"):
        (program,) = root.glob(f".atoll/build/*/bin/{name}")
        measured = run(ATOLL, "measure", program, where=root, env=machine()).out
        assert accel in measured, measured
        # Without a device the launch fails, and the program ends with 0 for that.
        assert run(program, where=root, env=machine()).code in (0, 1)
        tell(f"{name}: {accel}")


def test_cuda_links_across_units_and_a_static_library(tmp_path: Path, tell: Callable[[str], None]) -> None:
    if PAYLOADS[PINNED].name not in Store.default().names():
        pytest.skip(f"the payload {PAYLOADS[PINNED].name} is not in the store")
    root = project(tmp_path, "cuda", "cuda13.0+{sm_90} ptx>=90", "cu", "cuda_runtime.h")
    answered(root, "cuda13.0+{sm_90}", tell)


def test_hip_links_across_units_and_a_static_library(tmp_path: Path, tell: Callable[[str], None]) -> None:
    row = HipLane().status({"PATH": PATH}, frozenset())
    if row.can_build is not True:
        pytest.skip(f"HIP for AMD cannot be compiled here: {row.reason}")
    root = project(tmp_path, "hip", "hip+{gfx90a}", "hip", "hip/hip_runtime.h")
    answered(root, "hip+{gfx90a}", tell)
