"""How does a kernel look in C for the processor?

A kernel without a barrier is loops over the work-items of each group. One with barriers is the parts of
:mod:`atoll_plugins.cpu.fission`, each segment its own loop over the items; an item that returned is
skipped from then on (`dead`). The function runs a range of groups, as docs/reference/launch-abi.md says.
"""

from __future__ import annotations

from typing import assert_never

from atoll.ir import nodes, ops
from atoll.ir.ops import AtomicOp, Math, Order
from atoll_plugins.cpu.fission import (
    GroupIf,
    GroupLeave,
    GroupLoop,
    Part,
    Segment,
    group_bytes,
    names,
    returns,
    split,
    spread,
)
from atoll_plugins.formats.cdialect import Dialect
from atoll_plugins.formats.chelpers import helper_name
from atoll_plugins.formats.ctext import CPrinter, bare
from atoll_plugins.formats.emission import Job
from atoll_plugins.formats.places import Places

_PLAIN_MATHS = {
    op: f"{name}{{f}}({{a}})"
    for op, name in {
        Math.SQRT: "sqrt", Math.EXP: "exp", Math.EXP2: "exp2", Math.LOG: "log", Math.LOG2: "log2",
        Math.SIN: "sin", Math.COS: "cos", Math.TAN: "tan", Math.TANH: "tanh", Math.FLOOR: "floor",
        Math.CEIL: "ceil", Math.TRUNC: "trunc", Math.RINT: "rint", Math.POW: "pow", Math.FMA: "fma",
    }.items()
}  # fmt: skip

C11 = Dialect(
    name="C11",
    types={
        "bool": "_Bool", "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t",
        "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t",
        "f16": "uint16_t", "bf16": "uint16_t", "f32": "float", "f64": "double",
    },
    memory={},
    long="ll",
    inline="static inline",
    maths={**_PLAIN_MATHS, Math.RSQRT: "(1 / sqrt{f}({a}))"},
    fabs="fabs{f}({a})",
    bit_cast="(((union {{ {other} a; {kind} b; }}){{ {text} }}).b)",
)  # fmt: skip

_ORDERS = {
    Order.RELAXED: "__ATOMIC_RELAXED", Order.ACQUIRE: "__ATOMIC_ACQUIRE",
    Order.RELEASE: "__ATOMIC_RELEASE", Order.ACQ_REL: "__ATOMIC_ACQ_REL",
}  # fmt: skip
_FAILED = {
    Order.RELAXED: Order.RELAXED, Order.ACQUIRE: Order.ACQUIRE,
    Order.RELEASE: Order.RELAXED, Order.ACQ_REL: Order.ACQUIRE,
}  # fmt: skip
_FETCH = {AtomicOp.ADD: "add", AtomicOp.AND: "and", AtomicOp.OR: "or", AtomicOp.XOR: "xor"}
_NEXT = {
    AtomicOp.ADD: "old + value",
    AtomicOp.MIN: "value < old ? value : old",
    AtomicOp.MAX: "value > old ? value : old",
}

_HEAD = """\
/* Made by Atoll from KIR: launch ABI 1, no contraction. */
#include <math.h>
#include <stdint.h>
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize ("fp-contract=off")
#endif
"""


