"""How does a kernel look in HIP C++?

The text needs no header: it is spelled by attributes and built-ins of clang, so that hipcc, HIPRTC and a
clang without any SDK take it. Maths beyond the built-ins is AMD's device library (``__ocml_…``), which hipcc
links.
"""

from __future__ import annotations

import re

from atoll.ir import BOOL, F64, Scalar, nodes, ops
from atoll.ir.module import SharedArray
from atoll.ir.ops import AtomicOp, Math, Order
from atoll.ir.subgroups import combine
from atoll_plugins.formats.cdialect import Dialect
from atoll_plugins.formats.cgpu import GpuPrinter
from atoll_plugins.formats.chelpers import helper_name
from atoll_plugins.formats.cplusplus import BIT_CAST, LONG, TYPES
from atoll_plugins.formats.emission import Job
from atoll_plugins.formats.inline import Languages

_DEVICE = "static __attribute__((device)) inline"
_BUILTIN = {
    Math.SQRT: "sqrt", Math.FLOOR: "floor", Math.CEIL: "ceil", Math.TRUNC: "trunc", Math.RINT: "rint",
    Math.FMA: "fma",
}  # fmt: skip
_LIBRARY = {
    Math.RSQRT: "rsqrt", Math.EXP: "exp", Math.EXP2: "exp2", Math.LOG: "log", Math.LOG2: "log2",
    Math.SIN: "sin", Math.COS: "cos", Math.TAN: "tan", Math.TANH: "tanh", Math.POW: "pow",
}  # fmt: skip

HIP_CPP = Dialect(
    name="HIP C++",
    types=TYPES,
    memory={},
    long=LONG,
    inline=_DEVICE,
    maths={op: f"__builtin_{name}{{f}}({{a}})" for op, name in _BUILTIN.items()}
    | {op: f"__ocml_{name}_{{w}}({{a}})" for op, name in _LIBRARY.items()},
    fabs="__builtin_fabs{f}({a})",
    bit_cast=BIT_CAST,
    narrow={
        "atoll_widen_f16": f"""\
{_DEVICE} float atoll_widen_f16(unsigned short a)
{{
  return (float)__builtin_bit_cast(_Float16, a);
}}""",
        "atoll_narrow_f16": f"""\
{_DEVICE} unsigned short atoll_narrow_f16(float a)
{{
  return __builtin_bit_cast(unsigned short, (_Float16)a);
}}""",
    },
)

_HELD = frozenset({"i32", "u32", "f32", "i64", "u64", "f64", "ptr"})
#: What AMDGCN assembly takes: vector and scalar registers.
ASSEMBLY: Languages = {ops.Inline.ASM: {"v": _HELD, "s": _HELD}}
_OCML = re.compile(r"__ocml_([a-z0-9]+)_(f32|f64)")
_AXES = "xyz"
_SIZE = "__builtin_amdgcn_wavefrontsize()"
_LANE = "(int)__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u))"
_FENCES = {ops.Scope.SUB_GROUP: "wavefront", ops.Scope.WORK_GROUP: "workgroup", ops.Scope.DEVICE: "agent"}
_ORDERS = {
    Order.RELAXED: "__ATOMIC_RELAXED", Order.ACQUIRE: "__ATOMIC_ACQUIRE",
    Order.RELEASE: "__ATOMIC_RELEASE", Order.ACQ_REL: "__ATOMIC_ACQ_REL",
}  # fmt: skip
_FAILED = {
    Order.RELAXED: Order.RELAXED, Order.ACQUIRE: Order.ACQUIRE,
    Order.RELEASE: Order.RELAXED, Order.ACQ_REL: Order.ACQUIRE,
}  # fmt: skip
_SCOPES = {
    ops.Scope.SUB_GROUP: "__HIP_MEMORY_SCOPE_WAVEFRONT", ops.Scope.WORK_GROUP: "__HIP_MEMORY_SCOPE_WORKGROUP",
    ops.Scope.DEVICE: "__HIP_MEMORY_SCOPE_AGENT",
}  # fmt: skip
_FETCH = {
    AtomicOp.ADD: "fetch_add", AtomicOp.MIN: "fetch_min", AtomicOp.MAX: "fetch_max",
    AtomicOp.AND: "fetch_and", AtomicOp.OR: "fetch_or", AtomicOp.XOR: "fetch_xor",
    AtomicOp.EXCHANGE: "exchange",
}  # fmt: skip


