"""`ATOLL_DUMP` prints what a launch compiles, by the names of stages."""

from __future__ import annotations

import numpy as np
import pytest

from atoll.errors import AtollError
from kernel_text import body


def launched(device: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    x = np.zeros(4, np.float32)
    body("x[n] = 2.0 + 1.0", "x: view[f32], n: i32").over(1, device=device)(x, 2)
    assert x.tolist() == [0, 0, 3, 0]
    return capsys.readouterr().err


def test_the_named_stages_are_printed_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ATOLL_DUMP", "kir-optimised, kir,opencl-c")
    said = launched("cpu", capsys)
    assert said.startswith("// k: kir for cpu")
    assert said.count("// k: kir-optimised for cpu") == 1
    assert said.count("x[sext.i64($n)] = f32:3.0") == 2
    assert "opencl-c for" not in said


def test_a_binary_is_disassembled(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ATOLL_DUMP", "spirv")
    said = launched("vulkan", capsys)
    assert said.startswith("// k: spirv for vulkan")
    assert "OpEntryPoint GLCompute" in said


def test_nothing_is_printed_unasked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("ATOLL_DUMP", raising=False)
    assert launched("cpu", capsys) == ""


def test_a_stage_that_nobody_has_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ATOLL_DUMP", "kirr")
    with pytest.raises(AtollError) as caught:
        launched("cpu", capsys)
    assert caught.value.diagnostics[0].message == "ATOLL_DUMP names `kirr`, which is no stage"
    assert "stages: kir, kir-optimised, " in caught.value.diagnostics[0].notes[0]
