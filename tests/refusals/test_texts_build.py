"""What planning a build is refused with, word for word (`texts/`)."""

from __future__ import annotations

import errno
import os
import sysconfig
from pathlib import Path

import pytest

from atoll.artifact import Fact
from atoll.build import datatables, floors
from atoll.errors import BuildError
from refusals.exact import building, check
from unit.build.build_project import PACKAGE, PROGRAM, REGISTRY, ROOT, SHADER, reopened
from unit.plugins.lane_project import program, write

TARGET = '[targets.demo]\nkind = "executable"\n'
LINK = {
    "atoll.toml": PACKAGE
    + TARGET
    + 'boundary = "kernels"\nsources = [SOURCES]\n'
    + '[boundary.kernels]\nmodule = "demo.kernels"\nroots = ["cpu", "gpu"]\nstrip-prefix = "demo_"\n',
    "cpu/twice.cpp": ROOT % "cpu",
    "gpu/twice.cpp": ROOT % "gpu",
    "main.cpp": "int main() {}\n",
}
DATA = {
    "atoll.toml": f'{PACKAGE}{TARGET}sources = ["main.cpp"]\n[data.words]\n',
    "main.cpp": "int main() {}\n",
}


def linking(sources: str) -> dict[str, str]:
    return {**LINK, "atoll.toml": LINK["atoll.toml"].replace("SOURCES", sources)}


def data(tables: str, **files: str) -> dict[str, str]:
    return {
        **DATA,
        "atoll.toml": DATA["atoll.toml"] + tables,
        **{k.replace("__", "/"): v for k, v in files.items()},
    }


KERNEL = REGISTRY["kernels/thrice.py"]
PYTHON = f'{PACKAGE}[build]\nlanes = ["python"]\n'
CASES = {
    "ATL0551_two_roots": linking('"cpu/*.cpp", "gpu/*.cpp"'),
    "ATL0552_no_root": linking('"main.cpp"'),
    "ATL0554_no_target_at_all": {"atoll.toml": PACKAGE},
    "ATL0555_kernel_without_root": {
        **REGISTRY,
        "atoll.toml": REGISTRY["atoll.toml"]
        .replace("vulkan1.2", "vulkan1.2, opencl1.2")
        .replace('"python"]', '"python"]', 1),
    },
    "ATL0556_no_boundary": {
        "atoll.toml": f'{PACKAGE}[targets.demo]\nkind = "python"\nsources = ["main.cpp"]\n',
        "main.cpp": "",
    },
    "ATL0559_nothing_to_link": {
        "atoll.toml": f'{PACKAGE}[build]\nlanes = ["spirv"]\n{TARGET}'
        'sources = [{ glob = "*.comp", accel = "vulkan" }]\n',
        "a.comp": SHADER,
    },
    "ATL0559_globs_of_nothing": {
        "atoll.toml": f'{PACKAGE}[targets.demo]\nkind = "static"\nsources = ["*.cpp", "dev/*.c"]\n',
    },
    "ATL0560_package_folder": {
        **REGISTRY,
        "atoll.toml": REGISTRY["atoll.toml"].replace(
            'kind = "python"', 'kind = "python"\npackages = ["extra"]'
        ),
    },
    "ATL0565_kernels_without_boundary": {
        "atoll.toml": f'{PYTHON}{TARGET}sources = ["main.cpp", "thrice.py"]\n',
        "main.cpp": "int main() {}\n",
        "thrice.py": KERNEL,
    },
    "ATL0566_not_a_library": {
        "atoll.toml": f'{PACKAGE}{TARGET}sources = ["main.cpp"]\nlinks = ["other"]\n'
        '[targets.other]\nkind = "executable"\nsources = ["main.cpp"]\n',
        "main.cpp": "int main() {}\n",
    },
    "ATL0567_circle_of_targets": {
        "atoll.toml": f'{PACKAGE}[targets.a]\nkind = "static"\nsources = ["main.cpp"]\nlinks = ["b"]\n'
        '[targets.b]\nkind = "static"\nsources = ["main.cpp"]\nlinks = ["a"]\n',
        "main.cpp": "int main() {}\n",
    },
    "ATL0575_registry_without_cpu": {
        **REGISTRY,
        "atoll.toml": REGISTRY["atoll.toml"].replace('"cpu/*.cpp", ', "").replace(', "kernels/*.py"', ""),
    },
    "ATL0317_no_file": data('files = ["words/*"]\n'),
    "ATL0318_outside_the_base": data('files = ["*.txt"]\nbase = "words"\n', **{"a.txt": "a"}),
    "ATL0319_hides_the_module": {
        **REGISTRY,
        "atoll.toml": REGISTRY["atoll.toml"] + '[data.words]\nfiles = ["kernels/*.txt"]\n',
        "kernels/a.txt": "a",
    },
}


