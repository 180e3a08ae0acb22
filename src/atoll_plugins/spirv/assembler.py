"""How do SPIR-V instructions become one module of words?

Sections are kept apart and joined in the order of section 2.4 of the specification; types and
constants are made once. The assembler knows the binary form and no KIR; what to write is
:mod:`atoll_plugins.spirv.emitter`'s business. The same calls give the same bytes: ids count up in the
order of the calls, and nothing depends on hashing order.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from atoll_plugins.spirv.opcodes import MAGIC, Capability, Decoration, Op, StorageClass

EXECUTION_MODEL_GLCOMPUTE = 5
EXECUTION_MODE_LOCAL_SIZE = 17
EXECUTION_MODE_SIGNED_ZERO_INF_NAN_PRESERVE = 4461
LOGICAL_ADDRESSING = 0
GLSL450_MEMORY = 1
#: The extension that brought a capability, and the version since which it is part of SPIR-V.
_EXTENSIONS = {
    Capability.StorageBuffer8BitAccess: ("SPV_KHR_8bit_storage", (1, 5)),
    Capability.SignedZeroInfNanPreserve: ("SPV_KHR_float_controls", (1, 4)),
}


def string_words(text: str) -> tuple[int, ...]:
    """Return a literal string: UTF-8, a zero byte, padded with zero bytes to whole words."""
    data = text.replace("\0", "").encode("utf-8", "replace") + b"\0"
    data += b"\0" * (-len(data) % 4)
    return struct.unpack(f"<{len(data) // 4}I", data)


def literal_words(value: int, bits: int) -> tuple[int, ...]:
    """Return the words of an integer literal; narrow signed values are sign-extended (section 2.2.1)."""
    if bits <= 32:
        return (value & 0xFFFFFFFF,)
    return (value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF)


def instruction(op: Op, operands: Iterable[int]) -> list[int]:
    """Return one instruction's words."""
    words = [int(word) for word in operands]
    return [(len(words) + 1) << 16 | op, *words]


