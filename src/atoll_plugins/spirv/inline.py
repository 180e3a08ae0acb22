"""What are the SPIR-V instructions of an intrinsic's body? One a line, `$0 = OpBitCount $1`.

The instruction that gives `$0` has the result's type. Others give `%name = OpBitReverse u32 $1`, the type
first. Operands are places, names, whole numbers, and `glsl` for the extended set. Only instructions that
compute a value from values are taken: no memory, no control flow, no declaration.
"""

from __future__ import annotations

import re

from atoll.diagnostics import Diagnostic
from atoll.errors import CompileError
from atoll.ir import SCALARS, nodes
from atoll_plugins.spirv.assembler import Assembler
from atoll_plugins.spirv.opcodes import Op
from atoll_plugins.spirv.resources import Types

_LINE = re.compile(r"(?P<result>\$0|%[a-z][a-z0-9_]*) = Op(?P<op>[A-Za-z]+)(?P<rest>(?: [$%]?[a-z0-9_]+)*)")
_TAKEN = frozenset(
    {
        Op.BitCount, Op.BitReverse, Op.ExtInst, Op.IAdd, Op.ISub, Op.IMul, Op.FAdd, Op.FSub, Op.FMul, Op.FDiv,
        Op.BitwiseAnd, Op.BitwiseOr, Op.BitwiseXor, Op.Not, Op.ShiftLeftLogical, Op.ShiftRightLogical,
        Op.ShiftRightArithmetic, Op.Bitcast,
    }
)  # fmt: skip


def instructions(
    out: Assembler, types: Types, stmt: nodes.Inline, values: list[int], kind: int | None
) -> int | None:
    """Write the instructions and return the id of `$0`.

    Raises:
        CompileError: For a line that is none of these instructions.
    """
    names = {f"${at + 1}": value for at, value in enumerate(values)}
    for line in stmt.text.split("\n"):
        found = _LINE.fullmatch(line.strip())
        op = Op.__members__.get(found["op"]) if found else None
        if found is None or op not in _TAKEN:
            raise _refused(stmt, line, "it is no instruction that computes a value")
        words, typed = found["rest"].split(), kind
        if found["result"] != "$0":
            scalar = SCALARS.get(words.pop(0)) if words else None
            typed = None if scalar is None else types.scalar(scalar)
        if typed is None:
            raise _refused(stmt, line, "its result has no type")
        operands = [_operand(out, word, names, stmt, line) for word in words]
        names[found["result"]] = out.value(op, typed, *operands)
    return names.get("$0")


def _operand(out: Assembler, word: str, names: dict[str, int], stmt: nodes.Inline, line: str) -> int:
    if word == "glsl":
        return out.extended("GLSL.std.450")
    if word.isdigit() and len(word) < 10:
        return int(word)
    if word not in names:
        raise _refused(stmt, line, f"`{word}` has no value here")
    return names[word]


def _refused(stmt: nodes.Inline, line: str, reason: str) -> CompileError:
    message = f"`{line.strip()[:80]}` is no SPIR-V that an intrinsic may hold"
    return CompileError(Diagnostic(code="ATL0774", message=message, span=stmt.span, notes=(reason,)))
