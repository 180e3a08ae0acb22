"""``compile_commands.json`` is valid: clangd reads every unit that clang knows, device units too."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.build import plan, write_plan
from atoll.plugin.tools import find_program
from atoll.session import open_session
from atoll.store import PayloadRoot
from unit.build.build_project import PACKAGE, SHADER
from unit.plugins.lane_project import ENVIRONMENT, write

FILES = {
    "atoll.toml": PACKAGE
    + """\
[build]
accel = "cuda13.0+{sm_80, sm_90} ptx>=90, opencl1.2, vulkan1.2"
lanes = ["cuda", "opencl", "spirv"]
include = ["include"]
defines = ["WIDTH=4"]
[targets.demo]
kind = "executable"
sources = [
  "src/*.cpp", "src/*.c",
  { glob = "dev/*.cu", accel = "cuda", defines = ["FAST=1"], flags.cuda = ["--use_fast_math"] },
  { glob = "dev/*.cl", accel = "opencl" }, { glob = "dev/*.comp", accel = "vulkan" },
]
""",
    "include/width.h": "#define DOUBLE (WIDTH * 2)\n",
    "src/main.cpp": '#include "width.h"\nextern "C" int other(void);\n'
    "int main() { return other() - DOUBLE; }\n",
    "src/other.c": '#include "width.h"\nint other(void) { return DOUBLE; }\n',
    "dev/a b.cu": '#include "width.h"\nstatic_assert(FAST == 1);\n'
    "__global__ void twice(float* x) { x[threadIdx.x] *= DOUBLE; }\n"
    "void run(float* x) { twice<<<1, 4>>>(x); }\n",
    "dev/k.cl": '#include "width.h"\nkernel void k(global float *x) { x[get_global_id(0)] *= DOUBLE; }\n',
    "dev/s.comp": SHADER,
}
# clangd parses CUDA with the headers of toolkit 13.0 from 22 on.
NEEDED = {".cu": "clangd-22"}


@pytest.fixture(scope="module")
def rows(
    tmp_path_factory: pytest.TempPathFactory, cuda_payload: PayloadRoot
) -> tuple[Path, list[dict[str, str]]]:
    root = write(tmp_path_factory.mktemp("commands"), FILES)
    session = open_session(root, environment={**ENVIRONMENT, "ATOLL_OFFLINE": "1"})
    planned = plan(session.request())
    write_plan(root, planned)
    folder = root / planned.folder
    return folder, json.loads((folder / "compile_commands.json").read_text())


def test_every_unit_that_clang_knows_has_one_row(rows: tuple[Path, list[dict[str, str]]]) -> None:
    authored = [row["file"] for row in rows[1] if not row["file"].startswith((".atoll", "/"))]
    assert authored == ["dev/a b.cu", "dev/k.cl", "src/main.cpp", "src/other.c"]


@pytest.mark.parametrize("file", ["src/main.cpp", "src/other.c", "dev/k.cl", "dev/a b.cu"])
def test_clangd_reads_it(
    rows: tuple[Path, list[dict[str, str]]], file: str, tell: Callable[[str], None]
) -> None:
    wanted = (
        (NEEDED[Path(file).suffix],) if Path(file).suffix in NEEDED else ("clangd-22", "clangd-19", "clangd")
    )
    clangd = next((name for name in wanted if find_program(name, ENVIRONMENT)), None)
    if clangd is None:
        pytest.skip(f"{' or '.join(wanted)} is not installed")
    folder, found = rows
    done = check(clangd, folder, Path(found[0]["directory"]) / file)
    tell(f"{clangd}: {file}")
    assert done.returncode == 0, done.stderr[-3000:]
    assert "All checks completed, 0 errors" in done.stderr


def check(clangd: str, folder: Path, file: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [clangd, f"--compile-commands-dir={folder}", f"--check={file}"],
        cwd=file.parents[1],
        env=dict(ENVIRONMENT),
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_flag_that_clang_does_not_know_is_seen(
    rows: tuple[Path, list[dict[str, str]]], tmp_path: Path
) -> None:
    clangd = next((name for name in ("clangd-22", "clangd-19") if find_program(name, ENVIRONMENT)), None)
    if clangd is None:
        pytest.skip("clangd is not installed")
    bad = [
        {**row, "arguments": [*row["arguments"][:1], "-gencode", *row["arguments"][1:]]} for row in rows[1]
    ]
    (tmp_path / "compile_commands.json").write_text(json.dumps(bad))
    done = check(clangd, tmp_path, Path(rows[1][0]["directory"]) / "src/main.cpp")
    assert done.returncode != 0
