"""How does a kernel look in SYCL? As a free function kernel (sycl_ext_oneapi_free_function_kernels).

Dimension 0 of KIR is the fastest, which is the last one of SYCL. Compile with ``-fp-model=precise``: DPC++
is fast by default, and only contraction can be forbidden in the text.
"""

from __future__ import annotations

from atoll.ir import F64, nodes, ops
from atoll.ir.module import SharedArray
from atoll.ir.ops import AtomicOp, Math, Order
from atoll_plugins.formats.cdialect import Dialect
from atoll_plugins.formats.cgpu import GpuPrinter
from atoll_plugins.formats.chelpers import helper_name
from atoll_plugins.formats.cplusplus import LONG
from atoll_plugins.formats.emission import Job

_MATHS = {
    op: f"sycl::{name}({{a}})"
    for op, name in {
        Math.SQRT: "sqrt", Math.RSQRT: "rsqrt", Math.EXP: "exp", Math.EXP2: "exp2", Math.LOG: "log",
        Math.LOG2: "log2", Math.SIN: "sin", Math.COS: "cos", Math.TAN: "tan", Math.TANH: "tanh",
        Math.FLOOR: "floor", Math.CEIL: "ceil", Math.TRUNC: "trunc", Math.RINT: "rint", Math.POW: "pow",
        Math.FMA: "fma",
    }.items()
}  # fmt: skip

SYCL_CPP = Dialect(
    name="SYCL 2020",
    types={
        "bool": "bool", "i8": "std::int8_t", "i16": "std::int16_t", "i32": "std::int32_t",
        "i64": "std::int64_t",
        "u8": "std::uint8_t", "u16": "std::uint16_t", "u32": "std::uint32_t", "u64": "std::uint64_t",
        "f16": "std::uint16_t", "bf16": "std::uint16_t", "f32": "float", "f64": "double",
    },
    memory={},
    long=LONG,
    inline="static inline",
    maths=_MATHS,
    fabs="sycl::fabs({a})",
    bit_cast="sycl::bit_cast<{kind}>({other}({text}))",
)  # fmt: skip

_METHODS = {
    ops.Id.GLOBAL_ID: "get_global_id", ops.Id.LOCAL_ID: "get_local_id", ops.Id.GROUP_ID: "get_group",
    ops.Id.GROUP_SIZE: "get_local_range", ops.Id.NUM_GROUPS: "get_group_range",
}  # fmt: skip
_OF_SUBGROUP = {
    ops.Id.LANE_ID: "get_local_linear_id", ops.Id.SUBGROUP_ID: "get_group_linear_id",
    ops.Id.SUBGROUP_SIZE: "get_local_linear_range",
}  # fmt: skip
_TOGETHER = {
    ops.SubGroup.ADD: "plus", ops.SubGroup.MIN: "minimum", ops.SubGroup.MAX: "maximum",
    ops.SubGroup.AND: "bit_and", ops.SubGroup.OR: "bit_or", ops.SubGroup.XOR: "bit_xor",
}  # fmt: skip
_FETCH = {
    AtomicOp.ADD: "fetch_add", AtomicOp.MIN: "fetch_min", AtomicOp.MAX: "fetch_max",
    AtomicOp.AND: "fetch_and", AtomicOp.OR: "fetch_or", AtomicOp.XOR: "fetch_xor",
    AtomicOp.EXCHANGE: "exchange",
}  # fmt: skip
_SCOPES = {
    ops.Scope.SUB_GROUP: "sub_group", ops.Scope.WORK_GROUP: "work_group", ops.Scope.DEVICE: "device",
}  # fmt: skip
_BEFORE = frozenset({Order.RELEASE, Order.ACQ_REL})
_AFTER = frozenset({Order.ACQUIRE, Order.ACQ_REL})


