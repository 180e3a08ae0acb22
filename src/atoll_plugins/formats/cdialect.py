"""How do the C-like languages differ where the printer of :mod:`atoll_plugins.formats.ctext` meets them?

A dialect is a value: how scalar types are spelled as values and in memory, what literals end in, and how
functions and bits are spelled. Semantics stand in the helpers (:mod:`atoll_plugins.formats.chelpers`),
which every dialect shares.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from atoll.ir import BOOL, F32, F64, Scalar, nodes
from atoll.ir.nodes import NARROW_FLOATS
from atoll.ir.ops import Binary, Math


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One C-like language.

    Attributes:
        name: For the comment at the head of the text.
        types: Scalar name → the type of a value.
        memory: Scalar name → the type of an element in memory, where it is another one.
        long: The suffix of a 64-bit literal.
        inline: What stands before a helper function.
        maths: Templates of float maths: ``{a}`` the operands; on f32 and f64 ``{f}`` becomes ``f`` and
            nothing, ``{t}`` ``f`` and ``d``, ``{w}`` ``f32`` and ``f64``.
        fabs: A template of the absolute value of a float.
        bit_cast: A template of a value's bits as another type: ``{kind}`` and ``{other}`` are the types of
            the result and of the value, ``{text}`` the value.
        arithmetic: Templates of float operations where an operator would not do: ``{a}`` and ``{b}``.
        narrow: Conversions of :mod:`atoll_plugins.formats.cnarrow` that the language has a better way for.
    """

    name: str
    types: Mapping[str, str]
    memory: Mapping[str, str]
    long: str
    inline: str
    maths: Mapping[Math, str]
    fabs: str
    bit_cast: str
    arithmetic: Mapping[tuple[Binary, Scalar], str] = field(default_factory=dict)
    narrow: Mapping[str, str] = field(default_factory=dict)

    def value(self, scalar: Scalar) -> str:
        """Return the C type of a value."""
        return self.types[scalar.name]

    def element(self, scalar: Scalar) -> str:
        """Return the C type of an element in memory."""
        return self.memory.get(scalar.name, self.types[scalar.name])

    def word(self, scalar: Scalar) -> str:
        """Return the unsigned type that an integer's arithmetic is done in: it wraps and never promotes."""
        return self.types["u64" if scalar.bits == 64 else "u32"]

    def unsigned(self, scalar: Scalar) -> str:
        """Return the unsigned type of an integer's own width."""
        return self.types[f"u{scalar.bits}"]

    def literal(self, const: nodes.Const) -> str:
        """Return a constant, exactly."""
        if const.type == BOOL:
            return str(const.bits)
        if const.type in NARROW_FLOATS:
            return f"(({self.value(const.type)})0x{const.bits:x}u)"
        if const.type.is_float:
            return self._float(const)
        return self._integer(const)

    def _integer(self, const: nodes.Const) -> str:
        scalar, value = const.type, int(const.value)
        suffix = ("" if scalar.is_signed else "u") + (self.long if scalar.bits == 64 else "")
        if scalar.is_signed and value == -(1 << (scalar.bits - 1)) and scalar.bits >= 32:
            return f"({value + 1}{suffix} - 1)"
        text = f"{value}{suffix}"
        if scalar.bits < 32:
            return f"(({self.value(scalar)}){text})"
        return f"({text})" if value < 0 else text

    def _float(self, const: nodes.Const) -> str:
        value = float(const.value)
        if not math.isfinite(value):
            return self.bits_to_float(
                const.type, f"0x{const.bits:x}u{self.long if const.type == F64 else ''}"
            )
        text = value.hex() + ("f" if const.type == F32 else "")
        return f"({text})" if math.copysign(1.0, value) < 0 else text

    def bits_to_float(self, scalar: Scalar, text: str) -> str:
        """Return the float whose bits are the unsigned value `text`."""
        word, kind = self.types[f"u{scalar.bits}"], self.value(scalar)
        return self.bit_cast.format(kind=kind, other=word, text=text)

    def float_to_bits(self, scalar: Scalar, text: str) -> str:
        """Return the bits of a float as an unsigned value."""
        word, kind = self.types[f"u{scalar.bits}"], self.value(scalar)
        return self.bit_cast.format(kind=word, other=kind, text=text)

    def maths_call(self, op: Math, scalar: Scalar, operands: list[str]) -> str:
        """Return an expression of a maths function."""
        single = scalar == F32
        letters = {"f": "f" if single else "", "t": "f" if single else "d", "w": scalar.name}
        return self.maths[op].format(a=", ".join(operands), **letters)
