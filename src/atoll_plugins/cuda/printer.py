"""How does a kernel look in CUDA C++?

The text needs no header and no option: float arithmetic is spelled by the intrinsics that are never
contracted (CUDA C++ Programming Guide, "Mathematical Functions"), so `--fmad=false` changes nothing. Atomics
are relaxed and of the device; an order is made by fences around them.
"""

from __future__ import annotations

from atoll.ir import F32, F64, Scalar, nodes, ops
from atoll.ir.module import SharedArray
from atoll.ir.ops import AtomicOp, Binary, Math, Order
from atoll.ir.subgroups import combine
from atoll_plugins.cuda.ptxtext import WARP
from atoll_plugins.formats.cdialect import Dialect
from atoll_plugins.formats.cgpu import GpuPrinter
from atoll_plugins.formats.chelpers import helper_name
from atoll_plugins.formats.cplusplus import BIT_CAST, LONG, TYPES
from atoll_plugins.formats.emission import Job

_ROUNDED = {
    (op, scalar): f"__{letter}{name}_rn({{a}}, {{b}})"
    for op, name in {
        Binary.FADD: "add", Binary.FSUB: "sub", Binary.FMUL: "mul", Binary.FDIV: "div",
    }.items()
    for scalar, letter in ((F32, "f"), (F64, "d"))
}  # fmt: skip

CUDA_CPP = Dialect(
    name="CUDA C++",
    types=TYPES,
    memory={},
    long=LONG,
    inline="static __device__ inline",
    maths={
        op: f"{name}{{f}}({{a}})"
        for op, name in {
            Math.RSQRT: "rsqrt", Math.EXP: "exp", Math.EXP2: "exp2", Math.LOG: "log", Math.LOG2: "log2",
            Math.SIN: "sin", Math.COS: "cos", Math.TAN: "tan", Math.TANH: "tanh", Math.FLOOR: "floor",
            Math.CEIL: "ceil", Math.TRUNC: "trunc", Math.RINT: "rint", Math.POW: "pow", Math.FMA: "fma",
        }.items()
    } | {Math.SQRT: "__{t}sqrt_rn({a})"},
    fabs="fabs{f}({a})",
    bit_cast=BIT_CAST,
    arithmetic=_ROUNDED,
    narrow={
        "atoll_widen_f16": """\
static __device__ inline float atoll_widen_f16(unsigned short a)
{
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(a));
  return wide;
}""",
        "atoll_narrow_f16": """\
static __device__ inline unsigned short atoll_narrow_f16(float a)
{
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(a));
  return bits;
}""",
    },
)  # fmt: skip

_AXES = "xyz"
_ALL = "0xffffffffu"
_ITEM = "(int)(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z))"
_FENCES = {
    ops.Scope.SUB_GROUP: "__threadfence_block", ops.Scope.WORK_GROUP: "__threadfence_block",
    ops.Scope.DEVICE: "__threadfence",
}  # fmt: skip
_ATOMICS = {
    AtomicOp.ADD: "atomicAdd", AtomicOp.MIN: "atomicMin", AtomicOp.MAX: "atomicMax",
    AtomicOp.AND: "atomicAnd", AtomicOp.OR: "atomicOr", AtomicOp.XOR: "atomicXor",
    AtomicOp.EXCHANGE: "atomicExch", AtomicOp.COMPARE_EXCHANGE: "atomicCAS",
}  # fmt: skip
_BEFORE = frozenset({Order.RELEASE, Order.ACQ_REL})
_AFTER = frozenset({Order.ACQUIRE, Order.ACQ_REL})


