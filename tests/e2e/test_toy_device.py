"""A foreign device, brought by one package through the five doors, goes the whole way."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.harness import ATOLL, ROOT, TOY, foreign_python, installed, machine, right, run, site
from e2e.sabotage import sabotage

ANSWER = "12 24 36 48"
CALL = """
from array import array
from toyapp import kernels
kernels.use({root!r})
x, y = array("f", [1, 2, 3, 4]), array("f", [10, 20, 30, 40])
for entry, more in ((kernels.saxpy, {{}}), (kernels.axpy, {{"over": 4}})):
    out = array("f", [0, 0, 0, 0])
    entry(2.0, x, y, out, **more)
    print(*(f"{{value:g}}" for value in out), kernels.device_name())
"""
IN_PROCESS = """
import sys
import numpy as np
sys.path.insert(0, "kernels")
from axpy import axpy
x = np.array([1, 2, 3, 4], np.float32)
out = np.zeros(4, np.float32)
done = axpy.over(4, device="toy")(2.0, x, 10 * x, out)
print(*(f"{value:g}" for value in out), done.device)
"""


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment that has Atoll, its dependencies and the foreign package."""
    return foreign_python(tmp_path_factory.mktemp("toy-env") / "venv")


@pytest.fixture(scope="module")
def project(foreign: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("toy") / "project"
    shutil.copytree(TOY / "project", target)
    right(foreign, "-m", "atoll", "build", where=target)
    right(foreign, "-m", "atoll", "pack", "--out", "dist", where=target)
    return target


@pytest.fixture(scope="module")
def wheel(project: Path) -> Path:
    (found,) = (project / "dist").glob("*.whl")
    return found


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed(wheel, tmp_path_factory.mktemp("toy-fresh") / "venv")


def test_each_door_takes_fewer_than_250_lines(tell: Callable[[str], None]) -> None:
    sizes = {
        path.name: len(path.read_text().splitlines()) for path in (TOY / "toyvm").iterdir() if path.is_file()
    }
    tell(", ".join(f"{name} {size}" for name, size in sorted(sizes.items())))
    assert {"lane.py", "emitter.py", "driver.py", "probe.py", "reader.py"} <= sizes.keys()
    assert max(sizes.values()) < 250


def test_the_engine_does_not_know_it() -> None:
    assert not [path for path in (ROOT / "src").rglob("*.py") if "toy" in path.read_text().lower()]


def test_a_kernel_runs_in_process(foreign: Path, project: Path) -> None:
    outcome = right(foreign, "-c", IN_PROCESS, where=project)
    assert outcome.out.strip() == f"{ANSWER} Toy VM level 1"


@pytest.mark.parametrize(("root", "device"), [("toy", "Toy VM level 1"), ("cpu", "")])
def test_the_wheel_answers_without_the_foreign_package(python: Path, root: str, device: str) -> None:
    lines = right(python, "-c", CALL.format(root=root), where=python.parent).out.splitlines()
    assert len(lines) == 2
    for line in lines:
        assert line.startswith(f"{ANSWER} {device}")


def test_the_wheel_is_measured_by_the_foreign_reader(foreign: Path, wheel: Path) -> None:
    found = json.loads(right(foreign, "-m", "atoll", "measure", wheel, "--json", where=wheel.parent).out)[
        "files"
    ][0]
    assert found["accel"] == "toy1.0+{t1}"


def test_without_its_reader_the_wheel_is_unknown_and_never_free_of_device_code(wheel: Path) -> None:
    outcome = run(ATOLL, "measure", wheel, "--json", where=wheel.parent)
    found = json.loads(outcome.out)["files"][0]
    assert found["accel"] is None


def test_match_takes_it_and_refuses_another_level(foreign: Path, wheel: Path) -> None:
    match = (foreign, "-m", "atoll", "match", "--want")
    assert run(*match, "toy1.0+{t1}", wheel, where=wheel.parent).code == 0
    refused = run(*match, "toy1.0+{t2}", wheel, where=wheel.parent)
    assert refused.code == 1
    assert "asked t2, carried t1" in refused.err


def subtract(kind: str, payload: bytes) -> tuple[bytes, str]:
    """Turn every ADD of a toy program into SUB."""
    words = [payload[16:][at : at + 16] for at in range(0, len(payload) - 16, 16)]
    changed = [bytes([12]) + word[1:] if word[0] == 11 else word for word in words]
    return payload[:16] + b"".join(changed), f"add -> sub in {kind}"


def test_sabotaged_code_answers_wrong(python: Path, tmp_path: Path, tell: Callable[[str], None]) -> None:
    shutil.copytree(site(python) / "toyapp", tmp_path / "toyapp")
    for change in sabotage(tmp_path / "toyapp" / "_kernels_toy.so", subtract):
        tell(change)
    env = machine(PYTHONPATH=str(tmp_path))
    said = right(python, "-c", CALL.format(root="toy"), where=tmp_path, env=env).out.splitlines()
    assert len(said) == 2
    assert not [line for line in said if line.startswith(ANSWER)]


def test_an_absent_device_is_said_and_the_processor_answers(python: Path) -> None:
    code = "from toyapp import kernels; print(kernels.devices()['toy'])"
    said = right(python, "-c", code, where=python.parent, env=machine(TOYVM_ABSENT="1")).out
    assert "TOYVM_ABSENT is set" in said
