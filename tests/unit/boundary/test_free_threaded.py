"""A free-threaded Python (PEP 703) gets a file of its own: no limited API, its own ending, its own tag."""

from __future__ import annotations

import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.boundary import module_file, python_source
from atoll.build.parts import module_suffix
from atoll.runtime.sources import include_folder
from unit.boundary.kit import SAXPY, STRICT, Built, compiled, interface, scanned

FREE = sorted(Path("/root/.pyenv/versions").glob("3.*t/bin/python3"))
HEADERS = Path("/root/.pyenv/versions/3.13.0/include/python3.13")
ENDING = ".cpython-313t-x86_64-linux-gnu.so"


def test_the_ending_is_this_pythons_own_where_it_has_no_limited_api(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = interface(scanned(tmp_path, SAXPY))
    assert module_file(made, module_suffix()) == "app/kernels.abi3.so"
    stated = {"Py_GIL_DISABLED": 1, "EXT_SUFFIX": ENDING}
    monkeypatch.setattr(sysconfig, "get_config_var", stated.__getitem__)
    assert module_file(made, module_suffix()) == f"app/kernels{ENDING}"


@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
def test_the_module_compiles_against_the_whole_interface(tmp_path: Path, compiler: str) -> None:
    if not HEADERS.is_dir():
        pytest.skip("the headers of CPython 3.13 are not installed with pyenv")
    (tmp_path / "module.c").write_text(python_source(interface(scanned(tmp_path / "cpu", SAXPY))))
    words = (compiler, "-std=c11", *STRICT, "-I", include_folder(), "-isystem", HEADERS)
    compiled(*words, "-DPy_GIL_DISABLED=1", "-c", "module.c", "-o", "free.o", where=tmp_path)
    compiled(*words, "-c", "module.c", "-o", "stable.o", where=tmp_path)


CALL = """
from array import array
from app import kernels
out = array("f", [0, 0])
kernels.app_saxpy(2.0, array("f", [1, 2]), array("f", [10, 20]), out)
print(out.tolist(), kernels.device_name())
"""
ASK = "import sysconfig; print(sysconfig.get_path('include')); print(sysconfig.get_config_var('EXT_SUFFIX'))"


def test_a_free_threaded_python_calls_its_module(tmp_path: Path, tell: Callable[[str], None]) -> None:
    if not FREE:
        pytest.skip("no free-threaded CPython (python3.13t) is installed with pyenv")
    built = Built(tmp_path, interface(scanned(tmp_path / "cpu", SAXPY)))
    built.root("cpu", SAXPY)
    include, ending = subprocess.check_output([FREE[0], "-c", ASK], text=True).split()
    out = built.package / f"kernels{ending}"
    words = ("gcc", "-std=c11", *STRICT, "-shared", "-I", include_folder(), "-isystem", include)
    compiled(*words, "module.c", "-o", out, "-ldl", "-lpthread", where=tmp_path)
    assert built.run(CALL, FREE[0]).strip() == "[12.0, 24.0] by hand"
    tell(f"called by {FREE[0]}")
