"""Each template of `atoll new` is built and run as its README says, on a scrubbed machine."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.plugin import registry
from atoll.plugin.templates import template_names
from e2e.harness import ATOLL, installed, machine, packed, right, run

NAME = "sample"
ANSWER = "12 24 36 48"
LIST = "[12.0, 24.0, 36.0, 48.0]"
SOFTWARE = {"vulkan": "llvmpipe", "opencl": "pthread", "cpu": ""}


def made(template: str, folder: Path) -> Path:
    """Return a new project of a template."""
    right(ATOLL, "new", NAME, "--template", template, where=folder)
    return folder / NAME


PROCESSOR = registry().drivers["cpu"].devices()[0].name


def test_every_template_has_a_test_here() -> None:
    assert set(template_names()) == {"saxpy", "python-package", "kernels", "lane"}


def test_saxpy_answers_on_the_device_and_on_the_processor(
    tmp_path: Path, tell: Callable[[str], None]
) -> None:
    project = made("saxpy", tmp_path)
    for option, device in (((), "llvmpipe"), (("--no-accel",), f"on {PROCESSOR}")):
        said = right(ATOLL, "run", *option, where=project).out
        tell(f"atoll run {' '.join(option)}: {said.strip()}")
        assert said.startswith(f"{ANSWER} on ")
        assert device in said


def test_python_package_answers_on_every_root_before_and_after_it_is_a_wheel(
    tmp_path: Path, tell: Callable[[str], None]
) -> None:
    project = made("python-package", tmp_path)
    in_tree = right(ATOLL, "run", "--", "try.py", where=project).out
    wheel = packed(project)
    python = installed(wheel, tmp_path / "venv")
    fresh = right(python, project / "try.py", where=tmp_path).out
    assert fresh == in_tree
    lines = fresh.splitlines()
    tell(f"{wheel.name}: {len(lines)} answers")
    assert len(lines) == 6
    for line in lines:
        assert LIST in line
        root, device = line.split(" on ")[1].split(": ")
        assert SOFTWARE[root] in device
    (found,) = json.loads(right(ATOLL, "measure", wheel, "--json", where=project).out)["files"]
    assert found["accel"] == "vulkan1.2"
    assert any("opencl" in entry for entry in found["declared"])


def test_kernels_run_on_every_device(tmp_path: Path) -> None:
    project = made("kernels", tmp_path)
    lines = right(sys.executable, "run.py", where=project).out.splitlines()
    assert len(lines) >= 3
    assert all(line.startswith("[12. 24. 36. 48.] ") for line in lines)
    (one,) = right(sys.executable, "run.py", "vulkan", where=project).out.splitlines()
    assert "llvmpipe" in one
    right(ATOLL, "kernel", "check", "saxpy.py", where=project)
    assert "saxpy" in right(ATOLL, "kernel", "show", "saxpy.py", "--target", "opencl", where=project).out


def test_a_lane_is_installed_builds_its_example_and_passes_the_suites(
    tmp_path: Path, tell: Callable[[str], None]
) -> None:
    project = made("lane", tmp_path)
    site = tmp_path / "site"
    pip = (sys.executable, "-m", "pip", "install", "-q", "--no-deps")
    done = run(*pip, "--target", site, project, where=tmp_path)
    if done.code and "hatchling" in done.err:
        pytest.skip("the build backend hatchling cannot be fetched")
    assert done.code == 0, done.err
    env = machine(PYTHONPATH=str(site))
    assert right(ATOLL, "run", where=project / "example", env=env).out.split() == ["2", "6", "16"]
    (program,) = (project / "example").glob(".atoll/build/*/bin/example")
    (found,) = json.loads(right(ATOLL, "measure", program, "--json", where=project, env=env).out)["files"]
    assert found["accel"] == "poly1.0"
    suite = right(sys.executable, "-m", "pytest", "-q", "tests", where=project, env=env)
    tell(suite.out.splitlines()[-1])
    assert " passed" in suite.out
    assert " skipped" not in suite.out


def test_a_fault_in_a_unit_of_that_lane_is_said_with_its_line(tmp_path: Path) -> None:
    project = made("lane", tmp_path)
    source = project / "example" / "poly" / "cubic.poly"
    source.write_text(source.read_text() + "two words\n")
    done = run(sys.executable, project / NAME / "compile.py", source.name, "out.bin", where=source.parent)
    assert done.code == 1
    assert done.err == "cubic.poly:6: `two words` is not one coefficient\n"