class Assembler:
    """One module under construction."""

    def __init__(self, version: tuple[int, int]) -> None:
        self.version = version
        self._bound = 1
        self._capabilities: dict[Capability, None] = {}
        self._extensions: dict[str, None] = {}
        self._imports: dict[str, int] = {}
        self._entry: list[int] = []
        self._modes: list[int] = []
        self._preserved: dict[int, None] = {}
        self._strings: dict[str, int] = {}
        self._names: list[int] = []
        self._annotations: list[int] = []
        self._globals: list[int] = []
        self._unique: dict[tuple[int, ...], int] = {}
        self._functions: list[int] = []
        self._variables: list[int] = []
        self._body: list[int] = []
        self._interface: list[int] = []
        self.first_label = 0
        self.capability(Capability.Shader)

    @property
    def capabilities(self) -> tuple[Capability, ...]:
        """What the module needs, by number."""
        return tuple(sorted(self._capabilities))

    def fresh(self) -> int:
        """Return a new id."""
        self._bound += 1
        return self._bound - 1

    def capability(self, capability: Capability) -> None:
        """Declare that the module needs `capability`; once is enough."""
        self._capabilities[capability] = None
        name, since = _EXTENSIONS.get(capability, ("", (1, 0)))
        if self.version < since:
            self._extensions[name] = None

    @property
    def extensions(self) -> tuple[str, ...]:
        """The extensions that the module names, by name."""
        return tuple(sorted(self._extensions))

    def preserve_float(self, bits: int) -> None:
        """Ask that zeros keep their sign, and infinities and NaN stay, in floats of a width."""
        self._preserved[bits] = None
        self.capability(Capability.SignedZeroInfNanPreserve)

    def extended(self, name: str) -> int:
        """Return the id of an extended instruction set."""
        if name not in self._imports:
            self._imports[name] = self.fresh()
        return self._imports[name]

    def name(self, target: int, text: str) -> None:
        """Give an id a name for people and tools."""
        self._names += instruction(Op.Name, (target, *string_words(text)))

    def string(self, text: str) -> int:
        """Return the id of a string for tools; the same text gives the same id."""
        if text not in self._strings:
            self._strings[text] = self.fresh()
        return self._strings[text]

    def member_name(self, target: int, member: int, text: str) -> None:
        """Give a member a name for people and tools."""
        self._names += instruction(Op.MemberName, (target, member, *string_words(text)))

    def decorate(self, target: int, decoration: Decoration, *operands: int) -> None:
        """Decorate an id."""
        self._annotations += instruction(Op.Decorate, (target, decoration, *operands))

    def decorate_once(self, target: int, decoration: Decoration, *operands: int) -> None:
        """Decorate an id that may be asked for again, such as a type that is made once."""
        key = (Op.Decorate, target, decoration)
        if key not in self._unique:
            self._unique[key] = target
            self.decorate(target, decoration, *operands)

    def member_decorate(self, target: int, member: int, decoration: Decoration, *operands: int) -> None:
        """Decorate a member of a struct."""
        self._annotations += instruction(Op.MemberDecorate, (target, member, decoration, *operands))

    def type(self, op: Op, *operands: int) -> int:
        """Return the id of a type; the same operands give the same id (section 2.8)."""
        key = (op, *operands)
        if key not in self._unique:
            self._unique[key] = self.distinct_type(op, *operands)
        return self._unique[key]

    def distinct_type(self, op: Op, *operands: int) -> int:
        """Return a new type: for arrays and structs whose decorations must not be shared."""
        result = self.fresh()
        self._globals += instruction(op, (result, *operands))
        return result

    def constant(self, op: Op, type_id: int, *operands: int) -> int:
        """Return the id of a constant; the same operands give the same id."""
        key = (op, type_id, *operands)
        if key not in self._unique:
            result = self.fresh()
            self._globals += instruction(op, (type_id, result, *operands))
            self._unique[key] = result
        return self._unique[key]

    def pointer(self, storage: StorageClass, pointee: int) -> int:
        """Return the type of a pointer."""
        return self.type(Op.TypePointer, storage, pointee)

    def variable(self, storage: StorageClass, pointee: int) -> int:
        """Return a new variable at module level.

        It joins the interface of the entry point: only Input variables before SPIR-V 1.4, all after.
        """
        result = self.fresh()
        self._globals += instruction(Op.Variable, (self.pointer(storage, pointee), result, storage))
        if storage is StorageClass.Input or self.version >= (1, 4):
            self._interface.append(result)
        return result

    def local(self, pointee: int) -> int:
        """Return a new variable of the function under construction."""
        result = self.fresh()
        kind = self.pointer(StorageClass.Function, pointee)
        self._variables += instruction(Op.Variable, (kind, result, StorageClass.Function))
        return result

    def begin(self, result: int, returns: int, kind: int, parameters: Iterable[int] = ()) -> list[int]:
        """Open a function and return its parameters' ids; its first label is :attr:`first_label`."""
        self._functions += instruction(Op.Function, (returns, result, 0, kind))
        ids = []
        for parameter in parameters:
            ids.append(self.fresh())
            self._functions += instruction(Op.FunctionParameter, (parameter, ids[-1]))
        self.first_label = self.fresh()
        return ids

    def end(self) -> None:
        """Close the function: label, variables, then the body in the order it was written."""
        self._functions += instruction(Op.Label, (self.first_label,))
        self._functions += self._variables + self._body + instruction(Op.FunctionEnd, ())
        self._variables, self._body = [], []

    def emit(self, op: Op, *operands: int) -> None:
        """Write an instruction without a result."""
        self._body += instruction(op, operands)

    def label(self, label: int) -> None:
        """Start a block."""
        self.emit(Op.Label, label)

    def value(self, op: Op, type_id: int, *operands: int) -> int:
        """Write an instruction and return the id of its result."""
        result = self.fresh()
        self._body += instruction(op, (type_id, result, *operands))
        return result

    def entry_point(self, function: int, name: str, local_size: tuple[int, int, int]) -> None:
        """Make a function the compute entry point of the module."""
        self._entry = [EXECUTION_MODEL_GLCOMPUTE, function, *string_words(name)]
        self._modes += instruction(Op.ExecutionMode, (function, EXECUTION_MODE_LOCAL_SIZE, *local_size))
        for bits in sorted(self._preserved):
            mode = (function, EXECUTION_MODE_SIGNED_ZERO_INF_NAN_PRESERVE, bits)
            self._modes += instruction(Op.ExecutionMode, mode)

    def binary(self) -> bytes:
        """Return the module."""
        words = [MAGIC, self.version[0] << 16 | self.version[1] << 8, 0, self._bound, 0]
        for capability in self.capabilities:
            words += instruction(Op.Capability, (capability,))
        for text in self.extensions:
            words += instruction(Op.Extension, string_words(text))
        for text, result in self._imports.items():
            words += instruction(Op.ExtInstImport, (result, *string_words(text)))
        words += instruction(Op.MemoryModel, (LOGICAL_ADDRESSING, GLSL450_MEMORY))
        words += instruction(Op.EntryPoint, (*self._entry, *self._interface))
        words += self._modes
        for text, result in self._strings.items():
            words += instruction(Op.String, (result, *string_words(text)))
        words += self._names + self._annotations + self._globals + self._functions
        return struct.pack(f"<{len(words)}I", *words)
