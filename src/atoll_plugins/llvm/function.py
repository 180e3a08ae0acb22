"""How does a kernel's body become LLVM IR?

Control flow is blocks that come from the tree; locals are stack slots, which LLVM's own passes turn into
registers. Nothing carries a fast-math flag, so nothing is contracted or reassociated. A target subclasses
:class:`LlvmFunction` and says where ids, fields and memory are, and which maths exist: what LLVM cannot lower
ends the process, so only what is listed is written. Source: LLVM Language Reference, release 22.
"""

from __future__ import annotations

import struct
from abc import abstractmethod
from typing import assert_never

from atoll.ir import BOOL, F32, F64, I64, Scalar, nodes, ops
from atoll.ir.module import PrivateArray, SharedArray
from atoll.ir.ops import AtomicOp, Cast, Compare, Math, Order, Unary
from atoll.ir.walk import expressions
from atoll_plugins.formats.core import Core
from atoll_plugins.formats.emission import Job
from atoll_plugins.formats.lowering import Lowering, wide
from atoll_plugins.llvm.lines import DebugLines

_CORE = {
    Core.ADD: "add", Core.SUB: "sub", Core.MUL: "mul", Core.AND: "and", Core.OR: "or", Core.XOR: "xor",
    Core.SHL: "shl", Core.FADD: "fadd", Core.FSUB: "fsub", Core.FMUL: "fmul", Core.FDIV: "fdiv",
}  # fmt: skip
_CONVERT = {
    Cast.SEXT: "sext", Cast.ZEXT: "zext", Cast.TRUNC: "trunc", Cast.SITOF: "sitofp", Cast.UITOF: "uitofp",
    Cast.FTOSI: "fptosi", Cast.FTOUI: "fptoui", Cast.FEXT: "fpext", Cast.FTRUNC: "fptrunc",
    Cast.BITS: "bitcast",
}  # fmt: skip
_FLOAT_COMPARE = {Compare.EQ: "oeq", Compare.NE: "une"}
_ROUNDED = {
    Math.SQRT: "sqrt", Math.FLOOR: "floor", Math.CEIL: "ceil", Math.TRUNC: "trunc", Math.RINT: "rint",
    Math.FMA: "fma",
}  # fmt: skip
_ATOMICS = {
    AtomicOp.ADD: "add", AtomicOp.AND: "and", AtomicOp.OR: "or", AtomicOp.XOR: "xor",
    AtomicOp.EXCHANGE: "xchg",
}  # fmt: skip
_ORDERS = {
    Order.RELAXED: "monotonic", Order.ACQUIRE: "acquire", Order.RELEASE: "release", Order.ACQ_REL: "acq_rel",
}  # fmt: skip
_FAILED = {
    Order.RELAXED: "monotonic", Order.ACQUIRE: "acquire",
    Order.RELEASE: "monotonic", Order.ACQ_REL: "acquire",
}  # fmt: skip


def value_type(scalar: Scalar) -> str:
    """Return the type of a value of a wide type or a bool."""
    if scalar.is_float:
        return "float" if scalar == F32 else "double"
    return f"i{scalar.bits}"


def memory_type(scalar: Scalar) -> str:
    """Return the type of an element in memory."""
    return value_type(scalar) if scalar in (F32, F64) else f"i{scalar.nbytes * 8}"


