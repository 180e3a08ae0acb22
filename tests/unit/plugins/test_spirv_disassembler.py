"""The text of a SPIR-V module: line for line what the field's own disassembler prints."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.plugin import Target
from atoll.testing.emitters import emitted
from atoll.testing.random_kernels import random_program
from atoll_plugins.spirv.disassembler import disassemble
from emitter_kit import emitter, tool

SAMPLE, WHOLE = 30, 400


@pytest.mark.parametrize("version", ["1.1", "1.3"])
def test_every_line_is_the_one_of_the_fields_own_tool(
    version: str, tmp_path: Path, whole: bool, tell: Callable[[str], None]
) -> None:
    reference = tool("spirv-dis")
    target = Target(backend="vulkan", version=version)
    codes = [code.code for _, code in emitted(emitter("vulkan"), target)]
    for seed in range(WHOLE if whole else SAMPLE):
        program = random_program(seed)
        codes.append(emitter("vulkan").emit(program.module, program.name, target, program.group).code)
    lines = 0
    for number, code in enumerate(codes):
        path = tmp_path / f"{number}.spv"
        path.write_bytes(code)
        command = [reference, "--raw-id", "--no-indent", "--no-header", str(path)]
        expected = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        assert disassemble(code).splitlines()[1:] == expected
        lines += len(expected)
    tell(f"{lines} lines of {len(codes)} modules for Vulkan {version} are equal")


def module(*words: int) -> bytes:
    return struct.pack(f"<{5 + len(words)}I", 0x07230203, 0x00010500, 0, 9, 0, *words)


def test_what_the_table_lacks_is_shown_by_its_number() -> None:
    assert disassemble(module(2 << 16 | 4999, 7)) == "; SPIR-V 1.5, 9 ids\n; instruction 4999: 0x7\n"


@pytest.mark.parametrize(
    "code", [b"", b"abc", bytes(20), module(0), module(9 << 16 | 17, 1), module(1 << 16)[:-1]]
)
def test_what_is_no_module_is_a_value_error(code: bytes) -> None:
    with pytest.raises(ValueError, match=r"module|instruction"):
        disassemble(code)
