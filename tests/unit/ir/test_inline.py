"""Inline code in KIR: its text reads back to itself, and the verifier holds its shape."""

from __future__ import annotations

import pytest

from atoll.errors import CompileError
from atoll.ir.parse import parse
from atoll.ir.text import text
from atoll.ir.verify import verify

HEAD = "kernel k(x: view<f32, 1>, y: view<f32, 2>) group(0, 0, 0) {\n  local t: f32\n  local u: u32\n"
GOOD = [
    "inline asm 'ld $0, [$1];' '=f,l'(address x[i64:0]) -> %t",
    "inline asm 'st [$0], $1;' 'l,f,~{memory}'(address x[i64:3], f32:1.0)",
    "inline snippet 'a\\n\\'b\\\\ $$' '~{memory}'()",
    "inline operations '$0 = OpBitCount $1' '=u32,u32'(u32:7) -> %u",
    "inline missing 'Memory.once' ''() -> %t",
]


@pytest.mark.parametrize("line", GOOD)
def test_what_is_written_reads_back(line: str) -> None:
    module = verify(parse(f"kir 1\n\n{HEAD}  {line}\n}}\n"))
    assert text(module) == f"kir 1\n\n{HEAD}  {line}\n}}\n"
    assert verify(parse(text(module))) == module


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("inline asm 'a $1' '=f'() -> %t", "`$1` names no operand: there are 1"),
        ("inline asm 'a $' '=f'() -> %t", "`$` names no operand: there are 1"),
        ("inline asm 'a' 'f'()", "1 constraints stand for 0 operands"),
        ("inline asm 'a' 'f,=f'(f32:1.0) -> %t", "`=f` is no constraint here"),
        ("inline asm 'a' ''()", "inline code without a result does nothing unless it says `~{memory}`"),
        ("inline asm 'a' '~{memory}'() -> %t", "inline code without an output has no result"),
        ("inline asm 'a' 'l,~{memory}'(address y[i64:0])", "`y` takes 2 indices, not 1"),
        ("inline asm 'a' 'l,~{memory}'(i8:0)", "an operand of inline code is no i8"),
    ],
)
def test_the_verifier_refuses_what_no_emitter_could_write(line: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        verify(parse(f"kir 1\n\n{HEAD}  {line}\n}}\n"))
    assert caught.value.diagnostics[0].message == message


@pytest.mark.parametrize(
    "line", ["inline asm 'a", "inline asm 'a\\q' ''()", "inline c 'a' ''()", "inline asm a"]
)
def test_hostile_text_is_one_clear_error(line: str) -> None:
    with pytest.raises(CompileError) as caught:
        parse(f"kir 1\n\n{HEAD}  {line}\n}}\n")
    assert caught.value.diagnostics[0].code == "ATL0701"
