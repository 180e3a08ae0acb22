"""How does a kernel look in LLVM IR for AMD's GPUs?

Buffers are global pointers and the parameter block is passed by reference in the kernel's arguments, so their
bytes lie as launch ABI 1 says. Ids come from the hardware and, for sizes, from the hidden arguments of code
object 5 (LLVM, "User Guide for AMDGPU Backend").
"""

from __future__ import annotations

from typing import assert_never

from atoll.ir import BOOL, F16, F32, I32, SCALARS, U32, Scalar, nodes, ops
from atoll.ir.ops import Compare, Math
from atoll_plugins.formats import maths32
from atoll_plugins.formats.core import Core
from atoll_plugins.formats.emission import MOST_ITEMS, Job
from atoll_plugins.formats.lowering import wide
from atoll_plugins.hip import wavefront
from atoll_plugins.llvm.function import LlvmFunction, memory_type, value_type

_AXES = "xyz"
_HEAD = "; Made by Atoll from KIR: launch ABI 1, no contraction."
#: Where the hidden arguments lie that every kernel may read (code object 5).
_COUNTS, _SIZES = (0, 4, 8), (12, 14, 16)
_SCOPES = {ops.Scope.SUB_GROUP: "wavefront", ops.Scope.WORK_GROUP: "workgroup", ops.Scope.DEVICE: "agent"}
_VERSION = 500


