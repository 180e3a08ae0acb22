"""An editable package finds a shared runtime that its wheel would find in another distribution."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

from atoll.pep517.editable import finder_text, needed
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
