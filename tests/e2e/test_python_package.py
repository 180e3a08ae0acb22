"""The example package as a build makes it: every device, the processor alone, and no fallback in silence."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.harness import ATOLL, copied, machine, right, run
from e2e.sabotage import sabotage

ANSWER = "12 24 36 48"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied("python_package", tmp_path_factory.mktemp("package"))


def answered(project: Path, where: Path, *options: str) -> tuple[dict[str, str], Path]:
    """Return what each device answered, by its root, and the tree that was built."""
    package = project / right(ATOLL, "build", *options, where=project).out.strip()
    return said(package.parent, where), package


def said(tree: Path, where: Path) -> dict[str, str]:
    env = machine(PYTHONPATH=str(tree))
    text = run(sys.executable, "-c", "import mypkg; mypkg.main()", where=where, env=env).out
    rows = (line.split("  ", 1) for line in text.splitlines() if "  " in line)
    return {device.partition(":")[0]: f"{answer} on {device}" for answer, device in rows}


def test_without_an_accelerator_the_processor_answers_alone(project: Path, tmp_path: Path) -> None:
    found, _ = answered(project, tmp_path, "--no-accel")
    assert list(found) == ["cpu"]
    assert found["cpu"].startswith(ANSWER)


def test_one_changed_operation_makes_the_answer_wrong(
    project: Path, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    found, package = answered(project, tmp_path, "--accel", "vulkan1.2")
    assert found["vulkan"].startswith(ANSWER)
    assert "llvmpipe" in found["vulkan"]
    for change in sabotage(package / "_kernels_vulkan.so"):
        tell(change)
    after = said(package.parent, tmp_path)
    assert not after.get("vulkan", "").startswith(ANSWER), "a fallback answered in silence"
    assert after["cpu"].startswith(ANSWER)
