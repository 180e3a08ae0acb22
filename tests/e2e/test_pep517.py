"""pip, build and editable installs of a project whose build backend is Atoll, as a user types them."""

from __future__ import annotations

import shutil
import sys
import tarfile
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.driver_kernels import fake_cuda
from e2e.harness import ROOT, Outcome, copied, machine, right, run, site
from unit.boundary.kit import PYTHONS, write

ANSWER = "12 24 36 48"
SETTING = ("--config-settings", "accel=vulkan1.2")
NOTHING = "--config-setting=accel="
BUILD = (sys.executable, "-m", "build", "--no-isolation", "--skip-dependency-check")


@pytest.fixture(scope="module")
def links(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that holds Atoll's own wheel: what PIP_FIND_LINKS names."""
    folder = tmp_path_factory.mktemp("links")
    right(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT, where=folder)
    return folder


def environment(links: Path, **more: str) -> dict[str, str]:
    """Return the environment of a user who has Atoll's wheel in `links`."""
    return machine(**{**more, "PIP_FIND_LINKS": str(links), "PIP_NO_COMPILE": "1"})


def bare(folder: Path) -> Path:
    """Return the interpreter of a fresh environment that holds nothing, not even pip."""
    venv.create(folder / "env", with_pip=False)
    return folder / "env/bin/python"


def pip(python: Path) -> tuple[str | Path, ...]:
    """Return the words of pip for another environment than its own."""
    return sys.executable, "-m", "pip", "--python", python


def files(folder: Path) -> set[str]:
    """Return every file below a folder."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def answers(text: str) -> dict[str, str]:
    """Return the device that each root named; every root answered rightly."""
    rows = {}
    for line in text.splitlines():
        answer, _, named = line.partition("  ")
        assert answer == ANSWER, text
        root, _, device = named.partition(": ")
        rows[root] = device
    return rows


def test_a_clean_environment_installs_it_runs_it_and_is_left_as_it_was(
    links: Path, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    project = copied("python_package", tmp_path)
    python = bare(tmp_path)
    before = files(tmp_path / "env")
    right(*pip(python), "install", "-q", ".", *SETTING, where=project, env=environment(links))
    shutil.rmtree(project)
    mine = machine()
    del mine["PYTHONDONTWRITEBYTECODE"]  # what an import leaves behind has to go, too
    found = answers(right(tmp_path / "env/bin/mypkg", where=tmp_path, env=mine).out)
    tell(f"installed from {sorted(path.name for path in links.iterdir())}: {found}")
    assert list(found) == ["vulkan", "cpu"]
    assert "llvmpipe" in found["vulkan"]
    info = site(python) / "mypkg-0.1.0.dist-info"
    assert (info / "licenses/LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    assert "mypkg = mypkg:main" in (info / "entry_points.txt").read_text()
    assert not [name for name in files(site(python)) if name.startswith("atoll")], "Atoll is not needed"
    right(*pip(python), "uninstall", "-q", "-y", "mypkg", where=tmp_path, env=mine)
    assert files(tmp_path / "env") == before


def test_without_atolls_wheel_pip_says_what_is_missing_and_takes_nothing_else(tmp_path: Path) -> None:
    project = copied("python_package", tmp_path)
    (tmp_path / "empty").mkdir()
    env = environment(tmp_path / "empty")
    outcome = run(sys.executable, "-m", "pip", "wheel", ".", "-w", "out", where=project, env=env)
    assert outcome.code == 1
    assert "No matching distribution found for atoll" in outcome.out + outcome.err
    assert not list((project / "out").iterdir())


def test_build_makes_the_sdist_and_from_it_a_wheel_whose_bytes_are_the_same_each_time(
    tmp_path: Path, tell: Callable[[str], None]
) -> None:
    made = []
    for name in ("one", "another place"):
        project = copied("python_package", tmp_path / name)
        right(*BUILD, NOTHING, where=project)
        made.append(sorted((project / "dist").iterdir()))
    first, second = ({path.name: path.read_bytes() for path in listed} for listed in made)
    tell(f"two clean builds of {', '.join(f'{name} ({len(data)} bytes)' for name, data in first.items())}")
    assert first == second
    source, wheel = made[0][1], made[0][0]
    assert (source.name, wheel.name) == (
        "mypkg-0.1.0.tar.gz",
        "mypkg-0.1.0-cp311-abi3-manylinux_2_34_x86_64.whl",
    )
    with tarfile.open(source) as archive:
        assert "mypkg-0.1.0/cpu/saxpy.cpp" in archive.getnames()
        assert "mypkg-0.1.0/PKG-INFO" in archive.getnames()
        assert {item.mtime for item in archive.getmembers()} == {315532800}
    with zipfile.ZipFile(wheel) as archive:
        head = archive.read("mypkg-0.1.0.dist-info/METADATA").decode()
    with tarfile.open(source) as archive:
        told = archive.extractfile("mypkg-0.1.0/PKG-INFO")
        assert told is not None
        assert told.read().decode() == head, "the sdist says of itself what its wheel does"
    assert "License-Expression: Apache-2.0\nLicense-File: LICENSE\nRequires-Python: >=3.11\n" in head


def test_an_editable_install_builds_what_changed_before_the_next_import_and_leaves_whole(
    tmp_path: Path,
) -> None:
    project = copied("python_package", tmp_path)
    python = bare(tmp_path)
    here = site(python)
    # The environment sees the Atoll of this run, as one does that it is installed in.
    (here / "atoll_here.pth").write_text(f"{ROOT / 'src'}\n{site(Path(sys.executable))}\n")
    options = ("-q", "--no-build-isolation", "--no-deps", "-e", ".")
    right(*pip(python), "install", *options, *SETTING, where=project)
    assert "Requires-Dist: atoll>=" in (here / "mypkg-0.1.0.dist-info/METADATA").read_text()
    assert (here / "_editable_mypkg.pth").read_text() == "import _editable_mypkg\n"

    def call() -> Outcome:
        return run(tmp_path / "env/bin/mypkg", where=tmp_path)

    assert list(answers(call().out)) == ["vulkan", "cpu"]
    source = project / "cpu/saxpy.cpp"
    text = source.read_text()
    source.write_text(text.replace("a * x[i]", "100 + a * x[i]"))
    assert "112 124 136 148  cpu: " in call().out
    source.write_text(text.replace("a * x[i]", "a * * x[i]"))
    failed = call()
    assert failed.code == 1
    assert "ImportError: the editable package could not be built" in failed.err
    assert "ATL0601" in failed.err
    assert "cpu/saxpy.cpp:8" in failed.err
    source.write_text(text)
    package = project / "mypkg/__init__.py"
    package.write_text(package.read_text().replace('f"{value:g}"', 'f"{value + 1:g}"'))
    assert "13 25 37 49  cpu: " in call().out
    right(*pip(python), "uninstall", "-q", "-y", "mypkg", where=tmp_path)
    assert not [name for name in files(here) if "mypkg" in name]


def test_a_refusal_of_the_backend_is_printed_as_on_the_command_line(tmp_path: Path) -> None:
    project = copied("python_package", tmp_path)
    outcome = run(*BUILD, "--wheel", "--config-setting=acel=vulkan1.2", where=project)
    assert outcome.code != 0
    said = outcome.out + outcome.err
    assert "error[ATL0480]: there is no config setting `acel`" in said
    assert "did you mean `accel`?" in said
    assert "atoll/pep517" not in said, "a refusal has no traceback of the backend"


KERNEL = """\
import atoll
from atoll import f32, kernel, view

@kernel(block=64)
def halve(x: view[f32], out: view[f32]):
    i = atoll.global_id(0)
    if i < out.size:
        out[i] = x[i] / 2
"""
HALVES = """\
[build-system]
requires = ["atoll"]
build-backend = "atoll.pep517"
[tool.atoll.package]
name = "halves"
version = "1.2"
[tool.atoll.build]
accel = "cuda13.0 ptx>=90, vulkan1.2"
lanes = ["python"]
[tool.atoll.targets.halves]
kind = "python"
boundary = "kernels"
sources = ["kernels/*.py"]
[tool.atoll.boundary.kernels]
module = "halves.kernels"
roots = ["cpu", "cuda", "vulkan"]
shape = "registry"
"""
CALL = """
from array import array
from halves import kernels
x, out = array("f", [2, 4, 6]), array("f", [0, 0, 0])
kernels.halve(x, out, over=3)
print(out.tolist(), kernels.device_name(), kernels.devices(), sep="\\n")
"""


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel of a kernel in Python for three roots; no [project], so the manifest says it all."""
    project = write(tmp_path_factory.mktemp("halves"), {"pyproject.toml": HALVES, "kernels/halve.py": KERNEL})
    right(*BUILD, "--wheel", where=project)
    (wheel,) = (project / "dist").iterdir()
    return wheel


def broken_driver(folder: Path) -> Path:
    """Return a folder with a library that is named like CUDA's driver and is none."""
    folder.mkdir()
    (folder / "none.c").write_text("int nothing_of_it;\n")
    right("gcc", "-shared", "-fPIC", "none.c", "-o", "libcuda.so.1", where=folder)
    return folder


def old_driver(folder: Path) -> Path:
    """Return a folder with a fake driver; FAKE_CUDA_VERSION says how old it is."""
    folder.mkdir()
    shutil.copy(fake_cuda(folder), folder / "libcuda.so.1")
    return folder


def test_one_wheel_serves_every_python_with_no_driver_a_wrong_one_and_an_old_one(
    halves: Path, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    assert halves.name.startswith("halves-1.2-cp311-abi3-manylinux_2_")
    no_vulkan = {"VK_ICD_FILENAMES": "/nowhere", "VK_DRIVER_FILES": "/nowhere"}
    (tmp_path / "empty").mkdir()
    cases = {
        "no driver": ({"LD_LIBRARY_PATH": str(tmp_path / "empty")}, "libcuda.so.1"),
        "a wrong driver": ({"LD_LIBRARY_PATH": str(broken_driver(tmp_path / "broken"))}, "cu"),
        "an old driver": (
            {"LD_LIBRARY_PATH": str(old_driver(tmp_path / "old")), "FAKE_CUDA_VERSION": "11000"},
            "ATL0412",
        ),
    }
    pythons = [python for python in PYTHONS if python.is_file()]
    assert pythons, "no Python from 3.11 is installed with pyenv"
    for python in pythons:
        target = tmp_path / python.parts[-3]
        options = ("-q", "--no-index", "--no-deps", "--target", target)
        right(python, "-m", "pip", "install", *options, halves, where=tmp_path)
        for name, (more, word) in cases.items():
            env = machine(PYTHONPATH=str(target), **no_vulkan, **more)
            answer, device, reasons = right(python, "-c", CALL, where=tmp_path, env=env).out.split("\n", 2)
            assert (answer, bool(device)) == ("[1.0, 2.0, 3.0]", True), name
            told = eval(reasons)
            assert list(told) == ["cuda", "vulkan", "cpu"]
            assert told["cpu"] == ""
            assert word in told["cuda"], (name, told["cuda"])
            assert told["vulkan"], name
    tell(f"{halves.name} on {len(pythons)} Pythons, {len(cases)} machines each")


def test_the_module_that_import_loads_needs_nothing_of_a_vendor(halves: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(halves) as archive:
        module = archive.extract("halves/kernels.abi3.so", tmp_path)
    said = right("readelf", "-d", module, where=tmp_path).out
    needed = [line.split("[")[1].rstrip("]") for line in said.splitlines() if "NEEDED" in line]
    assert "libc.so.6" in needed
    assert not [name for name in needed if not name.startswith(("libc.", "ld-linux"))]
