"""Parameters of device functions have defaults, as Python has them: evaluated once, where the function is."""

from __future__ import annotations

import numpy as np
import pytest

from atoll_plugins.cpu.driver import CpuDriver
from kernel_text import kernel_from, refusal

DEVICE = """
WEIGHT = 3
@device
def weighed(v: f32, by: i32 = WEIGHT, plus: f32 = 0.5, negative: bool_ = False) -> f32:
    found = v * f32(by) + plus
    return -found if negative else found

@device
def twice(v: T) -> T:
    return v + v

@device
def applied(v: f32, f: Callable = twice, times: atoll.const[int] = 2) -> f32:
    for _ in range(times):
        v = f(v)
    return v

WEIGHT = 100
"""
HEAD = "from collections.abc import Callable\nfrom typing import TypeVar\nT = TypeVar('T')\n"


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("weighed(x[i])", 6.5),
        ("weighed(x[i], 4)", 8.5),
        ("weighed(x[i], plus=1.0)", 7.0),
        ("weighed(negative=True, v=x[i])", -6.5),
        ("applied(x[i])", 8.0),
        ("applied(x[i], times=3)", 16.0),
    ],
)
def test_what_is_not_given_has_its_default_everywhere(call: str, wanted: float) -> None:
    text = f"{HEAD}{DEVICE}@kernel\ndef k(x: view[f32]):\n    i = atoll.global_id(0)\n    x[i] = {call}\n"
    found = kernel_from(text)
    for where in ("oracle", CpuDriver({"PATH": "/nowhere"}).open(0), "cpu"):
        x = np.array([2.0], np.float32)
        (found.python(1) if where == "oracle" else found.over(1, device=where))(x)
        assert x[0] == wanted


@pytest.mark.parametrize(
    ("call", "code", "message"),
    [
        ("weighed()", "ATL0725", "`weighed` takes 1 to 4 arguments, not 0"),
        ("weighed(1.0, 2, 3.0, True, 5)", "ATL0725", "`weighed` takes 1 to 4 arguments, not 5"),
        ("odd(1.0)", "ATL0712", "the default of the parameter `by` is a str, no number"),
    ],
)
def test_what_no_default_serves_is_refused(call: str, code: str, message: str) -> None:
    odd = "@device\ndef odd(v: f32, by: f32 = 'two') -> f32:\n    return v * by\n"
    text = f"{HEAD}{DEVICE}{odd}@kernel\ndef k(x: view[f32]):\n    x[0] = {call}\n"
    found = refusal(kernel_from(text))
    assert (found.code, found.message) == (code, message)
