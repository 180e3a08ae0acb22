"""What lanes refuse, word for word (`texts/`)."""

from __future__ import annotations

import dataclasses
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.accel import Entry, Version
from atoll.errors import LaneError
from atoll.plugin import LaneRequest, Unit
from atoll.plugin.tools import find_program
from atoll.store import PayloadRoot
from atoll_plugins.cuda.lane import CudaLane
from atoll_plugins.host.lane import HostLane
from atoll_plugins.opencl.lane import OpenClLane
from atoll_plugins.spirv.lane import SpirvLane
from refusals.exact import building, check
from unit.build.build_project import PROGRAM, SHADER
from unit.plugins.lane_project import ENVIRONMENT, program, request, write

CUDA = Entry(backend="cuda", archs=("sm_90",))
VULKAN = Entry(backend="vulkan", version=Version((1, 2)))
EMPTY = {"PATH": "/nowhere"}


def unit(path: str, entry: Entry | None) -> Unit:
    return Unit(path=path, target="demo", entry=entry)


def asked(root: Path, path: str, entry: Entry, **changes: object) -> LaneRequest:
    write(root, {"a.comp": SHADER, "a.cu": "__global__ void f() {}\n", "a.cl": "kernel void f() {}\n"})
    return dataclasses.replace(request(root, (unit(path, entry),), entry), **changes)  # type: ignore[arg-type]


def flagged(flag: str) -> dict[str, str]:
    return {**PROGRAM, "atoll.toml": PROGRAM["atoll.toml"] + f'[build]\ncxxflags = ["{flag}"]\n'}