class HipPrinter(GpuPrinter):
    """Prints one kernel as HIP C++."""

    def __init__(self, job: Job) -> None:
        super().__init__(HIP_CPP, job)

    def head(self) -> list[str]:
        """Say what the text is, forbid contraction, declare the functions of the device library."""
        lines = ["// Made by Atoll from KIR: launch ABI 1, no contraction. HIP C++."]
        lines.append("#pragma clang fp contract(off)")
        lines += self.extern_text('extern "C" __attribute__((device))')
        texts = (*self.lines, *self.helpers.values())
        used = {found.groups() for text in texts for found in _OCML.finditer(text)}
        for name, width in sorted(used):
            kind = "double" if width == F64.name else "float"
            given = f"{kind}, {kind}" if name == "pow" else kind
            lines.append(f'extern "C" __attribute__((device, const)) {kind} __ocml_{name}_{width}({given});')
        return lines

    def function(self, parameters: str) -> list[str]:
        """Name the kernel, with the size of its group where that is fixed."""
        items = self.job.group[0] * self.job.group[1] * self.job.group[2]
        size = f" __attribute__((amdgpu_flat_work_group_size({items}, {items})))" if items else ""
        return [f'extern "C" __attribute__((global)){size} void {self.kernel.symbol}({parameters})']

    def shared(self, item: SharedArray) -> str:
        """Declare memory of the group."""
        element = self.dialect.element(item.element)
        return f"static __attribute__((shared)) {element} s_{item.name}[{item.length}];"

    def global_id(self, axis: int) -> str:
        """Compute an id."""
        ids = [self._id(word, axis) for word in ("workgroup_id", "workgroup_size", "workitem_id")]
        return f"({ids[0]} * {ids[1]} + {ids[2]})"

    def _id(self, word: str, axis: int) -> str:
        return f"(unsigned int)__builtin_amdgcn_{word}_{_AXES[axis]}()"

    def builtin(self, op: ops.Id, dimension: int) -> str:
        """Ask for an id."""
        match op:
            case ops.Id.GLOBAL_ID:
                found = self.global_id(dimension)
            case ops.Id.NUM_GROUPS:
                grid, size = (self._id(word, dimension) for word in ("grid_size", "workgroup_size"))
                found = f"({grid} / {size})"
            case ops.Id.LOCAL_ID:
                found = self._id("workitem_id", dimension)
            case ops.Id.GROUP_ID:
                found = self._id("workgroup_id", dimension)
            case ops.Id.GROUP_SIZE:
                found = self._id("workgroup_size", dimension)
            case ops.Id.SUBGROUP_SIZE:
                found = _SIZE
            case ops.Id.LANE_ID:
                found = f"({self._item()} % {_SIZE})"
            case ops.Id.SUBGROUP_ID:
                found = f"({self._item()} / {_SIZE})"
        return f"((int){found})"

    def _item(self) -> str:
        """Return the work-item's number in its group, dimension 0 fastest."""
        ids = [self._id("workitem_id", axis) for axis in range(3)]
        width, height = (self._id("workgroup_size", axis) for axis in range(2))
        return f"({ids[0]} + {width} * ({ids[1]} + {height} * {ids[2]}))"

    def fence(self, scope: ops.Scope) -> None:
        """Order memory as the scope sees it."""
        self.line(f'__builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "{_FENCES[scope]}");')

    def subgroup(self, stmt: nodes.SubGroup) -> str:
        """Return a call of a helper over the one exchange of the hardware."""
        value, scalar = self.expression(stmt.value), stmt.value.type
        operands = [value] if stmt.lane is None else [value, self.expression(stmt.lane)]
        shuffle = self._shuffle(scalar)
        if stmt.lane is not None:
            return f"{shuffle}({', '.join(operands)})"
        name = helper_name(f"subgroup_{stmt.op}", scalar)
        both = nodes.Binary(
            combine(stmt.op, scalar), nodes.Local("sum", scalar), nodes.Local("other", scalar)
        )
        text = _subgroup_helper(stmt.op, self.dialect.value(scalar), name, shuffle, self.expression(both))
        return self.call(text, (f"subgroup_{stmt.op}", scalar), *operands)

    def _shuffle(self, scalar: Scalar) -> str:
        """Return the name of the function that takes a value from a lane, word by word."""
        kind, name = self.dialect.value(scalar), helper_name("exchange", scalar)
        if scalar.bits == 64:
            parts = ["  const unsigned long long bits = __builtin_bit_cast(unsigned long long, value);"]
            words = ("(int)bits", "(int)(bits >> 32)")
            low, high = (f"(unsigned int)__builtin_amdgcn_ds_bpermute(lane * 4, {word})" for word in words)
            parts += [f"  const unsigned long long both = {low} | (unsigned long long){high} << 32;"]
            parts += [f"  return __builtin_bit_cast({kind}, both);"]
        elif scalar == BOOL:
            parts = ["  return __builtin_amdgcn_ds_bpermute(lane * 4, (int)value) != 0;"]
        else:
            word = "__builtin_amdgcn_ds_bpermute(lane * 4, __builtin_bit_cast(int, value))"
            parts = [f"  return __builtin_bit_cast({kind}, {word});"]
        lines = [f"{_DEVICE} {kind} {name}({kind} value, int lane)", "{", *parts, "}"]
        self.helpers[name] = "\n".join(lines)
        return name

    def barrier(self) -> None:
        """Wait, and order both memories of the group."""
        self.line('__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");')
        self.line("__builtin_amdgcn_s_barrier();")
        self.line('__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");')

    def atomic(self, stmt: nodes.Atomic, address: str) -> str:
        """Return clang's atomic of that order and scope."""
        order, scope, value = _ORDERS[stmt.order], _SCOPES[stmt.scope], self.expression(stmt.value)
        if stmt.expected is None:
            return f"__hip_atomic_{_FETCH[stmt.op]}({address}, {value}, {order}, {scope})"
        kind = self.dialect.value(stmt.value.type)
        operation = f"atomic_{stmt.op}_{stmt.order}_{stmt.scope}"
        failed = _ORDERS[_FAILED[stmt.order]]
        name = f"atoll_{operation}_{stmt.value.type}"
        helper = "\n".join(
            (
                f"{_DEVICE} {kind} {name}({kind} *at, {kind} expected, {kind} value)",
                "{",
                f"  __hip_atomic_compare_exchange_strong(at, &expected, value, {order}, {failed}, {scope});",
                "  return expected;",
                "}",
            )
        )
        expected = self.expression(stmt.expected)
        return self.call(helper, (operation, stmt.value.type), address, expected, value)


def _subgroup_helper(op: ops.SubGroup, kind: str, name: str, shuffle: str, both: str) -> str:
    """Return a function that combines the values of a wavefront: pair by pair, or of a scan, step by step."""
    lines = [
        f"{_DEVICE} {kind} {name}({kind} l_sum)",
        "{",
        f"  const int size = (int){_SIZE}, lane = {_LANE};",
        "  for (int step = 1; step < size; step *= 2) {",
    ]
    if op in ops.SCANS:
        lines += [
            f"    const {kind} l_other = {shuffle}(l_sum, lane >= step ? lane - step : lane);",
            f"    if (lane >= step) l_sum = {both};",
        ]
    else:
        lines += [f"    const {kind} l_other = {shuffle}(l_sum, lane ^ step);", f"    l_sum = {both};"]
    if op is ops.SubGroup.EXCLUSIVE_ADD:
        end = [
            f"  const {kind} before = {shuffle}(l_sum, lane ? lane - 1 : 0);",
            "  return lane ? before : 0;",
        ]
    else:
        end = ["  return l_sum;"]
    return "\n".join([*lines, "  }", *end, "}"])
