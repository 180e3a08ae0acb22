"""The SYCL lane: drivers by their documented lines, wheels without one, two C++ libraries in one program."""

from __future__ import annotations

import dataclasses
import os
import subprocess
from pathlib import Path

import pytest

from atoll.accel import AccelSet, Entry
from atoll.build import Output
from atoll.cli.run import environment_of
from atoll.plugin import LaneRequest, Unit
from atoll.store import PayloadRoot, Store
from atoll.testing.lanes import LANE_CHECKS, LaneCheck, two_clean_runs_give_equal_bytes
from atoll_plugins.sycl.lambdas import lambda_kernels
from atoll_plugins.sycl.lane import SyclLane
from atoll_plugins.sycl.wheels import INCLUDE, PAYLOAD
from unit.plugins.lane_project import program, request, write

ENTRY = Entry(backend="sycl")
ISLAND = """\
#include <sycl/sycl.hpp>
namespace sx = sycl::ext::oneapi::experimental;
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sx::nd_range_kernel<1>)) void twice(float* x) {
  x[sycl::ext::oneapi::this_work_item::get_nd_item<1>().get_global_id(0)] *= 2;
}
"""
VERSIONS = {
    "icpx": "Intel(R) oneAPI DPC++/C++ Compiler 2026.2.0 (2026.2.0.20260801)",
    "clang++": "clang version 23.0.0git (https://example.org/llvm)",
    "acpp": "AdaptiveCpp version: 25.10.0",
}


def project(root: Path, source: str = ISLAND, accel: str = "sycl", **changes: object) -> LaneRequest:
    write(root, {"s/k.sycl": source})
    unit = Unit(path="s/k.sycl", target="demo", entry=ENTRY, includes=("inc",), defines=("A=1",))
    made = dataclasses.replace(request(root, (unit,), ENTRY), accel=AccelSet.parse(accel))
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]


def fake_driver(root: Path, name: str) -> dict[str, object]:
    """Write a driver that states its version; return the options that name it."""
    program(root / "bin", "sycl-ls", "true")
    return {"compiler": str(program(root / "bin", name, f"echo '{VERSIONS[name]}'"))}


def fake_store(root: Path) -> dict[str, PayloadRoot]:
    return {PAYLOAD.name: PayloadRoot(payload=PAYLOAD, root=root / "store", digest="0", why="it was fetched")}


@pytest.mark.parametrize("check", LANE_CHECKS, ids=lambda check: str(check.__name__))
@pytest.mark.parametrize("way", ["wheels", "icpx"])
def test_it_keeps_the_promises_of_the_door(check: LaneCheck, way: str, tmp_path: Path) -> None:
    root = tmp_path / "project"
    tools = fake_store(tmp_path)
    if check is two_clean_runs_give_equal_bytes:
        if way != "wheels":
            pytest.skip("a SYCL compiler driver, which no registry has")
        if PAYLOAD.name not in Store.default().names():
            pytest.skip(f"the payload {PAYLOAD.name} (520 MB), which is fetched with --all")
        tools = {PAYLOAD.name: Store.default().ensure(PAYLOAD)}
    options = {} if way == "wheels" else fake_driver(tmp_path, way)
    asked = project(root, tools=tools, options=options)
    # The headers of the wheels name a parameter `A`.
    units = tuple(dataclasses.replace(unit, defines=("ATOLL_A=1",)) for unit in asked.units)
    check(SyclLane(), dataclasses.replace(asked, units=units))


LINES = {
    ("icpx", "linux", "sycl"): (
        (
            "ROOT/bin/icpx -fsycl -x c++ -std=c++20 -O2 -DNDEBUG -fPIC -Iinc -DA=1 -MD -MF OUT/s/k.sycl.d"
            " -c s/k.sycl -o OUT/s/k.sycl.o"
        ),
        "ROOT/bin/icpx -fsycl -fsycl-link OUT/s/k.sycl.o -o OUT/device-code.o",
    ),
    ("icpx", "windows", "sycl"): (
        (
            "ROOT/bin/icpx -fsycl -x c++ -std=c++20 -O2 -DNDEBUG -Iinc -DA=1 -MD -MF OUT/s/k.sycl.d"
            " -c s/k.sycl -o OUT/s/k.sycl.obj"
        ),
        "ROOT/bin/icpx -fsycl -fsycl-link OUT/s/k.sycl.obj -o OUT/device-code.obj",
    ),
    ("clang++", "linux", "sycl, cuda12.8+{sm_80,sm_90}"): (
        (
            "ROOT/bin/clang++ -fsycl -fsycl-targets=nvptx64-nvidia-cuda,spir64"
            " -Xsycl-target-backend=nvptx64-nvidia-cuda --cuda-gpu-arch=sm_80"
            " -Xsycl-target-backend=nvptx64-nvidia-cuda --cuda-gpu-arch=sm_90"
            " -x c++ -std=c++20 -O2 -DNDEBUG -fPIC -Iinc -DA=1 -MD -MF OUT/s/k.sycl.d"
            " -c s/k.sycl -o OUT/s/k.sycl.o"
        ),
        (
            "ROOT/bin/clang++ -fsycl -fsycl-targets=nvptx64-nvidia-cuda,spir64"
            " -Xsycl-target-backend=nvptx64-nvidia-cuda --cuda-gpu-arch=sm_80"
            " -Xsycl-target-backend=nvptx64-nvidia-cuda --cuda-gpu-arch=sm_90"
            " -fsycl-link OUT/s/k.sycl.o -o OUT/device-code.o"
        ),
    ),
    ("acpp", "linux", "sycl, cuda12.8+{sm_90}"): (
        (
            "ROOT/bin/acpp --acpp-targets=generic;cuda:sm_90 -x c++ -std=c++20 -O2 -DNDEBUG -fPIC -Iinc -DA=1"
            " -MD -MF OUT/s/k.sycl.d -c s/k.sycl -o OUT/s/k.sycl.o"
        ),
    ),
}


