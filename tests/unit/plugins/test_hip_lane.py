"""The HIP lane: AMD with device libraries that are looked at, NVIDIA through HIP's headers, both by clang."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path

import pytest

from atoll.accel import AccelSet, DeviceFacts, Entry, Floor, Version
from atoll.errors import LaneError
from atoll.packaging import measure
from atoll.plugin import LaneRequest, Unit
from atoll.store import PayloadRoot, Store
from atoll.testing.lanes import LANE_CHECKS, LaneCheck, run_plan
from atoll_plugins.hip.lane import HipLane
from atoll_plugins.hip.nvidia import PAYLOAD
from atoll_plugins.hip.rules import HipRules, covers, target_serves
from atoll_plugins.hip.sdk import isa_file, isa_number
from unit.plugins.lane_project import request, write

KERNEL = """\
#include <hip/hip_runtime.h>
#include "scale.h"
__global__ void twice(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= SCALE;
}
extern "C" int twice_device(float *x, int n) {
  twice<<<1, 64>>>(x, n);
  return hipDeviceSynchronize();
}
"""


def project(root: Path, *archs: str, **changes: object) -> LaneRequest:
    write(root, {"h/k.hip": KERNEL, "h/scale.h": "#define SCALE 2.0f\n"})
    entry = Entry(backend="hip", archs=archs)
    made = request(root, (Unit(path="h/k.hip", target="demo", entry=entry),), entry)
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]


@pytest.fixture
def rocm() -> None:
    """Skip where HIP, its device libraries or clang with its linker is not installed."""
    row = HipLane().status({"PATH": "/usr/bin:/bin"}, frozenset())
    if row.can_build is not True:
        pytest.skip(f"HIP for AMD cannot be compiled here: {row.reason}")


def fake_rocm(root: Path, version: tuple[int, int, int] = (6, 4, 1)) -> Path:
    """Write a ROCm of which nothing can be run, whole by name and by first bytes."""
    names = (
        *("ockl", "ocml", "oclc_daz_opt_off", "oclc_unsafe_math_off", "oclc_finite_only_off"),
        *("oclc_correctly_rounded_sqrt_on", "oclc_wavefrontsize64_off", "oclc_wavefrontsize64_on"),
        *(
            "oclc_abi_version_500",
            "oclc_abi_version_600",
            "oclc_isa_version_942",
            "oclc_isa_version_9_4_generic",
        ),
    )
    words = zip(("MAJOR", "MINOR", "PATCH"), version, strict=True)
    files = {
        "include/hip/hip_version.h": "".join(f"#define HIP_VERSION_{word} {value}\n" for word, value in words)
    }
    write(root, {**files, "lib/libamdhip64.so": ""})
    folder = root / "amdgcn/bitcode"
    folder.mkdir(parents=True)
    for name in names:
        (folder / f"{name}.bc").write_bytes(b"BC\xc0\xde")
    return root


def fake_clang(root: Path, major: int = 19) -> str:
    """Write a clang that answers what the lane asks, and its stages; return its path."""
    write(root, dict.fromkeys(("bin/lld", "bin/clang-offload-bundler"), "#!/bin/sh\n"))
    macros = "".join(
        f"echo '#define {name} {value}'\n"
        for name, value in (
            ("__clang__", 1), ("__clang_major__", major), ("__clang_minor__", 1), ("__clang_patchlevel__", 0),
        )
    )  # fmt: skip
    script = f"""case "$1" in
  -dM) {macros} ;;
  -dumpmachine) echo x86_64-linux-gnu ;;
  -print-prog-name=*) echo "{root}/bin/${{1#-print-prog-name=}}" ;;
