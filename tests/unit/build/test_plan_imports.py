"""A plan imports what it decides with: docs/decisions/0163."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from unit.build.build_project import PACKAGE, SHADER
from unit.plugins.lane_project import write

FILES = {
    "atoll.toml": PACKAGE
    + '[build]\naccel = "vulkan1.2"\nlanes = ["spirv"]\n[targets.demo]\nkind = "executable"\n'
    'sources = ["src/*.cpp", { glob = "dev/*.comp", accel = "vulkan" }]\n',
    "src/main.cpp": "int main() {}\n",
    "dev/twice.comp": SHADER,
}
PLAN = """\
import sys
from pathlib import Path
from atoll.build import plan, write_plan
from atoll.session import open_session
session = open_session(Path(sys.argv[1]), environment={"PATH": "/usr/bin:/bin", "ATOLL_OFFLINE": "1"})
made = plan(session.request())
write_plan(session.root, made)
print(len(made.graph.actions), *sorted(sys.modules))
"""
# Rooms and parts that such a project has no use for, and what is slow to import.
AWAY = {
    *("atoll.artifact.match", "atoll.artifact.descriptor", "atoll.boundary.roots", "atoll.boundary.declare"),
    *("atoll.boundary.interface", "atoll.boundary.python", "atoll.build.install", "atoll.build.prebuilt"),
    *("atoll.build.program", "atoll.graph.executor", "atoll.ir", "atoll.kernels", "atoll.runtime.device"),
    *("ast", "ctypes", "dataclasses", "inspect", "importlib.metadata", "numpy", "pkgutil", "platform"),
    *("cffi", "click", "msgspec", "rich", "shutil", "subprocess", "tempfile", "tomlkit", "tree_sitter"),
}


def test_a_plan_imports_nothing_that_it_has_no_use_for(tmp_path: Path, tell: Callable[[str], None]) -> None:
    write(tmp_path, FILES)
    # The first plan asks the compilers, which starts programs; the second finds the answers kept.
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", PLAN, str(tmp_path)], capture_output=True, text=True, check=True
        )
    actions, *modules = done.stdout.split()
    own = sum(name.partition(".")[0] in ("atoll", "atoll_plugins") for name in modules)
    tell(f"{actions} actions planned with {own} modules of Atoll, {len(modules)} in all")
    assert AWAY & set(modules) == set()
