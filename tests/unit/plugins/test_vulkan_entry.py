"""Entry points of SPIR-V are read from its words, whoever wrote them."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from atoll_plugins.vulkan.entry import MAGIC, entry_points, is_spirv


def module(*instructions: list[int]) -> bytes:
    words = [MAGIC, 0x10300, 0, 10, 0]
    for opcode, *operands in instructions:
        words += [len(operands) + 1 << 16 | opcode, *operands]
    return struct.pack(f"<{len(words)}I", *words)


def name(text: str) -> list[int]:
    raw = text.encode() + b"\0"
    raw += bytes(-len(raw) % 4)
    return list(struct.unpack(f"<{len(raw) // 4}I", raw))


def test_each_entry_has_the_size_that_is_fixed_for_it() -> None:
    data = module(
        [15, 5, 1, *name("main"), 7],
        [15, 5, 2, *name("kernel_of_twelve")],
        [16, 1, 17, 64, 2, 1],
        [16, 2, 31, 0],
    )
    assert is_spirv(data)
    assert entry_points(data) == {"main": (64, 2, 1), "kernel_of_twelve": None}


def test_an_instruction_without_length_ends_the_reading() -> None:
    assert entry_points(module([15, 5, 1, *name("main")]) + bytes(8)) == {"main": None}


@given(st.binary(max_size=400))
def test_any_bytes_are_read_in_bounded_time(data: bytes) -> None:
    assert len(entry_points(data)) <= len(data) // 12


@given(st.lists(st.integers(0, 2**32 - 1), max_size=60))
def test_any_words_behind_a_header_are_read(words: list[int]) -> None:
    entry_points(module() + struct.pack(f"<{len(words)}I", *words))