esac"""
    write(root, {"bin/clang++": f"#!/bin/sh\n{script}\n"})
    for name in ("lld", "clang-offload-bundler", "clang++"):
        (root / "bin" / name).chmod(0o755)
    return str(root / "bin/clang++")


def options(root: Path, major: int = 19) -> dict[str, object]:
    return {"rocm": str(fake_rocm(root / "rocm")), "compiler": fake_clang(root / "llvm", major)}


@pytest.mark.parametrize("check", LANE_CHECKS, ids=lambda check: str(check.__name__))
def test_it_keeps_the_promises_of_the_door(check: LaneCheck, tmp_path: Path, rocm: None) -> None:
    check(HipLane(), project(tmp_path, "gfx90a:xnack+"))


def test_objects_for_several_targets_measure_as_asked(tmp_path: Path, rocm: None) -> None:
    asked = project(tmp_path, "gfx90a:xnack+", "gfx942", "gfx1030")
    plan = HipLane().plan(asked)
    run_plan(plan, tmp_path)
    (made,) = plan.objects
    assert str(measure(tmp_path / made.path).accel) == "hip+{gfx90a:xnack+,gfx942,gfx1030}"


def test_a_plain_link_finds_the_runtime_and_a_machine_without_a_device_says_so(
    tmp_path: Path, rocm: None
) -> None:
    plan = HipLane().plan(project(tmp_path, "gfx1030"))
    run_plan(plan, tmp_path)
    write(
        tmp_path,
        {"main.cpp": 'extern "C" int twice_device(float*, int);\nint main() { return twice_device(0, 1); }'},
    )
    argv = ["g++", "main.cpp", plan.objects[0].path, *plan.link_args, "-o", "demo"]
    subprocess.run(argv, cwd=tmp_path, check=True)
    assert subprocess.run(["./demo"], cwd=tmp_path, check=False).returncode != 0


def test_what_the_device_libraries_lack_is_made_beside_copies_of_them(tmp_path: Path) -> None:
    plan = HipLane().plan(project(tmp_path, "gfx942", "gfx1151", options=options(tmp_path)))
    gather, made, compiled = plan.actions
    folder = ".atoll/build/test/hip/bitcode"
    assert made.outputs == (f"{folder}/oclc_isa_version_1151.bc",)
    assert "-DISA=11501" in made.argv
    assert f"{folder}/ockl.bc" in gather.outputs
    assert set(gather.outputs) | set(made.outputs) <= set(compiled.inputs)
    assert f"--rocm-device-lib-path={folder}" in compiled.argv


@pytest.mark.parametrize(("major", "abi"), [(19, 5), (22, 6)])
def test_the_newest_code_object_that_clang_and_libraries_share(tmp_path: Path, major: int, abi: int) -> None:
    plan = HipLane().plan(project(tmp_path, "gfx942", options=options(tmp_path, major)))
    assert f"-mcode-object-version={abi}" in plan.actions[0].argv


def test_the_plan_for_amd_is_this_line(tmp_path: Path) -> None:
    unit = Unit(
        path="h/k.hip", target="demo", entry=Entry(backend="hip", archs=("gfx942", "gfx9-4-generic")),
        defines=("A=1",), includes=("inc",), flags=("-ffast-math",), hidden=True,
    )  # fmt: skip
    asked = project(tmp_path, "gfx942", options=options(tmp_path, 22), units=(unit,))
    (action,) = HipLane().plan(asked).actions
    here = str(Path(__file__).parents[3] / "src/atoll_plugins/hip")
    said = " ".join(action.argv).replace(str(tmp_path), "ROOT").replace(here, "HIP")
    assert said == (
        "ROOT/llvm/bin/clang++ -x hip --offload-arch=gfx9-4-generic --offload-arch=gfx942"
        " --rocm-device-lib-path=ROOT/rocm/amdgcn/bitcode -mcode-object-version=6"
        " -include HIP/stub/atoll_hip_wavefront.h -D__HIP_PLATFORM_AMD__ -isystem ROOT/rocm/include"
        " -std=c++20 -O2 -DNDEBUG -fPIC -fvisibility=hidden -Iinc -DA=1 -ffast-math -IHIP/include"
        " -MD -MF .atoll/build/test/hip/demo/h/k.hip.d -c h/k.hip -o .atoll/build/test/hip/demo/h/k.hip.o"
    )


def nvidia(root: Path, *archs: str, floor: str = "", **changes: object) -> LaneRequest:
    cuda = Entry(
        backend="cuda",
        version=Version((11, 8)),
        archs=archs,
        floor=Floor(Version.parse(floor)) if floor else None,
    )
    return project(root, **{"accel": AccelSet((Entry(backend="hip"), cuda)), **changes})


def stored(root: Path) -> dict[str, PayloadRoot]:
    return {PAYLOAD.name: PayloadRoot(payload=PAYLOAD, root=root / "store", digest="0", why="it was fetched")}


def test_the_plan_for_nvidia_is_this_line(tmp_path: Path) -> None:
    made = options(tmp_path, 22)
    asked = nvidia(tmp_path, "sm_80", "sm_90", floor="90", options=made, tools=stored(tmp_path))
    plan = HipLane().plan(asked)
    here = str(Path(__file__).parents[3] / "src/atoll_plugins/hip")
    said = " ".join(plan.actions[0].argv).replace(str(tmp_path), "ROOT").replace(here, "HIP")
    assert said == (
        "ROOT/llvm/bin/clang++ -x cuda --cuda-path=ROOT/store/nvidia/cuda_nvcc --cuda-gpu-arch=sm_80"
        " --cuda-gpu-arch=sm_90 --no-cuda-include-ptx=all --cuda-include-ptx=sm_90 --cuda-feature=+ptx78"
        " -isystem ROOT/store/nvidia/cuda_runtime/include -isystem ROOT/store/nvidia/cuda_nvcc/include"
        " -isystem ROOT/store/nvidia/cuda_profiler_api/include -isystem ROOT/rocm/include -idirafter HIP/stub"
        " -Wno-unknown-cuda-version -D__HIP_PLATFORM_NVIDIA__ -std=c++20 -O2 -DNDEBUG -fPIC"
        " -MD -MF .atoll/build/test/hip/demo/h/k.hip.d -c h/k.hip -o .atoll/build/test/hip/demo/h/k.hip.o"
    )
    assert dict(plan.actions[0].env)["PATH"].startswith(f"{tmp_path}/store/nvidia/cu13/bin:")
    assert plan.runtime[0].requirement == "nvidia-cuda-runtime-cu11>=11.8,<12"


def test_cuda_is_fetched_for_nvidia_and_nothing_for_amd(tmp_path: Path) -> None:
    assert HipLane().payloads(nvidia(tmp_path, "sm_90")) == (PAYLOAD,)
    assert HipLane().payloads(project(tmp_path, "gfx942")) == ()


def test_nvidia_objects_measure_as_cuda(tmp_path: Path, rocm: None) -> None:
    try:
        root = Store.default().ensure(PAYLOAD)
    except Exception as error:
        pytest.skip(f"the payload {PAYLOAD.name} cannot be had: {error}")
    try:
        plan = HipLane().plan(nvidia(tmp_path, "sm_90", tools={PAYLOAD.name: root}))
    except LaneError as error:
        pytest.skip(error.diagnostics[0].message)
    run_plan(plan, tmp_path)
    assert str(measure(tmp_path / plan.objects[0].path).accel) == "cuda+{sm_90}"


# what an architecture means


@pytest.mark.parametrize(
    ("have", "asked", "serves"),
    [
        ("gfx90a", "gfx90a", True),
        ("gfx90a", "gfx90a:xnack+", True),
        ("gfx90a:xnack+", "gfx90a:sramecc+:xnack+", True),
        ("gfx90a:xnack+", "gfx90a:xnack-", False),
        ("gfx90a:xnack+", "gfx90a", False),
        ("gfx9-generic", "gfx906", True),
        ("gfx9-generic", "gfx908", False),
        ("gfx9-generic", "gfx90a", False),
        ("gfx9-4-generic", "gfx950", True),
        ("gfx942", "gfx941", False),
    ],
)
def test_what_runs_where(have: str, asked: str, serves: bool) -> None:
    assert target_serves(have, asked) is serves


def test_both_settings_of_a_switch_cover_what_leaves_it_open() -> None:
    both = Entry(backend="hip", archs=("gfx90a:xnack+", "gfx90a:xnack-"))
    assert covers(both, "gfx90a")
    assert not covers(dataclasses.replace(both, archs=both.archs[:1]), "gfx90a")


def test_a_device_states_its_switches() -> None:
    have = Entry(backend="hip", archs=("gfx90a:xnack-",))
    device = DeviceFacts(backend="hip", arch="gfx90a:sramecc+:xnack-")
    assert HipRules().runs(have, device)
    assert not HipRules().runs(have, dataclasses.replace(device, arch="gfx90a:sramecc+:xnack+"))


@pytest.mark.parametrize(
    ("processor", "number"), [("gfx942", 9402), ("gfx90a", 9010), ("gfx1100", 11000), ("gfx9-generic", None)]
)
def test_a_processors_number(processor: str, number: int | None) -> None:
    assert isa_number(processor) == number
    assert isa_file("gfx9-4-generic") == "oclc_isa_version_9_4_generic.bc"
