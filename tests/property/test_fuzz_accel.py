"""The fuzz target holds on a seeded sample; `fuzz_accel.py` runs it for as long as one likes."""

from __future__ import annotations

from hypothesis import given, seed, settings
from hypothesis import strategies as st

from property.fuzz_accel import one

PIECES = (
    "cuda vulkan1.2 hip sm_89 sm_100f +{ { } , . - _ : + ptx>=90 floor>= >= none cfg( any( all( not( ) "
    'os = "linux" accelerator="none" 1 12.9 \t é ٣ \x1b[31m \x00'
).split(" ")


@seed(20261130)
@settings(max_examples=400, deadline=None)
@given(
    st.one_of(
        st.binary(max_size=80),
        st.lists(st.sampled_from([*PIECES, " "]), max_size=14).map(lambda pieces: "".join(pieces).encode()),
    )
)
def test_any_bytes_are_a_value_or_a_refusal(data: bytes) -> None:
    one(data)


def test_the_target_takes_what_is_right() -> None:
    assert one(b"cuda13.0+{sm_90} ptx>=90, vulkan1.2")
    assert one(b'cfg(any(os = "linux", accelerator = "none"))')
    assert not one(b"cuda13.0+{sm_90}} ptx>=90")
