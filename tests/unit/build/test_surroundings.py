"""What surrounds a build changes nothing in it: variables that compilers read, units of other languages."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.plugin.tools import find_program
from atoll.session import open_session
from unit.build.build_project import PACKAGE, SHADER, session
from unit.plugins.lane_project import ENVIRONMENT, write

FILES = {
    "atoll.toml": PACKAGE
    + """\
[build]
accel = "vulkan1.2, opencl1.2"
lanes = ["spirv", "opencl"]
[lane.host]
compiler = "COMPILER"
[targets.demo]
kind = "executable"
sources = [
  "src/*.cpp", { glob = "dev/*.comp", accel = "vulkan" }, { glob = "dev/*.cl", accel = "opencl" },
]
""",
    "src/main.cpp": '#if __has_include("poison.h")\n#error poisoned\n#endif\nint main() {}\n',
    "dev/a.comp": SHADER,
    "dev/k.cl": "kernel void k(global float *x) { x[0] = 1; }\n",
}
# Each changes what gcc, clang, ld or nvcc do, where it reaches them.
POISON = {
    "CPATH": "{0}",
    "C_INCLUDE_PATH": "{0}",
    "CPLUS_INCLUDE_PATH": "{0}",
    "LIBRARY_PATH": "{0}",
    "COMPILER_PATH": "{0}",
    "GCC_EXEC_PREFIX": "{0}/",
    "CCC_OVERRIDE_OPTIONS": "+-DPOISON +-Werror=poison",
    "NVCC_APPEND_FLAGS": "--no-such-flag",
    "NVCC_PREPEND_FLAGS": "--no-such-flag",
    "SOURCE_DATE_EPOCH": "1",
    "DEPENDENCIES_OUTPUT": "{0}/deps",
    "SUNPRO_DEPENDENCIES": "{0}/deps",
    "LD_RUN_PATH": "/poison",
    "LDEMULATION": "poison",
    "CXXFLAGS": "-DPOISON",
    "CFLAGS": "-DPOISON",
    "LDFLAGS": "-lpoison",
    "CC": "/bin/false",
    "CXX": "/bin/false",
    "TMPDIR": "{0}",
}


def made(root: Path, folder: str) -> dict[str, str]:
    base = root / folder
    return {
        path.relative_to(base).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(base.rglob("*"))
        if path.is_file() and ".graph" not in path.relative_to(base).parts
    }


@pytest.mark.parametrize("compiler", ["g++", "clang++-19"])
def test_variables_that_compilers_read_change_nothing(
    tmp_path: Path, compiler: str, monkeypatch: pytest.MonkeyPatch, tell: Callable[[str], None]
) -> None:
    if find_program(compiler, ENVIRONMENT) is None:
        pytest.skip(f"no {compiler} on this machine")
    files = {**FILES, "atoll.toml": FILES["atoll.toml"].replace("COMPILER", compiler)}
    poison = write(tmp_path / "poison", {"poison.h": "", "iostream": "#error poisoned\n"})
    built = session(tmp_path / "p", files).build()
    clean = made(built.root, built.folder)
    (tmp_path / "p/.atoll").rename(tmp_path / "kept")
    variables = {name: text.format(poison) for name, text in POISON.items()}
    for name, text in variables.items():
        monkeypatch.setenv(name, text)
    environment = {**ENVIRONMENT, **variables, "ATOLL_OFFLINE": "1"}
    again = open_session(tmp_path / "p", environment=environment).build()
    assert made(again.root, again.folder) == clean
    assert (
        open_session(tmp_path / "p", environment={**ENVIRONMENT, "ATOLL_OFFLINE": "1"}).build().result.ran
        == ()
    )
    assert not [path for path in poison.iterdir() if path.name not in ("poison.h", "iostream")]
    tell(f"{compiler}: {len(variables)} variables, {len(clean)} files alike")


def test_a_device_unit_is_never_scanned_and_is_no_interface(tmp_path: Path) -> None:
    files = {
        "atoll.toml": FILES["atoll.toml"]
        .replace("COMPILER", "g++")
        .replace("src/*.cpp", 'src/*.cpp", "src/*.cppm'),
        "src/main.cpp": "import app;\nint main() { return zero(); }\n",
        "src/app.cppm": "export module app;\nexport int zero() { return 0; }\n",
        "dev/a.comp": SHADER,
        # To a scanner of C++ this is an interface that imports what nobody has.
        "dev/k.cl": "/*\nexport module app;\nimport nothing;\n*/\n" + FILES["dev/k.cl"],
    }
    built = session(tmp_path, files).build()
    scans = [name for name in built.result.ran if name.startswith("scan ")]
    assert scans
    assert not [name for name in scans if "dev/" in name]
