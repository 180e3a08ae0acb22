"""A built tree becomes a wheel: installable, repeatable, stating what was measured."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from atoll.accel import AccelSet
from atoll.artifact import read_index
from atoll.packaging import Metadata, pack_tree, report
from unit.packaging.binaries import elf, entry, fatbin, put, spirv

ABOUT = Metadata(name="My.Demo", version="1.2.0", summary="A demo", license="Apache-2.0")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A package whose extension module is real, with a root for each of two backends."""
    folder = tmp_path / "tree"
    put(folder / "demo/__init__.py", b"from demo.native import answer\n")
    put(folder / "demo/__pycache__/x.pyc", b"left out")
    put(folder / "demo/_kernels_cuda.so", elf({".nv_fatbin": fatbin(entry(2, 80), entry(2, 90))}))
    put(folder / "demo/_kernels_vulkan.so", elf({".rodata": bytes(16) + spirv()}))
    source = put(
        tmp_path / "native.c",
        b"#define Py_LIMITED_API 0x030b0000\n#include <Python.h>\n"
        b"static PyObject *answer(PyObject *m, PyObject *a) { return PyLong_FromLong(42); }\n"
        b'static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, ""}, {0}};\n'
        b'static PyModuleDef def = {PyModuleDef_HEAD_INIT, "native", 0, -1, methods};\n'
        b"PyMODINIT_FUNC PyInit_native(void) { return PyModule_Create(&def); }\n",
    )
    import sysconfig

    include = sysconfig.get_path("include")
    subprocess.run(
        ["/usr/bin/gcc", "-shared", "-fPIC", f"-I{include}", source, "-o", folder / "demo/native.abi3.so"],
        check=True,
    )
    return folder


def test_the_name_states_the_stable_abi_and_the_computed_platform(tree: Path, tmp_path: Path) -> None:
    packed = pack_tree(tree, ABOUT, tmp_path / "dist")
    assert packed.path.name.startswith("my_demo-1.2.0-cp311-abi3-manylinux_2_")
    assert packed.path.name.endswith("_x86_64.whl")


def test_the_wheel_holds_the_tree_and_its_record_holds(tree: Path, tmp_path: Path) -> None:
    packed = pack_tree(tree, ABOUT, tmp_path / "dist")
    with zipfile.ZipFile(packed.path) as wheel:
        assert wheel.testzip() is None
        names = wheel.namelist()
        rows = list(csv.reader(wheel.read("my_demo-1.2.0.dist-info/RECORD").decode().splitlines()))
        assert [row[0] for row in rows] == names
        for name, digest, size in rows[:-1]:
            data = wheel.read(name)
            want = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert (digest, size) == (f"sha256={want}", str(len(data)))
    assert "demo/native.abi3.so" in names
    assert not any("__pycache__" in name for name in names)


def test_two_runs_give_equal_bytes(tree: Path, tmp_path: Path) -> None:
    first = pack_tree(tree, ABOUT, tmp_path / "one").path
    time.sleep(0)
    for path in tree.rglob("*"):
        path.touch()
    second = pack_tree(tree, ABOUT, tmp_path / "two").path
    assert first.name == second.name
    assert first.read_bytes() == second.read_bytes()


def test_the_descriptor_states_what_was_measured(tree: Path, tmp_path: Path) -> None:
    packed = pack_tree(tree, ABOUT, tmp_path / "dist")
    with zipfile.ZipFile(packed.path) as wheel:
        data = wheel.read("my_demo-1.2.0.dist-info/atoll.json")
    index = read_index(data, "atoll.json")
    (artifact,) = index.artifacts
    assert (index.package, index.version) == ("My.Demo", "1.2.0")
    assert artifact.accel == AccelSet.parse("cuda+{sm_80,sm_90}, vulkan1.2")
    assert artifact.accel == report(packed.path).measured.accel
    assert str(artifact.abi) == "x86_64-linux-gnu"
    assert json.loads(data)["members"] == [
        {"accel": "cuda+{sm_80,sm_90}", "path": "demo/_kernels_cuda.so"},
        {"accel": "vulkan1.2", "path": "demo/_kernels_vulkan.so"},
    ]


def test_what_is_declared_and_carried_is_packed(tree: Path, tmp_path: Path) -> None:
    declared = AccelSet.parse("vulkan1.2, cuda13.0+{sm_90,sm_80}")
    assert pack_tree(tree, ABOUT, tmp_path / "dist", declared=declared).path.exists()


def test_sizes_are_told_by_backend(tree: Path, tmp_path: Path) -> None:
    packed = pack_tree(tree, ABOUT, tmp_path / "dist")
    assert set(packed.sizes) == {"cpu", "cuda", "vulkan"}
    assert 0 < sum(packed.sizes.values()) < packed.path.stat().st_size


def test_pip_installs_it_and_python_imports_it(tree: Path, tmp_path: Path) -> None:
    packed = pack_tree(tree, ABOUT, tmp_path / "dist")
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", str(site)]
    subprocess.run([*pip, str(packed.path)], check=True, capture_output=True)
    code = "import demo, importlib.metadata as m; print(demo.answer(), m.version('my-demo'))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["42", "1.2.0"]


def test_licence_files_travel(tree: Path, tmp_path: Path) -> None:
    license_file = put(tmp_path / "LICENSE", b"text")
    about = Metadata(name="demo", version="1", license="MIT", license_files=(("LICENSE", license_file),))
    with zipfile.ZipFile(pack_tree(tree, about, tmp_path / "dist").path) as wheel:
        assert wheel.read("demo-1.dist-info/licenses/LICENSE") == b"text"
        assert b"License-File: LICENSE" in wheel.read("demo-1.dist-info/METADATA")


def test_a_package_of_python_alone_serves_any_machine(tmp_path: Path) -> None:
    put(tmp_path / "tree/demo/__init__.py", b"x = 1\n")
    packed = pack_tree(tmp_path / "tree", ABOUT, tmp_path / "dist")
    assert packed.path.name == "my_demo-1.2.0-py3-none-any.whl"


def test_nothing_is_left_where_writing_breaks_off(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> bytes:
        raise OSError("no space left on device")

    monkeypatch.setattr("atoll.packaging.wheel._record", full)
    with pytest.raises(OSError, match="no space"):
        pack_tree(tree, ABOUT, tmp_path / "dist")
    assert list((tmp_path / "dist").iterdir()) == []
