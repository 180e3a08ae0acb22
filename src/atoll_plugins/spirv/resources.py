"""What does a shader see from outside: types, buffers, the parameter block, shared memory, ids?

Integers have one type a width: signedness stands in the instructions. Sources: SPIR-V 1.6 section 2.16,
Vulkan 1.2 "Shader Interfaces".
"""

from __future__ import annotations

from dataclasses import dataclass

from atoll.ir import BOOL, F64, SCALARS, Scalar, View, nodes, ops
from atoll.ir.walk import statements
from atoll.ir.widen import LANES
from atoll_plugins.formats.emission import Job
from atoll_plugins.formats.lowering import wide
from atoll_plugins.spirv.assembler import Assembler
from atoll_plugins.spirv.opcodes import BuiltIn, Capability, Decoration, Op, StorageClass

#: The largest push-constant block that every Vulkan device takes.
PUSH_BYTES = 128

_IDS = {
    ops.Id.GLOBAL_ID: BuiltIn.GlobalInvocationId,
    ops.Id.LOCAL_ID: BuiltIn.LocalInvocationId,
    ops.Id.GROUP_ID: BuiltIn.WorkgroupId,
    ops.Id.NUM_GROUPS: BuiltIn.NumWorkgroups,
    ops.Id.LANE_ID: BuiltIn.SubgroupLocalInvocationId,
    ops.Id.SUBGROUP_ID: BuiltIn.SubgroupId,
    ops.Id.SUBGROUP_SIZE: BuiltIn.SubgroupSize,
}


@dataclass(frozen=True, slots=True)
class Array:
    """Memory that is indexed.

    Attributes:
        variable: The id of the variable.
        storage: Its storage class.
        element: The type of an element as KIR has it.
        held: The id of the element's type in memory.
        bits: The width of an element in memory.
        as_words: Whether a float lies in memory as an integer, because an atomic swaps it.
    """

    variable: int
    storage: StorageClass
    element: Scalar
    held: int
    bits: int
    as_words: bool


class Types:
    """The type of each scalar; a capability is declared when a type first needs it."""

    def __init__(self, assembler: Assembler) -> None:
        self.assembler = assembler

    def integer(self, bits: int) -> int:
        """Return the integer type of a width."""
        if bits == 64:
            self.assembler.capability(Capability.Int64)
        return self.assembler.type(Op.TypeInt, bits, 0)

    def scalar(self, scalar: Scalar) -> int:
        """Return the type that a value of a wide type has."""
        if scalar == BOOL:
            return self.assembler.type(Op.TypeBool)
        if scalar.is_float:
            if scalar == F64:
                self.assembler.capability(Capability.Float64)
            self.assembler.preserve_float(scalar.bits)
            return self.assembler.type(Op.TypeFloat, scalar.bits)
        return self.integer(scalar.bits)

    def memory(self, scalar: Scalar, *, as_words: bool) -> int:
        """Return the type of an element in a buffer."""
        if scalar.bits == 8:
            self.assembler.capability(Capability.StorageBuffer8BitAccess)
        if scalar.bits == 16:
            self.assembler.capability(Capability.StorageBuffer16BitAccess)
        if scalar.is_float and not as_words and scalar.bits >= 32:
            return self.scalar(scalar)
        return self.integer(scalar.bits)

    def word(self, value: int) -> int:
        """Return a 32-bit constant."""
        return self.assembler.constant(Op.Constant, self.integer(32), value)


def swapped(job: Job) -> frozenset[str]:
    """Return the arrays of floats whose sums are made by comparing and swapping words."""
    return frozenset(
        stmt.base
        for stmt in statements(job.kernel.body)
        if isinstance(stmt, nodes.Atomic) and stmt.value.type.is_float and stmt.op is ops.AtomicOp.ADD
    )


def buffers(job: Job, types: Types, fours: set[str]) -> tuple[dict[str, Array], dict[str, Array]]:
    """Declare one storage buffer a view, in order: set 0, binding k.

    Args:
        job: The kernel.
        types: Makes the types.
        fours: The views that are accessed four elements at a time too: each is declared once more on its
            binding, as an array of vectors.

    Returns:
        The views, and those of `fours` by their vectors.
    """
    ordered = job.waits or any(
        isinstance(stmt, nodes.Atomic | nodes.Fence) for stmt in statements(job.kernel.body)
    )
    words, views = swapped(job), job.kernel.views
    aliases = len(views) > 1 and any(access != "read" for access in job.layout.access)
    aliases &= not job.target.apart
    found: tuple[dict[str, Array], dict[str, Array]] = {}, {}
    for binding, (view, access) in enumerate(zip(views, job.layout.access, strict=True)):
        assert isinstance(view.type, View)
        element, as_words = view.type.element, view.name in words
        held = types.memory(element, as_words=as_words)
        for lanes, known in zip((1, LANES), found, strict=True):
            if lanes > 1 and view.name not in fours:
                continue
            kind = held if lanes == 1 else types.assembler.type(Op.TypeVector, held, lanes)
            variable = _buffer(types.assembler, kind, element.nbytes * lanes, access, binding)
            if access != "read" and ordered:
                types.assembler.decorate(variable, Decoration.Coherent)
            if aliases or view.name in fours:
                types.assembler.decorate(variable, Decoration.Aliased)
            types.assembler.name(variable, view.name if lanes == 1 else f"{view.name} by {lanes}")
            storage = StorageClass.StorageBuffer
            known[view.name] = Array(variable, storage, element, kind, element.bits, as_words)
    return found