class SyclPrinter(GpuPrinter):
    """Prints one kernel as SYCL."""

    def __init__(self, job: Job) -> None:
        super().__init__(SYCL_CPP, job)

    def head(self) -> list[str]:
        """Say what the text is, include the one header, forbid contraction."""
        return [
            "// Made by Atoll from KIR: launch ABI 1, no contraction. SYCL 2020.",
            "// Compile with -fp-model=precise.",
            "#include <cstdint>",
            "#include <sycl/sycl.hpp>",
            "#ifdef __clang__",
            "#pragma clang fp contract(off)",
            "#endif",
        ]

    def function(self, parameters: str) -> list[str]:
        """Name the kernel, with the size of its group where that is fixed."""
        lines = ['extern "C" SYCL_EXTERNAL']
        lines.append(
            "SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<3>))"
        )
        if any(self.job.group):
            size = ", ".join(map(str, reversed(self.job.group)))
            lines.append(f"[[sycl::reqd_work_group_size({size})]]")
        return [*lines, f"void {self.kernel.symbol}({parameters})"]

    def first(self) -> list[str]:
        """Take the work-item."""
        return ["const auto item = sycl::ext::oneapi::this_work_item::get_nd_item<3>();"]

    def shared(self, item: SharedArray) -> str:
        """Take memory of the group."""
        kind = f"{self.dialect.element(item.element)}[{item.length}]"
        memory = f"sycl::ext::oneapi::group_local_memory_for_overwrite<{kind}>(item.get_group())"
        return f"auto &s_{item.name} = *{memory};"

    def global_id(self, axis: int) -> str:
        """Ask for an id."""
        return f"item.get_global_id({2 - axis})"

    def builtin(self, op: ops.Id, dimension: int) -> str:
        """Ask for an id."""
        if op in _OF_SUBGROUP:
            return f"((std::int32_t)item.get_sub_group().{_OF_SUBGROUP[op]}())"
        return f"((std::int32_t)item.{_METHODS[op]}({2 - dimension}))"

    def fence(self, scope: ops.Scope) -> None:
        """Order memory as the scope sees it."""
        place = f"sycl::memory_scope::{_SCOPES[scope]}"
        self.line(f"sycl::atomic_fence(sycl::memory_order::acq_rel, {place});")

    def subgroup(self, stmt: nodes.SubGroup) -> str:
        """Return a call of a group function."""
        value, where = self.expression(stmt.value), "item.get_sub_group()"
        if stmt.lane is not None:
            return f"sycl::select_from_group({where}, {value}, {self.expression(stmt.lane)})"
        if stmt.op in ops.VOTES:
            return f"sycl::{stmt.op}_of_group({where}, {value})"
        if stmt.op in ops.SCANS:
            word = str(stmt.op).removesuffix("_add")
            return f"sycl::{word}_scan_over_group({where}, {value}, sycl::plus<>())"
        return f"sycl::reduce_over_group({where}, {value}, sycl::{_TOGETHER[stmt.op]}<>())"

    def barrier(self) -> None:
        """Wait; a group barrier orders all memory of its group."""
        self.line("sycl::group_barrier(item.get_group());")

    def atomic(self, stmt: nodes.Atomic, address: str) -> str:
        """Return a call of a helper; `atomic_ref` is relaxed, fences around it make the order."""
        scalar, kind = stmt.value.type, self.dialect.value(stmt.value.type)
        operation = f"atomic_{stmt.op}_{stmt.order}_{stmt.scope}"
        operands = [address, self.expression(stmt.value)]
        if stmt.expected is not None:
            operands.insert(1, self.expression(stmt.expected))
        helper = _atomic_helper(stmt, kind, helper_name(operation, scalar))
        return self.call(helper, (operation, scalar), *operands)


def needs_aspects(printer: SyclPrinter) -> tuple[str, ...]:
    """Return the aspects that a device must have for the printed text."""
    text = (*printer.lines, *printer.helpers.values())
    found = set()
    declared = [local.type for local in printer.kernel.locals]
    if F64 in declared or any("double" in line for line in text):
        found.add("fp64")
    if any("_atomic_" in line and ("int64" in line or "double" in line) for line in text):
        found.add("atomic64")
    return tuple(sorted(found))


def _atomic_helper(stmt: nodes.Atomic, kind: str, name: str) -> str:
    scope = f"sycl::memory_scope::{_SCOPES[stmt.scope]}"
    given = f"{kind} expected, {kind} value" if stmt.expected is not None else f"{kind} value"
    reference = f"sycl::atomic_ref<{kind}, sycl::memory_order::relaxed, {scope}> place(*at);"
    lines = [f"static inline {kind} {name}({kind} *at, {given})", "{"]
    if stmt.order in _BEFORE:
        lines.append(f"  sycl::atomic_fence(sycl::memory_order::release, {scope});")
    lines.append(f"  {reference}")
    if stmt.expected is None:
        lines.append(f"  const {kind} old = place.{_FETCH[stmt.op]}(value);")
    else:
        lines.append(f"  {kind} old = expected;")
        lines.append("  place.compare_exchange_strong(old, value);")
    if stmt.order in _AFTER:
        lines.append(f"  sycl::atomic_fence(sycl::memory_order::acquire, {scope});")
    return "\n".join([*lines, "  return old;", "}"])
