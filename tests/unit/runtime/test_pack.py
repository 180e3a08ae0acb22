"""The parameter block: widths, rounding and ranges."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.errors import LaunchError
from atoll.ir import SCALARS, LaunchLayout, ParamField
from atoll.plugin import ScalarArgument
from atoll.runtime.pack import pack_block, pack_scalars


def one(type_name: str, value: int | float | bool) -> bytes:
    field = ParamField(path="v", type=type_name, offset=0)
    layout = LaunchLayout(buffers=(), access=(), fields=(field,), block_bytes=8)
    return pack_block(layout, {"v": value})


@given(st.sampled_from([name for name in SCALARS if name[0] in "iu"]), st.data())
def test_integers_are_extended_to_four_bytes(name: str, data: st.DataObject) -> None:
    scalar = SCALARS[name]
    low = -(1 << scalar.bits - 1) if scalar.is_signed else 0
    value = data.draw(st.integers(low, low + (1 << scalar.bits) - 1))
    width = max(4, scalar.nbytes)
    assert int.from_bytes(one(name, value)[:width], "little", signed=scalar.is_signed) == value
    for outside in (low - 1, low + (1 << scalar.bits)):
        with pytest.raises(LaunchError, match="range"):
            one(name, outside)


@given(st.floats(width=32))
def test_an_f32_is_its_bits(value: float) -> None:
    assert one("f32", value)[:4] == struct.pack("<f", value)


@given(st.floats(width=16))
def test_an_f16_is_its_bits_in_the_low_half(value: float) -> None:
    assert one("f16", value)[:4] == np.float16(value).tobytes() + b"\0\0"


@given(st.floats(width=32, allow_nan=False, min_value=-(2.0**127), max_value=2.0**127))
def test_a_bf16_is_the_nearest_even(value: float) -> None:
    got = int.from_bytes(one("bf16", value)[:4], "little")
    (back,) = struct.unpack("<f", struct.pack("<I", got << 16))
    neighbours = [
        struct.unpack("<f", struct.pack("<I", near << 16))[0]
        for near in (got - 1, got + 1)
        if 0 <= near < 1 << 16
    ]
    distance = abs(back - value)
    for other in neighbours:
        if other == other and abs(other) != float("inf") and (other < 0) == (back < 0):
            assert distance < abs(other - value) or (distance == abs(other - value) and got % 2 == 0)


@pytest.mark.parametrize(
    ("name", "value"), [("f16", 65520.0), ("f32", 3.5e38), ("bf16", 3.4e38), ("bool", 2), ("i32", 1.5)]
)
def test_what_a_type_cannot_hold_is_refused(name: str, value: float) -> None:
    with pytest.raises(LaunchError, match="not in the range"):
        one(name, value)


@pytest.mark.parametrize(
    ("name", "value", "raw"),
    [
        ("bool", True, b"\1\0\0\0"),
        ("f64", 0.5, struct.pack("<d", 0.5)),
        ("f32", float("inf"), struct.pack("<f", float("inf"))),
        ("bf16", float("inf"), b"\x80\x7f\0\0"),
        ("bf16", float("nan"), b"\xc0\x7f\0\0"),
    ],
)
def test_special_values(name: str, value: float, raw: bytes) -> None:
    assert one(name, value)[: len(raw)] == raw


def test_a_domain_that_nobody_states_is_everything() -> None:
    fields = tuple(ParamField(path=f"domain.{axis}", type="u32", offset=4 * axis) for axis in range(3))
    layout = LaunchLayout(buffers=(), access=(), fields=fields, block_bytes=16)
    assert pack_block(layout, {}) == b"\xff" * 12 + bytes(4)
    assert pack_block(layout, {"domain.0": 5})[:4] == b"\5\0\0\0"


def test_a_field_without_a_value_is_named() -> None:
    layout = LaunchLayout(
        buffers=(), access=(), fields=(ParamField(path="a", type="f32", offset=0),), block_bytes=8
    )
    with pytest.raises(LaunchError, match="no value for `a`"):
        pack_block(layout, {"b": 1})


def test_scalars_stand_at_multiples_of_their_alignment() -> None:
    scalars = [
        ScalarArgument(b"a", 1),
        ScalarArgument(b"bbbb", 4),
        ScalarArgument(b"c" * 8, 8),
        ScalarArgument(b"", 16),
    ]
    assert pack_scalars(scalars) == b"a\0\0\0bbbbcccccccc"
