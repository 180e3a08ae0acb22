"""The CUDA lane: the payload's toolkit, its own bounds and stages, one object for every architecture."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from atoll.accel import Entry, Floor, Version
from atoll.errors import LaneError
from atoll.packaging import measure
from atoll.plugin import LaneRequest, Unit
from atoll.plugin.tools import find_program
from atoll.store import PayloadRoot
from atoll.testing.lanes import LANE_CHECKS, LaneCheck, TracingEnvironment, run_plan
from atoll_plugins.cuda import clang
from atoll_plugins.cuda.hostbound import Bound, choose_host, read_bound
from atoll_plugins.cuda.lane import CudaLane
from atoll_plugins.cuda.nvcc import code_flags
from atoll_plugins.cuda.probe import CudaProbe
from atoll_plugins.cuda.toolkit import BOUNDS, PAYLOADS, PINNED, dry_run, for_host, read_dry_run
from atoll_plugins.formats.host_compilers import Compiler, choose
from unit.plugins.lane_project import ENVIRONMENT, program, request, write

ENTRY = Entry(
    backend="cuda",
    version=Version((13, 0)),
    archs=("sm_90", "sm_80"),
    floor=Floor(Version((90,)), "ptx"),
)
KERNEL = """\
__global__ void twice(float* x) { x[threadIdx.x] *= 2; }
extern "C" int run(float* x) { twice<<<1, 4>>>(x); return cudaDeviceSynchronize(); }
"""


def wanted(root: Path, *units: Unit, **options: object) -> LaneRequest:
    write(root, {"k/a b.cu": KERNEL})
    chosen = units or (Unit(path="k/a b.cu", target="demo", entry=ENTRY, hidden=True),)
    return request(root, chosen, ENTRY, options=options)


@pytest.fixture
def stocked(tmp_path: Path, cuda_payload: PayloadRoot) -> LaneRequest:
    return replace(wanted(tmp_path), tools={cuda_payload.payload.name: cuda_payload})


@pytest.mark.parametrize("check", LANE_CHECKS, ids=lambda check: str(check.__name__))
def test_it_keeps_the_promises_of_the_door(check: LaneCheck, stocked: LaneRequest) -> None:
    check(CudaLane(), stocked)


def test_it_asks_for_the_pinned_payload_and_for_nothing_without_a_set(tmp_path: Path) -> None:
    (payload,) = CudaLane().payloads(wanted(tmp_path))
    assert payload.name == "cuda-13.0"
    assert len(payload.requirements) == len(payload.hashes) == 5
    none = replace(wanted(tmp_path), accel=type(wanted(tmp_path).accel)())
    assert CudaLane().payloads(none) == ()


def test_asking_for_payloads_without_units_reads_nothing(tmp_path: Path) -> None:
    traced = TracingEnvironment({"PATH": "/usr/local/bin:/usr/bin", "NVCC_APPEND_FLAGS": "-G"})
    assert CudaLane().payloads(replace(wanted(tmp_path), units=(), environment=traced)) == ()
    assert not traced.read


def test_a_toolkit_on_path_is_not_taken(
    stocked: LaneRequest, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    decoy = program(tmp_path / "bin", "nvcc", "echo decoy; exit 1")
    environment = {"PATH": f"{decoy.parent}:/usr/bin:/bin"}
    tools = CudaLane().plan(replace(stocked, environment=environment)).tools
    tell(f"PATH={environment['PATH']}: {tools[0].path}")
    assert Path(tools[0].path).is_relative_to(stocked.tools["cuda-13.0"].root)


def test_the_project_may_name_the_hosts_toolkit(stocked: LaneRequest, tmp_path: Path) -> None:
    nvcc = stocked.tools["cuda-13.0"].root / "nvidia/cu13/bin/nvcc"
    wrapper = program(tmp_path / "bin", "nvcc", f'exec {nvcc} "$@"')
    named = replace(
        stocked,
        tools={},
        options={"compiler": "host"},
        environment={"PATH": f"{wrapper.parent}:/usr/bin:/bin"},
    )
    assert CudaLane().payloads(named) == ()
    plan = CudaLane().plan(named)
    assert plan.tools[0].path == str(wrapper)
    assert plan.tools[0].why.startswith("the project says `host`")
    assert plan.link_args[0] == f"-L{nvcc.parents[1].resolve() / 'lib'}"


def test_an_object_carries_each_arch_and_the_floor_once() -> None:
    unit = Unit(path="a.cu", target="demo", entry=ENTRY)
    assert code_flags(unit) == (
        *("-gencode", "arch=compute_80,code=sm_80"),
        *("-gencode", "arch=compute_90,code=sm_90"),
        *("-gencode", "arch=compute_90,code=compute_90"),
    )


def test_archs_of_the_glob_narrow_the_entry() -> None:
    unit = Unit(path="a.cu", target="demo", entry=replace(ENTRY, floor=None), archs=("sm_90",))
    assert code_flags(unit) == ("-gencode", "arch=compute_90,code=sm_90")


def test_the_compiler_is_given_what_makes_its_bytes_stable(stocked: LaneRequest) -> None:
    action = CudaLane().plan(stocked).actions[0]
    assert "--objdir-as-tempdir" in action.argv
    assert {name for name, _ in action.env} == {"PATH", "LC_ALL"}
    assert action.argv[action.argv.index("-Xcompiler") + 1] == "-fPIC,-fvisibility=hidden"


def test_the_boundary_header_is_included_by_force(stocked: LaneRequest) -> None:
    write(stocked.root, {"gen/app.h": "#define ANSWER 42\n", "k/a b.cu": "int answer() { return ANSWER; }\n"})
    unit = replace(stocked.units[0], force_include=("gen/app.h",))
    plan = CudaLane().plan(replace(stocked, units=(unit,)))
    run_plan(plan, stocked.root)
    assert "gen/app.h" in plan.actions[0].inputs


def test_its_depfile_names_a_source_with_a_space_and_the_headers(stocked: LaneRequest) -> None:
    plan = CudaLane().plan(stocked)
    run_plan(plan, stocked.root)
    text = (stocked.root / str(plan.actions[0].depfile)).read_text()
    assert "k/a\\ b.cu" in text
    assert "cuda_runtime.h" in text


def test_it_states_the_driver_that_the_runtime_needs(stocked: LaneRequest) -> None:
    assert [str(floor) for floor in CudaLane().plan(stocked).floors] == [
        "cuda.driver >= 580",
        "cuda.runtime >= 13.0",
    ]


def test_every_stage_is_resolved_and_is_an_input(stocked: LaneRequest) -> None:
    inputs = {Path(path).name for path in CudaLane().plan(stocked).actions[0].inputs}
    assert {"nvcc", "cicc", "ptxas", "cudafe++", "fatbinary"} <= inputs


def test_editors_get_the_compilation_in_clangs_spelling(stocked: LaneRequest) -> None:
    argv = CudaLane().plan(stocked).objects[0].clang_argv
    assert argv[:3] == ("clang++", "-x", "cuda")
    assert not [word for word in argv if "gencode" in word]


def test_the_bound_is_read_from_the_toolkits_header(cuda_payload: PayloadRoot) -> None:
    header = cuda_payload.root / "nvidia/cu13/include/crt/host_config.h"
    assert read_bound(header) == Bound(gcc_highest=15, clang_below=21, clang_above="3.2")


def test_a_header_that_says_nothing_excludes_nothing(tmp_path: Path) -> None:
    assert read_bound(tmp_path / "none.h") == Bound()
    assert Bound().admits(Compiler(family="gcc", version="99.0.0", cxx=Path("g++"), cc=Path("gcc")))


def test_another_installed_compiler_is_chosen_within_the_bound_and_the_reason_is_said() -> None:
    first = choose(None, ENVIRONMENT)
    assert first is not None
    tight = Bound(gcc_highest=first[0].major - 1, clang_below=99)
    try:
        found, why = choose_host(tight, None, "13.0", ENVIRONMENT)
    except LaneError:
        pytest.skip("no clang++ on this machine")
    assert found.family == "clang"
    assert why == f"g++ {first[0].version} is outside the toolkit's bound (gcc up to 11, clang below 99)"


PLAN = """\
#$ _HERE_=/kit/bin
#$ CICC_PATH=/kit/nvvm/bin
#$ PATH=/kit/bin:/usr/bin:/bin
#$ "/usr/bin"/g++ -E x.cu
#$ -- Filter Dependencies -- > k.d
#$ "$CICC_PATH/cicc" --c++17 x.ii
#$ ptxas -arch=sm_90 k.ptx
#$ rm k.ptx
"""


def test_a_printed_plan_is_resolved_against_the_path_that_it_prints() -> None:
    plan = read_dry_run(PLAN, {"PATH": ""})
    assert plan is not None
    stages = dict(plan.stages)
    assert stages["/usr/bin/g++"] == Path("/usr/bin/g++")
    assert stages["/kit/nvvm/bin/cicc"] is None
    assert stages["ptxas"] is None
    assert "rm" not in stages


@pytest.mark.parametrize("text", ["", "#$ nothing\n", "hello\n", '#$ PATH=/bin\n#$ "unclosed\n'])
def test_a_plan_that_cannot_be_read_concludes_nothing(text: str) -> None:
    assert read_dry_run(text, {"PATH": ""}) is None


def test_variables_that_change_the_compiler_do_not_reach_it(
    cuda_payload: PayloadRoot, tmp_path: Path
) -> None:
    nvcc = cuda_payload.root / "nvidia/cu13/bin/nvcc"
    plain = dry_run(nvcc, ("-arch=sm_90",), {"PATH": "/usr/bin:/bin"})
    poisoned = dry_run(
        nvcc, ("-arch=sm_90",), {"PATH": "/usr/bin:/bin", "NVCC_APPEND_FLAGS": "--no-such-flag"}
    )
    assert plain == poisoned
    assert plain is not None
    assert not plain.refusal


def test_the_driver_is_read_from_the_kernel_module(tmp_path: Path) -> None:
    assert CudaProbe(tmp_path).facts({}) == ()
    write(
        tmp_path,
        {
            "proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX Open Kernel Module  580.159.03 "
            "Release Build  (dvs-builder)\nGCC version: gcc version 12.2.0\n"
        },
    )
    assert [str(fact) for fact in CudaProbe(tmp_path).facts({})] == ["cuda.driver = 580.159.03"]
    write(tmp_path, {"sys/module/nvidia/version": "590.10.01\n"})
    assert [str(fact) for fact in CudaProbe(tmp_path).facts({})] == ["cuda.driver = 590.10.01"]


@pytest.mark.parametrize("content", ["", "garbage", "12.0", "\0\0\0"])
def test_a_probe_that_cannot_tell_says_nothing(tmp_path: Path, content: str) -> None:
    write(tmp_path, {"sys/module/nvidia/version": content})
    assert CudaProbe(tmp_path).facts({}) == ()


def test_a_payload_without_a_stage_names_the_stage_and_who_brings_it(
    stocked: LaneRequest, tmp_path: Path
) -> None:
    real = stocked.tools["cuda-13.0"]
    broken = tmp_path / "broken"
    shutil.copytree(real.root / "nvidia/cu13/bin", broken / "nvidia/cu13/bin")
    shutil.copytree(real.root / "nvidia/cu13/include/crt", broken / "nvidia/cu13/include/crt")
    (broken / "nvidia/cu13/nvvm").mkdir()
    damaged = replace(stocked, tools={"cuda-13.0": replace(real, root=broken, digest="x")})
    with pytest.raises(LaneError) as caught:
        CudaLane().plan(damaged)
    text = str(caught.value)
    assert "ATL0507" in text
    assert "cicc" in text
    assert "nvidia-nvvm" in text


def test_the_row_of_doctor_follows_the_store() -> None:
    without = CudaLane().status(ENVIRONMENT, frozenset())
    assert without.can_build is None
    assert without.fix == "build, or `atoll toolchain add` in the project: it is fetched"
    assert CudaLane().status(ENVIRONMENT, frozenset({PAYLOADS[PINNED].name})).can_build is True


def test_the_known_bound_is_the_one_in_the_payloads_header(cuda_payload: PayloadRoot) -> None:
    header = cuda_payload.root / "nvidia/cu13/include/crt/host_config.h"
    assert BOUNDS.keys() == PAYLOADS.keys()
    assert read_bound(header) == BOUNDS[PINNED]


def test_the_projects_own_host_compiler_is_the_one_that_nvcc_drives(stocked: LaneRequest) -> None:
    if find_program("clang++-19", ENVIRONMENT) is None:
        pytest.skip("no clang++-19 on this machine")
    tools = CudaLane().plan(replace(stocked, host_compiler="clang++-19")).tools
    assert [tool.name for tool in tools] == ["nvcc", "host compiler of nvcc"]
    assert tools[1].version.startswith("clang 19")
    assert "; clang++-19 19" in tools[1].why
    assert "compiles no CUDA here: compiling a probe says: " in tools[1].why


def clang22() -> str:
    if find_program("clang++-22", ENVIRONMENT) is None:
        pytest.skip("no clang++-22 on this machine")
    return "clang++-22"


def clang_request(stocked: LaneRequest, **changes: object) -> LaneRequest:
    environment = {**ENVIRONMENT, "ATOLL_CACHE": str(stocked.root / "cache")}
    return replace(stocked, environment=environment, **changes)  # type: ignore[arg-type]


def test_clang_is_taken_where_it_is_the_host_compiler_and_the_pipe_works(
    stocked: LaneRequest, tell: Callable[[str], None]
) -> None:
    request = clang_request(stocked, host_compiler=clang22())
    plan = CudaLane().plan(request)
    tell(f"{plan.tools[0].name} {plan.tools[0].version}: {plan.tools[0].why}")
    assert plan.tools[0].name == "clang as a CUDA compiler"
    assert plan.tools[0].why == "the host compiler of the project; a probe of the whole pipe passed"
    assert plan.tools[1].why == stocked.tools["cuda-13.0"].why
    run_plan(plan, stocked.root)
    first = (stocked.root / plan.objects[0].path).read_bytes()
    assert str(measure(stocked.root / plan.objects[0].path).accel) == "cuda13.0+{sm_80,sm_90} ptx>=90"
    run_plan(CudaLane().plan(request), stocked.root)
    assert (stocked.root / plan.objects[0].path).read_bytes() == first
    assert "k/a\\ b.cu" in (stocked.root / str(plan.actions[0].depfile)).read_text()


def test_the_answer_of_the_pipe_is_kept_and_asked_again_for_other_code(stocked: LaneRequest) -> None:
    request = clang_request(stocked, options={"compiler": clang22()})
    CudaLane().plan(request)
    (kept,) = (stocked.root / "cache/cuda-pipe").iterdir()
    kept.write_text('{"reason": "it is a Tuesday"}')
    with pytest.raises(LaneError, match="reason: it is a Tuesday"):
        CudaLane().plan(request)
    entry = replace(ENTRY, archs=("sm_90",))
    CudaLane().plan(replace(request, units=(replace(request.units[0], entry=entry),)))


def linked(stocked: LaneRequest, *args: str) -> Path:
    """Compile and link a program that calls the unit's function; return it."""
    plan = CudaLane().plan(stocked)
    run_plan(plan, stocked.root)
    write(stocked.root, {"main.cpp": 'extern "C" int run(float*); int main() { float x; return run(&x); }\n'})
    out = stocked.root / "prog"
    argv = ["g++", "main.cpp", plan.objects[0].path, *plan.link_args, *args, "-o", str(out)]
    subprocess.run(argv, cwd=stocked.root, env=dict(ENVIRONMENT), check=True)
    return out


