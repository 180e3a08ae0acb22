"""Which of a package's prebuilt libraries a consumer links: the four choices of the specification."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from atoll.session import Built
from unit.build.build_project import reopened
from unit.plugins.lane_project import write

CPU = {"role": "library", "path": "cpu.a", "accel": ""}
GPU = {"role": "library", "path": "gpu.a", "accel": "cuda13.0+{sm_90}"}
FILES = {
    "app/atoll.toml": """\
[package]
name = "app"
version = "1.0"
[build]
lanes = ["cuda"]
[targets.app]
kind = "executable"
[dependencies]
other = { index = "../vendor/index.json", version = "~=1.0" }
""",
    "app/src/main.cpp": (
        '#include "other.h"\n#include <cstdio>\nint main() { std::printf("%s\\n", other()); }\n'
    ),
    "vendor/include/other.h": "const char *other();\n",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two archives that tell which one was linked."""
    folder = tmp_path_factory.mktemp("made")
    for name in ("cpu", "gpu"):
        write(folder, {f"{name}.cpp": f'const char *other() {{ return "{name}"; }}\n'})
        subprocess.run(["g++", "-c", "-fPIC", f"{name}.cpp", "-o", f"{name}.o"], cwd=folder, check=True)
        subprocess.run(["ar", "rcs", f"{name}.a", f"{name}.o"], cwd=folder, check=True)
    return folder


def linked(root: Path, made: Path, rows: list[dict[str, str]], **asked: object) -> tuple[str, Built]:
    """Build a consumer of these libraries; return which one its program was linked with."""
    text = json.dumps(
        {"package": "other", "version": "1.4", "artifacts": [*rows, {"role": "include", "path": "include"}]}
    )
    write(root, {**FILES, "vendor/index.json": text})
    for name in ("cpu.a", "gpu.a"):
        (root / "vendor" / name).write_bytes((made / name).read_bytes())
    built = reopened(root / "app", **asked).build()
    output = built.output("app")
    assert output is not None
    done = subprocess.run([built.root / output.path], capture_output=True, text=True, check=True)
    return done.stdout.strip(), built


def notes(built: Built) -> list[str]:
    return [item.message for item in built.diagnostics if item.code == "ATL0413"]


def test_the_cpu_one_first_and_a_device_one_that_fits_gives_the_device_one(
    tmp_path: Path, made: Path
) -> None:
    got, built = linked(tmp_path, made, [CPU, GPU], accel="cuda13.0+{sm_90}")
    assert (got, notes(built)) == ("gpu", [])


def test_a_device_one_that_does_not_fit_gives_the_cpu_one_with_the_note(tmp_path: Path, made: Path) -> None:
    got, built = linked(tmp_path, made, [CPU, GPU], accel="cuda13.0+{sm_80}")
    assert (got, notes(built)) == ("cpu", ["the variant `gpu.a` was passed over"])
    (note,) = [item for item in built.diagnostics if item.code == "ATL0413"]
    assert note.notes == ("accel: asked sm_80, carried sm_90",)


def test_none_asked_for_explicitly_gives_the_cpu_one_behind_a_device_one(tmp_path: Path, made: Path) -> None:
    got, built = linked(tmp_path, made, [GPU, CPU], no_accel=True)
    assert (got, notes(built)) == ("cpu", [])


def test_a_reader_that_ignores_accel_takes_the_first(tmp_path: Path, made: Path) -> None:
    older = [{key: value for key, value in row.items() if key != "accel"} for row in (CPU, GPU)]
    got, built = linked(tmp_path, made, older, accel="cuda13.0+{sm_90}")
    assert (got, notes(built)) == ("cpu", [])


def test_a_build_that_names_nothing_takes_device_code_where_there_is_nothing_else(
    tmp_path: Path, made: Path
) -> None:
    """Nothing was said, so nothing is refused; an explicit none would be."""
    got, _ = linked(tmp_path, made, [GPU])
    assert got == "gpu"


def test_a_build_that_names_nothing_prefers_the_cpu_one(tmp_path: Path, made: Path) -> None:
    got, _ = linked(tmp_path, made, [GPU, CPU])
    assert got == "cpu"
