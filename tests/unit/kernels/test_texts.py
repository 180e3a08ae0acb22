"""A kernel is what its file said when it was imported, whatever became of the file."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

HEAD = "import atoll\nfrom atoll import device, f32, kernel, view\n"


def text(value: float, before: str = "") -> str:
    """Return the text of a module whose kernel gives a number."""
    it = f"@device\ndef it() -> f32:\n    return f32({value})\n"
    return f"{HEAD}{before}\n{it}\n@kernel\ndef k(x: view[f32]):\n    x[0] = it()\n"


def answer(found: Any) -> float:
    x = np.zeros(1, np.float32)
    found.over(1, device="cpu")(x)
    y = np.zeros(1, np.float32)
    found.python(1)(y)
    assert x[0] == y[0]
    return float(x[0])


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A module's file, imported from no cache of code."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path / "texts_of_a_kernel.py"
    sys.modules.pop("texts_of_a_kernel", None)


def imported(file: Path, content: str, *, at: int) -> ModuleType:
    file.write_text(content)
    os.utime(file, (at, at))
    importlib.invalidate_caches()
    known = sys.modules.get(file.stem)
    return importlib.import_module(file.stem) if known is None else importlib.reload(known)


def test_its_file_may_be_deleted_before_the_first_launch(file: Path) -> None:
    found = imported(file, text(2.0), at=1)
    file.unlink()
    assert answer(found.k) == 2.0


def test_its_file_may_be_changed_before_the_first_launch(file: Path) -> None:
    found = imported(file, text(2.0), at=1)
    file.write_text(text(3.0))
    assert answer(found.k) == 2.0


@pytest.mark.parametrize("before", ["", "# another line\n"])
def test_a_module_that_is_imported_again_has_its_new_kernels(file: Path, before: str) -> None:
    old = imported(file, text(2.0), at=1).k
    assert answer(old) == 2.0
    new = imported(file, text(3.0, before), at=2).k
    assert answer(new) == 3.0
    assert answer(old) == 3.0  # what it calls is looked up anew in its module, as Python does


def test_a_kernel_of_the_first_import_that_never_ran_is_still_that_one(file: Path) -> None:
    old = imported(file, text(2.0), at=1).k
    new = imported(file, text(3.0), at=2).k
    assert answer(new) == 3.0
    assert answer(old) == 3.0  # what it calls is looked up when it is compiled, as Python does
