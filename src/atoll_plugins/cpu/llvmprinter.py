"""How does a kernel look in LLVM IR for the processor? Loops over work-items, as in C.

Where a kernel with barriers splits is :mod:`atoll_plugins.cpu.fission`'s business here too.
Maths that is not exact is the C library's, called by its name.
"""

from __future__ import annotations

from typing import assert_never

from atoll.ir import BOOL, F32, I32, I64, SCALARS, U32, U64, Scalar, nodes, ops
from atoll.ir.ops import Compare, Math
from atoll_plugins.cpu.fission import (
    GroupIf,
    GroupLeave,
    GroupLoop,
    Part,
    Segment,
    group_bytes,
    returns,
    split,
    spread,
)
from atoll_plugins.cpu.flat import Flat, flat
from atoll_plugins.formats.core import Core
from atoll_plugins.formats.emission import Job
from atoll_plugins.formats.lowering import wide
from atoll_plugins.llvm.function import LlvmFunction, memory_type, value_type

#: What is called by name in the C library, with an `f` after it on f32.
LIBRARY = frozenset(
    {Math.EXP, Math.EXP2, Math.LOG, Math.LOG2, Math.SIN, Math.COS, Math.TAN, Math.TANH, Math.POW}
)
#: What says that a loop is to be vectorised; no other is.
_VECTORISED = ("!98 = distinct !{!98, !99}", '!99 = !{!"llvm.loop.vectorize.enable", i1 true}')
_HEAD = "; Made by Atoll from KIR: launch ABI 1, no contraction."
_PARAMETERS = "ptr %buffers, ptr %block, ptr %groups, ptr %group, i64 %first, i64 %last"


