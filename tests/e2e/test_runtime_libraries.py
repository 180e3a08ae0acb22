"""A shared runtime of a lane is found by what needs it: a program here, a package where it is installed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.cli.run import start
from atoll.session import Built, open_session
from atoll.store import PayloadRoot
from refusals.exact import check
from unit.build.build_project import PACKAGE, ROOT
from unit.plugins.lane_project import ENVIRONMENT, write

FILES = {
    "atoll.toml": PACKAGE
    + """\
version = "1.0"
[build]
accel = "cuda13.0+{sm_90}"
lanes = ["cuda"]
[lane.cuda]
runtime = "shared"
[targets.prog]
kind = "executable"
sources = ["main.cpp", { glob = "cuda/*.cu", accel = "cuda" }]
[targets.demo]
kind = "python"
boundary = "kernels"
sources = ["cpu/*.cpp", { glob = "cuda/*.cu", accel = "cuda" }]
[boundary.kernels]
module = "demo.kernels"
roots = ["cpu", "cuda"]
strip-prefix = "demo_"
shape = "registry"
""",
    "main.cpp": 'extern "C" int demo_twice(float*, unsigned);\n'
    "int main() { float x = 1; return demo_twice(&x, 1) != 0; }\n",
    "cpu/twice.cpp": ROOT % "cpu",
    "cuda/twice.cu": """\
#if __has_include("demo_kernels.h")
#include "demo_kernels.h"
#else
#define ATOLL_EXPORT_AS(...) extern "C"
#define atoll_ran_on(x)
#endif
__global__ void twice(float* x, unsigned n) { if (threadIdx.x < n) x[threadIdx.x] *= 2; }
ATOLL_EXPORT_AS(x[n], status)
int demo_twice(float* x, unsigned n) {
    float* there = nullptr;
    if (cudaMalloc(&there, n * sizeof(float)) != cudaSuccess) return 35;
    twice<<<1, 64>>>(there, n);
    return cudaDeviceSynchronize();
}
""",
}
NAME = "libcudart.so.13"
# Opens the root as the package does, and says where the runtime came from.
PROBE = """\
import ctypes, demo.kernels, pathlib
(root,) = pathlib.Path(demo.kernels.__file__).parent.glob("*cuda*.so")
ctypes.CDLL(str(root))
print(open("/proc/self/maps").read())
"""


def found(file: Path, **more: str) -> str:
    """Return where the loader itself finds the runtime for a file."""
    said = subprocess.run(
        ["/usr/bin/ldd", str(file)], env={**ENVIRONMENT, **more}, capture_output=True, text=True, check=True
    ).stdout
    (row,) = [line for line in said.splitlines() if NAME in line]
    return row.split(" => ")[1].split(" (")[0]


@pytest.mark.parametrize("model", ["vulkan", "opencl"])
def test_what_only_the_machine_has_is_opened_on_demand(
    tmp_path: Path, model: str, tell: Callable[[str], None]
) -> None:
    source = Path(__file__).parents[2] / "examples/saxpy" / model
    shutil.copytree(source, tmp_path / "p", ignore=shutil.ignore_patterns(".atoll"))
    built = open_session(tmp_path / "p", environment={**ENVIRONMENT, "ATOLL_OFFLINE": "1"}).build()
    (program,) = [output for output in built.outputs if output.kind == "executable"]
    said = subprocess.run(
        ["/usr/bin/ldd", str(built.root / program.path)],
        env=dict(ENVIRONMENT),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    loaded = sorted(line.split()[0] for line in said.splitlines())
    tell(f"{model}: the loader loads {', '.join(loaded)}")
    assert not [name for name in loaded if "vulkan" in name.lower() or "opencl" in name.lower()]
    # The name stands in the program all the same: it is what is opened.
    data = (built.root / program.path).read_bytes()
    assert {"vulkan": b"libvulkan.so.1", "opencl": b"libOpenCL.so.1"}[model] in data


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, cuda_payload: PayloadRoot) -> Built:
    root = write(tmp_path_factory.mktemp("shared"), FILES)
    return open_session(root, environment={**ENVIRONMENT, "ATOLL_OFFLINE": "1"}).build(elsewhere=True)


def test_a_program_finds_it_in_the_store(
    made: Built, cuda_payload: PayloadRoot, tell: Callable[[str], None]
) -> None:
    program = made.output("prog")
    assert program is not None
    where = found(made.root / program.path)
    tell(f"{NAME} => {where}")
    assert where == f"{cuda_payload.root}/nvidia/cu13/lib/{NAME}"
    lane = json.loads((made.root / made.folder / "resolution.json").read_text())["lanes"]["cuda"]
    assert lane["runtime"] == [
        {
            "folder": f"{cuda_payload.root}/nvidia/cu13/lib",
            "requirement": "nvidia-cuda-runtime>=13.0,<14",
            "inside": "nvidia/cu13/lib",
        }
    ]


def test_a_package_finds_it_here_when_atoll_runs_it(made: Built, cuda_payload: PayloadRoot) -> None:
    package = made.output("demo")
    assert package is not None
    argv, environment = start(made, package, ["-c", PROBE])
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True)
    assert f"{cuda_payload.root}/nvidia/cu13/lib/libcudart" in done.stdout


def test_a_wheel_requires_the_wheel_that_brings_it(
    made: Built, cuda_payload: PayloadRoot, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    session = open_session(made.root, environment={**ENVIRONMENT, "ATOLL_OFFLINE": "1"})
    wheel = session.pack(made, tmp_path).path
    with zipfile.ZipFile(wheel) as file:
        (about,) = [name for name in file.namelist() if name.endswith(".dist-info/METADATA")]
        text = file.read(about).decode()
        assert not [name for name in file.namelist() if "cudart" in name]
        assert str(cuda_payload.root) not in "".join(file.read(n).decode("latin-1") for n in file.namelist())
        file.extractall(tmp_path / "site")
    tell(next(line for line in text.splitlines() if line.startswith("Requires-Dist: nvidia")))
    assert "Requires-Dist: nvidia-cuda-runtime<14,>=13.0" in text
    (module,) = (tmp_path / "site/demo").glob("*cuda*.so")
    (tmp_path / "site/nvidia").symlink_to(cuda_payload.root / "nvidia")
    # The folder of the environment it is installed into, and no folder of the machine that built it.
    assert found(module) == f"{tmp_path}/site/demo/../nvidia/cu13/lib/{NAME}"
    done = subprocess.run(
        [sys.executable, "-c", PROBE],
        env={**ENVIRONMENT, "PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"{cuda_payload.root}/nvidia/cu13/lib/libcudart" in done.stdout


def test_a_package_is_not_bound_to_a_toolkit_of_this_machine(
    tmp_path: Path, cuda_payload: PayloadRoot
) -> None:
    nvcc = cuda_payload.root / "nvidia/cu13/bin/nvcc"
    named = FILES["atoll.toml"].replace("[lane.cuda]\n", f'[lane.cuda]\ncompiler = "{nvcc}"\n')
    session = open_session(
        write(tmp_path, {**FILES, "atoll.toml": named}), environment={**ENVIRONMENT, "ATOLL_OFFLINE": "1"}
    )
    check("ATL0577_of_this_machine", tmp_path, lambda _: session.build(), {str(cuda_payload.root): "TOOLKIT"})
