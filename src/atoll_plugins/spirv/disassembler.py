"""How is a SPIR-V module read by people? One line an instruction, as the tools of the field spell it.

Made for what :mod:`atoll_plugins.spirv.emitter` writes: an instruction that is not in the table of
:mod:`atoll_plugins.spirv.opcodes` is shown by its number and words. Ids are numbers (``%5``); names stand
in the module as ``OpName``.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from enum import IntEnum

from atoll_plugins.spirv.opcodes import (
    MAGIC,
    BuiltIn,
    Capability,
    Decoration,
    Glsl,
    GroupOperation,
    Op,
    StorageClass,
)

HEADER_WORDS = 5
_MODES = {17: "LocalSize", 4461: "SignedZeroInfNanPreserve"}
_NONE = frozenset(
    (
        *(
            Op.Name,
            Op.MemberName,
            Op.Line,
            Op.Extension,
            Op.MemoryModel,
            Op.EntryPoint,
            Op.ExecutionMode,
            Op.Capability,
        ),
        *(Op.FunctionEnd, Op.Store, Op.Decorate, Op.MemberDecorate, Op.ControlBarrier, Op.MemoryBarrier),
        *(Op.AtomicStore, Op.LoopMerge, Op.SelectionMerge, Op.Branch, Op.BranchConditional, Op.Return),
        *(Op.ReturnValue, Op.Unreachable),
    )
)
_UNTYPED = frozenset(
    (Op.ExtInstImport, Op.String, Op.Label, *(op for op in Op if op.name.startswith("Type")))
)


def disassemble(code: bytes) -> str:
    """Return a module as text.

    Raises:
        ValueError: Where the bytes are no module.
    """
    if len(code) % 4 or len(code) < 4 * HEADER_WORDS:
        raise ValueError(f"{len(code)} bytes are no SPIR-V module")
    words = struct.unpack(f"<{len(code) // 4}I", code)
    if words[0] != MAGIC:
        raise ValueError(f"a SPIR-V module begins with {MAGIC:#x}, not with {words[0]:#x}")
    version = f"{words[1] >> 16}.{words[1] >> 8 & 0xFF}"
    return "\n".join([f"; SPIR-V {version}, {words[3]} ids", *_Text().lines(words[HEADER_WORDS:]), ""])


_PLAIN_GROUPS = ("GroupNonUniformAll", "GroupNonUniformAny", "GroupNonUniformShuffle")


class _Text:
    """The lines of one module; keeps the types that say how a constant is spelled."""

    def __init__(self) -> None:
        self._types: dict[int, tuple[int, ...]] = {}
        self._operands: dict[int, Callable[[tuple[int, ...]], list[str]]] = {
            Op.Name: lambda words: [_id(words[0]), _string(words[1:])],
            Op.MemberName: lambda words: [_id(words[0]), str(words[1]), _string(words[2:])],
            Op.String: lambda words: [_string(words)],
            Op.Line: lambda words: [_id(words[0]), *map(str, words[1:])],
            Op.Extension: lambda words: [_string(words)],
            Op.ExtInstImport: lambda words: [_string(words)],
            Op.ExtInst: lambda words: [_id(words[0]), _name(Glsl, words[1]), *map(_id, words[2:])],
            Op.MemoryModel: lambda _: ["Logical", "GLSL450"],
            Op.EntryPoint: _entry_point,
            Op.ExecutionMode: lambda words: [
                _id(words[0]),
                _MODES.get(words[1], str(words[1])),
                *map(str, words[2:]),
            ],
            Op.Capability: lambda words: [_name(Capability, words[0])],
            Op.TypeInt: lambda words: list(map(str, words)),
            Op.TypeFloat: lambda words: list(map(str, words)),
            Op.TypeVector: lambda words: [_id(words[0]), str(words[1])],
            Op.TypePointer: lambda words: [_name(StorageClass, words[0]), _id(words[1])],
            Op.Variable: lambda words: [_name(StorageClass, words[0]), *map(_id, words[1:])],
            Op.Function: lambda words: ["None" if words[0] == 0 else str(words[0]), _id(words[1])],
            Op.ArrayLength: lambda words: [_id(words[0]), str(words[1])],
            Op.CompositeExtract: lambda words: [_id(words[0]), *map(str, words[1:])],
            Op.Decorate: lambda words: [_id(words[0]), *_decoration(words[1:])],
            Op.MemberDecorate: lambda words: [_id(words[0]), str(words[1]), *_decoration(words[2:])],
            Op.LoopMerge: lambda words: [*map(_id, words[:2]), "None"],
            Op.SelectionMerge: lambda words: [_id(words[0]), "None"],
        }
        # Votes and shuffles have operands alone; the arithmetic says how far it reaches.
        self._operands |= {
            op: lambda words: [_id(words[0]), _name(GroupOperation, words[1]), *map(_id, words[2:])]
            for op in Op
            if op.name.startswith("GroupNonUniform") and op.name not in _PLAIN_GROUPS
        }

    def lines(self, words: tuple[int, ...]) -> Iterator[str]:
        """Give one line an instruction."""
        at = 0
        while at < len(words):
            size, op = words[at] >> 16, words[at] & 0xFFFF
            if size == 0 or at + size > len(words):
                raise ValueError(
                    f"an instruction of {size} words stands {len(words) - at} words before the end"
                )
            yield self._line(op, words[at + 1 : at + size])
            at += size

    def _line(self, number: int, words: tuple[int, ...]) -> str:
        if number not in Op.__members__.values():
            return " ".join([f"; instruction {number}:", *map(hex, words)])
        op = Op(number)
        lead = [f"Op{op.name}"]
        if op not in _NONE:
            typed = op not in _UNTYPED
            result = words[1 if typed else 0]
            lead = [_id(result), "=", *lead, *([_id(words[0])] if typed else [])]
            head, words = words[0], words[2 if typed else 1 :]
            if op in (Op.TypeInt, Op.TypeFloat):
                self._types[result] = (op, *words)
            if op is Op.Constant:
                return " ".join([*lead, _constant(self._types.get(head, ()), words)])
        operands = self._operands.get(op)
        return " ".join([*lead, *(operands(words) if operands else map(_id, words))])


def _id(word: int) -> str:
    return f"%{word}"


def _name(table: type[IntEnum], value: int) -> str:
    return table(value).name if value in table.__members__.values() else str(value)


def _string(words: tuple[int, ...]) -> str:
    text = struct.pack(f"<{len(words)}I", *words).split(b"\0")[0].decode("utf-8", "replace")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _entry_point(words: tuple[int, ...]) -> list[str]:
    size = next((at for at, word in enumerate(words[2:]) if not word >> 24), len(words) - 3) + 1
    model = "GLCompute" if words[0] == 5 else str(words[0])
    return [model, _id(words[1]), _string(words[2 : 2 + size]), *map(_id, words[2 + size :])]


def _decoration(words: tuple[int, ...]) -> list[str]:
    rest = map(str, words[1:])
    if words[0] == Decoration.BuiltIn:
        rest = (_name(BuiltIn, word) for word in words[1:])  # type: ignore[assignment]
    return [_name(Decoration, words[0]), *rest]


def _constant(kind: tuple[int, ...], words: tuple[int, ...]) -> str:
    """Spell a number of a type ``(TypeInt, bits, signed)`` or ``(TypeFloat, bits)``."""
    value = sum(word << 32 * at for at, word in enumerate(words))
    if kind and kind[0] == Op.TypeFloat and kind[1] in (16, 32, 64):
        code = {16: ("<H", "<e"), 32: ("<I", "<f"), 64: ("<Q", "<d")}[kind[1]]
        bits = value & (1 << kind[1]) - 1
        number = struct.unpack(code[1], struct.pack(code[0], bits))[0]
        return _float(number, kind[1]) if math.isfinite(number) else _not_finite(bits, kind[1])
    if kind and kind[0] == Op.TypeInt and kind[2]:
        bits = 32 * len(words)
        value -= (value >> (bits - 1)) << bits
    return str(value)


def _not_finite(bits: int, width: int) -> str:
    """Spell an infinity or a NaN as the hexadecimal number its fields would be."""
    fraction, exponent = {16: (10, 16), 32: (23, 128), 64: (52, 1024)}[width]
    digits = -(-fraction // 4)
    low = (bits & (1 << fraction) - 1) << (4 * digits - fraction)
    tail = f"{low:0{digits}x}".rstrip("0")
    return f"{'-' if bits >> (width - 1) else ''}0x1{'.' if tail else ''}{tail}p+{exponent}"


def _float(number: float, width: int) -> str:
    """Spell a finite number so that it is read back in its width; what is not normal in hexadecimal."""
    digits, least = {16: (5, 2.0**-14), 32: (9, 2.0**-126), 64: (17, 2.0**-1022)}[width]
    if number and abs(number) < least:
        head, _, exponent = number.hex().partition("p")
        return f"{head.rstrip('0').rstrip('.')}p{exponent}"
    return f"{number:.{digits}g}"
