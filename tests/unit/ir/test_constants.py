from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.ir import BF16, BOOL, F16, F32, F64, I8, SCALARS, U32, Scalar
from atoll.ir import nodes as n

INTEGERS = [scalar for scalar in SCALARS.values() if scalar.is_integer]
FLOATS = [F16, BF16, F32, F64]


@given(st.sampled_from(INTEGERS), st.integers(-(1 << 70), 1 << 70))
def test_integers_wrap_to_the_one_value_of_their_type_that_is_congruent(scalar: Scalar, value: int) -> None:
    found = n.const(scalar, value).value
    assert (found - value) % (1 << scalar.bits) == 0
    low = -(1 << (scalar.bits - 1)) if scalar.is_signed else 0
    assert low <= found < low + (1 << scalar.bits)


@given(st.sampled_from(FLOATS), st.data())
def test_every_bit_pattern_of_a_float_but_nan_comes_back(scalar: Scalar, data: st.DataObject) -> None:
    bits = data.draw(st.integers(0, (1 << scalar.bits) - 1))
    value = n.value_of(scalar, bits)
    if not math.isnan(value):
        assert n.bits_of(scalar, value) == bits


def nearest_bf16(value: float) -> set[int]:
    """Return the bit patterns nearest to a value, by search: an independent model of the rounding."""
    candidates = range(0x7F80)
    exact = {
        bits: abs(abs(value) - struct.unpack("<f", struct.pack("<I", bits << 16))[0]) for bits in candidates
    }
    least = min(exact.values())
    return {
        bits | (0x8000 if math.copysign(1, value) < 0 else 0) for bits in candidates if exact[bits] == least
    }


@pytest.mark.parametrize(
    "value", [1.0, 1.00390625, 1.01171875, 1.0039062500001, 3.14159, -0.0, 1e-40, 9.2e-41, 3.38e38]
)
def test_bf16_rounds_once_half_to_even(value: float) -> None:
    near = nearest_bf16(value)
    bits = n.bits_of(BF16, value)
    assert bits in near
    if len(near) == 2:
        assert bits % 2 == 0


def test_a_value_past_the_largest_float_rounds_to_an_infinity() -> None:
    assert n.const(F32, 1e39).value == math.inf
    assert n.const(F32, -1e39).value == -math.inf
    assert n.const(BF16, 3.4e38).value == math.inf
    assert n.const(F16, 65504.0).value == 65504.0


def test_minus_zero_is_not_zero_and_a_nan_equals_itself() -> None:
    assert n.const(F32, -0.0) != n.const(F32, 0.0)
    assert n.const(F32, math.nan) == n.const(F32, math.nan)
    assert n.const(BOOL, 7).value is True
    assert n.const(I8, 200).value == -56
    assert n.const(U32, -1).value == 4294967295
