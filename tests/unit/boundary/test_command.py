"""`atoll boundary` writes what it generates, only where it differs, and refuses in words."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from unit.boundary.kit import SAXPY, write

BARE = "ATOLL_EXPORT_C int app_sum(const float *x, int n) { return n; }"


def run(where: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from atoll.cli import main; main()", "boundary", *arguments]
    return subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)


def test_it_writes_header_module_stub_and_package_and_only_once(tmp_path: Path) -> None:
    write(tmp_path, {"cpu/a.cpp": SAXPY, "gpu/a.cpp": SAXPY})
    asked = (
        "--root",
        "cpu",
        "--root",
        "gpu",
        "--module",
        "app.kernels",
        "--out",
        "out",
        "--strip-prefix",
        "app_",
    )
    done = run(tmp_path, *asked)
    package = ["app/__init__.py", "app/kernels.pyi", "app/py.typed"]
    files = [*package, "app_kernels.cppm", "app_kernels.h", "app_kernels_module.c"]
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, files, "")
    times = {name: (tmp_path / "out" / name).stat().st_mtime_ns for name in files}
    data = json.loads(run(tmp_path, *asked, "--json").stdout)
    assert (data["files"], data["written"], data["diagnostics"]) == (files, [], [])
    assert (data["roots"], data["entries"]) == (["gpu", "cpu"], ["app_saxpy"])
    assert {name: (tmp_path / "out" / name).stat().st_mtime_ns for name in files} == times


def test_an_entry_that_a_root_lacks_is_told(tmp_path: Path) -> None:
    write(tmp_path, {"cpu/a.cpp": SAXPY, "gpu/b.cpp": "ATOLL_EXPORT_C int app_more() { return 0; }"})
    done = run(tmp_path, "--root", "cpu", "--root", "gpu", "--module", "app.k", "--out", "out")
    assert done.returncode == 0
    assert done.stderr.splitlines() == ["app_more is missing in: cpu", "app_saxpy is missing in: gpu"]


def test_c_is_made_where_python_cannot_be(tmp_path: Path) -> None:
    write(tmp_path, {"cpu/a.cpp": BARE})
    done = run(tmp_path, "--root", "cpu", "--module", "app.k", "--out", "out")
    assert (done.returncode, done.stdout) == (1, "app_k.cppm\napp_k.h\n")
    assert "error[ATL0312]: `app_sum` has no Python form: the pointer `x` has no extent" in done.stderr


MISSING = """\
error[ATL0314]: the root `{}` does not exist
  help: make the folder or the file, or leave the root out
"""


def test_a_missing_root_and_wrong_usage_exit_with_2(tmp_path: Path) -> None:
    done = run(tmp_path, "--root", "nowhere", "--module", "app.k", "--out", "out")
    assert (done.returncode, done.stderr) == (2, MISSING.format("nowhere"))
    done = run(tmp_path, *("--root", "nowhere", "--root", "a/b"), "--module", "app.k", "--out", "out")
    assert (done.returncode, done.stderr) == (2, MISSING.format("nowhere") + MISSING.format("a/b"))
    assert run(tmp_path, "--module", "app.k", "--out", "out").returncode == 2
    assert run(tmp_path, "--root", "x", "--module", "a.b", "--out", "o", "--shape", "other").returncode == 2


def test_a_refusal_exits_with_1_and_writes_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"cpu/a.cpp": SAXPY, "gpu/a.cpp": SAXPY.replace("unsigned n", "size_t n")})
    done = run(tmp_path, "--root", "cpu", "--root", "gpu", "--module", "app.k", "--out", "out", "--json")
    assert done.returncode == 1
    assert [item["code"] for item in json.loads(done.stdout)["diagnostics"]] == ["ATL0307"]
    assert not (tmp_path / "out").exists()
