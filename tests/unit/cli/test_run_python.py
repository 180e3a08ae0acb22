"""`atoll run` of a Python package: the built one is imported, and what lies beside a script still is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from unit.plugins.lane_project import ENVIRONMENT, write

FILES = {
    "atoll.toml": """
[package]
name = "pack"
version = "0.1.0"
[targets.pack]
kind = "python"
boundary = "kernels"
packages = ["pack"]
sources = ["cpu/*.cpp"]
[boundary.kernels]
module = "pack.kernels"
roots = ["cpu"]
shape = "registry"
""",
    "pack/__init__.py": "from pack import kernels\n",
    "cpu/twice.cpp": (
        '#include "pack_kernels.h"\nATOLL_EXPORT_C\nint twice(int x) { atoll_ran_on_cpu(); return 2 * x; }\n'
    ),
    "ask.py": "import pack, sys\nprint(pack.kernels.twice(4), sys.argv[1:])\n",
    "tools/helper.py": "WORD = 'beside'\n",
    "tools/ask.py": "import helper, pack\nprint(pack.kernels.twice(8), helper.WORD)\n",
}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("ask.py", "a"), "8 ['a']"),
        (("tools/ask.py",), "16 beside"),
        (("-c", "import pack; print(pack.kernels.twice(1))"), "2"),
        (("-c", "import ask"), "8 []"),
        (("-m", "ask", "b"), "8 ['b']"),
    ],
)
def test_the_built_package_comes_before_its_sources(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    root = write(tmp_path, FILES)
    done = subprocess.run(
        [sys.executable, "-m", "atoll", "run", "--", *words],
        cwd=root,
        env={**ENVIRONMENT, "ATOLL_OFFLINE": "1", "ATOLL_STORE": f"{root}/.store"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == said
