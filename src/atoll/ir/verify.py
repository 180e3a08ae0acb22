"""Is this module valid KIR? Types, names, definitions before use, places of break, uniform barriers.

Every pass that changes a module runs this after it; an emitter may rely on what it holds. Barrier
uniformity lives in :mod:`atoll.ir.uniform`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from atoll.diagnostics import Diagnostic, Span
from atoll.errors import CompileError
from atoll.ir import nodes as n
from atoll.ir import ops
from atoll.ir.module import LINK, NAME, Kernel, Module, PrivateArray, SharedArray
from atoll.ir.names import is_reserved
from atoll.ir.text import expression
from atoll.ir.types import BOOL, I32, I64, MAX_RANK, Kind, Scalar, View
from atoll.ir.uniform import divergent_barriers, divergent_subgroups
from atoll.ir.walk import expressions, operands

#: The deepest nesting of an expression, and of blocks; every later visit may recurse.
MAX_DEPTH = 100
#: The most faults that one refusal lists.
MAX_FAULTS = 20
#: The most bytes of arrays that each work-item has for itself.
MAX_PRIVATE = 4096


def verify(module: Module) -> Module:
    """Return the module where it is valid.

    Raises:
        CompileError: With every fault (20 at the most), each with its span.
    """
    faults: list[Diagnostic] = []
    seen: set[str] = set()
    for kernel in module.kernels:
        if kernel.name in seen:
            faults.append(_fault(f"two kernels named `{kernel.name}`", kernel.span))
        seen.add(kernel.name)
        faults += _Check(kernel).run()
    if faults:
        raise CompileError(*faults[:MAX_FAULTS])
    return module


def _fault(message: str, span: Span | None) -> Diagnostic:
    return Diagnostic(code="ATL0702", message=message, span=span)


@dataclass(slots=True)
class _Check:
    kernel: Kernel
    faults: list[Diagnostic] = field(default_factory=list)
    scalars: dict[str, Scalar] = field(default_factory=dict)
    locals: dict[str, Scalar] = field(default_factory=dict)
    views: dict[str, View] = field(default_factory=dict)
    shared: dict[str, Scalar] = field(default_factory=dict)
    private: set[str] = field(default_factory=set)
    #: For each loop around a place, what is defined at its breaks.
    breaks: list[list[frozenset[str]]] = field(default_factory=list)

    def run(self) -> list[Diagnostic]:
        self.declare()
        self.block(self.kernel.body, frozenset(), 0, loop=False, step=False)
        if not self.faults:
            self.faults += divergent_barriers(self.kernel) + divergent_subgroups(self.kernel)
        return self.faults

    def fault(self, message: str, span: Span | None) -> None:
        self.faults.append(_fault(message, span or self.kernel.span))

    # --- declarations ---

    def declare(self) -> None:
        kernel = self.kernel
        names = [param.name for param in kernel.params]
        names += [item.name for item in kernel.shared] + [item.name for item in kernel.arrays]
        names += [item.name for item in kernel.locals]
        self.declare_externs()
        for name in (kernel.name, *names):
            if not NAME.fullmatch(name) or is_reserved(name):
                self.fault(f"`{name}` is no KIR name", kernel.span)
        for name in {name for name in names if names.count(name) > 1}:
            self.fault(f"`{name}` is declared twice", kernel.span)
        for param in kernel.params:
            if isinstance(param.type, View):
                self.views[param.name] = param.type
                if not 1 <= param.type.rank <= MAX_RANK or param.type.element == BOOL:
                    self.fault(f"`{param.name}` cannot be a {param.type}", param.span)
            else:
                self.scalars[param.name] = param.type
        self.private = {item.name for item in kernel.arrays}
        if sum(item.length * item.element.nbytes for item in kernel.arrays) > MAX_PRIVATE:
            self.fault(f"the arrays of a work-item take more than {MAX_PRIVATE} bytes", kernel.span)
        arrays: list[SharedArray | PrivateArray] = [*kernel.shared, *kernel.arrays]
        for item in arrays:
            self.shared[item.name] = item.element
            if not 1 <= item.length < 1 << 31 or item.element == BOOL:
                self.fault(f"`{item.name}` cannot be {item.length} elements of {item.element}", item.span)
        self.locals = {item.name: item.type for item in kernel.locals}
        if any(not 0 <= size < 1 << 31 for size in kernel.group):
            self.fault(f"no work-group has the size {kernel.group}", kernel.span)

    def declare_externs(self) -> None:
        for extern in self.kernel.externs:
            if not LINK.fullmatch(extern.link) or not NAME.fullmatch(extern.name):
                self.fault(f"`{extern.name}` cannot be linked from {extern.link!r}", extern.span)
        if len({extern.name for extern in self.kernel.externs}) != len(self.kernel.externs):
            self.fault("a function is declared twice", self.kernel.span)

    # --- statements ---

    def block(
        self, block: n.Block, defined: frozenset[str], depth: int, *, loop: bool, step: bool
    ) -> frozenset[str] | None:
        """Check a block; return what is defined after it, None where its end is not reached."""
        if depth > MAX_DEPTH:
            self.fault("blocks are nested too deep", None)
            return defined
        live: frozenset[str] | None = defined
        for stmt in block:
            if live is None:
                self.fault("this statement is never reached", stmt.span)
                return None
            live = self.statement(stmt, live, depth, loop=loop, step=step)
        return live

    def statement(
        self, stmt: n.Stmt, defined: frozenset[str], depth: int, *, loop: bool, step: bool
    ) -> frozenset[str] | None:
        match stmt:
            case n.Assign():
                self.value(stmt.value, defined, self.locals.get(stmt.local), f"local `{stmt.local}`")
                return self.define(stmt.local, defined, stmt.span)
            case n.Store():
                element = self.element(stmt.base, stmt.indices, defined, stmt.span)
                self.value(stmt.value, defined, element, f"an element of `{stmt.base}`")
            case n.If():
                self.value(stmt.condition, defined, BOOL, "a condition")
                then = self.block(stmt.then, defined, depth + 1, loop=loop, step=step)
                orelse = self.block(stmt.orelse, defined, depth + 1, loop=loop, step=step)
                return orelse if then is None else then if orelse is None else then & orelse
            case n.Loop():
                return self.loop(stmt, defined, depth, step)
            case n.Atomic():
                return self.atomic(stmt, defined)
            case n.Break() | n.Continue() | n.Return():
                self.leave(stmt, defined, loop=loop, step=step)
                return None
            case n.ExternCall():
                return self.extern_call(stmt, defined, step=step)
            case n.Inline():
                return self.inline(stmt, defined)
            case n.SubGroup():
                return self.subgroup(stmt, defined, step=step)
            case n.Barrier():
                if step or stmt.scope is not ops.Scope.WORK_GROUP:
                    self.fault("a barrier of this kind cannot stand here", stmt.span)
        return defined

    def leave(
        self, stmt: n.Break | n.Continue | n.Return, defined: frozenset[str], *, loop: bool, step: bool
    ) -> None:
        word = type(stmt).__name__.lower()
        if isinstance(stmt, n.Return):
            if step:
                self.fault("`return` stands in a loop's step", stmt.span)
        elif not loop or step:
            self.fault(f"`{word}` stands outside a loop's body", stmt.span)
        elif isinstance(stmt, n.Break):
            self.breaks[-1].append(defined)

    def loop(self, stmt: n.Loop, defined: frozenset[str], depth: int, step: bool) -> frozenset[str] | None:
        self.value(stmt.condition, defined, BOOL, "a condition")
        if step:
            self.fault("a loop stands in a loop's step", stmt.span)
        self.breaks.append([])
        self.block(stmt.body, defined, depth + 1, loop=True, step=False)
        # The step also runs after `continue`: it may only rely on what was defined before the body.
        self.block(stmt.step, defined, depth + 1, loop=True, step=True)
        breaks = self.breaks.pop()
        if stmt.condition != n.Const(BOOL, 1):
            return defined
        return frozenset.intersection(*breaks) if breaks else None  # an endless loop ends at its breaks

    def atomic(self, stmt: n.Atomic, defined: frozenset[str]) -> frozenset[str]:
        element = self.element(stmt.base, stmt.indices, defined, stmt.span)
        self.value(stmt.value, defined, element, f"an element of `{stmt.base}`")
        if stmt.base in self.private:
            self.fault(f"no atomic on `{stmt.base}`, which no other work-item sees", stmt.span)
        swap = stmt.op is ops.AtomicOp.COMPARE_EXCHANGE
        if swap != (stmt.expected is not None):
            self.fault("only compare_exchange has an expected value", stmt.span)
        if stmt.expected is not None:
            self.value(stmt.expected, defined, element, f"an element of `{stmt.base}`")
        floating = stmt.op in (ops.AtomicOp.ADD, ops.AtomicOp.EXCHANGE)
        if element is not None and not (element.is_integer or (element.is_float and floating)):
            self.fault(f"no atomic {stmt.op} on {element}", stmt.span)
        if element is not None and element.bits < 32:
            self.fault(f"no atomic on {element}, which is narrower than 32 bits", stmt.span)
        if stmt.result is None:
            return defined
        if self.locals.get(stmt.result) != element:
            self.fault(f"local `{stmt.result}` is no {element}", stmt.span)
        return self.define(stmt.result, defined, stmt.span)

    def extern_call(self, stmt: n.ExternCall, defined: frozenset[str], *, step: bool) -> frozenset[str]:
        known = next((item for item in self.kernel.externs if item.name == stmt.function), None)
        if known is None or len(known.params) != len(stmt.arguments) or step:
            self.fault(f"no call of `{stmt.function}` can stand here", stmt.span)
            return defined
        for argument, wanted in zip(stmt.arguments, known.params, strict=True):
            self.value(argument, defined, wanted, f"an argument of `{stmt.function}`")
        if stmt.result is None:
            return defined
        if self.locals.get(stmt.result) != known.result:
            self.fault(f"local `{stmt.result}` is no {known.result}", stmt.span)
        return self.define(stmt.result, defined, stmt.span)

    def inline(self, stmt: n.Inline, defined: frozenset[str]) -> frozenset[str]:
        reason = inline_fault(stmt)
        if reason or len(stmt.bases) != len(stmt.operands):
            self.fault(reason or "an operand of inline code has no base", stmt.span)
            return defined
        for base, operand in zip(stmt.bases, stmt.operands, strict=True):
            if base:
                self.element(base, (operand,), defined, stmt.span)
                if base in self.private:
                    self.fault(f"`{base}` is a work-item's own and has no address", stmt.span)
            else:
                self.value(operand, defined, None, "an operand")
                if operand.type.bits < 32:
                    self.fault(f"an operand of inline code is no {operand.type}", stmt.span)
        if stmt.result is None:
            return defined
        held = self.locals.get(stmt.result)
        narrow = held is not None and held.bits < 32 and stmt.language is not ops.Inline.MISSING
        if narrow:
            self.fault(f"the result of inline code is no {held}", stmt.span)
        return self.define(stmt.result, defined, stmt.span)

    def subgroup(self, stmt: n.SubGroup, defined: frozenset[str], *, step: bool) -> frozenset[str]:
        self.value(stmt.value, defined, self.locals.get(stmt.result), f"local `{stmt.result}`")
        if stmt.lane is not None:
            self.value(stmt.lane, defined, I32, "a lane")
        if (stmt.lane is None) == (stmt.op in ops.WITH_LANE):
            self.fault("only broadcast and shuffle name a lane", stmt.span)
        if not _subgroup_allows(stmt.op, stmt.value.type):
            self.fault(f"no sub-group operation {stmt.op} on {stmt.value.type}", stmt.span)
        if step:
            self.fault("a sub-group operation stands in a loop's step", stmt.span)
        return self.define(stmt.result, defined, stmt.span)

    def define(self, name: str, defined: frozenset[str], span: Span | None) -> frozenset[str]:
        if name not in self.locals:
            self.fault(f"local `{name}` is not declared", span)
        return defined | {name}

    # --- expressions ---

    def element(
        self, base: str, indices: tuple[n.Expr, ...], defined: frozenset[str], span: Span | None
    ) -> Scalar | None:
        if base in self.views:
            rank, index, element = self.views[base].rank, I64, self.views[base].element
        elif base in self.shared:
            rank, index, element = 1, I32, self.shared[base]
        else:
            self.fault(f"`{base}` is no view and no array", span)
            return None
        if len(indices) != rank:
            self.fault(f"`{base}` takes {rank} indices, not {len(indices)}", span)
        for expr in indices:
            self.value(expr, defined, index, f"an index of `{base}`")
        return element

    def value(self, expr: n.Expr, defined: frozenset[str], wanted: Scalar | None, what: str) -> None:
        if _too_deep(expr):
            self.fault("the expression is nested too deep", expr.span)
            return
        before = len(self.faults)
        self.expression(expr, defined)
        if len(self.faults) == before and wanted is not None and expr.type != wanted:
            self.fault(f"{what} is {wanted}, the value is {expr.type}", expr.span)

    def expression(self, expr: n.Expr, defined: frozenset[str]) -> None:
        for operand in () if isinstance(expr, n.Load) else operands(expr):
            self.expression(operand, defined)
        match expr:
            case n.Param() if self.scalars.get(expr.name) != expr.type:
                self.fault(f"no parameter `{expr.name}` of type {expr.type}", expr.span)
            case n.Local():
                self.local(expr, defined)
            case n.Load():
                if self.element(expr.base, expr.indices, defined, expr.span) not in (expr.type, None):
                    self.fault(f"an element of `{expr.base}` is no {expr.type}", expr.span)
            case n.ViewInfo():
                self.view_info(expr)
            case _:
                reason = _operation_fault(expr)
                if reason:
                    self.fault(reason, expr.span)

    def local(self, expr: n.Local, defined: frozenset[str]) -> None:
        if self.locals.get(expr.name) != expr.type:
            self.fault(f"no local `{expr.name}` of type {expr.type}", expr.span)
        elif expr.name not in defined:
            self.fault(f"local `{expr.name}` may be read before it is assigned", expr.span)

    def view_info(self, expr: n.ViewInfo) -> None:
        rank = self.views[expr.view].rank if expr.view in self.views else 0
        limit = min(rank, 1) if expr.op is ops.Extent.OFFSET else rank
        if not 0 <= expr.dimension < limit:
            self.fault(f"no {expr.op}.{expr.dimension} of `{expr.view}`", expr.span)


#: The longest text of inline code, in characters.
MAX_INLINE = 4000
_INLINE = re.compile(r"[ -~\n]*")
_CONSTRAINT = re.compile(r"=?[A-Za-z][A-Za-z0-9]*")
_PLACE = re.compile(r"\$(\$|[0-9]+)?")


def inline_fault(stmt: n.Inline) -> str | None:
    """Return what is wrong with the text and the constraints of inline code, or None."""
    if stmt.language is ops.Inline.MISSING:
        return None
    if len(stmt.text) > MAX_INLINE or not _INLINE.fullmatch(stmt.text):
        return f"inline code is at most {MAX_INLINE} characters of printable ASCII"
    listed = stmt.constraints.split(",") if stmt.constraints else []
    for at, item in enumerate(listed):
        known = _CONSTRAINT.fullmatch(item) and (at == 0 or not item.startswith("="))
        if not known and item != n.MEMORY:
            return f"`{item}` is no constraint here"
    if len(stmt.parts) != len(stmt.operands):
        return f"{len(stmt.parts)} constraints stand for {len(stmt.operands)} operands"
    if stmt.result is None and stmt.output is None and not stmt.writes:
        return f"inline code without a result does nothing unless it says `{n.MEMORY}`"
    if (stmt.result is not None) and stmt.output is None:
        return "inline code without an output has no result"
    count = len(stmt.parts) + (stmt.output is not None)
    for found in _PLACE.finditer(stmt.text):
        if found[1] is None or (found[1] != "$" and int(found[1]) >= count):
            return f"`{found[0]}` names no operand: there are {count}"
    return None


def _subgroup_allows(op: ops.SubGroup, scalar: Scalar) -> bool:
    if op in ops.VOTES:
        return scalar == BOOL
    if op in (ops.SubGroup.AND, ops.SubGroup.OR, ops.SubGroup.XOR):
        return scalar.is_integer and scalar.bits >= 32
    return scalar.bits >= 32


def _too_deep(expr: n.Expr) -> bool:
    level: list[n.Expr] = [expr]
    for _ in range(MAX_DEPTH):
        level = [operand for item in level for operand in operands(item)]
        if not level:
            return False
    return True


def _operation_fault(expr: n.Expr) -> str | None:
    """Return what is wrong with the operand types of an operation, or None."""
    match expr:
        case n.Const():
            fits = 0 <= expr.bits < 1 << expr.type.bits
            return None if fits else f"a constant's bits are no {expr.type}"
        case n.Builtin():
            axes = 1 if expr.op in ops.SUBGROUP_IDS else 3
            return None if 0 <= expr.dimension < axes else f"no dimension {expr.dimension} of {expr.op}"
        case n.Unary():
            return _typed(expr.op, expr.type, _unary_allows(expr.op, expr.type))
        case n.Binary() if expr.left.type != expr.right.type:
            return _differ(expr.op, expr.left, expr.right)
        case n.Binary():
            return _typed(expr.op, expr.left.type, _binary_allows(expr.op, expr.left.type))
        case n.Compare() if expr.left.type != expr.right.type:
            return _differ(expr.op, expr.left, expr.right)
        case n.Compare():
            equality = expr.op in (ops.Compare.EQ, ops.Compare.NE)
            return _typed(expr.op, expr.left.type, expr.left.type != BOOL or equality)
        case n.Logical():
            other = expr.left.type if expr.left.type != BOOL else expr.right.type
            return _typed(expr.op, other, other == BOOL)
        case n.Select():
            return _select_fault(expr)
        case n.MathCall():
            return _math_fault(expr)
        case n.Cast():
            allowed = cast_allows(expr.op, expr.operand.type, expr.type)
            return None if allowed else f"`{expr.op}` does not convert {expr.operand.type} to {expr.type}"
    return None


def _typed(op: object, scalar: Scalar, allowed: bool) -> str | None:
    return None if allowed else f"`{op}` does not take {scalar}"


def _differ(op: object, left: n.Expr, right: n.Expr) -> str:
    return f"`{op}` takes two operands of one type, not {left.type} and {right.type}"


def _unary_allows(op: ops.Unary, scalar: Scalar) -> bool:
    if op in ops.FLOAT_UNARY:
        return scalar.is_float
    return scalar.is_integer or (op is ops.Unary.NOT and scalar == BOOL)


def _binary_allows(op: ops.Binary, scalar: Scalar) -> bool:
    if op in ops.FLOAT_BINARY:
        return scalar.is_float
    return scalar.is_integer or (op in ops.BITWISE and scalar == BOOL)


def _select_fault(expr: n.Select) -> str | None:
    if expr.condition.type != BOOL:
        return _typed("select", expr.condition.type, False)
    if expr.yes.type != expr.no.type:
        return _differ("select", expr.yes, expr.no)
    eager = (node for side in (expr.yes, expr.no) for node in expressions(side))
    if any(isinstance(node, n.Load) for node in eager):
        return f"`select` evaluates both sides, so neither may load: {expression(expr)[:80]}"
    return None


def _math_fault(expr: n.MathCall) -> str | None:
    if len(expr.operands) != ops.MATH_ARITY[expr.op]:
        return f"`{expr.op}` takes {ops.MATH_ARITY[expr.op]} operands, not {len(expr.operands)}"
    if any(operand.type != expr.type for operand in expr.operands):
        return f"`{expr.op}` takes operands of one type"
    return _typed(expr.op, expr.type, expr.type.is_float)


def cast_allows(op: ops.Cast, source: Scalar, result: Scalar) -> bool:
    """Tell whether a cast converts `source` to `result`."""
    wider, same = result.bits > source.bits, result.bits == source.bits
    match op:
        case ops.Cast.SEXT:
            return source.is_signed and result.is_integer and wider
        case ops.Cast.ZEXT:
            return source.kind in (Kind.UNSIGNED, Kind.BOOL) and result.is_integer and wider
        case ops.Cast.TRUNC:
            return source.is_integer and result.is_integer and result.bits < source.bits
        case ops.Cast.SIGN:
            return source.is_integer and result.is_integer and same and source.kind != result.kind
        case ops.Cast.BITS:
            return same and {source.is_float, result.is_float} == {True, False} and source.bits > 1
        case ops.Cast.SITOF:
            return source.is_signed and result.is_float
        case ops.Cast.UITOF:
            return source.kind in (Kind.UNSIGNED, Kind.BOOL) and result.is_float
        case ops.Cast.FTOSI:
            return source.is_float and result.is_signed
        case ops.Cast.FTOUI:
            return source.is_float and result.kind is Kind.UNSIGNED
        case ops.Cast.FEXT:
            return source.is_float and result.is_float and wider
        case ops.Cast.FTRUNC:
            return source.is_float and result.is_float and not wider and source != result