def loaded(program: Path) -> dict[str, str]:
    """Return what the loader itself answers: each library and where it found it."""
    said = subprocess.run(
        [program],
        env={**ENVIRONMENT, "LD_TRACE_LOADED_OBJECTS": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    rows = (line.split(" => ") for line in said.splitlines() if " => " in line)
    return {name.strip(): where.split(" (")[0] for name, where in rows}


def test_the_runtime_is_linked_in_unless_said_otherwise(
    stocked: LaneRequest, tell: Callable[[str], None]
) -> None:
    plan = CudaLane().plan(stocked)
    assert plan.runtime == ()
    found = loaded(linked(stocked))
    tell(f"the loader found: {', '.join(sorted(found))}")
    assert not [name for name in found if "cuda" in name]


def test_a_shared_runtime_is_found_where_the_plan_says(
    stocked: LaneRequest, tell: Callable[[str], None]
) -> None:
    shared = replace(stocked, options={"runtime": "shared"})
    plan = CudaLane().plan(shared)
    (folder,) = plan.runtime
    assert folder.requirement == "nvidia-cuda-runtime>=13.0,<14"
    assert folder.path == str(stocked.tools["cuda-13.0"].root / folder.inside)
    found = loaded(linked(shared, f"-Wl,-rpath,{folder.path}"))
    tell(f"libcudart.so.13 => {found['libcudart.so.13']}")
    assert found["libcudart.so.13"] == f"{folder.path}/libcudart.so.13"
    # Without it the loader finds none, or one that stands on this machine.
    assert loaded(linked(shared))["libcudart.so.13"] != found["libcudart.so.13"]


def of_windows(root: Path, **options: object) -> LaneRequest:
    """Return a request of Windows whose toolkit and clang are scripts, the second one passing its probe."""
    release = "echo 'Cuda compilation tools, release 13.0, V13.0.88'"
    kit = root / "store/nvidia/cu13"
    for name in ("nvcc", "ptxas", "fatbinary"):
        program(kit / "bin", f"{name}.exe", release)
    write(kit, {"lib/x64/cudart_static.lib": "", "lib/x64/cudart.lib": ""})
    macros = "".join(f"echo '#define __clang{name}__ 22'\n" for name in ("", "_major"))
    magic = "printf '\\120\\355\\125\\272' > probe.o"
    program(root / "bin", "clang++.exe", f'case "$*" in -dM*) {macros} ;; *"-c probe.cu"*) {magic} ;; esac')
    made = wanted(root, Unit(path="k/a b.cu", target="demo", entry=ENTRY, hidden=True), **options)
    payload = for_host(PINNED, "windows")
    stored = PayloadRoot(payload=payload, root=root / "store", digest="0", why="it was fetched")
    environment = {"PATH": f"{root}/bin", "ATOLL_CACHE": str(root / "cache")}
    return replace(made, host="windows", tools={payload.name: stored}, environment=environment)


def test_windows_is_planned_by_clang_alone(tmp_path: Path) -> None:
    asked = of_windows(tmp_path)
    assert CudaLane().payloads(asked) == (for_host(PINNED, "windows"),)
    plan = CudaLane().plan(asked)
    here = str(Path(clang.__file__).parent)
    said = " ".join(plan.actions[0].argv).replace(str(tmp_path), "ROOT").replace(here, "CUDA")
    assert said.replace(".atoll/build/test/cuda/demo", "OUT") == (
        "ROOT/bin/clang++.exe -x cuda --cuda-path=ROOT/store/nvidia/cu13 -Wno-unknown-cuda-version"
        " -idirafter CUDA/stub --cuda-gpu-arch=sm_80 --cuda-gpu-arch=sm_90 --no-cuda-include-ptx=all"
        " --cuda-include-ptx=sm_90 -std=c++20 -O2 -DNDEBUG -fvisibility=hidden -ICUDA/include"
        " -MD -MF OUT/k/a b.cu.d -c k/a b.cu -o OUT/k/a b.cu.o"
    )
    assert plan.link_args == (f"-L{tmp_path}/store/nvidia/cu13/lib/x64", "-lcudart_static")
    assert plan.runtime == ()


def test_a_shared_runtime_of_windows_lies_beside_the_programs(tmp_path: Path) -> None:
    plan = CudaLane().plan(of_windows(tmp_path, runtime="shared"))
    assert plan.link_args == (f"-L{tmp_path}/store/nvidia/cu13/lib/x64", "-lcudart")
    assert [(folder.inside, folder.requirement) for folder in plan.runtime] == [
        ("nvidia/cu13/bin/x86_64", "nvidia-cuda-runtime>=13.0,<14")
    ]


def test_a_clang_of_windows_that_fails_its_probe_is_refused_for_there_is_no_other(tmp_path: Path) -> None:
    asked = of_windows(tmp_path)
    (tmp_path / "store/nvidia/cu13/bin/ptxas.exe").unlink()
    with pytest.raises(LaneError, match="compiles no CUDA here: the toolkit lacks `ptxas`"):
        CudaLane().plan(asked)


def test_the_wheels_of_windows_are_the_same_versions() -> None:
    for release, payload in PAYLOADS.items():
        other = for_host(release, "windows")
        assert other.requirements == payload.requirements
        assert [name.split("-py3")[0] for name, _ in other.hashes] == [
            name.split("-py3")[0] for name, _ in payload.hashes
        ]
        assert all(name.endswith("win_amd64.whl") for name, _ in other.hashes)