class CpuPrinter(CPrinter):
    """Prints one kernel as C11."""

    def __init__(self, job: Job) -> None:
        super().__init__(C11, job.kernel, job.layout)
        self.job = job
        self.places = Places(wanted=job.target.lines)
        self.parts = split(job.kernel.body) if job.waits else ()
        self.spread = spread(job.kernel, self.parts) if job.waits else frozenset[str]()
        self.mortal = job.waits and returns(job.kernel.body)
        self.used: set[tuple[ops.Id, int]] = set()
        self.end = ""
        self.ended = False

    def group_bytes(self) -> int:
        """Return what a group takes of the stack."""
        width, height, depth = self.job.group
        return group_bytes(self.kernel, self.spread, width * height * depth)

    def text(self) -> str:
        """Return the whole file."""
        name = f"atoll_block_{self.kernel.name}"
        self.depth = 2
        if self.job.waits:
            self._group_body()
        else:
            self._item_loops()
        body = self.lines
        struct = [*self.block_struct(name), ""] if self.layout.fields else []
        head = [_HEAD, *self.helper_text(), *struct]
        return "\n".join([*head, *self._signature(), *self._prologue(name), *body, "  }", "}", ""])

    def _signature(self) -> list[str]:
        return [
            f"void {self.kernel.symbol}(void *const *buffers, const void *block, const uint32_t groups[3],",
            "    const uint32_t group[3], uint64_t first, uint64_t last)",
            "{",
        ]

    def _prologue(self, block: str) -> list[str]:
        lines = []
        if self.layout.fields:
            lines.append(f"  const struct {block} p = *(const struct {block} *)block;")
        for number, (view, access) in enumerate(zip(self.kernel.views, self.layout.access, strict=True)):
            constant = "const " if access == "read" else ""
            element = self.dialect.element(view.type.element)  # type: ignore[union-attr]
            lines.append(
                f"  {constant}{element} *const b_{view.name} = ({constant}{element} *)buffers[{number}];"
            )
        lines += [f"  const uint32_t w{axis} = group[{axis}];" for axis in range(3)]
        lines += [f"  const uint32_t m{axis} = groups[{axis}];" for axis in range(3)]
        lines += [
            "  (void)buffers, (void)block, (void)w0, (void)w1, (void)w2;",
            "  for (uint64_t g = first; g < last; ++g) {",
            "    const uint32_t g0 = (uint32_t)(g % m0), g1 = (uint32_t)(g / m0 % m1);",
            "    const uint32_t g2 = (uint32_t)(g / m0 / m1);",
            "    (void)g0, (void)g1, (void)g2, (void)m2;",
        ]
        return lines

    # --- without a barrier ---

    def _item_loops(self) -> None:
        for axis in range(3):
            at = f"(uint64_t)g{axis} * w{axis}"
            limit = f"p.f_domain_{axis}"
            self.line(f"const uint64_t a{axis} = {at};")
            self.line(
                f"const uint32_t n{axis} = a{axis} >= {limit} ? 0 : "
                f"{limit} - a{axis} < w{axis} ? (uint32_t)({limit} - a{axis}) : w{axis};"
            )
        for axis in (2, 1, 0):
            self.line(
                f"for (uint32_t i{axis} = 0; i{axis} < n{axis}; ++i{axis})" + (" {" if axis == 0 else "")
            )
        self.end = self.fresh("next")
        self.depth += 1
        self._declare([local.name for local in self.kernel.locals])
        for item in self.kernel.arrays:
            self.line(self.own_array(item))
        self.depth -= 1
        self.block(self.kernel.body)
        self._close_items()

    def _close_items(self) -> None:
        if self.ended:
            self.line(f"{self.end}:;")
            self.ended = False
        self.line("}")

    def _declare(self, listed: list[str]) -> None:
        types = {local.name: local.type for local in self.kernel.locals}
        for name in listed:
            self.line(f"{self.dialect.value(types[name])} l_{name} = 0;")

    # --- with barriers ---

    def _group_body(self) -> None:
        width, height, depth = self.job.group
        self.line(f"enum {{ ITEMS = {width * height * depth} }};")
        for item in self.kernel.shared:
            self.line(f"{self.dialect.element(item.element)} s_{item.name}[{item.length}];")
        for local in self.kernel.locals:
            if local.name in self.spread:
                self.line(f"{self.dialect.value(local.type)} l_{local.name}[ITEMS];")
        for array in self.kernel.arrays:
            if array.name in self.spread:
                self.line(f"{self.dialect.element(array.element)} s_{array.name}[ITEMS][{array.length}];")
        if self.mortal:
            self.line("uint8_t dead[ITEMS] = {0};")
        self._parts(self.parts)

    def _parts(self, parts: tuple[Part, ...]) -> None:
        for part in parts:
            match part:
                case Segment():
                    self._segment(part)
                case GroupIf():
                    self._group_if(part)
                case GroupLoop():
                    self._group_loop(part)
                case GroupLeave():
                    word = "break" if part.leaves else f"goto {self._steps[-1]}"
                    self.line(f"{word};")
                case _:
                    assert_never(part)

    def _segment(self, segment: Segment) -> None:
        self.end = self.fresh("next")
        self.line("for (uint32_t t = 0; t < ITEMS; ++t) {")
        self.depth += 1
        if self.mortal:
            self.line("if (dead[t]) continue;")
        own = names(segment.body) - self.spread
        self._declare([local.name for local in self.kernel.locals if local.name in own])
        for item in self.kernel.arrays:
            if item.name in own:
                self.line(self.own_array(item))
        self.depth -= 1
        self.block(segment.body)
        self._close_items()

    def _condition(self, expr: nodes.Expr) -> str:
        """Evaluate a condition once for the group, as its first work-item that still runs."""
        name = self.fresh("c")
        self.line(f"_Bool {name};")
        if self.mortal:
            self.line("{ uint32_t t = 0; while (t < ITEMS && dead[t]) ++t;")
            self.line(f"  {name} = t < ITEMS && {self.expression(expr)}; }}")
        else:
            self.line(f"{{ const uint32_t t = 0; (void)t; {name} = {bare(self.expression(expr))}; }}")
        return name

    def _group_if(self, part: GroupIf) -> None:
        self.line(f"if ({self._condition(part.condition)}) {{")
        self._deeper(part.then)
        if part.orelse:
            self.line("} else {")
            self._deeper(part.orelse)
        self.line("}")

    def _group_loop(self, part: GroupLoop) -> None:
        step = self.fresh("step")
        self.line("for (;;) {")
        self.depth += 1
        self.line(f"if (!{self._condition(part.condition)}) break;")
        self.depth -= 1
        self.enter_loop(step)
        self._deeper(part.body)
        self.leave_loop()
        if _skips(part.body):
            self.line(f"{step}:;")
        self._deeper(part.step)
        self.line("}")

    def _deeper(self, parts: tuple[Part, ...]) -> None:
        self.depth += 1
        self._parts(parts)
        self.depth -= 1

    # --- what the C printer asks ---

    def local(self, name: str) -> str:
        """Return a local: its own, or this work-item's place."""
        return f"l_{name}[t]" if name in self.spread else f"l_{name}"

    def array(self, name: str) -> str:
        """Return an array: the group's, or this work-item's own."""
        return f"s_{name}[t]" if name in self.spread else f"s_{name}"

    def leave(self) -> None:
        """End this work-item: it is skipped in every later segment."""
        self.ended = True
        self.line(f"{{ dead[t] = 1; goto {self.end}; }}" if self.mortal else f"goto {self.end};")

    def barrier(self) -> None:
        """Never asked: a barrier ends a segment."""
        raise AssertionError("a barrier inside a segment")

    def fence(self, _scope: ops.Scope) -> None:
        """Order memory between threads."""
        self.line("__atomic_thread_fence(__ATOMIC_ACQ_REL);")

    def builtin(self, op: ops.Id, dimension: int) -> str:
        """Return an id from the counters of the loops."""
        match op:
            case ops.Id.GROUP_ID:
                return f"((int32_t)g{dimension})"
            case ops.Id.GROUP_SIZE:
                return f"((int32_t)w{dimension})"
            case ops.Id.NUM_GROUPS:
                return f"((int32_t)m{dimension})"
            case ops.Id.LOCAL_ID:
                return f"((int32_t){self._local_id(dimension)})"
            case ops.Id.GLOBAL_ID:
                return f"((int32_t)(g{dimension} * w{dimension} + {self._local_id(dimension)}))"
        raise AssertionError(f"{op} is emulated")

    def _local_id(self, dimension: int) -> str:
        if not self.job.waits:
            return f"i{dimension}"
        width, height, _ = self.job.group
        return (f"(t % {width})", f"(t / {width} % {height})", f"(t / {width * height})")[dimension]

    def atomic(self, stmt: nodes.Atomic, address: str) -> str:
        """Return an atomic by the compiler's built-ins; min, max and float sums by comparing and swapping."""
        scalar, value = stmt.value.type, self.expression(stmt.value)
        order = _ORDERS[stmt.order]
        if stmt.op in _FETCH and scalar.is_integer:
            return f"__atomic_fetch_{_FETCH[stmt.op]}({address}, {value}, {order})"
        kind = self.dialect.value(scalar)
        head = f"{self.dialect.inline} {kind} {helper_name(f'atomic_{stmt.op}_{stmt.order}', scalar)}"
        operands = [address, value]
        if stmt.expected is not None:
            operands.insert(1, self.expression(stmt.expected))
        return self.call(
            head + _atomic_body(stmt, kind, order), (f"atomic_{stmt.op}_{stmt.order}", scalar), *operands
        )


