"""A kernel in Python in a C++ program: a header for two languages, a launch through CUDA's interface."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.driver_kernels import fake_cuda
from conformance.programs import stand_in
from e2e.harness import ATOLL, copied, machine, right, run

STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only")
LANGUAGES = {
    "c11-gcc": ("gcc", "-std=c11", "-x", "c"),
    "c11-clang": ("clang-19", "-std=c11", "-x", "c"),
    "c++20-gcc": ("g++", "-std=c++20", "-x", "c++"),
    "c++20-clang": ("clang++-19", "-std=c++20", "-x", "c++"),
}
USE = """
#include "app_kernels.h"
#include "app_kernels.h"
int use(Body *bodies) { Step step = {2}; return advance(4, step, bodies, 4); }
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = copied("kernels_in_cpp", tmp_path_factory.mktemp("cpp"))
    right(ATOLL, "build", where=made)
    return made


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_header_is_c_and_cpp(project: Path, tmp_path: Path, language: str) -> None:
    (header,) = (project / ".atoll").rglob("app_kernels.h")
    source = tmp_path / "use"
    source.write_text(USE)
    right(*LANGUAGES[language], *STRICT, "-I", header.parent, source, where=tmp_path)


def test_two_headers_that_differ_in_a_struct_do_not_meet(project: Path, tmp_path: Path) -> None:
    (header,) = (project / ".atoll").rglob("app_kernels.h")
    other = header.read_text().replace("0x", "0x1").replace("APP_KERNELS_H", "OTHER_H")
    (tmp_path / "other.h").write_text(other)
    (tmp_path / "use.c").write_text('#include "app_kernels.h"\n#include "other.h"\n')
    outcome = run("gcc", "-fsyntax-only", "-I", header.parent, "-I", ".", "use.c", where=tmp_path)
    assert "two structs are called Body" in outcome.err


def test_it_is_launched_through_cudas_interface(
    project: Path, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    """No such device here: the interface is a fake that runs the same kernel, compiled for the processor."""
    fake_cuda(tmp_path).rename(tmp_path / "libcuda.so.1")
    (source,) = (project / ".atoll").rglob("python/cpu/*/kernels/motion.py/advance.c")
    kernels = stand_in([source], tmp_path)
    env = {
        "ATOLL_DEVICE": "cuda",
        "LD_LIBRARY_PATH": str(tmp_path),
        "FAKE_CUDA_KERNELS": str(kernels),
        "FAKE_CUDA_LEVELS": "90",
    }
    program = project / right(ATOLL, "build", where=project).out.strip()
    outcome = right(program, where=tmp_path, env=machine(**env))
    assert outcome.out == "12 24 36 48\nFake 90\n"
    old = run(program, where=tmp_path, env=machine(**{**env, "FAKE_CUDA_LEVELS": "75"}))
    assert old.code == 1
    assert "sm_75" in old.err
    tell(f"launched through CUDA's interface: {outcome.out.splitlines()[1]}")


def test_a_debugger_stops_at_the_line_of_the_kernel(project: Path, tell: Callable[[str], None]) -> None:
    if not Path("/usr/bin/gdb").exists():
        pytest.skip("no gdb")
    kernel = (project / "kernels/motion.py").read_text().splitlines()
    line = next(number for number, text in enumerate(kernel, 1) if "bodies[i].place =" in text)
    built = right(ATOLL, "build", "--no-accel", "--profile", "debug", where=project).out.strip()
    asked = ["-ex", f"break motion.py:{line}", "-ex", "run", "-ex", "frame", "-ex", "kill"]
    said = run("gdb", "-q", "-batch", "-nx", *asked, built, where=project).out
    assert f"kernels/motion.py:{line}" in said, said
    assert kernel[line - 1].strip() in said
    tell(said.splitlines()[-2].strip())
