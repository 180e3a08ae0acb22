"""A real GLSL shader of ggml: fetched pinned and hashed, compiled by the lane, launched, right."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.harness import ATOLL, copied, machine, right, run
from e2e.sabotage import sabotage


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = copied("real/ggml_scale", tmp_path)
    fetched = run(sys.executable, "fetch.py", where=project)
    if fetched.code and "ATOLL_OFFLINE" in os.environ:
        pytest.skip(
            "the source distribution of llama-cpp-python is not in the store and this machine is offline"
        )
    assert fetched.code == 0, fetched.err
    return project


def test_ggml_scale_is_compiled_by_the_lane_and_answers(project: Path, tell: Callable[[str], None]) -> None:
    right(ATOLL, "build", where=project)
    answer, device = right(ATOLL, "run", "ggml_scale", where=project).out.splitlines()
    tell(f"scale.comp of ggml answered {answer} on {device}")
    assert answer == "12 24 36 48"
    assert "llvmpipe" in device or "NVIDIA" in device


def test_without_an_accelerator_the_processor_answers(project: Path) -> None:
    answer, device = right(ATOLL, "run", "--no-accel", where=project).out.splitlines()
    assert answer == "12 24 36 48"
    assert device
    assert "llvmpipe" not in device


def test_a_change_in_a_shader_include_rebuilds_the_shader(project: Path) -> None:
    right(ATOLL, "build", where=project)
    include = project / "shaders" / "generic_unary_head.glsl"
    include.write_text(include.read_text().replace("512", "640"))
    events = right(ATOLL, "build", "--json", where=project).out
    assert "scale.comp" in events
    assert run(ATOLL, "run", "ggml_scale", where=project, env=machine()).code != 0


def test_one_changed_operation_makes_the_answer_wrong(project: Path, tell: Callable[[str], None]) -> None:
    program = project / right(ATOLL, "build", where=project).out.strip()
    assert run(program, where=project).code == 0
    for change in sabotage(program):
        tell(change)
    outcome = run(program, where=project)
    assert outcome.code != 0, "a fallback answered in silence"
    assert not outcome.out