def _buffer(assembler: Assembler, held: int, stride: int, access: str, binding: int) -> int:
    array = assembler.type(Op.TypeRuntimeArray, held)
    assembler.decorate_once(array, Decoration.ArrayStride, stride)
    block = assembler.distinct_type(Op.TypeStruct, array)
    assembler.decorate(block, Decoration.Block)
    assembler.member_decorate(block, 0, Decoration.Offset, 0)
    if access != "both":
        kept = Decoration.NonWritable if access == "read" else Decoration.NonReadable
        assembler.member_decorate(block, 0, kept)
    variable = assembler.variable(StorageClass.StorageBuffer, block)
    _bind(assembler, variable, binding)
    return variable


def _bind(assembler: Assembler, variable: int, binding: int) -> None:
    assembler.decorate(variable, Decoration.DescriptorSet, 0)
    assembler.decorate(variable, Decoration.Binding, binding)


def block(job: Job, types: Types) -> tuple[int, StorageClass] | None:
    """Declare the parameter block: push constants, or the buffer after the last one where it is larger."""
    if not job.layout.fields:
        return None
    assembler = types.assembler
    pushed = job.layout.block_bytes <= PUSH_BYTES
    storage = StorageClass.PushConstant if pushed else StorageClass.StorageBuffer
    members = [types.scalar(field_type(item.type)) for item in job.layout.fields]
    struct = assembler.distinct_type(Op.TypeStruct, *members)
    assembler.decorate(struct, Decoration.Block)
    for number, item in enumerate(job.layout.fields):
        assembler.member_name(struct, number, item.path)
        assembler.member_decorate(struct, number, Decoration.Offset, item.offset)
        if not pushed:
            assembler.member_decorate(struct, number, Decoration.NonWritable)
    variable = assembler.variable(storage, struct)
    assembler.name(variable, "parameters")
    if not pushed:
        _bind(assembler, variable, len(job.layout.buffers))
    return variable, storage


def field_type(name: str) -> Scalar:
    """Return the type of a field in the block: a bool stands as a 32-bit integer."""
    scalar = SCALARS[name]
    return SCALARS["u32"] if scalar == BOOL else wide(scalar)


def shared(job: Job, types: Types) -> dict[str, Array]:
    """Declare work-group memory; narrow integers take 32 bits there."""
    words, assembler = swapped(job), types.assembler
    found = {}
    for item in job.kernel.shared:
        as_words = item.name in words
        bits = max(32, item.element.bits)
        held = types.integer(bits) if as_words else types.scalar(wide(item.element))
        array = assembler.type(Op.TypeArray, held, types.word(item.length))
        variable = assembler.variable(StorageClass.Workgroup, array)
        assembler.name(variable, item.name)
        found[item.name] = Array(variable, StorageClass.Workgroup, item.element, held, bits, as_words)
    return found


def private(job: Job, types: Types) -> dict[str, Array]:
    """Declare the arrays that each work-item has, in the function under construction; narrow as in shared."""
    found = {}
    for item in job.kernel.arrays:
        held = types.scalar(wide(item.element))
        variable = types.assembler.local(types.assembler.type(Op.TypeArray, held, types.word(item.length)))
        types.assembler.name(variable, item.name)
        bits = max(32, item.element.bits)
        found[item.name] = Array(variable, StorageClass.Function, item.element, held, bits, False)
    return found


def id_variable(types: Types, op: ops.Id) -> int:
    """Declare the built-in variable of an id: :func:`id_type`."""
    assembler = types.assembler
    variable = assembler.variable(StorageClass.Input, id_type(types, op))
    if op in ops.SUBGROUP_IDS:
        assembler.capability(Capability.GroupNonUniform)
    assembler.decorate(variable, Decoration.BuiltIn, _IDS[op])
    return variable


def id_type(types: Types, op: ops.Id) -> int:
    """Return the type of an id: three 32-bit words, or one for those of a sub-group."""
    word = types.integer(32)
    return word if op in ops.SUBGROUP_IDS else types.assembler.type(Op.TypeVector, word, 3)
