"""How does a kernel look in OpenCL C 1.2?

Buffers are pointer arguments, the parameter block is a struct by value (docs/reference/launch-abi.md).
OpenCL 1.2 atomics are relaxed: an order is made by fences around them.
"""

from __future__ import annotations

from atoll.ir import F32, F64, I32, Scalar, View, nodes, ops
from atoll.ir.module import SharedArray
from atoll.ir.nodes import NARROW_FLOATS
from atoll.ir.ops import AtomicOp, Math, Order
from atoll.ir.walk import all_expressions, statements
from atoll.ir.widen import LANES
from atoll_plugins.formats.cdialect import Dialect
from atoll_plugins.formats.cgpu import GpuPrinter
from atoll_plugins.formats.chelpers import helper_name
from atoll_plugins.formats.ctext import bare
from atoll_plugins.formats.emission import Job
from atoll_plugins.formats.fours import fours_of, steps

_MATHS = {
    op: f"{name}({{a}})"
    for op, name in {
        Math.SQRT: "sqrt", Math.RSQRT: "rsqrt", Math.EXP: "exp", Math.EXP2: "exp2", Math.LOG: "log",
        Math.LOG2: "log2", Math.SIN: "sin", Math.COS: "cos", Math.TAN: "tan", Math.TANH: "tanh",
        Math.POW: "pow", Math.FMA: "fma",
    }.items()
}  # fmt: skip
#: One implementation converts to an integer on the way, which is undefined for what no integer holds: where
#: the operand is a constant its compiler takes the rest of the kernel to be unreachable
#: (docs/decisions/0170-rint-of-a-constant-on-pocl.md). So a NaN, and what is too large to have a fraction, is
#: asked for first.
_WHOLE = {Math.FLOOR: "floor", Math.CEIL: "ceil", Math.TRUNC: "trunc", Math.RINT: "rint"}
_GUARDED = {**_WHOLE, Math.EXP: "exp", Math.EXP2: "exp2", Math.TANH: "tanh"}
_MATHS |= {op: f"atoll_{name}_{{w}}({{a}})" for op, name in _GUARDED.items()}


def _guarded_helper(op: Math, scalar: Scalar) -> str:
    kind, least = ("float", "0x1p23f") if scalar == F32 else ("double", "0x1p52")
    good = f"fabs(a) < {least}" if op in _WHOLE else "a == a"
    return f"""\
static inline {kind} atoll_{_GUARDED[op]}_{scalar}({kind} a)
{{
  return {good} ? {_GUARDED[op]}(a) : a;
}}"""


OPENCL_C = Dialect(
    name="OpenCL C 1.2",
    types={
        "bool": "bool", "i8": "char", "i16": "short", "i32": "int", "i64": "long",
        "u8": "uchar", "u16": "ushort", "u32": "uint", "u64": "ulong",
        "f16": "ushort", "bf16": "ushort", "f32": "float", "f64": "double",
    },
    memory={},
    long="l",
    inline="static inline",
    maths=_MATHS,
    fabs="fabs({a})",
    bit_cast="as_{kind}({text})",
    narrow={
        "atoll_widen_f16": """\
static inline float atoll_widen_f16(ushort a)
{
  return vload_half(0, (const half *)&a);
}""",
        "atoll_narrow_f16": """\
static inline ushort atoll_narrow_f16(float a)
{
  ushort bits;
  vstore_half_rte(a, 0, (half *)&bits);
  return bits;
}""",
    },
)  # fmt: skip

_IDS = {
    ops.Id.GLOBAL_ID: "get_global_id", ops.Id.LOCAL_ID: "get_local_id", ops.Id.GROUP_ID: "get_group_id",
    ops.Id.GROUP_SIZE: "get_local_size", ops.Id.NUM_GROUPS: "get_num_groups",
}  # fmt: skip
_ATOMICS = {
    AtomicOp.ADD: "atomic_add", AtomicOp.MIN: "atomic_min", AtomicOp.MAX: "atomic_max",
    AtomicOp.AND: "atomic_and", AtomicOp.OR: "atomic_or", AtomicOp.XOR: "atomic_xor",
    AtomicOp.EXCHANGE: "atomic_xchg", AtomicOp.COMPARE_EXCHANGE: "atomic_cmpxchg",
}  # fmt: skip
_FENCES = "CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE"
#: What orders accesses of other groups too. OpenCL 1.2 has no word for it; later versions and one vendor do,
#: whose `mem_fence` is of the group.
_DEVICE_FENCE = f"""\
#if defined(__NV_CL_C_VERSION)
#define ATOLL_DEVICE_FENCE() asm volatile("membar.gl;" ::: "memory")
#elif (__OPENCL_C_VERSION__ >= 200 && __OPENCL_C_VERSION__ < 300) || \\
    (defined(__opencl_c_atomic_scope_device) && defined(__opencl_c_atomic_order_acq_rel))
#define ATOLL_DEVICE_FENCE() \\
  atomic_work_item_fence({_FENCES}, memory_order_acq_rel, memory_scope_device)
#else
#define ATOLL_DEVICE_FENCE() mem_fence({_FENCES})
#endif"""
_BEFORE = frozenset({Order.RELEASE, Order.ACQ_REL})
_AFTER = frozenset({Order.ACQUIRE, Order.ACQ_REL})


