"""ATL0805: arguments that do not fit the kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from atoll.errors import LaunchError
from atoll.runtime import Device
from unit.runtime.fakes import CODE, MemoryDevice


def given(**changes: Any) -> dict[str, Any]:
    x = np.arange(4, dtype=np.float32)
    return {"x": x, "y": x.copy(), "out": np.zeros_like(x), "a": 2.0, "n": 4} | changes


def refused(arguments: dict[str, Any]) -> str:
    inner = MemoryDevice()
    with pytest.raises(LaunchError) as caught:
        Device(inner).run(CODE, (1,), (64,), arguments)
    assert caught.value.diagnostics[0].code == "ATL0805"
    assert "launch" not in inner.calls
    assert not inner.buffers
    return str(caught.value)


def test_a_missing_and_an_unknown_name_list_both_sides() -> None:
    arguments = given()
    arguments["z"] = arguments.pop("y")
    assert refused(arguments) == (
        "error[ATL0805]: the arguments of `saxpy` are not its parameters\n"
        "  given: x, out, a, n, z\n"
        "  the kernel takes: x, y, out, a, n"
    )


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("n", -1, "the value of `n` is not in the range of its type"),
        ("n", 1 << 32, "the value of `n` is not in the range of its type"),
        ("n", 4.0, "the value of `n` is not in the range of its type"),
        ("a", 1e300, "the value of `a` is not in the range of its type"),
        ("a", "2", "a scalar argument is no number"),
        ("a", None, "a scalar argument is no number"),
    ],
)
def test_a_scalar_out_of_range_is_named(name: str, value: object, said: str) -> None:
    assert said in refused(given(**{name: value}))


def test_what_is_written_has_to_be_writable() -> None:
    frozen = np.zeros(4, np.float32)
    frozen.flags.writeable = False
    assert "cannot be written in place" in refused(given(out=frozen))
    assert "out: list, which cannot be written in place" in refused(given(out=[0.0] * 4))


def test_objects_and_foreign_byte_orders_are_refused() -> None:
    assert "no plain elements" in refused(given(x=np.array([object()] * 4)))
    assert "no plain elements" in refused(given(x=np.arange(4, dtype=">f4")))


def test_code_that_takes_no_offsets_takes_no_arrays_that_overlap_in_part() -> None:
    base = np.zeros(8, np.float32)
    assert "overlap in part" in refused(given(x=base[:4], out=base[2:6]))
