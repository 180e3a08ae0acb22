"""A driver too old for the runtime is refused before anything is compiled: here a library that says so."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll_plugins.cuda.probe import CudaProbe
from e2e.harness import ATOLL, copied, machine, run

SAYS = "int cuDriverGetVersion(int *found) {{ {body} }}\n"


def driver(folder: Path, body: str) -> dict[str, str]:
    """Write a `libcuda.so.1` that says nothing but its version; return the environment that finds it."""
    folder.mkdir()
    (folder / "cuda.c").write_text(SAYS.format(body=body))
    argv = ["gcc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "cuda.c", "-o", "libcuda.so.1"]
    subprocess.run(argv, cwd=folder, check=True)
    return machine(LD_LIBRARY_PATH=str(folder))


@pytest.mark.parametrize(
    ("body", "served"),
    [
        ("*found = 12090; return 0;", ["cuda.runtime = 12.9"]),
        ("*found = 13000; return 0;", ["cuda.runtime = 13.0"]),
        ("*found = 0; return 0;", []),
        ("return 3;", []),
        ("__builtin_trap();", []),
    ],
)
def test_the_library_is_asked_where_no_module_tells(tmp_path: Path, body: str, served: list[str]) -> None:
    env = driver(tmp_path / "driver", body)
    assert [str(fact) for fact in CudaProbe(tmp_path).facts(env)] == served


def test_a_folder_that_holds_no_library_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "libcuda.so.1").write_text("no library")
    assert CudaProbe(tmp_path).facts({"LD_LIBRARY_PATH": str(tmp_path)}) == ()


def test_a_build_that_would_run_here_is_refused_and_one_for_elsewhere_is_not(
    tmp_path: Path, tell: Callable[[str], None]
) -> None:
    if any(fact.name == "cuda.driver" for fact in CudaProbe().facts({})):
        pytest.skip("a machine whose driver's module tells")
    project = copied("saxpy/cuda", tmp_path)
    old = driver(tmp_path / "old", "*found = 12090; return 0;")
    refused = run(ATOLL, "build", where=project, env=old)
    assert refused.code == 1
    assert "error[ATL0550]" in refused.err
    assert "the build needs: cuda.runtime >= 13.0" in refused.err
    assert "this machine has: 12.9" in refused.err
    assert not list(project.rglob("*.o")), "something was compiled first"
    tell(refused.err.splitlines()[-4])
    other = run(ATOLL, "build", "--elsewhere", where=project, env=old)
    assert other.code == 0
    assert "warning[ATL0550]" in other.err
    enough = driver(tmp_path / "enough", "*found = 13000; return 0;")
    assert run(ATOLL, "build", where=project, env=enough).code == 0
