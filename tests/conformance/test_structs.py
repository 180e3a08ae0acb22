"""Kernels in Python that take structs, launched from C: memory that is given twice is one buffer."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from atoll.boundary import Struct
from atoll.plugin import Driver
from atoll.runtime import core_source, include_folder
from conformance import programs
from conformance.driver_kernels import driver, fake_cuda, needs_device

# The tag before a wide field makes padding; `swap` writes two fields through two views of one memory.
KERNELS = """
from typing import TypeVar
import atoll
from atoll import f32, f64, i8, kernel, vec, view

@atoll.struct
class Shift:
    by: f64
    tag: i8

@atoll.struct
class Point:
    tag: i8
    x: f64
    y: f32

@kernel
def swap(points: view[Point, 2], shift: Shift):
    i, j = atoll.global_id(0), atoll.global_id(1)
    if i < points.shape[0] and j < points.shape[1]:
        p = points[i, j]
        points[i, j].x = atoll.f64(p.y) + shift.by
        points[i, j].y = f32(p.x)
        points[i, j].tag = p.tag + shift.tag

@kernel
def tilted(x: view[vec[f32, 3]], by: vec[f32, 3], out: view[vec[f32, 3]]):
    i = atoll.global_id(0)
    if i < 2:
        out[i] = x[i] + by

T = TypeVar("T", f32, f64)

@kernel
def shifted(x: view[T], y: view[T]):
    i = atoll.global_id(0)
    if i < y.size:
        y[i] = x[i] + 1.0

shifted.instance(T=f32)
"""
MAIN = r"""
#include <stdio.h>
#include "atoll_launch.h"
#include "structs.h"
int swap(uint32_t, uint32_t, Point *, uint64_t, uint64_t, Shift);
int tilted(uint32_t, const float *, uint64_t, vec_f32_3, float *, uint64_t);
int shifted__f32(uint32_t, const float *, uint64_t, float *, uint64_t);
int main(void) {
  Point points[2][2] = {{{1, 10, 20}, {2, 30, 40}}, {{3, 50, 60}, {4, 70, 80}}};
  Shift shift = {0.5, 3};
  float row[5] = {1, 2, 3, 4, 5}, places[2][3] = {{1, 2, 3}, {4, 5, 6}}, moved[2][3];
  vec_f32_3 by = {0.5f, 1, 2};
  if (swap(2, 2, &points[0][0], 2, 2, shift)) return puts(atoll_last_error()), 1;
  for (Point *p = points[0]; p < points[0] + 4; p++) printf("%d %g %g ", p->tag, p->x, p->y);
  if (tilted(2, places[0], 2, by, moved[0], 2)) return puts(atoll_last_error()), 1;
  printf("%g %g %g %g ", moved[0][0], moved[0][2], moved[1][1], moved[1][2]);
  if (shifted__f32(5, row, 5, row, 5)) return puts(atoll_last_error()), 1;
  printf("%g %g\n", row[0], row[4]);
  if (shifted__f32(4, row, 4, row + 1, 4)) puts(atoll_last_error());
  else puts("ran");
  return 0;
}
"""
ANSWER = "4 20.5 10 5 40.5 30 6 60.5 50 7 80.5 70 1.5 5 6 8 2 6"
APART = (
    "arguments 0 and 1 of atoll_v1_kernel_4c624493_shifted__f32 overlap in a part, and one of them is written"
)
BACKENDS = ("cpu", "vulkan", "opencl", "cuda")


def entries(backend: str, folder: Path) -> list[Path]:
    """Return the C of every kernel for a backend, and write the structs beside it."""
    from atoll.boundary import struct_text
    from atoll.kernels.files import kernels_of, load
    from atoll.plugin import registry
    from atoll_plugins.python.compile import codes
    from atoll_plugins.python.csource import source
    from atoll_plugins.python.values import Described

    (folder / "structs_aot.py").write_text(KERNELS)
    emitter, made = registry().emitters[backend], []
    structs: dict[Struct, None] = {}
    for kernel in kernels_of(load("structs_aot.py", str(folder)), "structs_aot.py"):
        known = Described.of(kernel, "structs_aot.py")
        structs |= {param.struct: None for param in known.params if param.struct}
        made.append(folder / f"{kernel.__name__}_{backend}.c")
        made[-1].write_text(source(known, codes(kernel, emitter, None), backend))
    lines = [line for struct in structs for line in struct_text(struct)]
    (folder / "structs.h").write_text("\n".join([*lines, ""]))
    return made


def built(found: Driver, folder: Path, edit: tuple[str, str] = ("", "")) -> Path:
    launcher = programs.launcher_object(found, folder, edit=edit)
    (folder / "main.c").write_text(MAIN)
    out = folder / f"program_{found.name}"
    warnings = [word for word in programs.WARNINGS if word != "-Wextra"]
    command = ["gcc", *warnings, "-Wno-unused-function", f"-I{include_folder()}", f"-I{folder}"]
    inputs = [
        *map(str, entries(found.name, folder)),
        str(folder / "main.c"),
        str(core_source()),
        str(launcher),
    ]
    subprocess.run([*command, *inputs, "-o", str(out), "-ldl", "-lpthread", "-lm"], check=True)
    return out


@pytest.fixture
def environment(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """The environment of a program for a backend; the fake interface of CUDA runs the processor's kernels."""
    backend = request.getfixturevalue("backend")
    env = {**os.environ, "ATOLL_DEVICE": backend}
    if backend == "cuda":
        fake_cuda(tmp_path).rename(tmp_path / "libcuda.so.1")
        cpu = tmp_path / "stand_in"
        cpu.mkdir()
        kernels = programs.stand_in(entries("cpu", cpu), cpu)
        env |= {"LD_LIBRARY_PATH": str(tmp_path), "FAKE_CUDA_KERNELS": str(kernels)}
    return env


@pytest.mark.parametrize("backend", BACKENDS)
def test_structs_by_value_and_in_arrays_reach_every_driver(
    backend: str, environment: dict[str, str], tmp_path: Path
) -> None:
    found = driver(backend)
    if backend != "cuda":
        needs_device(found)
    answer, overlapping = programs.run(built(found, tmp_path), env=environment).splitlines()
    assert answer == ANSWER
    # The processor's kernel reads and writes the caller's memory itself.
    assert overlapping == ("ran" if backend == "cpu" else APART)


@pytest.mark.parametrize("backend", ["vulkan"])
def test_a_buffer_for_each_argument_is_seen(
    backend: str, environment: dict[str, str], tmp_path: Path
) -> None:
    """Plant a fault: each field's view gets memory of its own, and the last one copied back wins."""
    found = driver(backend)
    needs_device(found)
    program = built(found, tmp_path, ("atoll_owner(job->launch, k) == k ? next : ", "1 ? next : "))
    assert programs.run(program, env=environment).splitlines()[0] != ANSWER