class OpenClPrinter(GpuPrinter):
    """Prints one kernel as OpenCL C 1.2."""

    def __init__(self, job: Job) -> None:
        super().__init__(OPENCL_C, job)
        self._fours = fours_of(job)
        views = ((view.name, view.type) for view in job.kernel.views)
        self._elements = {name: kind.element for name, kind in views if isinstance(kind, View)}

    def head(self) -> list[str]:
        """Say what the text is, and forbid contraction."""
        head = ["// Made by Atoll from KIR: launch ABI 1, no contraction. OpenCL C 1.2."]
        if uses_double(self.job):
            head.append("#pragma OPENCL EXTENSION cl_khr_fp64 : enable")
        wide = any(_is_wide(stmt) for stmt in statements(self.kernel.body))
        head += ["#pragma OPENCL FP_CONTRACT OFF", *([_DEVICE_FENCE] if wide else [])]
        calls = (node for node in all_expressions(self.kernel.body) if isinstance(node, nodes.MathCall))
        used = {(node.op, F64 if node.type == F64 else F32) for node in calls if node.op in _GUARDED}
        return [*head, *(_guarded_helper(op, scalar) for op, scalar in sorted(used, key=str))]

    def buffer(self, element: str, name: str, *, constant: bool) -> str:
        """Return a pointer into global memory, which no other reaches where that was promised."""
        text = f"__global {super().buffer(element, name, constant=constant)}"
        return text.replace("*", "*restrict ") if self.job.target.apart else text

    def function(self, parameters: str) -> list[str]:
        """Name the kernel, with the size of its group where that is fixed."""
        lines = ["__kernel"]
        if any(self.job.group):
            lines.append(f"__attribute__((reqd_work_group_size({', '.join(map(str, self.job.group))})))")
        return [*lines, f"void {self.kernel.symbol}({parameters})"]

    def shared(self, item: SharedArray) -> str:
        """Declare local memory."""
        return f"__local {self.dialect.element(item.element)} s_{item.name}[{item.length}];"

    def global_id(self, axis: int) -> str:
        """Ask for an id."""
        return f"get_global_id({axis})"

    # --- plain views ---

    def element(self, base: str, indices: tuple[nodes.Expr, ...]) -> str:
        """Return an element; of a plain view, indices and rows fit 32 bits and the last step is 1."""
        if not self.job.target.plain or base not in self._ranks:
            return super().element(base, indices)
        return f"b_{base}[{self._plain(base, indices)}]"

    def _plain(self, base: str, indices: tuple[nodes.Expr, ...]) -> str:
        terms = [self.field(f"{base}.offset")]
        for axis, index in enumerate(indices[:-1]):
            terms.append(f"{self._inside(index)} * (int){self.field(f'{base}.stride.{axis}')}")
        return " + ".join([*terms, self._inside(indices[-1])])

    def _inside(self, index: nodes.Expr) -> str:
        """Return an index as 64 bits whose upper half is the sign alone, so that a product takes halves."""
        if isinstance(index, nodes.Const):
            return f"{int(index.value)}"
        if isinstance(index, nodes.Cast) and index.op is ops.Cast.SEXT and index.operand.type == I32:
            return f"(long){self.expression(index.operand)}"
        return f"(long)(int){self.expression(index)}"

    def block(self, block: nodes.Block) -> None:
        """Print statements; four neighbours are one access."""
        self.depth += 1
        for loads, stores, stmt in steps(self._fours, block):
            if loads:
                self._four_loads(loads)
            elif stores:
                self._four_stores(stores)
            else:
                self.statement(stmt)
        self.depth -= 1

    def _four(self, base: str, indices: tuple[nodes.Expr, ...], kept: str) -> tuple[str, str]:
        """Return the vector's type, and the place of four neighbours as an lvalue of it."""
        kind = f"{self.dialect.element(self._elements[base])}{LANES}"
        return kind, f"*(__global {kept}{kind} *)(b_{base} + {self._plain(base, indices)})"

    def _four_loads(self, four: list[tuple[str, nodes.Load]]) -> None:
        first, row = four[0][1], self.fresh("row")
        kind, place = self._four(first.base, first.indices, "const ")
        self.line(f"const {kind} {row} = {place};")
        for (name, _), part in zip(four, "xyzw", strict=True):
            self.line(f"{self.local(name)} = {row}.{part};")

    def _four_stores(self, four: list[nodes.Store]) -> None:
        kind, place = self._four(four[0].base, four[0].indices, "")
        values = ", ".join(bare(self.expression(item.value)) for item in four)
        self.line(f"{place} = ({kind})({values});")

    # --- what the C printer asks ---

    def barrier(self) -> None:
        """Order both memories of the group."""
        self.line(f"barrier({_FENCES});")

    def fence(self, scope: ops.Scope) -> None:
        """Order both memories, as a scope sees it."""
        self.line(f"{_fence(scope)};")

    def builtin(self, op: ops.Id, dimension: int) -> str:
        """Ask for an id."""
        return f"((int){_IDS[op]}({dimension}))"

    def atomic(self, stmt: nodes.Atomic, address: str) -> str:
        """Return a call of a helper: the address space is in its type, fences are around it."""
        scalar = stmt.value.type
        space = "local" if any(item.name == stmt.base for item in self.kernel.shared) else "global"
        operation = f"atomic_{stmt.op}_{stmt.order}_{space}" + ("_device" if _is_wide(stmt) else "")
        operands = [address, self.expression(stmt.value)]
        if stmt.expected is not None:
            operands.insert(1, self.expression(stmt.expected))
        kind = self.dialect.value(scalar)
        text = _atomic_helper(stmt, kind, helper_name(operation, scalar), f"__{space}")
        return self.call(text, (operation, scalar), *operands)


