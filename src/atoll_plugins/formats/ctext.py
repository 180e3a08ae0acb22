"""How is KIR printed as text of a C-like language?

:class:`CPrinter` prints expressions and statements of one kernel; a target subclasses it and says how
ids, locals, memory, barriers and atomics look. Names carry a prefix for what they are (``b_`` buffer,
``p_`` parameter, ``f_`` field, ``l_`` local, ``s_`` shared), so that no name of a kernel meets a keyword.

Spelling is :mod:`atoll_plugins.formats.cdialect`, meaning is :mod:`atoll_plugins.formats.chelpers`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import assert_never

from atoll.ir import BOOL, F32, Kernel, LaunchLayout, Scalar, nodes, ops
from atoll.ir.module import PrivateArray
from atoll.ir.nodes import NARROW_FLOATS
from atoll.ir.ops import Binary, Unary
from atoll_plugins.formats import chelpers, cnarrow
from atoll_plugins.formats.cdialect import Dialect
from atoll_plugins.formats.inline import c_inline
from atoll_plugins.formats.lowering import info_path
from atoll_plugins.formats.places import Places, quoted

_OPERATORS = {
    Binary.ADD_WRAP: "+", Binary.SUB_WRAP: "-", Binary.MUL_WRAP: "*",
    Binary.AND: "&", Binary.OR: "|", Binary.XOR: "^",
    Binary.FADD: "+", Binary.FSUB: "-", Binary.FMUL: "*", Binary.FDIV: "/",
}  # fmt: skip
_WRAPPING = frozenset({Binary.ADD_WRAP, Binary.SUB_WRAP, Binary.MUL_WRAP})
_COMPARES = {
    ops.Compare.EQ: "==", ops.Compare.NE: "!=", ops.Compare.LT: "<",
    ops.Compare.LE: "<=", ops.Compare.GT: ">", ops.Compare.GE: ">=",
}  # fmt: skip
_LOGICAL = {ops.Logical.LAND: "&&", ops.Logical.LOR: "||"}


class CPrinter(ABC):
    """Prints one kernel.

    Attributes:
        helpers: The helper functions that the text so far needs, by name.
        lines: The statements so far.
    """

    def __init__(self, dialect: Dialect, kernel: Kernel, layout: LaunchLayout) -> None:
        self.dialect = dialect
        self.kernel = kernel
        self.layout = layout
        self.helpers: dict[str, str] = {}
        self.lines: list[str] = []
        self.depth = 1
        self._labels = 0
        self._steps: list[str] = []
        self.places = Places(wanted=False)
        self._ranks = {view.name for view in kernel.views}

    # --- what a target says ---

    @abstractmethod
    def builtin(self, op: ops.Id, dimension: int) -> str:
        """Return an id as an i32 value."""

    @abstractmethod
    def barrier(self) -> None:
        """Print a barrier."""

    @abstractmethod
    def fence(self, scope: ops.Scope) -> None:
        """Print a fence that orders what stands before it with what follows."""

    def subgroup(self, stmt: nodes.SubGroup) -> str:
        """Return an operation of a sub-group as an expression; where there are none it is emulated before."""
        raise AssertionError(f"{stmt.op} of a sub-group on {self.dialect.name}")

    @abstractmethod
    def leave(self) -> None:
        """Print the end of this work-item."""

    @abstractmethod
    def atomic(self, stmt: nodes.Atomic, address: str) -> str:
        """Return an atomic operation as an expression whose value is the old one."""

    def local(self, name: str) -> str:
        """Return a local as an lvalue."""
        return f"l_{name}"

    def array(self, name: str) -> str:
        """Return an array that the kernel declares, shared or a work-item's own."""
        return f"s_{name}"

    def own_array(self, item: PrivateArray) -> str:
        """Return the declaration of an array of one work-item."""
        return f"{self.dialect.element(item.element)} s_{item.name}[{item.length}];"

    def field(self, path: str) -> str:
        """Return a field of the parameter block."""
        return f"p.{field_name(path)}"

    # --- expressions ---

    def expression(self, expr: nodes.Expr) -> str:
        """Return an expression; what is not one word is in brackets."""
        match expr:
            case nodes.Unary():
                return self._unary(expr)
            case nodes.Binary():
                return self._binary(expr)
            case nodes.Compare():
                return self._compare(expr)
            case nodes.Logical():
                return self._infix(_LOGICAL[expr.op], expr.left, expr.right)
            case nodes.Select():
                parts = [self.expression(item) for item in (expr.condition, expr.yes, expr.no)]
                return f"({parts[0]} ? {parts[1]} : {parts[2]})"
            case nodes.Cast():
                return self._cast(expr)
            case nodes.MathCall():
                return self._maths(expr)
        return self._leaf(expr)

    def _leaf(
        self,
        expr: nodes.Const | nodes.Param | nodes.Local | nodes.Builtin | nodes.ViewInfo | nodes.Load,
    ) -> str:
        match expr:
            case nodes.Const():
                return self.dialect.literal(expr)
            case nodes.Param():
                return self.parameter(expr)
            case nodes.Local():
                return self.local(expr.name)
            case nodes.Builtin():
                return self.builtin(expr.op, expr.dimension)
            case nodes.ViewInfo():
                return self.field(info_path(expr))
            case nodes.Load():
                return self.element(expr.base, expr.indices)
        assert_never(expr)

    def parameter(self, expr: nodes.Param) -> str:
        """Return a scalar parameter; narrow ones stand widened in the block."""
        text = self.field(expr.name)
        if expr.type == BOOL:
            return f"({text} != 0)"
        return f"(({self.dialect.value(expr.type)}){text})" if expr.type.bits < 32 else text

    def element(self, base: str, indices: tuple[nodes.Expr, ...]) -> str:
        """Return an element of a view or an array as an lvalue."""
        if base not in self._ranks:
            return f"{self.array(base)}[{self.expression(indices[0])}]"
        terms = [self.field(f"{base}.offset")]
        for axis, index in enumerate(indices):
            terms.append(f"{self.expression(index)} * {self.field(f'{base}.stride.{axis}')}")
        return f"b_{base}[{' + '.join(terms)}]"

    def address(self, base: str, indices: tuple[nodes.Expr, ...], *, assembly: bool = False) -> str:
        """Return the address of an element; `assembly` may have another one of the group's memory."""
        return f"&{self.element(base, indices)}"

    def _infix(self, operator: str, left: nodes.Expr, right: nodes.Expr) -> str:
        return f"({self.expression(left)} {operator} {self.expression(right)})"

    def _compare(self, expr: nodes.Compare) -> str:
        if expr.left.type not in NARROW_FLOATS:
            return self._infix(_COMPARES[expr.op], expr.left, expr.right)
        left, right = (
            cnarrow.widened(item.type, bare(self.expression(item))) for item in (expr.left, expr.right)
        )
        return f"({left} {_COMPARES[expr.op]} {right})"

    def _maths(self, expr: nodes.MathCall) -> str:
        operands = [self.expression(item) for item in expr.operands]
        if expr.type not in NARROW_FLOATS:
            return self.dialect.maths_call(expr.op, expr.type, operands)
        name = chelpers.helper_name(expr.op, expr.type)
        helper = cnarrow.maths_helper(self.dialect, expr.op, expr.type, name, len(operands))
        return self.call(helper, (expr.op, expr.type), *operands)

    def _unary(self, expr: nodes.Unary) -> str:
        operand, kind = self.expression(expr.operand), self.dialect.value(expr.type)
        if expr.type in NARROW_FLOATS:
            return f"(({kind})({operand} {'& 0x7fffu' if expr.op is Unary.FABS else '^ 0x8000u'}))"
        match expr.op:
            case Unary.NEG_WRAP:
                return f"(({kind})(0u - ({self.dialect.word(expr.type)}){operand}))"
            case Unary.NOT:
                return f"(!{operand})" if expr.type == BOOL else f"(({kind})~{operand})"
            case Unary.FNEG:
                return f"(-{operand})"
            case Unary.FABS:
                return self.dialect.fabs.format(f="f" if expr.type.bits == 32 else "", a=operand)
            case Unary.ABS_WRAP:
                helper = chelpers.unary_helper(self.dialect, expr.op, expr.type)
                return operand if helper is None else self.call(helper, (expr.op, expr.type), operand)
        assert_never(expr.op)

    def _binary(self, expr: nodes.Binary) -> str:
        helper = chelpers.binary_helper(self.dialect, expr.op, expr.type)
        if helper is not None:
            operands = (self.expression(expr.left), self.expression(expr.right))
            return self.call(helper, (expr.op, expr.type), *operands)
        template = self.dialect.arithmetic.get((expr.op, expr.type))
        if template is not None:
            left, right = (bare(self.expression(item)) for item in (expr.left, expr.right))
            return template.format(a=left, b=right)
        operator, kind = _OPERATORS[expr.op], self.dialect.value(expr.type)
        if expr.op not in _WRAPPING:
            text = self._infix(operator, expr.left, expr.right)
            return f"(({kind}){text})" if expr.type.is_integer and expr.type.bits < 32 else text
        word = self.dialect.word(expr.type)
        left, right = self.expression(expr.left), self.expression(expr.right)
        if word == kind:
            return f"({left} {operator} {right})"
        return f"(({kind})(({word}){left} {operator} ({word}){right}))"

    def _cast(self, expr: nodes.Cast) -> str:
        operand, source = self.expression(expr.operand), expr.operand.type
        if expr.op is ops.Cast.BITS and source.bits == 16:
            return f"(({self.dialect.value(expr.type)}){operand})"
        if expr.type in NARROW_FLOATS:
            return cnarrow.to_narrow(source, expr.type, operand)
        if source in NARROW_FLOATS:
            operand, source = cnarrow.widened(source, operand), F32
            if expr.type == F32:
                return operand
        helper = chelpers.cast_helper(self.dialect, expr.op, source, expr.type)
        if helper is not None:
            return self.call(helper, (expr.op, expr.type, source), operand)
        return f"(({self.dialect.value(expr.type)}){operand})"

    def call(self, helper: str, name: tuple[str | Scalar, ...], *operands: str) -> str:
        """Return a call of a helper and note that the text needs it."""
        spelled = chelpers.helper_name(str(name[0]), *(item for item in name[1:] if isinstance(item, Scalar)))
        self.helpers[spelled] = helper
        return f"{spelled}({', '.join(operands)})"

    # --- statements ---

    def line(self, text: str) -> None:
        """Add a line."""
        self.lines.append("  " * self.depth + text)

    def fresh(self, word: str) -> str:
        """Return a new label or name."""
        self._labels += 1
        return f"{word}_{self._labels}"

    def block(self, block: nodes.Block) -> None:
        """Print statements, one level deeper."""
        self.depth += 1
        for stmt in block:
            self.statement(stmt)
        self.depth -= 1

    def statement(self, stmt: nodes.Stmt) -> None:
        """Print one statement, after its place where that is asked for."""
        place = self.places.changed(stmt.span)
        if place is not None:
            self.lines.append(f"#line {place.line} {quoted(place.file)}")
        match stmt:
            case nodes.Assign():
                self.line(f"{self.local(stmt.local)} = {bare(self.expression(stmt.value))};")
            case nodes.Store():
                value = bare(self.expression(stmt.value))
                self.line(f"{self.element(stmt.base, stmt.indices)} = {value};")
            case nodes.If():
                self.line(f"if ({bare(self.expression(stmt.condition))}) {{")
                self.block(stmt.then)
                if stmt.orelse:
                    self.line("} else {")
                    self.block(stmt.orelse)
                self.line("}")
            case nodes.Loop():
                self.loop(stmt)
            case nodes.Break():
                self.line("break;")
            case nodes.Continue():
                self.line(f"goto {self._steps[-1]};" if self._steps[-1] else "continue;")
            case nodes.Return():
                self.leave()
            case nodes.Barrier() | nodes.Fence() | nodes.SubGroup() | nodes.ExternCall() | nodes.Inline():
                self.together(stmt)
            case nodes.Atomic():
                text = self.atomic(stmt, f"&{self.element(stmt.base, stmt.indices)}")
                self.line(
                    f"{self.local(stmt.result)} = {text};" if stmt.result is not None else f"(void){text};"
                )
            case _:
                assert_never(stmt)

    def together(self, stmt: nodes.Together) -> None:
        """Print what work-items do together, and a call of what another source defines."""
        match stmt:
            case nodes.ExternCall():
                given = ", ".join(bare(self.expression(item)) for item in stmt.arguments)
                head = "" if stmt.result is None else f"{self.local(stmt.result)} = "
                self.line(f"{head}{stmt.function}({given});")
            case nodes.Inline():
                for text in c_inline(
                    stmt, self.local, lambda item: bare(self.expression(item)), self.address
                ):
                    self.line(text)
            case nodes.Barrier():
                self.barrier()
            case nodes.Fence():
                self.fence(stmt.scope)
            case nodes.SubGroup():
                self.line(f"{self.local(stmt.result)} = {bare(self.subgroup(stmt))};")

    def loop(self, stmt: nodes.Loop) -> None:
        """Print a loop; `continue` goes to the step by a label where there is a step."""
        step = self.fresh("step") if stmt.step and _continues(stmt.body) else ""
        self.line(f"while ({bare(self.expression(stmt.condition))}) {{")
        self.enter_loop(step)
        self.block(stmt.body)
        self.leave_loop()
        if step:
            self.line(f"{step}:;")
        self.block(stmt.step)
        self.line("}")

    def enter_loop(self, step: str) -> None:
        """Note where `continue` goes from here on."""
        self._steps.append(step)

    def leave_loop(self) -> None:
        """Forget the innermost loop."""
        self._steps.pop()

    # --- the parts around them ---

    def block_struct(self, name: str) -> list[str]:
        """Return the declaration of the parameter block, with every gap named and its size checked."""
        lines, at, gaps = [f"struct {name} {{"], 0, 0
        for item in self.layout.fields:
            while at < item.offset:
                lines.append(f"  {self.dialect.types['u32']} gap_{gaps};")
                at, gaps = at + 4, gaps + 1
            lines.append(f"  {self.dialect.types[block_type(item.type)]} {field_name(item.path)};")
            at += item.nbytes
        while at < self.layout.block_bytes:
            lines.append(f"  {self.dialect.types['u32']} gap_{gaps};")
            at, gaps = at + 4, gaps + 1
        size = f"sizeof(struct {name}) == {self.layout.block_bytes}"
        return [*lines, "};", f"typedef char {name}_size[{size} ? 1 : -1];"]

    def extern_text(self, prefix: str) -> list[str]:
        """Return the declarations of what other sources define."""
        lines = []
        for item in self.kernel.externs:
            given = ", ".join(map(self.dialect.value, item.params)) or "void"
            result = "void" if item.result is None else self.dialect.value(item.result)
            lines.append(f"{prefix} {result} {item.name}({given});  // {item.link}")
        return lines

    def helper_text(self) -> list[str]:
        """Return the helpers that were used, by name, after the conversions that they or the body use."""
        used = [*self.lines, *self.helpers.values()]
        before: list[str] = []
        for name, helper in reversed(cnarrow.conversions(self.dialect).items()):
            if any(f"{name}(" in text for text in used):
                used.append(helper)
                before.insert(0, helper + "\n")
        return before + [self.helpers[name] + "\n" for name in sorted(self.helpers)]


def bare(text: str) -> str:
    """Return an expression without the brackets around the whole of it."""
    depth = 0
    for place, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return text[1:-1] if place == len(text) - 1 and place > 0 else text
    return text


def field_name(path: str) -> str:
    """Return the member of the block for a path: ``f_x_size_0``, ``p_a``."""
    return f"f_{path.replace('.', '_')}" if "." in path else f"p_{path}"


def block_type(scalar: str) -> str:
    """Return the scalar that a field takes in the block: narrow ones are widened to 32 bits."""
    return {
        "bool": "u32",
        "i8": "i32",
        "i16": "i32",
        "u8": "u32",
        "u16": "u32",
        "f16": "u32",
        "bf16": "u32",
    }.get(scalar, scalar)


def _continues(block: nodes.Block) -> bool:
    """Tell whether a block holds a `continue` of the loop around it."""
    for stmt in block:
        if isinstance(stmt, nodes.Continue):
            return True
        if isinstance(stmt, nodes.If) and (_continues(stmt.then) or _continues(stmt.orelse)):
            return True
    return False