class AmdFunction(LlvmFunction):
    """One kernel as an AMD kernel."""

    GLOBAL, SHARED, OWN = "ptr addrspace(1)", "ptr addrspace(3)", "ptr addrspace(5)"
    OWN_SPACE = ", addrspace(5)"

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.shared = {item.name for item in job.kernel.shared}
        self.places = {local.name: self.stack(value_type(wide(local.type))) for local in job.kernel.locals}
        self.memory = {
            item.name: self.stack(f"[{item.length} x {memory_type(item.element)}]")
            for item in job.kernel.arrays
        }

    def text(self) -> str:
        """Return the whole module."""
        self._read_block()
        if self.job.layout.has_domain:
            self._leave_outside_domain()
        if not self.statements(self.job.kernel.body):
            self.line("ret void")
        head = f"define amdgpu_kernel void @{self.job.kernel.symbol}({self._parameters()})"
        head += f" #0{self.debug.function} {{"
        lines = [_HEAD, *self._shared(), *sorted(self.declared.values()), head, "entry:"]
        return "\n".join([*lines, *self.slots, *self.lines, "}", *self._attributes(), ""])

    def _parameters(self) -> str:
        found = [f"{self.GLOBAL} %b_{name}" for name in self.job.layout.buffers]
        if self.job.layout.fields:
            size = self.job.layout.block_bytes
            found.append(f"ptr addrspace(4) byref([{size} x i8]) align 8 %block")
        return ", ".join(found)

    def _shared(self) -> list[str]:
        return [
            f"@s_{item.name} = internal addrspace(3) global "
            f"[{item.length} x {memory_type(item.element)}] poison, align 8"
            for item in self.job.kernel.shared
        ]

    def _attributes(self) -> list[str]:
        width, height, depth = self.job.group
        items = width * height * depth
        size = f"{items},{items}" if items else f"1,{MOST_ITEMS}"
        return [
            f'attributes #0 = {{ "amdgpu-flat-work-group-size"="{size}" "uniform-work-group-size"="true" }}',
            *self.debug.text(
                self.job.kernel.symbol, f'!{{i32 1, !"amdhsa_code_object_version", i32 {_VERSION}}}'
            ),
        ]

    def _read_block(self) -> None:
        for item in self.job.layout.fields:
            at = self.put(f"getelementptr i8, ptr addrspace(4) %block, i64 {item.offset}")
            scalar = SCALARS[item.type]
            kind = value_type(U32 if scalar == BOOL else wide(scalar))
            self.fields[item.path] = self.put(f"load {kind}, ptr addrspace(4) {at}, align {item.nbytes}")

    def _leave_outside_domain(self) -> None:
        for axis in range(3):
            stay, leave = self.name("inside"), self.name("outside")
            place, limit = self.builtin(ops.Id.GLOBAL_ID, axis), self.field(f"domain.{axis}")
            self.branch(self.compare(Compare.LT, U32, place, limit), stay, leave)
            self.start(leave)
            self.line("ret void")
            self.start(stay)

    # --- what the function asks ---

    def slot(self, local: str) -> str:
        """Return a local's place."""
        return self.places[local]

    def place_of(self, array: str) -> tuple[str, str]:
        """Return an array's place."""
        if array in self.shared:
            return self.SHARED, f"@s_{array}"
        return self.OWN, self.memory[array]

    def base(self, view: str) -> str:
        """Return a buffer's address."""
        return f"%b_{view}"

    def barrier(self) -> None:
        """Wait, and order both memories of the group."""
        self.line('fence syncscope("workgroup") release')
        self.call("void", "llvm.amdgcn.s.barrier", [])
        self.line('fence syncscope("workgroup") acquire')

    def leave(self) -> None:
        """Return."""
        self.line("ret void")

    def scope(self, scope: ops.Scope) -> str:
        """Return the scope of an atomic."""
        return f'syncscope("{_SCOPES[scope]}") '

    def library(self, op: Math, scalar: Scalar, operands: list[str]) -> str:
        """Return exp2 of the hardware, or the sequence of :mod:`atoll_plugins.formats.maths32`."""
        assert scalar == F32, f"{op} on {scalar} is refused before"
        if op is Math.EXP2:
            return self.call("float", "llvm.exp2.f32", [("float", operands[0])])
        return maths32.call(self, op, operands)

    def widen(self, scalar: Scalar, value: str) -> str:
        """Return the f32 of a narrow float's bits; f16 is a type of the hardware."""
        if scalar != F16:
            return super().widen(scalar, value)
        half = self.put(f"bitcast i16 {self.put(f'trunc i32 {value} to i16')} to half")
        return self.put(f"fpext half {half} to float")

    def narrow(self, scalar: Scalar, value: str) -> str:
        """Return the bits of the nearest narrow float."""
        if scalar != F16:
            return super().narrow(scalar, value)
        bits = self.put(f"bitcast half {self.put(f'fptrunc float {value} to half')} to i16")
        return self.put(f"zext i16 {bits} to i32")

    def builtin(self, op: ops.Id, dimension: int) -> str:
        """Ask for an id."""
        match op:
            case ops.Id.LOCAL_ID:
                return self.call("i32", f"llvm.amdgcn.workitem.id.{_AXES[dimension]}", [])
            case ops.Id.GROUP_ID:
                return self.call("i32", f"llvm.amdgcn.workgroup.id.{_AXES[dimension]}", [])
            case ops.Id.GROUP_SIZE:
                return self._group_size(dimension)
            case ops.Id.NUM_GROUPS:
                return self._hidden("i32", _COUNTS[dimension])
            case ops.Id.GLOBAL_ID:
                first = self.core(
                    Core.MUL, I32, self.builtin(ops.Id.GROUP_ID, dimension), self._group_size(dimension)
                )
                return self.core(Core.ADD, I32, first, self.builtin(ops.Id.LOCAL_ID, dimension))
            case ops.Id.SUBGROUP_SIZE | ops.Id.LANE_ID | ops.Id.SUBGROUP_ID:
                return wavefront.builtin(self, op)
        assert_never(op)

    def subgroup(self, stmt: nodes.SubGroup) -> str:
        """Do an operation of a wavefront."""
        return wavefront.operation(self, stmt)

    def _group_size(self, dimension: int) -> str:
        if any(self.job.group):
            return str(self.job.group[dimension])
        return self.put(f"zext i16 {self._hidden('i16', _SIZES[dimension])} to i32")

    def _hidden(self, kind: str, offset: int) -> str:
        start = self.call("ptr addrspace(4)", "llvm.amdgcn.implicitarg.ptr", [])
        at = self.put(f"getelementptr i8, ptr addrspace(4) {start}, i64 {offset}")
        return self.put(f"load {kind}, ptr addrspace(4) {at}")


def lacks_maths(node: object) -> str | None:
    """Return what is not offered at a node: LLVM would end the process over it."""
    exact = {Math.SQRT, Math.RSQRT, Math.FLOOR, Math.CEIL, Math.TRUNC, Math.RINT, Math.FMA}
    if not isinstance(node, nodes.MathCall) or node.op in exact:
        return None
    if node.op in maths32.OFFERED and node.type.bits != 64:
        return None
    return f"`{node.op}` on {node.type}"
