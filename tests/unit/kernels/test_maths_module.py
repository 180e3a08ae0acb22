"""The functions of Python's `math` module in a kernel: typed, or refused by name."""

from __future__ import annotations

import math

import numpy as np
import pytest

from atoll.kernels.front.calls import _INSTEAD, _OTHERS, MATHS
from atoll_plugins.cpu.driver import CpuDriver
from kernel_text import body, kernel_from, refusal, refused

ONE = ["sqrt", "exp", "exp2", "log", "log2", "sin", "cos", "tan", "tanh", "fabs"]


@pytest.mark.parametrize("name", ONE)
def test_a_function_of_math_keeps_the_type_of_its_operand(name: str) -> None:
    found = kernel_from(f"@kernel\ndef k(x: view[f32]):\n    x[0] = math.{name}(x[0]) + 1\n")
    wanted = np.float32(getattr(math, name)(0.75)) + np.float32(1)
    for where in ("oracle", CpuDriver({"PATH": "/nowhere"}).open(0), "cpu"):
        x = np.array([0.75], np.float32)
        (found.python(1) if where == "oracle" else found.over(1, device=where))(x)
        np.testing.assert_allclose(x[0], wanted, rtol=2**-18)


def test_what_classifies_a_float_gives_a_bool() -> None:
    text = "@kernel\ndef k(x: view[f32], o: view[i32]):\n    i = atoll.global_id(0)\n    o[i] = 0\n"
    for weight, name in enumerate(("isnan", "isinf", "isfinite")):
        text += f"    if math.{name}(x[i]):\n        o[i] += {1 << weight}\n"
    for where in ("oracle", CpuDriver({"PATH": "/nowhere"}).open(0), "cpu"):
        x, out = np.array([1, np.nan, np.inf, -np.inf, 3e38, -0.0], np.float32), np.zeros(6, np.int32)
        found = kernel_from(text)
        (found.python(6) if where == "oracle" else found.over(6, device=where))(x, out)
        assert out.tolist() == [4, 1, 2, 2, 4, 4]


def test_every_other_function_of_math_is_refused_by_name() -> None:
    taken = {*MATHS, *_OTHERS}
    rest = [name for name, value in vars(math).items() if callable(value) and value not in taken]
    assert "floor" in rest
    assert "erf" in rest
    for name in rest:
        if name.startswith("_"):
            continue
        found = refused(f"a = math.{name}(x[0])", "ATL0711", f"math.{name}")
        assert found.message == f"a kernel cannot call `math.{name}`"
        assert found.hint == _INSTEAD.get(getattr(math, name))


ARRAYS = "write `fixed[f32, 8]()` for an array of a work-item, `atoll.shared(f32, 64)` for one of its group"


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        ("np.sqrt(x[0])", "use `atoll.sqrt`"),
        ("np.zeros(4)", ARRAYS),
        ("atoll.array(x)", ARRAYS),
        ("hash(x)", None),
    ],
)
def test_what_a_kernel_has_under_the_same_name_is_the_hint(call: str, hint: str | None) -> None:
    found = refusal(body(f"y = {call}", np=np))
    assert found.code == "ATL0711"
    assert found.hint == hint