@pytest.mark.parametrize(("name", "host", "accel"), LINES)
def test_a_driver_is_called_by_these_lines(tmp_path: Path, name: str, host: str, accel: str) -> None:
    asked = project(tmp_path, accel=accel, host=host, options=fake_driver(tmp_path, name))
    plan = SyclLane().plan(asked)
    said = [" ".join(action.argv).replace(str(tmp_path), "ROOT") for action in plan.actions]
    shown = [line.replace(".atoll/build/test/sycl/demo", "OUT") for line in said]
    assert shown == list(LINES[name, host, accel])
    libraries = "-lacpp-rt -lacpp-common" if name == "acpp" else "-lsycl"
    assert " ".join(plan.link_args) == f"-L{tmp_path}/lib {libraries}"


def test_the_wheels_are_fetched_unless_a_driver_is_named(tmp_path: Path) -> None:
    assert SyclLane().payloads(project(tmp_path)) == (PAYLOAD,)
    assert SyclLane().payloads(project(tmp_path, options=fake_driver(tmp_path, "icpx"))) == ()


def test_a_link_line_with_one_runtime_has_nothing_of_the_other(tmp_path: Path) -> None:
    plan = SyclLane().plan(project(tmp_path, tools=fake_store(tmp_path)))
    assert plan.link_args == (f"-L{tmp_path}/store/intel_sycl_rt-2026.2.0.data/data/lib", "-l:libsycl.so.9")
    assert not plan.diagnostics


def test_two_runtimes_are_said_and_linked_once_each(tmp_path: Path) -> None:
    plan = SyclLane().plan(project(tmp_path, tools=fake_store(tmp_path), cxxflags=("-stdlib=libc++",)))
    assert plan.link_args[2:] == ("-l:libstdc++.so.6", "-l:libgcc_s.so.1", "-Wl,--exclude-libs,ALL")
    assert [item.code for item in plan.diagnostics] == ["ATL0533"]


def test_an_exception_is_caught_in_the_island_and_a_code_crosses(tmp_path: Path) -> None:
    """The real pair: a libstdc++ island that throws, in a program of libc++."""
    clang = next((name for name in ("clang++-19", "clang++-22") if Path("/usr/bin", name).exists()), "")
    if not clang:
        pytest.skip("no clang++ on this machine")
    write(
        tmp_path,
        {
            "atoll_launch.h": 'extern "C" void atoll_fail(const char *);\n',
            "island.cpp": GUARDED,
            "main.cpp": PROGRAM,
        },
    )
    island = ["g++", "-std=c++17", "-I.", f"-I{INCLUDE}", "-c", "island.cpp", "-o", "island.o"]
    subprocess.run(island, cwd=tmp_path, check=True)
    plan = SyclLane().plan(project(tmp_path / "p", tools=fake_store(tmp_path), cxxflags=("-stdlib=libc++",)))
    link = [clang, "-stdlib=libc++", "main.cpp", "island.o", *plan.link_args[2:], "-o", "demo"]
    made = subprocess.run(link, cwd=tmp_path, capture_output=True, text=True, check=False)
    if "file not found" in made.stderr:
        pytest.skip("no libc++ on this machine")
    assert made.returncode == 0, made.stderr
    ran = subprocess.run(["./demo"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "1: no such device\n")
    needed = subprocess.run(
        ["readelf", "-d", "demo"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "libstdc++.so.6" in needed.stdout
    assert "libc++.so.1" in needed.stdout


GUARDED = """\
#include <atoll_guarded.hpp>
#include <stdexcept>
extern "C" int island() { return atoll_sycl::guarded([] { throw std::runtime_error("no such device"); }); }
"""
PROGRAM = """\
#include <iostream>
#include <string>
static std::string said;
extern "C" void atoll_fail(const char *text) { said = text; }
extern "C" int island();
int main() {
  const int code = island();
  std::cout << code << ": " << said << "\\n";
  try { throw said; } catch (const std::string &) { return code - 1; }
}
"""


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("q.parallel_for(range, [=](sycl::id<1> i) { x[i] = 0; });", ["parallel_for"]),
        ("h.single_task<class K>([=] {});", ["single_task"]),
        ("h.parallel_for<Name<int, 2>>(sycl::nd_range<1>{n, 64}, [&](auto i) {});", ["parallel_for"]),
        ("h.parallel_for(sycl::nd_range<1>{n, 64}, kernel);", []),
        ("q.submit([&](sycl::handler& h) { h.parallel_for(r, kernel); });", []),
        ("h.parallel_for(sizes[0], kernel);", []),
        ("// q.parallel_for(r, [=](auto i) {});", []),
        ('say("q.single_task([=] {})");', []),
        ("q.parallel_for(r, /* [ */ kernel", []),
    ],
)
def test_a_launch_of_a_lambda_is_found(line: str, found: list[str]) -> None:
    assert [launch for _, launch in lambda_kernels(f"\n{line}\n")] == found


def test_the_line_is_that_of_the_launch() -> None:
    assert lambda_kernels("a\n/* \n */ q.single_task(\n [] {});") == [(3, "single_task")]


def test_what_the_runtime_reads_is_set_where_a_program_starts(tmp_path: Path) -> None:
    settings = ("ATOLL_T=1=2", "PATH=no")
    told = environment_of(
        Output(target="a", kind="executable", path="a", search=("/x", "/y"), environment=settings)
    )
    assert told["ATOLL_T"] == "1=2"
    assert told["PATH"] == os.environ["PATH"]
    assert told["LD_LIBRARY_PATH"].startswith("/x:/y")
