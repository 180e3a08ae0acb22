"""The benchmark of kernels runs each contender in a process of its own, and says why one is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tools.bench import kernels


def test_a_contender_that_cannot_be_imported_says_why(tmp_path: Path) -> None:
    missing = kernels.Contender("Nobody", "import nobody_has_this", "")
    said = kernels.once(missing, sys.executable, tmp_path)
    assert said == "ModuleNotFoundError: No module named 'nobody_has_this'"


def test_atoll_is_measured_and_its_answer_checked(tmp_path: Path) -> None:
    (tmp_path / "kernel_file.py").write_text(kernels._KERNEL_FILE)
    atoll = kernels.CONTENDERS[0]
    said = kernels.once(atoll, sys.executable, tmp_path)
    assert not isinstance(said, str), said
    assert {
        "import_ms",
        "first_ms",
        "launch_us",
        "kept_us",
        "ptx_ms",
        "spirv_ms",
        "opencl_c_ms",
    } <= said.keys()
    (tmp_path / "kernel_file.py").write_text(kernels._KERNEL_FILE.replace("a * x[i]", "x[i]"))
    assert "the answer is wrong" in str(kernels.once(atoll, sys.executable, tmp_path))


def test_the_table_has_a_row_for_each_and_ratios_to_atoll() -> None:
    rounds = [{"import_ms": 1.0, "first_ms": 2.0, "launch_us": 4.0, "kept_us": 3.0}]
    found = {
        "Atoll": kernels.Found(rounds),
        "Slow": kernels.Found([{**rounds[0], "launch_us": 40.0}]),
        "Gone": kernels.Found(reason="it is gone"),
    }
    said = kernels.text(found, [(0.02, 0.03), (0.02, 0.02)])
    assert "| Slow | 1 | 2 | 40 | 10.00 |" in said
    assert "| Gone | not measured: it is gone | | | |" in said
    assert "1.25 times" in said


def test_importing_atoll_is_lean() -> None:
    pairs = [(kernels.bare_start(sys.executable), kernels.import_start(sys.executable)) for _ in range(7)]
    if min(bare for bare, _ in pairs) > 0.2:
        pytest.skip("a machine too busy to time anything")
    assert min(full for _, full in pairs) - min(bare for bare, _ in pairs) < 0.06


def test_the_device_script_makes_a_table_of_what_it_has() -> None:
    from tools.bench import kernels_on_device

    row = {"name": "saxpy", "size": "", "bytes": 12_000, "flops": 0, "failed": {"numba": "gone"}}
    row |= {"seconds": {"atoll": 1e-5, "nvcc": 2e-5}, "apart": {"atoll": 0.0}}
    data = {
        "when": "now",
        "device": "D",
        "driver": "1",
        "torch": "2",
        "command": "c",
        "copy": 2.4e9,
        "rows": [row],
    }
    data |= {name: {} for name in ("cases", "tensors", "compile_ms", "launch_us", "drivers")}
    said = kernels_on_device.table(data)
    assert "| saxpy |  | 10 | 20 | – | failed | 1 | 0.50 | 2.00 | 0.0e+00 |" in said
    assert "- saxpy, numba: gone" in said
