"""Tuning: measured, kept with the device's name, used by launches, never believed without its key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from atoll.errors import LaunchError
from atoll.kernels.definition import KernelFunction
from kernel_text import kernel_from

TEXT = "@kernel\ndef k(x: view[f32], groups: view[i32]):\n    i = atoll.global_id(0)\n    x[i] += 1.0\n"
TEXT += "    groups[i] = atoll.group_size(0)\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ATOLL_CACHE", str(tmp_path))
    return tmp_path / "tuned"


def given(size: int = 1024) -> tuple[Any, ...]:
    return np.zeros(size, np.float32), np.zeros(size, np.int32)


def tuned(kernel: KernelFunction, **more: Any) -> Any:
    return kernel.tune(*given(), block=[32, 64], shape=1024, device="cpu", **more)


@pytest.mark.usefixtures("folder")
def test_every_block_is_measured_and_the_best_is_used() -> None:
    found = kernel_from(TEXT)
    x, groups = given()
    best = found.tune(x, groups, block=[32, 64, (32, 1, 1)], shape=1024, device="cpu")
    assert set(best.seconds) == {(32, 1, 1), (64, 1, 1)}
    assert best.seconds[best.block] == min(best.seconds.values())
    assert not x.any(), "the arguments are copied"
    found.over(1024, device="cpu")(x, groups)
    assert set(groups.tolist()) == {best.block[0]}
    found.over(1024, device="cpu", block=16)(x, groups)
    assert set(groups.tolist()) == {16}


def test_an_answer_is_kept_for_the_same_kernel_blocks_and_device(folder: Path) -> None:
    first = tuned(kernel_from(TEXT))
    second = tuned(kernel_from(TEXT))
    assert (first.cached, second.cached) == (False, True)
    assert second.seconds == first.seconds
    assert not tuned(kernel_from(TEXT), again=True).cached
    assert not tuned(kernel_from(TEXT.replace("1.0", "2.0"))).cached
    assert len(list(folder.glob("*.json"))) == 2
    assert json.loads(next(folder.glob("*.json")).read_text())["key"]["device"] == first.device


@pytest.mark.parametrize("damage", ["", "{}", "[", '{"key": {}, "seconds": [1, 2]}', "swap", "negative"])
def test_an_answer_that_is_not_its_own_is_measured_anew(folder: Path, damage: str) -> None:
    tuned(kernel_from(TEXT))
    (file,) = folder.glob("*.json")
    kept = json.loads(file.read_text())
    if damage == "swap":
        kept["key"]["device"] = "another"
    kept["seconds"] = [-1, -2] if damage == "negative" else kept["seconds"]
    file.write_text(json.dumps(kept) if damage in ("swap", "negative") else damage)
    assert not tuned(kernel_from(TEXT)).cached


@pytest.mark.usefixtures("folder")
def test_without_arguments_it_makes_them() -> None:
    assert kernel_from(TEXT).tune(block=[64, 128], shape=256, device="cpu").block in ((64, 1, 1), (128, 1, 1))


def test_a_contract_leaves_no_block_to_choose() -> None:
    found = kernel_from(TEXT.replace("@kernel", "@kernel(block=8)"))
    with pytest.raises(LaunchError, match="no block to choose"):
        tuned(found)
    with pytest.raises(LaunchError, match="no block to choose"):
        kernel_from(TEXT).tune(block=[], device="cpu")
