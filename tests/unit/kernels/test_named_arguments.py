"""A launch takes arguments by name, as a call does, everywhere that it takes them by place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from atoll.errors import LaunchError
from kernel_text import kernel_from

AXPY = "(a: f32, x: view[f32], out: view[f32]):\n    i = atoll.global_id(0)\n    out[i] = a * x[i]\n"


@pytest.mark.parametrize("mark", ["@kernel", "@kernel(debug=True)"])
@pytest.mark.parametrize("where", ["oracle", "cpu"])
def test_names_and_places_give_the_same(mark: str, where: str) -> None:
    found = kernel_from(f"{mark}\ndef k{AXPY}")
    launch = found.python(3) if where == "oracle" else found.over(3, device=where)
    x = np.array([1, 2, 3], np.float32)
    for _ in range(2):  # the second one is prepared
        out = np.zeros(3, np.float32)
        launch(2.0, out=out, x=x)
        assert out.tolist() == [2, 4, 6]


def test_a_generic_kernel_takes_its_constants_by_name() -> None:
    found: Any = kernel_from(
        "@kernel\ndef k(x: view[i32], by: atoll.const[int]):\n    x[0] += by\n    x[1] = x[0]\n"
    )
    x = np.zeros(2, np.int32)
    found.over(1, device="cpu")(by=3, x=x)
    found.instance(by=4).over(1, device="cpu")(x=x)
    found.python(1)(by=1, x=x)
    assert x.tolist() == [8, 8]


@pytest.mark.parametrize(
    ("arguments", "named", "note"),
    [
        ((1.0,), {"x": 0}, "`out` is not given"),
        ((1.0,), {"a": 2.0, "x": 0, "out": 0}, "`a` is given twice"),
        ((1.0,), {"x": 0, "out": 0, "n": 1}, "it has no parameter `n`"),
    ],
)
def test_what_fits_no_parameter_is_refused(
    arguments: tuple[Any, ...], named: dict[str, Any], note: str
) -> None:
    found = kernel_from(f"@kernel\ndef k{AXPY}")
    for launch in (found.over(3, device="cpu"), found.python(3)):
        with pytest.raises(LaunchError) as caught:
            launch(*arguments, **named)
        (told,) = caught.value.diagnostics
        assert (told.code, told.message) == ("ATL0760", "`k` cannot be launched with these arguments")
        assert told.notes == (note, "its parameters: a, x, out")
