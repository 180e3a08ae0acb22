"""A machine with Python alone: shader and host compiler come from wheels, and the package answers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.store import Store
from atoll_plugins.host.zig import PAYLOAD
from e2e.harness import ATOLL, copied, machine, run


@pytest.fixture
def bare(tmp_path: Path, pytestconfig: pytest.Config) -> dict[str, str]:
    """Return an environment whose PATH holds a Python and nothing else."""
    if not pytestconfig.getoption("--all") and PAYLOAD.name not in Store.default().names():
        pytest.skip(f"the payload {PAYLOAD.name} (100 MB, a C++ library to compile), taken with --all")
    folder = tmp_path / "bare"
    folder.mkdir()
    (folder / "python").symlink_to(sys.executable)
    return machine(PATH=str(folder))


def test_the_example_package_is_built_and_answers_for_vulkan_and_the_processor(
    bare: dict[str, str], tmp_path: Path, tell: Callable[[str], None]
) -> None:
    project = copied("python_package", tmp_path)
    built = run(ATOLL, "build", "--accel", "vulkan1.2", where=project, env=bare, limit=1200)
    assert built.code == 0, built.err
    assert "no host compiler on PATH" in built.err
    (tree,) = project.glob(".atoll/build/*/python")
    icd = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"
    env = {**bare, "PYTHONPATH": str(tree), "VK_ICD_FILENAMES": icd}
    said = run(sys.executable, "-c", "import mypkg; mypkg.main()", where=tmp_path, env=env)
    answers = [line for line in said.out.splitlines() if line.startswith("12 24 36 48")]
    assert len(answers) == 2, said.out + said.err
    assert any("vulkan: llvmpipe" in line for line in answers)
    for line in answers:
        tell(line)
    again = run(ATOLL, "build", "--accel", "vulkan1.2", "--offline", where=project, env=bare)
    assert again.code == 0, again.err
