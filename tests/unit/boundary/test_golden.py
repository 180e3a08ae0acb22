"""What is generated is byte-stable: the same declarations give the files kept in tests/golden/boundary.

``ATOLL_UPDATE_GOLDEN=1`` writes them anew; the difference is then read in review.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from atoll.accel import AccelSet
from atoll.boundary import (
    cxx_module,
    data_header,
    data_items,
    data_source,
    header,
    python_files,
    python_source,
    root_source,
)
from unit.boundary.kit import SAXPY, interface, scanned

GOLDEN = Path(__file__).parents[2] / "golden" / "boundary"
MORE = """
// Multiply a matrix by a vector.
ATOLL_EXPORT_AS(w[rows][cols], v[cols], out[rows], out=out)
void app_product(const double *w, const double *v, double *out, size_t rows, size_t cols) {}
"""


def kept_name(name: str) -> str:
    """Return the flat name of a file of the package; ``.txt`` keeps it out of what checkers read."""
    return name.replace("/", "__") + (".txt" if ".py" in name else "")


def generated(folder: Path) -> dict[str, str]:
    cpu = scanned(folder / "cpu", {"a.cpp": SAXPY, "image/b.cpp": MORE})
    toy = scanned(folder / "toy", SAXPY)
    made = interface(cpu, toy, strip_prefix="app_")
    (carried,) = AccelSet.parse("toy1.0+{t1,t2}")
    items = data_items(["shaders/a/scale.comp", "shaders/scale.comp"], package="app")
    tables = python_source(made).partition("/* ---- values:")[0]
    return {
        "app_kernels.h": header(made),
        "app_kernels.cppm": cxx_module(made, "registry"),
        "app_data.h": data_header(items, "app"),
        "scale_comp.c": data_source(items[0], bytes(range(40)), header="app_data.h", offset=8, size=30),
        "tables.c": tables,
        "root_cpu.c": root_source(made, "cpu", version="0.1.0"),
        "root_toy.c": root_source(made, "toy", version="0.1.0", driver="toy", carried=carried),
        **{kept_name(name): text for name, text in python_files(made).items()},
    }


def test_generated_files_are_those_kept(tmp_path: Path) -> None:
    found = generated(tmp_path)
    if os.environ.get("ATOLL_UPDATE_GOLDEN") == "1":
        for name, text in found.items():
            (GOLDEN / name).write_text(text)
    assert {path.name for path in GOLDEN.iterdir()} == set(found)
    for name, text in found.items():
        assert (GOLDEN / name).read_text() == text, name


def test_the_stub_is_right_python_for_a_type_checker(tmp_path: Path) -> None:
    mypy = pytest.importorskip("mypy.api", reason="no mypy")
    for name, text in generated(tmp_path / "src").items():
        if name.startswith("app__"):
            real = name.removesuffix(".txt").replace("__init__", "INIT")
            path = tmp_path / real.replace("__", "/").replace("INIT", "__init__")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    use = "import array\nfrom app import kernels\nx = array.array('f', [1])\n{}\n"
    right = "kernels.saxpy(2.0, x, x, x)\nkernels.use(None)\nkernels.image.app_product(x, x)"
    cases = {
        right: 0,
        "kernels.saxpy('2', x, x, x)": 1,
        "kernels.saxpy(2.0, x, 3, x)": 1,
        "kernels.nothing()": 1,
    }
    for index, (line, code) in enumerate(cases.items()):
        path = tmp_path / f"use{index}.py"
        path.write_text(use.format(line))
        out, err, exit_code = mypy.run(["--strict", "--no-incremental", "--config-file=", str(path)])
        assert exit_code == code, out + err


def test_two_runs_give_the_same_bytes(tmp_path: Path) -> None:
    assert generated(tmp_path / "a") == generated(tmp_path / "b")
