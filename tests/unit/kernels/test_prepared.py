"""A launch that was prepared refuses what the first one would, and takes what it would, to the bit."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import atoll
from atoll.errors import LaunchError
from kernel_text import kernel_from

TEXT = (
    "@kernel\ndef k(b: bool_, i: i32, u: u8, l: i64, h: f16, f: f32, d: f64, out: view[f64]):\n"
    "    if b:\n        out[0] = 1.0\n"
    "    out[1] = f64(i)\n    out[2] = f64(u)\n    out[3] = f64(l)\n"
    "    out[4] = f64(h)\n    out[5] = f64(f)\n    out[6] = d\n"
)
GOOD: tuple[Any, ...] = (True, -5, 200, 1 << 40, 0.1, 0.1, 0.1)


@pytest.fixture
def launch() -> Any:
    found = kernel_from(TEXT).over(1, device="cpu")
    found(*GOOD, np.zeros(7))
    assert found._prepared is not None or "interpreter" in atoll.open("cpu").name
    return found


def test_numbers_arrive_as_their_types_hold_them(launch: Any) -> None:
    for given in (
        GOOD,
        tuple(np.asarray(item).item() for item in GOOD),
        (np.bool_(True), np.int8(-5), *GOOD[2:]),
    ):
        out = np.zeros(7)
        launch(*given, out)
        assert out.tolist() == [1, -5, 200, 1 << 40, float(np.float16(0.1)), float(np.float32(0.1)), 0.1]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (0, 1),
        (1, 1 << 31),
        (1, 1.0),
        (1, True),
        (2, 256),
        (2, -1),
        (3, 1 << 63),
        (4, 1e6),
        (5, 1e39),
        (5, "x"),
        (6, True),
    ],
)
def test_a_number_that_does_not_fit_is_refused_as_at_first(launch: Any, place: int, value: Any) -> None:
    given = [*GOOD, np.zeros(7)]
    given[place] = value
    with pytest.raises(LaunchError) as prepared:
        launch(*given)
    with pytest.raises(LaunchError) as first:
        kernel_from(TEXT).over(1, device="cpu")(*given)
    assert str(prepared.value) == str(first.value)
    assert given[7].tolist() == [0.0] * 7


def frozen() -> Any:
    made = np.zeros(7)
    made.flags.writeable = False
    return made


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(7, np.float32), np.zeros((7, 1)), np.zeros(7, ">f8"), frozen(), [0.0] * 7, None,
        np.broadcast_to(np.zeros(1), (7,)),
    ],
    ids=["type", "rank", "byte order", "read only", "list", "none", "repeated"],
)  # fmt: skip
def test_an_array_that_does_not_fit_is_refused_as_at_first(launch: Any, array: Any) -> None:
    with pytest.raises(LaunchError) as prepared:
        launch(*GOOD, array)
    with pytest.raises(LaunchError) as first:
        kernel_from(TEXT).over(1, device="cpu")(*GOOD, array)
    assert str(prepared.value) == str(first.value)


def test_too_few_and_too_many_are_refused(launch: Any) -> None:
    for given in (GOOD, (*GOOD, np.zeros(7), 1)):
        with pytest.raises(LaunchError, match="takes 8 arguments"):
            launch(*given)


def test_a_contract_is_asked_in_every_launch() -> None:
    text = '@kernel(requires="n <= x.size")\ndef k(n: i32, x: view[f32]):\n    x[n - 1] = 1.0\n'
    launch = kernel_from(text).over(1, device="cpu")
    x = np.zeros(4, np.float32)
    for _ in range(2):
        launch(4, x)
    with pytest.raises(LaunchError, match="contract"):
        launch(5, x)


def test_a_number_that_changed_meanwhile_is_the_new_one() -> None:
    from kernel_text import namespace

    made = namespace("K = 2.0\n@kernel\ndef k(out: view[f32]):\n    out[0] = K\n")
    out = np.zeros(1, np.float32)
    launch = made["k"].over(1, device="cpu")
    launch(out)
    launch(out)
    made["K"] = 3.0
    launch(out)
    assert out[0] == 3
    made["k"].over(1, device="cpu")(out)
    assert out[0] == 3


def test_the_default_device_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, out = kernel_from("@kernel\ndef k(out: view[f32]):\n    out[0] = 1.0\n"), np.zeros(1, np.float32)
    monkeypatch.setenv("ATOLL_DEVICE", "cpu")
    launch = kernel.over(1)
    assert launch(out).device == launch(out).device == atoll.open("cpu").name
    monkeypatch.setenv("ATOLL_DEVICE", "nothing-of-that-name")
    with pytest.raises(atoll.AtollError, match="nothing-of-that-name"):
        launch(out)
    assert os.environ["ATOLL_DEVICE"] == "nothing-of-that-name"


def test_a_domain_equal_to_another_in_python_is_no_domain() -> None:
    kernel, out = kernel_from("@kernel\ndef k(out: view[f32]):\n    out[0] = 1.0\n"), np.zeros(1, np.float32)
    kernel.over(1, device="cpu")(out)
    for wrong in (1.0, (1.0,), "1"):
        with pytest.raises(LaunchError):
            kernel.over(wrong, device="cpu")  # type: ignore[arg-type]


def test_no_work_item_changes_nothing() -> None:
    kernel = kernel_from(
        "@kernel\ndef k(out: view[f32]):\n    i = atoll.global_id(0)\n"
        "    if i < out.size:\n        out[i] = 1.0\n"
    )
    for size, out in (
        (0, np.zeros(4, np.float32)),
        (4, np.zeros(0, np.float32)),
        (0, np.zeros(0, np.float32)),
    ):
        for _ in range(2):
            assert kernel.over(size, device="cpu")(out).device
        assert not out.any()


def test_a_device_that_was_freed_is_opened_again_by_its_name() -> None:
    kernel, out = kernel_from("@kernel\ndef k(out: view[f32]):\n    out[0] += 1.0\n"), np.zeros(1, np.float32)
    launch = kernel.over(1, device="cpu")
    launch(out)
    atoll.open("cpu").free()
    launch(out)
    assert out[0] == 2
