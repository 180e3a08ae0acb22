"""The binary form of SPIR-V: words, strings, sections, and what is made once."""

from __future__ import annotations

import struct

import pytest

from atoll_plugins.spirv.assembler import Assembler, literal_words, string_words
from atoll_plugins.spirv.opcodes import Capability, Op, StorageClass


@pytest.mark.parametrize(
    ("text", "words"), [("", 1), ("abc", 1), ("abcd", 2), ("GLSL.std.450", 4), ("äöü", 2)]
)
def test_a_string_ends_in_a_zero_byte_and_fills_whole_words(text: str, words: int) -> None:
    packed = string_words(text)
    assert len(packed) == words
    assert struct.pack(f"<{words}I", *packed).rstrip(b"\0").decode() == text


def test_a_wide_literal_has_its_low_word_first() -> None:
    assert literal_words(-1, 32) == (0xFFFFFFFF,)
    assert literal_words(0x1122334455667788, 64) == (0x55667788, 0x11223344)


def test_types_and_constants_are_made_once_and_structs_are_not() -> None:
    module = Assembler((1, 5))
    word = module.type(Op.TypeInt, 32, 0)
    assert module.type(Op.TypeInt, 32, 0) == word
    assert module.type(Op.TypeInt, 64, 0) != word
    assert module.constant(Op.Constant, word, 7) == module.constant(Op.Constant, word, 7)
    assert module.distinct_type(Op.TypeStruct, word) != module.distinct_type(Op.TypeStruct, word)


def test_the_header_states_version_and_bound() -> None:
    module = Assembler((1, 3))
    last = module.type(Op.TypeVoid)
    magic, version, _, bound, schema = struct.unpack("<5I", module.binary()[:20])
    assert (magic, version, bound, schema) == (0x07230203, 0x00010300, last + 1, 0)


def test_only_inputs_are_interface_before_spirv_1_4() -> None:
    sizes = {}
    for version in ((1, 3), (1, 5)):
        module = Assembler(version)
        word = module.type(Op.TypeInt, 32, 0)
        module.variable(StorageClass.Input, word)
        module.variable(StorageClass.StorageBuffer, word)
        sizes[version] = len(module.binary())
    assert sizes[1, 5] == sizes[1, 3] + 4


def test_an_extension_is_named_only_where_the_version_does_not_hold_it() -> None:
    old, new = Assembler((1, 3)), Assembler((1, 5))
    for module in (old, new):
        module.capability(Capability.StorageBuffer8BitAccess)
        module.preserve_float(32)
    assert old.extensions == ("SPV_KHR_8bit_storage", "SPV_KHR_float_controls")
    assert new.extensions == ()
    assert old.capabilities == new.capabilities