CASES: dict[str, Callable[[Path], object]] = {
    "ATL0500_no_host_compiler": lambda root: HostLane().plan(
        dataclasses.replace(request(root, (unit("a.cpp", None),)), environment=EMPTY)
    ),
    "ATL0501_openmp_target": building(flagged("-fopenmp-targets=nvptx64")),
    "ATL0501_stdpar": building(flagged("-stdpar=gpu")),
    "ATL0501_sycl": building(flagged("-fsycl")),
    "ATL0502_no_stage": lambda root: SpirvLane().plan(asked(root, "a.glsl", VULKAN)),
    "ATL0502_hlsl": lambda root: SpirvLane().plan(asked(root, "a.hlsl", VULKAN)),
    "ATL0503_undecided": lambda root: CudaLane().payloads(
        asked(root, "a.cu", Entry(backend="cuda"), environment=EMPTY)
    ),
    "ATL0504_toolkit": lambda root: CudaLane().payloads(
        asked(root, "a.cu", dataclasses.replace(CUDA, version=Version((13, 9))))
    ),
    "ATL0504_opencl": lambda root: OpenClLane().plan(
        asked(root, "a.cl", Entry(backend="opencl", version=Version((9, 0))))
    ),
    "ATL0505_pin_below_the_floor": lambda root: CudaLane().payloads(
        asked(root, "a.cu", CUDA, options={"version": "12.4"})
    ),
    "ATL0505_unknown_pin": lambda root: CudaLane().payloads(
        asked(root, "a.cu", CUDA, options={"version": "13.7"})
    ),
    "ATL0505_shaders": lambda root: SpirvLane().payloads(
        asked(root, "a.comp", VULKAN, options={"version": "12.0"})
    ),
    "ATL0505_shaders_and_compiler": lambda root: SpirvLane().payloads(
        asked(root, "a.comp", VULKAN, options={"version": "13.1", "compiler": "glslc"})
    ),
    "ATL0506_no_host_within_the_bound": lambda root: CudaLane().payloads(
        asked(root, "a.cu", CUDA, environment=EMPTY)
    ),
    "ATL0508_no_such_arch": lambda root: CudaLane().payloads(
        asked(root, "a.cu", dataclasses.replace(CUDA, archs=("sm_75a",)))
    ),
    "ATL0509_host": lambda root: HostLane().plan(
        dataclasses.replace(request(root, (unit("a.cpp", None),)), options={"compiler": "g++-99"})
    ),
    "ATL0509_nvcc": lambda root: CudaLane().plan(
        asked(root, "a.cu", CUDA, options={"compiler": "/nowhere/nvcc"})
    ),
    "ATL0509_shaders": lambda root: SpirvLane().plan(
        asked(root, "a.comp", VULKAN, options={"compiler": "glslc-99"})
    ),
    "ATL0509_opencl": lambda root: OpenClLane().plan(
        asked(root, "a.cl", Entry(backend="opencl"), options={"compiler": "clang-99"})
    ),
    "ATL0512_place": building(
        {**PROGRAM, "atoll.toml": PROGRAM["atoll.toml"] + '[lane.host]\ncompilr = "g++"\n'}
    ),
    "ATL0512_option": lambda root: CudaLane().payloads(
        asked(root, "a.cu", CUDA, options={"host-compilr": "g++"})
    ),
    "ATL0513_cuda_macos": lambda root: CudaLane().payloads(asked(root, "a.cu", CUDA, host="macos")),
    "ATL0513_cuda_windows": lambda root: CudaLane().payloads(
        asked(root, "a.cu", CUDA, host="windows", environment=EMPTY)
    ),
    "ATL0513_cuda_windows_nvcc": lambda root: CudaLane().payloads(
        asked(root, "a.cu", CUDA, host="windows", options={"compiler": "nvcc"})
    ),
    "ATL0513_cuda_windows_link": lambda root: CudaLane().payloads(
        asked(root, "a.cu", CUDA, host="windows", options={"device-link": True})
    ),
    "ATL0535_cuda": lambda root: CudaLane().payloads(
        asked(root, "a.cu", CUDA, options={"flags": ["-rdc=true"]})
    ),
    "ATL0512_runtime": lambda root: CudaLane().payloads(
        asked(root, "a.cu", CUDA, options={"runtime": "dynamic"})
    ),
    "ATL0500_windows": lambda root: HostLane().plan(
        dataclasses.replace(request(root, (unit("a.cpp", None),)), environment=EMPTY, host="windows")
    ),
    "ATL0514_backend": lambda root: CudaLane().payloads(
        dataclasses.replace(request(root, (unit("a.cu", VULKAN),), CUDA))
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_lane(tmp_path: Path, name: str) -> None:
    check(name, tmp_path, CASES[name])


def test_an_environment_that_the_shader_compiler_does_not_know(tmp_path: Path) -> None:
    usage = "--target-env {vulkan1.0|vulkan1.1|vulkan1.2}"
    script = f'case "$1" in --version) echo "Glslang Version: 11:12.0.0" ;; *) echo "{usage}" ;; esac'
    fake = program(tmp_path / "bin", "glslangValidator", script)
    entry = Entry(backend="vulkan", version=Version((1, 9)))

    def case(root: Path) -> object:
        return SpirvLane().plan(asked(root, "a.comp", entry, options={"compiler": str(fake)}))

    check("ATL0511_environment", tmp_path, case)


def test_a_compiler_that_makes_no_valid_module_of_hlsl(tmp_path: Path) -> None:
    # Ends well, and what it made is a module of SPIR-V 1.5 with a decoration that ended with 1.3.
    words = (0x07230203, 0x10500, 0, 10, 0, 3 << 16 | 71, 5, 3)
    data = "".join(f"\\{byte:03o}" for word in words for byte in word.to_bytes(4, "little"))
    script = f"""case "$*" in
  --version) echo "shaderc v9.9" ;;
  --help) echo "vulkan1.2" ;;
  *) printf '{data}' > probe.spv ;;
esac"""
    fake = program(tmp_path / "bin", "glslc", script)
    made = asked(tmp_path, "a.comp.hlsl", VULKAN, options={"compiler": str(fake)})
    environment = {**ENVIRONMENT, "ATOLL_CACHE": str(tmp_path / "cache")}
    changed = dataclasses.replace(made, environment=environment)
    check("ATL0532_hlsl", tmp_path, lambda _: SpirvLane().plan(changed))


def test_an_extension_that_no_shader_compiler_has(tmp_path: Path) -> None:
    found = find_program("glslc", ENVIRONMENT) or find_program("glslangValidator", ENVIRONMENT)
    if found is None:
        pytest.skip("no shader compiler on this machine")
    made = asked(tmp_path, "a.comp", VULKAN)
    (tmp_path / "a.comp").write_text("#version 450\n#extension GL_NOT_one : require\nvoid main() {}\n")
    environment = {**ENVIRONMENT, "ATOLL_CACHE": str(tmp_path / "cache")}
    tool = SpirvLane().plan(asked(tmp_path / "other", "a.comp", VULKAN)).tools[0]
    masks = {f"{found.name} {tool.version} at {found}": "COMPILER"}
    changed = dataclasses.replace(made, environment=environment)
    check("ATL0531_extension", tmp_path, lambda _: SpirvLane().plan(changed), masks)


def test_an_arch_that_the_toolkit_refuses(tmp_path: Path, cuda_payload: PayloadRoot) -> None:
    entry = dataclasses.replace(CUDA, archs=("sm_50",))
    tools = {cuda_payload.payload.name: cuda_payload}
    check("ATL0508_toolkit", tmp_path, lambda root: CudaLane().plan(asked(root, "a.cu", entry, tools=tools)))


def test_a_pin_beside_a_toolkit_of_another_version(tmp_path: Path) -> None:
    script = 'echo "Cuda compilation tools, release 13.1, V13.1.99"'
    fake = program(tmp_path / "bin", "nvcc", script)

    def case(root: Path) -> object:
        return CudaLane().plan(asked(root, "a.cu", CUDA, options={"version": "13.0", "compiler": str(fake)}))

    check("ATL0505_toolkit", tmp_path, case)


def test_a_define_that_a_shell_would_run(tmp_path: Path, cuda_payload: PayloadRoot) -> None:
    tools = {cuda_payload.payload.name: cuda_payload}
    units = (dataclasses.replace(unit("a.cu", CUDA), defines=("A=$(touch x)",)),)
    made = asked(tmp_path, "a.cu", CUDA, tools=tools, units=units)
    check("ATL0524_shell", tmp_path, lambda _: CudaLane().plan(made))


def test_sources_that_nobody_checks(tmp_path: Path) -> None:
    # A note, no refusal: the words are the same wherever a checker is missing.
    made = asked(tmp_path, "a.cl", Entry(backend="opencl"), environment=EMPTY)
    (found,) = OpenClLane().plan(made).diagnostics

    def case(_: Path) -> None:
        raise LaneError(found)

    check("ATL0515_unchecked", tmp_path, case)


def test_every_flag_that_offloads_names_the_page(tmp_path: Path) -> None:
    for path in Path(__file__).with_name("texts").glob("ATL0501_*.txt"):
        assert "docs/explanation/no-island.md" in path.read_text()
    page = Path(__file__).parents[2] / "docs/explanation/no-island.md"
    text = page.read_text()
    assert all(word in text for word in ("-fopenmp-targets", "-stdpar", "-fsycl"))


def test_the_flags_are_those_that_compilers_have(tmp_path: Path) -> None:
    clang = find_program("clang++-22", ENVIRONMENT)
    if clang is None:
        pytest.skip("no clang++-22 on this machine")
    (tmp_path / "a.cpp").write_text("")
    argv = [str(clang), "-fsycl", "-fsyntax-only", "a.cpp"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "unknown argument" not in done.stderr