def _atomic_body(stmt: nodes.Atomic, kind: str, order: str) -> str:
    """Return the parameters and body of the helper of an atomic that no built-in makes alone."""
    failed = _ORDERS[_FAILED[stmt.order]]
    expected = f"{kind} expected, " if stmt.expected is not None else ""
    lines = [f"({kind} *at, {expected}{kind} value)", "{"]
    match stmt.op:
        case AtomicOp.EXCHANGE:
            lines += [f"  {kind} old;", f"  __atomic_exchange(at, &value, &old, {order});", "  return old;"]
        case AtomicOp.COMPARE_EXCHANGE:
            swap = f"__atomic_compare_exchange(at, &expected, &value, 0, {order}, {failed})"
            lines += [f"  {swap};", "  return expected;"]
        case _:
            lines += [
                f"  {kind} old, next;",
                "  __atomic_load(at, &old, __ATOMIC_RELAXED);",
                f"  do next = {_NEXT[stmt.op]};",
                f"  while (!__atomic_compare_exchange(at, &old, &next, 0, {order}, {failed}));",
                "  return old;",
            ]
    return "\n".join([*lines, "}"])


def _skips(parts: tuple[Part, ...]) -> bool:
    """Tell whether a `continue` of the loop around these parts is among them."""
    for part in parts:
        if isinstance(part, GroupLeave) and not part.leaves:
            return True
        if isinstance(part, GroupIf) and (_skips(part.then) or _skips(part.orelse)):
            return True
    return False