class CpuFunction(LlvmFunction):
    """One kernel as a function over a range of work-groups."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.parts = split(job.kernel.body) if job.waits else ()
        self.spread = spread(job.kernel, self.parts) if job.waits else frozenset[str]()
        self.mortal = job.waits and returns(job.kernel.body)
        self.flat: Flat | None = None if job.waits else flat(job.kernel, job.target)
        self.bases: dict[str, str] = {}
        self.sizes: list[str] = []
        self.counts: list[str] = []
        self.at: list[str] = []
        self.items: list[str] = []
        self.item = ""
        self.end = ""
        self.dead = ""
        self.places = {
            local.name: self._slot(local.name, value_type(wide(local.type))) for local in job.kernel.locals
        }
        self.memory = {
            name: self._slot(name, f"[{array.length} x {memory_type(array.element)}]")
            for name, array in self.arrays.items()
        }

    def _slot(self, name: str, kind: str) -> str:
        return self.stack(f"[{self._count_of_items()} x {kind}]" if name in self.spread else kind)

    def _count_of_items(self) -> int:
        return self.job.group[0] * self.job.group[1] * self.job.group[2]

    def group_bytes(self) -> int:
        """Return what a group takes of the stack."""
        return group_bytes(self.job.kernel, self.spread, self._count_of_items())

    def text(self) -> str:
        """Return the whole module."""
        self._read_inputs()
        test, body, end = self.name("groups"), self.name("group"), self.name("done")
        counter = self.stack("i64")
        self.line(f"store i64 %first, ptr {counter}")
        self.go(test)
        self.start(test)
        number = self.put(f"load i64, ptr {counter}")
        self.branch(self.put(f"icmp ult i64 {number}, %last"), body, end)
        self.start(body)
        self._place_group(number)
        if self.job.waits:
            self._group()
        else:
            self._items_of_group()
        self.line(f"store i64 {self.core(Core.ADD, U64, number, '1')}, ptr {counter}")
        self.go(test)
        self.start(end)
        self.line("ret void")
        head = [
            _HEAD,
            *sorted(self.declared.values()),
            f"define void @{self.job.kernel.symbol}({_PARAMETERS}){self.debug.function} {{",
        ]
        row = _VECTORISED if self.flat else ()
        tail = ["}", *row, *self.debug.text(self.job.kernel.symbol), ""]
        return "\n".join([*head, "entry:", *self.slots, *self.lines, *tail])

    def _read_inputs(self) -> None:
        for number, name in enumerate(self.job.layout.buffers):
            at = self.put(f"getelementptr ptr, ptr %buffers, i64 {number}")
            self.bases[name] = self.put(f"load ptr, ptr {at}")
        for item in self.job.layout.fields:
            at = self.put(f"getelementptr i8, ptr %block, i64 {item.offset}")
            scalar = SCALARS[item.type]
            kind = value_type(U32 if scalar == BOOL else wide(scalar))
            self.fields[item.path] = self.put(f"load {kind}, ptr {at}, align {item.nbytes}")
        for source, found in (("%group", self.sizes), ("%groups", self.counts)):
            for axis in range(3):
                at = self.put(f"getelementptr i32, ptr {source}, i64 {axis}")
                found.append(self.put(f"load i32, ptr {at}"))

    def _place_group(self, number: str) -> None:
        x, y = (self.put(f"zext i32 {self.counts[axis]} to i64") for axis in (0, 1))
        rows = self.core(Core.DIV, U64, number, x)
        found = [
            self.put(f"urem i64 {number}, {x}"),
            self.put(f"urem i64 {rows}, {y}"),
            self.core(Core.DIV, U64, rows, y),
        ]
        self.at = [self.put(f"trunc i64 {value} to i32") for value in found]

    # --- loops over work-items ---

    def _open(self, limit: str) -> tuple[str, str, str, str]:
        """Open a loop from 0; return its counter's value and slot, its test and its end."""
        test, body, end, counter = self.name("test"), self.name("item"), self.name("end"), self.stack("i32")
        self.line(f"store i32 0, ptr {counter}")
        self.go(test)
        self.start(test)
        value = self.put(f"load i32, ptr {counter}")
        self.branch(self.put(f"icmp ult i32 {value}, {limit}"), body, end)
        self.start(body)
        return value, counter, test, end

    def _close(self, loop: tuple[str, str, str, str], *, is_row: bool = False) -> None:
        value, counter, test, end = loop
        self.line(f"store i32 {self.core(Core.ADD, U32, value, '1')}, ptr {counter}")
        if is_row:
            self.line(f"br label %{test}, !llvm.loop !98")
        else:
            self.go(test)
        self.start(end)

    def _items_of_group(self) -> None:
        limits = [self._inside(axis) for axis in range(3)]
        if self.flat and self.flat.below:
            limits[0] = self._below(limits[0], self.expression(self.flat.below))
        loops = [self._open(limits[axis]) for axis in (2, 1, 0)]
        self.items = [loop[0] for loop in reversed(loops)]
        self._body(self.flat.body if self.flat else self.job.kernel.body)
        for loop in reversed(loops):
            self._close(loop, is_row=self.flat is not None and loop is loops[-1])

    def _below(self, limit: str, size: str) -> str:
        """Return how many of the first `limit` work-items of this group have an id below a size."""
        wide_at, wide_size, most = (
            self.put(f"zext i32 {value} to i64") for value in (self.at[0], self.sizes[0], limit)
        )
        first = self.core(Core.MUL, U64, wide_at, wide_size)
        none = self.compare(Compare.GE, U64, first, size)
        rest = self.select(U64, none, "0", self.core(Core.SUB, U64, size, first))
        less = self.compare(Compare.LT, U64, rest, most)
        return self.put(f"trunc i64 {self.select(U64, less, rest, most)} to i32")

    def address(self, base: str, indices: tuple[nodes.Expr, ...]) -> tuple[Scalar, str]:
        """Return an element's address; of a plain view the last step is 1 and the offset 0."""
        if base in self.arrays or not self.job.target.plain:
            return super().address(base, indices)
        *outer, last = indices
        index = self.expression(last)
        for axis, expr in enumerate(outer):
            step = self.core(Core.MUL, I64, self.expression(expr), self.field(f"{base}.stride.{axis}"))
            index = self.core(Core.ADD, I64, index, step)
        element = self.views[base]
        place = self.put(f"getelementptr {memory_type(element)}, ptr {self.base(base)}, i64 {index}")
        return element, f"ptr {place}"

    def _inside(self, axis: int) -> str:
        """Return how many work-items of this group lie in the domain."""
        wide_at, wide_size, limit = (
            self.put(f"zext i32 {value} to i64")
            for value in (self.at[axis], self.sizes[axis], self.field(f"domain.{axis}"))
        )
        first = self.core(Core.MUL, U64, wide_at, wide_size)
        none = self.compare(Compare.GE, U64, first, limit)
        rest = self.select(U64, none, "0", self.core(Core.SUB, U64, limit, first))
        less = self.compare(Compare.LT, U64, rest, wide_size)
        return self.put(f"trunc i64 {self.select(U64, less, rest, wide_size)} to i32")

    def _body(self, block: nodes.Block) -> None:
        self.end = self.name("next")
        if not self.statements(block):
            self.go(self.end)
        self.start(self.end)

    # --- with barriers ---

    def _group(self) -> None:
        if self.mortal:
            count = self._count_of_items()
            self.dead = self.dead or self.stack(f"[{count} x i1]")
            self.line(f"store [{count} x i1] zeroinitializer, ptr {self.dead}")
        self._parts(self.parts)

    def _parts(self, parts: tuple[Part, ...]) -> bool:
        """Write parts; tell whether they end in a jump."""
        for part in parts:
            match part:
                case Segment():
                    self._segment(part)
                case GroupIf():
                    self._group_if(part)
                case GroupLoop():
                    self._group_loop(part)
                case GroupLeave():
                    self.go(self.loops[-1][0 if part.leaves else 1])
                    return True
                case _:
                    assert_never(part)
        return False

    def _segment(self, segment: Segment) -> None:
        loop = self._open(str(self._count_of_items()))
        self.item = loop[0]
        if self.mortal:
            alive, skip = self.name("alive"), self.name("skip")
            self.branch(self._is_dead(), skip, alive)
            self.start(alive)
            self._body(segment.body)
            self.go(skip)
            self.start(skip)
        else:
            self._body(segment.body)
        self._close(loop)

    def _place_of_dead(self) -> str:
        return self.put(f"getelementptr i1, ptr {self.dead}, i32 {self.item}")

    def _is_dead(self) -> str:
        return self.put(f"load i1, ptr {self._place_of_dead()}")

    def _condition(self, expr: nodes.Expr) -> str:
        """Evaluate a condition once for the group, as its first work-item that still runs."""
        if not self.mortal:
            self.item = "0"
            return self.expression(expr)
        result = self.stack("i1")
        self.line(f"store i1 false, ptr {result}")
        loop = self._open(str(self._count_of_items()))
        self.item = loop[0]
        alive, skip = self.name("alive"), self.name("skip")
        self.branch(self._is_dead(), skip, alive)
        self.start(alive)
        self.line(f"store i1 {self.expression(expr)}, ptr {result}")
        self.go(loop[3])
        self.start(skip)
        self._close(loop)
        return self.put(f"load i1, ptr {result}")

    def _group_if(self, part: GroupIf) -> None:
        condition = self._condition(part.condition)
        then, orelse, merge = self.name("then"), self.name("else"), self.name("endif")
        self.branch(condition, then, orelse)
        for label, parts in ((then, part.then), (orelse, part.orelse)):
            self.start(label)
            if not self._parts(parts):
                self.go(merge)
        self.start(merge)

    def _group_loop(self, part: GroupLoop) -> None:
        test, body, step, end = (self.name(word) for word in ("loop", "body", "step", "end"))
        self.go(test)
        self.start(test)
        self.branch(self._condition(part.condition), body, end)
        self.start(body)
        self.loops.append((end, step))
        if not self._parts(part.body):
            self.go(step)
        self.loops.pop()
        self.start(step)
        self._parts(part.step)
        self.go(test)
        self.start(end)

    # --- what the function asks ---

    def _own(self, name: str, slot: str, kind: str) -> str:
        if name not in self.spread:
            return slot
        return self.put(f"getelementptr {kind}, ptr {slot}, i32 {self.item}")

    def slot(self, local: str) -> str:
        """Return a local's place: its own, or this work-item's."""
        return self._own(local, self.places[local], value_type(wide(self.scalars[local])))

    def place_of(self, array: str) -> tuple[str, str]:
        """Return an array's place: the group's, or this work-item's own."""
        item = self.arrays[array]
        return "ptr", self._own(array, self.memory[array], f"[{item.length} x {memory_type(item.element)}]")

    def base(self, view: str) -> str:
        """Return a buffer's address."""
        return self.bases[view]

    def barrier(self) -> None:
        """Never asked: a barrier ends a segment."""
        raise AssertionError("a barrier inside a segment")

    def leave(self) -> None:
        """End this work-item: it is skipped in every later segment."""
        if self.mortal:
            self.line(f"store i1 true, ptr {self._place_of_dead()}")
        self.go(self.end)

    def library(self, op: Math, scalar: Scalar, operands: list[str]) -> str:
        """Call the C library."""
        kind = value_type(scalar)
        return self.call(kind, f"{op}{'f' if scalar == F32 else ''}", [(kind, value) for value in operands])

    def builtin(self, op: ops.Id, dimension: int) -> str:
        """Return an id from the counters of the loops."""
        match op:
            case ops.Id.GROUP_ID:
                return self.at[dimension]
            case ops.Id.GROUP_SIZE:
                return self.sizes[dimension]
            case ops.Id.NUM_GROUPS:
                return self.counts[dimension]
            case ops.Id.LOCAL_ID:
                return self._local_id(dimension)
            case ops.Id.GLOBAL_ID:
                first = self.core(Core.MUL, I32, self.at[dimension], self.sizes[dimension])
                return self.core(Core.ADD, I32, first, self._local_id(dimension))
        raise AssertionError(f"{op} is emulated")

    def _local_id(self, dimension: int) -> str:
        if not self.job.waits:
            return self.items[dimension]
        width, height, _ = self.job.group
        if dimension == 0:
            return self.put(f"urem i32 {self.item}, {width}")
        rows = self.core(Core.DIV, U32, self.item, str(width * (height if dimension == 2 else 1)))
        return rows if dimension == 2 else self.put(f"urem i32 {rows}, {height}")


__all__ = ["LIBRARY", "CpuFunction"]