class LlvmFunction(Lowering[str]):
    """One kernel under construction; a value is a register or a literal."""

    #: The pointer types of the spaces: of a buffer, of the group's memory, of a work-item's own.
    GLOBAL, SHARED, OWN = "ptr", "ptr", "ptr"
    #: What stands after the type of an `alloca`.
    OWN_SPACE = ""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.slots: list[str] = []
        self.lines: list[str] = []
        self.declared: dict[str, str] = {}
        self.here = "entry"
        self.loops: list[tuple[str, str]] = []
        self.scalars = {local.name: local.type for local in job.kernel.locals}
        arrays: list[SharedArray | PrivateArray] = [*job.kernel.shared, *job.kernel.arrays]
        self.arrays = {item.name: item for item in arrays}
        self.views = {view.name: view.type.element for view in job.kernel.views}  # type: ignore[union-attr]
        self.fields: dict[str, str] = {}
        self.debug = DebugLines(wanted=job.target.lines)
        self._count = 0

    # --- what a target says ---

    @abstractmethod
    def place_of(self, array: str) -> tuple[str, str]:
        """Return the pointer type and the address of a shared array or a work-item's own."""

    @abstractmethod
    def slot(self, local: str) -> str:
        """Return the address of a local."""

    @abstractmethod
    def base(self, view: str) -> str:
        """Return the address of a buffer."""

    @abstractmethod
    def barrier(self) -> None:
        """Write a barrier."""

    def subgroup(self, stmt: nodes.SubGroup) -> str:
        """Do an operation of a sub-group; where there are none it is emulated before."""
        raise AssertionError(f"{stmt.op} of a sub-group")

    @abstractmethod
    def leave(self) -> None:
        """Write the end of this work-item: a terminator."""

    @abstractmethod
    def library(self, op: Math, scalar: Scalar, operands: list[str]) -> str:
        """Call a function that is neither exact nor made here."""

    def scope(self, _scope: ops.Scope) -> str:
        """Return the scope of an atomic, with a space after it."""
        return ""

    # --- text ---

    def name(self, word: str = "v") -> str:
        """Return a new name."""
        self._count += 1
        return f"{word}{self._count}"

    def line(self, text: str) -> None:
        """Add a line."""
        self.lines.append(f"  {text}{self.debug.suffix}")

    def put(self, text: str) -> str:
        """Write an instruction and return its result."""
        result = f"%{self.name()}"
        self.line(f"{result} = {text}")
        return result

    def start(self, label: str) -> None:
        """Start a block."""
        self.lines.append(f"{label}:")
        self.here = label

    def go(self, label: str) -> None:
        """Jump."""
        self.line(f"br label %{label}")

    def branch(self, condition: str, yes: str, no: str) -> None:
        """Jump as a condition says."""
        self.line(f"br i1 {condition}, label %{yes}, label %{no}")

    def stack(self, kind: str) -> str:
        """Return a new place on the stack, made at the entry."""
        result = f"%{self.name('s')}"
        self.slots.append(f"  {result} = alloca {kind}, align 8{self.OWN_SPACE}")
        return result

    def call(self, result: str, function: str, operands: list[tuple[str, str]]) -> str:
        """Call a function, declared once."""
        kinds = ", ".join(kind for kind, _ in operands)
        self.declared[function] = f"declare {result} @{function}({kinds})"
        given = ", ".join(f"{kind} {value}" for kind, value in operands)
        text = f"call {result} @{function}({given})"
        if result != "void":
            return self.put(text)
        self.line(text)
        return ""

    # --- the core ---

    def constant(self, scalar: Scalar, bits: int) -> str:
        """Return a literal."""
        if scalar == BOOL:
            return "true" if bits else "false"
        if scalar == F32:
            bits = int.from_bytes(struct.pack("<d", float(nodes.value_of(F32, bits))), "little")
        if scalar.is_float:
            return f"0x{bits:016X}"
        return str(int(nodes.value_of(scalar, bits)))

    def core(self, op: Core, scalar: Scalar, left: str, right: str) -> str:
        """Apply an operation of the core."""
        if op is Core.DIV:
            word = "sdiv" if scalar.is_signed else "udiv"
        elif op is Core.SHR:
            word = "ashr" if scalar.is_signed else "lshr"
        else:
            word = _CORE[op]
        return self.put(f"{word} {value_type(scalar)} {left}, {right}")

    def compare(self, op: Compare, scalar: Scalar, left: str, right: str) -> str:
        """Compare."""
        if scalar.is_float:
            word = f"fcmp {_FLOAT_COMPARE.get(op, f'o{op}')}"
        elif op in (Compare.EQ, Compare.NE):
            word = f"icmp {op}"
        else:
            word = f"icmp {'s' if scalar.is_signed else 'u'}{op}"
        return self.put(f"{word} {value_type(scalar)} {left}, {right}")

    def select(self, scalar: Scalar, condition: str, yes: str, no: str) -> str:
        """Choose."""
        kind = value_type(scalar)
        return self.put(f"select i1 {condition}, {kind} {yes}, {kind} {no}")

    def convert(self, op: Cast, source: Scalar, target: Scalar, value: str) -> str:
        """Convert."""
        return self.put(f"{_CONVERT[op]} {value_type(source)} {value} to {value_type(target)}")

    def float_unary(self, op: Unary, scalar: Scalar, value: str) -> str:
        """Negate or take the absolute value."""
        if op is Unary.FNEG:
            return self.put(f"fneg {value_type(scalar)} {value}")
        return self._intrinsic("fabs", scalar, [value])

    def _intrinsic(self, word: str, scalar: Scalar, operands: list[str]) -> str:
        kind = value_type(scalar)
        return self.call(kind, f"llvm.{word}.{scalar}", [(kind, value) for value in operands])

    def maths(self, expr: nodes.MathCall, operands: list[str]) -> str:
        """Call a function."""
        if expr.op in _ROUNDED:
            return self._intrinsic(_ROUNDED[expr.op], expr.type, operands)
        if expr.op is Math.RSQRT:
            root = self._intrinsic("sqrt", expr.type, operands)
            return self.core(Core.FDIV, expr.type, self.number(expr.type, 1.0), root)
        return self.library(expr.op, expr.type, operands)

    def logical(self, expr: nodes.Logical) -> str:
        """Branch around the right side where it may load; else evaluate both."""
        left = self.expression(expr.left)
        conjunction = expr.op is ops.Logical.LAND
        if not any(isinstance(item, nodes.Load) for item in expressions(expr.right)):
            return self.core(Core.AND if conjunction else Core.OR, BOOL, left, self.expression(expr.right))
        decided = self.here
        further, merge = self.name("further"), self.name("decided")
        self.branch(left, *((further, merge) if conjunction else (merge, further)))
        self.start(further)
        right = self.expression(expr.right)
        arrived = self.here
        self.go(merge)
        self.start(merge)
        known = "false" if conjunction else "true"
        return self.put(f"phi i1 [ {known}, %{decided} ], [ {right}, %{arrived} ]")

    def field(self, path: str) -> str:
        """Return a field, read at the entry."""
        return self.fields[path]

    def read_local(self, name: str) -> str:
        """Load a local."""
        return self.put(f"load {value_type(wide(self.scalars[name]))}, {self.OWN} {self.slot(name)}")

    # --- memory ---

    def address(self, base: str, indices: tuple[nodes.Expr, ...]) -> tuple[Scalar, str]:
        """Return the element and the address, with its type before it."""
        if base in self.arrays:
            element = self.arrays[base].element
            space, start = self.place_of(base)
            index, width = self.expression(indices[0]), "i32"
        else:
            element, space, start, width = self.views[base], self.GLOBAL, self.base(base), "i64"
            index = self.field(f"{base}.offset")
            for axis, expr in enumerate(indices):
                step = self.core(Core.MUL, I64, self.expression(expr), self.field(f"{base}.stride.{axis}"))
                index = self.core(Core.ADD, I64, index, step)
        place = self.put(f"getelementptr {memory_type(element)}, {space} {start}, {width} {index}")
        return element, f"{space} {place}"

    def load(self, expr: nodes.Load) -> str:
        """Load an element and bring it into its wide form."""
        element, place = self.address(expr.base, expr.indices)
        kind = memory_type(element)
        value = self.put(f"load {kind}, {place}, align {element.nbytes}")
        if kind == value_type(wide(element)):
            return value
        return self.put(
            f"{'sext' if element.is_signed else 'zext'} {kind} {value} to {value_type(wide(element))}"
        )

    def _to_memory(self, element: Scalar, value: str) -> str:
        kind, held = memory_type(element), value_type(wide(element))
        return value if kind == held else self.put(f"trunc {held} {value} to {kind}")

    # --- statements ---

    def statements(self, block: nodes.Block) -> bool:
        """Write statements; tell whether they end in a jump."""
        return any(self.statement(stmt) for stmt in block)

    def statement(self, stmt: nodes.Stmt) -> bool:
        """Write one statement; tell whether the way ends here."""
        self.debug.at(stmt.span)
        match stmt:
            case nodes.Assign():
                self.assign(stmt.local, self.expression(stmt.value))
            case nodes.Store():
                element, place = self.address(stmt.base, stmt.indices)
                value = self._to_memory(element, self.expression(stmt.value))
                self.line(f"store {memory_type(element)} {value}, {place}, align {element.nbytes}")
            case nodes.If():
                return self._if(stmt)
            case nodes.Loop():
                self._loop(stmt)
            case nodes.Break():
                self.go(self.loops[-1][0])
            case nodes.Continue():
                self.go(self.loops[-1][1])
            case nodes.Return():
                self.leave()
            case nodes.Atomic():
                self._atomic(stmt)
            case nodes.Barrier() | nodes.Fence() | nodes.SubGroup() | nodes.ExternCall() | nodes.Inline():
                self._together(stmt)
            case _:
                assert_never(stmt)
        return isinstance(stmt, nodes.Break | nodes.Continue | nodes.Return)

    def _together(self, stmt: nodes.Together) -> None:
        match stmt:
            case nodes.Barrier():
                self.barrier()
            case nodes.Fence():
                self.line(f"fence {self.scope(stmt.scope)}acq_rel")
            case nodes.SubGroup():
                self.assign(stmt.result, self.subgroup(stmt))
            case nodes.ExternCall():
                raise AssertionError("an extern is refused before")
            case nodes.Inline():
                raise AssertionError("inline code is refused before")  # llvmlite has no assembler of AMD's

    def assign(self, local: str, value: str) -> None:
        """Store a local."""
        self.line(f"store {value_type(wide(self.scalars[local]))} {value}, {self.OWN} {self.slot(local)}")

    def _if(self, stmt: nodes.If) -> bool:
        condition = self.expression(stmt.condition)
        then, orelse, merge = self.name("then"), self.name("else"), self.name("endif")
        self.branch(condition, then, orelse)
        ended = self._arm(then, stmt.then, merge)
        ended &= self._arm(orelse, stmt.orelse, merge)
        self.start(merge)
        if ended:
            self.line("unreachable")
        return ended

    def _arm(self, label: str, block: nodes.Block, merge: str) -> bool:
        self.start(label)
        ended = self.statements(block)
        if not ended:
            self.go(merge)
        return ended

    def _loop(self, stmt: nodes.Loop) -> None:
        test, body, step, end = (self.name(word) for word in ("loop", "body", "step", "end"))
        self.go(test)
        self.start(test)
        self.branch(self.expression(stmt.condition), body, end)
        self.start(body)
        self.loops.append((end, step))
        if not self.statements(stmt.body):
            self.go(step)
        self.loops.pop()
        self.start(step)
        self.statements(stmt.step)
        self.go(test)
        self.start(end)

    def _atomic(self, stmt: nodes.Atomic) -> None:
        element, place = self.address(stmt.base, stmt.indices)
        kind, scope = value_type(element), self.scope(stmt.scope)
        order, align = _ORDERS[stmt.order], f"align {element.nbytes}"
        if stmt.expected is not None:
            expected, value = self.expression(stmt.expected), self.expression(stmt.value)
            both = f"{kind} {expected}, {kind} {value} {scope}{order} {_FAILED[stmt.order]}"
            pair = self.put(f"cmpxchg {place}, {both}, {align}")
            old = self.put(f"extractvalue {{ {kind}, i1 }} {pair}, 0")
        else:
            word = self._atomic_word(stmt.op, element)
            old = self.put(
                f"atomicrmw {word} {place}, {kind} {self.expression(stmt.value)} {scope}{order}, {align}"
            )
        if stmt.result is not None:
            self.assign(stmt.result, old)

    def _atomic_word(self, op: AtomicOp, element: Scalar) -> str:
        if op in (AtomicOp.MIN, AtomicOp.MAX):
            return f"{'' if element.is_signed else 'u'}{op}"
        return "fadd" if element.is_float and op is AtomicOp.ADD else _ATOMICS[op]


__all__ = ["LlvmFunction", "memory_type", "value_type"]
