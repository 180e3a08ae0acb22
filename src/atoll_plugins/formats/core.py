"""Which operations on two operands does every register machine have?"""

from __future__ import annotations

from enum import StrEnum

from atoll.ir.ops import Binary


class Core(StrEnum):
    """Operations of the core on two operands of one wide type; integers wrap."""

    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    DIV = "div"  # toward zero; never asked with a zero divisor or for an overflow
    AND = "and"
    OR = "or"
    XOR = "xor"
    SHL = "shl"  # counts within the width
    SHR = "shr"  # arithmetic where the type is signed
    FADD = "fadd"
    FSUB = "fsub"
    FMUL = "fmul"
    FDIV = "fdiv"


#: The operations of KIR that are one of the core, but for the width of integers.
DIRECT = {
    Binary.ADD_WRAP: Core.ADD, Binary.SUB_WRAP: Core.SUB, Binary.MUL_WRAP: Core.MUL,
    Binary.AND: Core.AND, Binary.OR: Core.OR, Binary.XOR: Core.XOR,
    Binary.FADD: Core.FADD, Binary.FSUB: Core.FSUB, Binary.FMUL: Core.FMUL, Binary.FDIV: Core.FDIV,
}  # fmt: skip