class CudaPrinter(GpuPrinter):
    """Prints one kernel as CUDA C++."""

    def __init__(self, job: Job) -> None:
        super().__init__(CUDA_CPP, job)

    def head(self) -> list[str]:
        """Say what the text is."""
        lines = ["// Made by Atoll from KIR: launch ABI 1, no contraction. CUDA C++."]
        return [*lines, *self.extern_text('extern "C" __device__')]

    def function(self, parameters: str) -> list[str]:
        """Name the kernel, with the size of its group where that is fixed."""
        items = self.job.group[0] * self.job.group[1] * self.job.group[2]
        bounds = f"__launch_bounds__({items}) " if items else ""
        return [f'extern "C" __global__ void {bounds}{self.kernel.symbol}({parameters})']

    def shared(self, item: SharedArray) -> str:
        """Declare shared memory."""
        return f"__shared__ {self.dialect.element(item.element)} s_{item.name}[{item.length}];"

    def global_id(self, axis: int) -> str:
        """Compute an id."""
        at = _AXES[axis]
        return f"(blockIdx.{at} * blockDim.{at} + threadIdx.{at})"

    def builtin(self, op: ops.Id, dimension: int) -> str:
        """Read an id."""
        at = _AXES[dimension]
        found = {
            ops.Id.GLOBAL_ID: self.global_id(dimension), ops.Id.LOCAL_ID: f"threadIdx.{at}",
            ops.Id.GROUP_ID: f"blockIdx.{at}", ops.Id.GROUP_SIZE: f"blockDim.{at}",
            ops.Id.NUM_GROUPS: f"gridDim.{at}", ops.Id.SUBGROUP_SIZE: f"{WARP}",
            ops.Id.LANE_ID: f"({_ITEM} % {WARP})", ops.Id.SUBGROUP_ID: f"({_ITEM} / {WARP})",
        }  # fmt: skip
        return f"((int){found[op]})"

    def address(self, base: str, indices: tuple[nodes.Expr, ...], *, assembly: bool = False) -> str:
        """Return an address; assembly takes that of shared memory as 32 bits."""
        found = super().address(base, indices, assembly=assembly)
        shared = any(item.name == base for item in self.kernel.shared)
        return f"(unsigned int)__cvta_generic_to_shared({found})" if assembly and shared else found

    def barrier(self) -> None:
        """Wait; it orders both memories of the block."""
        self.line("__syncthreads();")

    def fence(self, scope: ops.Scope) -> None:
        """Order memory for the block or the device."""
        self.line(f"{_FENCES[scope]}();")

    def subgroup(self, stmt: nodes.SubGroup) -> str:
        """Return a call of the warp's functions, or of a helper that repeats one."""
        value, scalar = self.expression(stmt.value), stmt.value.type
        if stmt.lane is not None:
            return f"__shfl_sync({_ALL}, {value}, {self.expression(stmt.lane)})"
        if stmt.op in ops.VOTES:
            return f"(__{stmt.op}_sync({_ALL}, {value}) != 0)"
        name = helper_name(f"subgroup_{stmt.op}", scalar)
        helper = _subgroup_helper(self, stmt.op, scalar, name)
        return self.call(helper, (f"subgroup_{stmt.op}", scalar), value)

    def atomic(self, stmt: nodes.Atomic, address: str) -> str:
        """Return a call of a helper with fences around the atomic."""
        scalar, kind = stmt.value.type, self.dialect.value(stmt.value.type)
        operation = f"atomic_{stmt.op}_{stmt.order}_{stmt.scope}"
        operands = [address, self.expression(stmt.value)]
        if stmt.expected is not None:
            operands.insert(1, self.expression(stmt.expected))
        helper = _atomic_helper(stmt, kind, scalar, helper_name(operation, scalar))
        return self.call(helper, (operation, scalar), *operands)


def _subgroup_helper(printer: CudaPrinter, op: ops.SubGroup, scalar: Scalar, name: str) -> str:
    """Return a function that combines the values of a warp: pair by pair, or of a scan, step by step."""
    kind = printer.dialect.value(scalar)
    both = nodes.Binary(combine(op, scalar), nodes.Local("sum", scalar), nodes.Local("other", scalar))
    text = printer.expression(both)
    if op in ops.SCANS:
        shift = f"__shfl_up_sync({_ALL}, l_sum, step)"
        guard = f"if ({_ITEM} % {WARP} >= step) "
        loop = f"for (int step = 1; step < {WARP}; step *= 2)"
    else:
        shift, guard = f"__shfl_xor_sync({_ALL}, l_sum, step)", ""
        loop = f"for (int step = {WARP // 2}; step > 0; step /= 2)"
    lines = [
        f"static __device__ inline {kind} {name}({kind} l_sum)",
        "{",
        f"  {loop} {{",
        f"    const {kind} l_other = {shift};",
        f"    {guard}l_sum = {text};",
        "  }",
    ]
    if op is ops.SubGroup.EXCLUSIVE_ADD:
        lines += [
            f"  const {kind} before = __shfl_up_sync({_ALL}, l_sum, 1);",
            f"  return {_ITEM} % {WARP} ? before : 0;",
            "}",
        ]
        return "\n".join(lines)
    return "\n".join([*lines, "  return l_sum;", "}"])


def _atomic_helper(stmt: nodes.Atomic, kind: str, scalar: Scalar, name: str) -> str:
    given = ["expected", "value"] if stmt.expected is not None else ["value"]
    params = ", ".join(f"{kind} {item}" for item in given)
    fence = f"  {_FENCES[stmt.scope]}();"
    lines = [f"static __device__ inline {kind} {name}({kind} *at, {params})", "{"]
    if stmt.order in _BEFORE:
        lines.append(fence)
    lines.append(f"  const {kind} old = {_call(stmt.op, kind, scalar, given)};")
    if stmt.order in _AFTER:
        lines.append(fence)
    return "\n".join([*lines, "  return old;", "}"])


def _call(op: AtomicOp, kind: str, scalar: Scalar, given: list[str]) -> str:
    """Return the call; 64 bits whose sign does not matter go as unsigned ones, the only ones there are."""
    word = TYPES["u64"]
    if scalar == F64 and op is AtomicOp.EXCHANGE:
        bits = BIT_CAST.format(kind=word, text="value")
        return BIT_CAST.format(kind=kind, text=f"atomicExch(({word} *)at, {bits})")
    if scalar.is_signed and scalar.bits == 64 and op not in (AtomicOp.MIN, AtomicOp.MAX):
        operands = ", ".join(f"({word}){item}" for item in given)
        return f"({kind}){_ATOMICS[op]}(({word} *)at, {operands})"
    return f"{_ATOMICS[op]}(at, {', '.join(given)})"