def _is_wide(stmt: nodes.Stmt) -> bool:
    """Tell whether a statement orders accesses as the whole device sees them."""
    if isinstance(stmt, nodes.Atomic):
        return stmt.scope is ops.Scope.DEVICE and stmt.order is not Order.RELAXED
    return isinstance(stmt, nodes.Fence) and stmt.scope is ops.Scope.DEVICE


def _fence(scope: ops.Scope) -> str:
    return "ATOLL_DEVICE_FENCE()" if scope is ops.Scope.DEVICE else f"mem_fence({_FENCES})"


def uses_double(job: Job) -> bool:
    """Tell whether a kernel needs 64-bit floats."""
    declared = [local.type for local in job.kernel.locals] + [item.element for item in job.kernel.shared]
    params = (param.type for param in job.kernel.params)
    declared += [kind.element if isinstance(kind, View) else kind for kind in params]
    return F64 in declared or any(_is_double(expr) for expr in all_expressions(job.kernel.body))


def _is_double(expr: nodes.Expr) -> bool:
    """Tell whether an expression is done in f64; so is a fused multiply-add of narrow floats."""
    fused = isinstance(expr, nodes.MathCall) and expr.op is Math.FMA
    return expr.type == F64 or (fused and expr.type in NARROW_FLOATS)


def _atomic_helper(stmt: nodes.Atomic, kind: str, name: str, space: str) -> str:
    expected = f"{kind} expected, " if stmt.expected is not None else ""
    lines = [f"static inline {kind} {name}(volatile {space} {kind} *at, {expected}{kind} value)", "{"]
    if stmt.order in _BEFORE:
        lines.append(f"  {_fence(stmt.scope)};")
    if kind == "float" and stmt.op is AtomicOp.ADD:
        lines += _float_sum(space)
    else:
        operands = "at, expected, value" if expected else "at, value"
        lines.append(f"  const {kind} old = {_ATOMICS[stmt.op]}({operands});")
    if stmt.order in _AFTER:
        lines.append(f"  {_fence(stmt.scope)};")
    return "\n".join([*lines, "  return old;", "}"])


def _float_sum(space: str) -> list[str]:
    return [
        f"  volatile {space} uint *word = (volatile {space} uint *)at;",
        "  uint seen = *word, tried;",
        "  do {",
        "    tried = seen;",
        "    seen = atomic_cmpxchg(word, tried, as_uint(as_float(tried) + value));",
        "  } while (seen != tried);",
        "  const float old = as_float(seen);",
    ]
