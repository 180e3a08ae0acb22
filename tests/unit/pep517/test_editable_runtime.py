"""An editable package finds a shared runtime that its wheel would find in another distribution."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from atoll.pep517.editable import finder_text, importable, needed
from atoll.pep517.settings import Settings
from unit.boundary.kit import write

EXTENSION = """\
#include <Python.h>
int device(void);
static PyObject *answer(PyObject *self, PyObject *none) { return PyLong_FromLong(device()); }
static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, ""}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "calls", "", -1, methods};
PyMODINIT_FUNC PyInit_calls(void) { return PyModule_Create(&module); }
"""


def made(root: Path) -> tuple[Path, Path]:
    """Return a tree with an extension module, and the folder of the library that it needs."""
    files = {"store/device.c": "int device(void) { return 7; }\n", "store/libdevice.so.31": "not asked for\n"}
    write(root, {**files, "tree/demo/__init__.py": "", "calls.c": EXTENSION})
    include = sysconfig.get_path("include")
    for command in (
        "gcc -shared -fPIC -Wl,-soname,libdevice.so.3 store/device.c -o store/libdevice.so.3",
        f"gcc -shared -fPIC -I{include} calls.c -o tree/demo/calls.so -Lstore -l:libdevice.so.3",
    ):
        subprocess.run(command.split(), cwd=root, check=True)
    return root / "tree", root / "store"


def test_only_what_a_module_names_is_opened(tmp_path: Path) -> None:
    tree, store = made(tmp_path)
    assert needed(tree, [str(store)]) == [str(store / "libdevice.so.3")]
    assert needed(tree, []) == []
    assert needed(tree, [str(tmp_path / "nowhere")]) == []


def test_the_finder_opens_it_before_the_import(tmp_path: Path) -> None:
    tree, store = made(tmp_path)
    text = finder_text(tmp_path, ("demo",), Settings())
    for lines, expected in (([tree, store / "libdevice.so.3"], "7\n"), ([tree], "")):
        said = "\n".join(map(str, lines))
        code = f"{text}\nbuilt = lambda: {said!r}\nfrom demo import calls\nprint(calls.answer())\n"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert done.stdout == expected, done.stderr
    assert "libdevice.so.3: cannot open shared object file" in done.stderr


OTHERS = {
    "part": ({"acme/other.py": "WHAT = 'other'\n"}, "demo other None\n"),
    "none": ({}, "demo - None\n"),
    "package": (
        {"acme/__init__.py": "", "acme/other.py": "WHAT = 'other'\n"},
        "demo other site/acme/__init__.py\n",
    ),
}


@pytest.mark.parametrize("case", OTHERS)
def test_a_namespace_package_is_shared_with_other_distributions(tmp_path: Path, case: str) -> None:
    """As it is where all of them are installed, also after `sys.path` has changed."""
    files, expected = OTHERS[case]
    mine = {
        "tree/acme/demo/__init__.py": "WHAT = 'demo'\n",
        "tree/acme/demo/data/x.csv": "1\n",
        "tree/single.py": "",
    }
    write(tmp_path, {**mine, **{f"site/{name}": text for name, text in files.items()}, "site/x": ""})
    names = importable(tmp_path / "tree")
    assert names == ("acme", "acme.demo", "single")
    code = f"""{finder_text(tmp_path, names, Settings())}
built = lambda: {str(tmp_path / "tree")!r}
sys.path.append({str(tmp_path / "site")!r})
import acme
import importlib
try:
    from acme import other
    said = other.WHAT
except ImportError:
    said = "-"
importlib.invalidate_caches()
sys.path.append("/nowhere")
from acme import demo
print(demo.WHAT, said, acme.__file__ and acme.__file__.removeprefix({str(tmp_path)!r} + "/"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == expected, done.stderr