@pytest.mark.parametrize("name", CASES)
def test_a_build(tmp_path: Path, name: str) -> None:
    check(name, tmp_path, building(CASES[name]))


def test_a_target_that_there_is_not(tmp_path: Path) -> None:
    check(
        "ATL0554_no_such_target",
        tmp_path,
        lambda root: reopened(write(root, PROGRAM)).build(targets=("dem",)),
    )


def test_a_file_is_no_target(tmp_path: Path) -> None:
    check(
        "ATL0554_a_file",
        tmp_path,
        lambda root: reopened(write(root, {**PROGRAM, "try.py": ""})).build(targets=("try.py",)),
    )


def test_a_profile_that_there_is_not(tmp_path: Path) -> None:
    check("ATL0561_no_profile", tmp_path, building(PROGRAM, profile="fast"))


def test_a_missed_floor(tmp_path: Path) -> None:
    def case(root: Path) -> None:
        stated, here = (
            Fact(name="cuda.driver", relation=r, value=v) for r, v in ((">=", "580"), ("=", "535.1"))
        )
        raise BuildError(*floors.diagnostics(floors.missed((stated,), (here,)), elsewhere=False))

    check("ATL0550_missed_floor", tmp_path, case)


def test_no_headers_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda name: f"/nowhere/{name}")
    check("ATL0558_no_headers", tmp_path, building(REGISTRY, no_accel=True))


def test_an_embedded_file_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datatables, "HEADER_MOST", 10)
    files = data('files = ["a.txt"]\nstorage = "header"\n', **{"a.txt": "a" * 11})
    check("ATL0316_too_large", tmp_path, building(files))


def test_a_file_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: object, *_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(tmp_path / ".atoll/build/x"))

    made = reopened(write(tmp_path, PROGRAM))
    monkeypatch.setattr(type(made), "_build", full)
    check("ATL0007_full_disk", tmp_path, lambda _: made.build())


def test_a_target_of_a_cmake_package(tmp_path: Path) -> None:
    import shutil

    if shutil.which("cmake", path="/usr/bin:/bin") is None:
        pytest.skip("cmake is not installed")
    config = "add_library(word::a INTERFACE IMPORTED)\nadd_library(word::b INTERFACE IMPORTED)\n"
    write(tmp_path, {"prefix/lib/cmake/word/wordConfig.cmake": config})
    files = {
        "atoll.toml": f'{PACKAGE}{TARGET}sources = ["main.cpp"]\nlinks = [{{ cmake = "word" }}]\n',
        **DATA,
    }
    files["atoll.toml"] = f'{PACKAGE}{TARGET}sources = ["main.cpp"]\nlinks = [{{ cmake = "word" }}]\n'

    def case(root: Path) -> object:
        made = reopened(write(root, files))
        made.environment = {**made.environment, "CMAKE_PREFIX_PATH": f"{root}/prefix"}
        return made.build()

    check("ATL0571_target_of_a_package", tmp_path, case)


def test_a_tool_for_packages_that_is_missing(tmp_path: Path) -> None:
    bare = program(tmp_path / "bin", "g++", 'exec /usr/bin/g++ "$@"').parent
    files = {
        **DATA,
        "atoll.toml": f'{PACKAGE}{TARGET}sources = ["main.cpp"]\nlinks = [{{ pkg-config = "z" }}]\n',
    }

    def case(root: Path) -> object:
        made = reopened(write(root, files))
        made.environment = {**made.environment, "PATH": str(bare)}
        return made.build()

    check("ATL0570_no_tool", tmp_path, case)
