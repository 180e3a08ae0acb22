"""Kernels in notebook cells: no file, definitions that are run again, globals that change."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

from atoll import kernel
from atoll.errors import AtollError


class Notebook:
    """Runs cells as IPython does: one namespace, a name for each cell, its lines in `linecache`."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.count = 0
        self.run("import atoll\nfrom atoll import kernel, device, struct, view, f32, i32")

    def run(self, text: str, name: str = "") -> None:
        self.count += 1
        file = name or f"<ipython-input-{self.count}-0123456789ab>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        exec(compile(text, file, "exec", dont_inherit=True), self.names)

    def launch(self, name: str = "k") -> float:
        out = np.zeros(1, np.float32)
        self.names[name].over(1, device="cpu")(out)
        mine = np.zeros(1, np.float32)
        self.names[name].python(1)(mine)
        assert mine.tolist() == out.tolist()
        return float(out[0])


KERNEL = "@kernel\ndef k(out: view[f32]):\n    out[0] = half(SCALE)\n"
DEVICE = "@device\ndef half(v: f32) -> f32:\n    return v * 0.5\n"


@pytest.fixture
def notebook() -> Notebook:
    made = Notebook()
    made.run("SCALE = 8.0")
    made.run(DEVICE)
    made.run(KERNEL)
    return made


def test_a_kernel_in_a_cell_runs(notebook: Notebook) -> None:
    assert notebook.launch() == 4.0


def test_a_global_that_changes_is_seen_by_the_next_launch(notebook: Notebook) -> None:
    assert notebook.launch() == 4.0
    notebook.run("SCALE = 16.0")
    assert notebook.launch() == 8.0


def test_a_device_function_whose_cell_is_run_again_is_taken_anew(notebook: Notebook) -> None:
    assert notebook.launch() == 4.0
    notebook.run(DEVICE.replace("0.5", "0.25"))
    assert notebook.launch() == 2.0


def test_one_that_another_device_function_calls_is_taken_anew_too(notebook: Notebook) -> None:
    notebook.run("@device\ndef around(v: f32) -> f32:\n    return half(v)\n")
    notebook.run(KERNEL.replace("half", "around"))
    assert notebook.launch() == 4.0
    notebook.run(DEVICE.replace("0.5", "3.0"))
    assert notebook.launch() == 24.0


def test_a_kernel_whose_cell_is_run_again_is_the_new_one(notebook: Notebook) -> None:
    assert notebook.launch() == 4.0
    notebook.run(KERNEL.replace("half(SCALE)", "half(SCALE) + 1.0"))
    assert notebook.launch() == 5.0


def test_a_struct_that_is_defined_again_is_the_new_one(notebook: Notebook) -> None:
    notebook.run("@struct\nclass Pair:\n    a: f32\n    b: f32\n")
    notebook.run("@kernel\ndef k(out: view[f32]):\n    p = Pair(1.0, 2.0)\n    out[0] = p.a - p.b\n")
    assert notebook.launch() == -1.0
    notebook.run("@struct\nclass Pair:\n    b: f32\n    a: f32\n")
    assert notebook.launch() == 1.0


def test_an_error_shows_the_line_of_the_cell(notebook: Notebook) -> None:
    notebook.run("@kernel\ndef bad(out: view[f32]):\n    out[0] = missing\n")
    with pytest.raises(AtollError) as caught:
        notebook.names["bad"].compiled()
    span = caught.value.diagnostics[0].span
    assert span is not None
    assert (span.line, span.text.strip()) == (3, "out[0] = missing")
    assert span.file.startswith("<ipython-input-")


def test_a_name_that_is_used_again_is_no_source_of_the_old_function(notebook: Notebook) -> None:
    notebook.run("@kernel\ndef k(out: view[f32]):\n    out[0] = 1.0\n", "<stdin>")
    notebook.run("old = k\n")
    notebook.run("@kernel\ndef k(out: view[f32]):\n    out[0] = 2.0\n", "<stdin>")
    assert notebook.launch() == 2.0
    assert notebook.launch("old") == 1.0


def test_a_function_that_is_marked_after_its_name_was_used_again_is_refused(notebook: Notebook) -> None:
    notebook.run("def k(out: view[f32]):\n    out[0] = 1.0\n", "<stdin>")
    old = notebook.names["k"]
    notebook.run("def k(out: view[f32]):\n    out[0] = 2.0\n", "<stdin>")
    with pytest.raises(AtollError) as caught:
        kernel(old).compiled()
    assert caught.value.diagnostics[0].notes == ("another text stands under its file's name now",)


def test_closures_in_a_cell_have_their_source(notebook: Notebook) -> None:
    notebook.run(
        "def make(by):\n    @kernel\n    def k(out: view[f32]):\n        out[0] = half(by)\n    return k\n"
        "k, other = make(2.0), make(6.0)\n"
    )
    assert (notebook.launch(), notebook.launch("other")) == (1.0, 3.0)
